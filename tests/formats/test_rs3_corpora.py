"""Real corpora: every file is read, and reads the same after it was written."""

import time
import warnings
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.dis import read_dis
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.binarise import binarise

pytestmark = pytest.mark.corpus


def read_quietly(path: Path) -> tuple[Document, int]:
    """The document, and the number of warnings on the way."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        return read_rs3(path.read_bytes(), path), len(record)


@pytest.mark.parametrize(
    ("pattern", "n_files", "n_edus", "n_repaired"),
    [("gum/rs4/*.rs4", 255, 32428, 0), ("extra-en/**/*.rs3", 598, 7021, 14)],
)
def test_every_file_is_read_and_written(corpora: Path, pattern: str, n_files: int, n_edus: int, n_repaired: int):
    paths = sorted(corpora.glob(pattern))
    edus = repaired = 0
    for path in paths:
        document, n_warnings = read_quietly(path)
        repaired += n_warnings > 0
        edus += len(document.edus)
        assert document.tree is not None
        assert len(document.edus) == path.read_bytes().count(b"<segment ")
        assert read_rs3(write_rs4(document).encode(), path) == document
        rewritten = read_rs3(write_rs3(document).encode(), path)
        assert (rewritten.tree, rewritten.edu_texts) == (document.tree, document.edu_texts)
    assert (len(paths), edus, repaired) == (n_files, n_edus, n_repaired)


def test_trees_equal_those_of_bracketed_files(corpora: Path):
    for bracketed in sorted(corpora.glob("gum/dis_nary/*.dis")):
        path = corpora / "gum" / "rs4" / f"{bracketed.stem}.rs4"
        document = read_rs3(path.read_bytes(), path)
        other = read_dis(bracketed.read_bytes(), bracketed)
        assert document.tree is not None
        assert (document.edu_texts, document.tree) == (other.edu_texts, other.tree)
        binary = corpora / "gum" / "dis_binary" / bracketed.name
        assert binarise(document.tree) == read_dis(binary.read_bytes(), binary).tree


def test_gum_is_read_in_seconds_with_all_layers(corpora: Path):
    contents = [(path.read_bytes(), path) for path in sorted(corpora.glob("gum/rs4/*.rs4"))]
    start = time.process_time()
    documents = [read_rs3(content, path) for content, path in contents]
    assert time.process_time() - start < 3
    assert sum(len(document.secondary_edges) for document in documents) == 1298
    assert sum(len(document.signals) for document in documents) == 37478
