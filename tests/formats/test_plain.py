"""One EDU a line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, UsageError
from genrst.formats.plain import read_edus, write_edus
from tests.strategies import documents

PATH = Path("folder/rain.edus")


@given(documents(), st.sets(st.integers(1, 14)))
def test_edus_and_paragraphs_survive(document: Document, starts: set[int]) -> None:
    starts = {start for start in starts if start < len(document.edus)}
    document = Document.from_edus("rain", document.edu_texts, paragraph_starts=starts)
    assert read_edus(write_edus(document).encode(), PATH) == document


def test_lines_and_paragraphs() -> None:
    content = b"\xef\xbb\xbf\n  \nIt  rained,\r\n  so we\tstayed in.\r\n\r\n \r\nThen the sun\xc2\xa0came.\r\n\r\n"
    document = read_edus(content, PATH)
    assert document.id == "rain"
    assert document.edu_texts == ["It rained,", "so we stayed in.", "Then the sun came."]
    assert document.text == "It rained, so we stayed in.\n\nThen the sun came."
    assert document.paragraphs == (Span(0, 27), Span(29, 47))
    assert document.tree is None
    assert write_edus(document) == "It rained,\nso we stayed in.\n\nThen the sun came.\n"


def test_one_paragraph_is_none() -> None:
    assert read_edus(b"\n\na\nb", PATH).paragraphs == ()


def test_other_separators_do_not_end_an_edu() -> None:
    assert read_edus("a\u2028b\x0bc\x85d".encode(), PATH).edu_texts == ["a b c d"]
    assert write_edus(Document("x", "a\u2028b\nc", (Span(0, 5),))) == "a b c\n"


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(content: bytes) -> None:
    with pytest.raises(CorpusFormatError, match="an EDU a line") as caught:
        read_edus(content, PATH)
    assert caught.value.path == PATH


@pytest.mark.parametrize(
    "document", [Document("x", None, (Span(0, 5),)), Document("x", "a  b", (Span(0, 1), Span(1, 3)))]
)
def test_an_edu_without_text_cannot_be_written(document: Document) -> None:
    with pytest.raises(UsageError, match="every EDU must have text"):
        write_edus(document)
