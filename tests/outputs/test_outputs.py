"""What holds for all outputs: documents must have trees, and real ones come out whole."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import pytest

from genrst.corpora.corpus import load_corpus
from genrst.document import Document
from genrst.errors import GenrstError
from genrst.outputs.chunks import chunk_rows, chunks
from genrst.outputs.features import profile
from genrst.outputs.summary import summary, summary_rows, summary_text
from genrst.outputs.tables import Row, dependency_rows, unit_rows
from tests.outputs.samples import segmented

OUTPUTS = (summary, summary_text, summary_rows, chunks, chunk_rows, unit_rows, dependency_rows, profile)
ROWS: tuple[Callable[[Document], Sequence[Row]], ...] = (summary_rows, chunk_rows, unit_rows, dependency_rows)


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.__name__)
def test_a_document_without_a_tree_is_an_error(output: Callable[[Document], object]):
    with pytest.raises(GenrstError, match=r"^ferry: the document must have a tree, but is only segmented$"):
        output(segmented())


@pytest.mark.slow
@pytest.mark.corpus
def test_rows_slice_the_texts_of_gum(corpora: Path):
    for document in islice(load_corpus(corpora / "gum"), 0, None, 10):
        assert document.text is not None
        for output in ROWS:
            for row in output(document):
                assert document.text[row["start"] : row["end"]] == row["text"]
        assert [edu for row in chunk_rows(document) for edu in range(row["first_edu"], row["last_edu"] + 1)] == list(
            range(len(document.edus))
        )
        assert profile(document)["count_other"] == 0
