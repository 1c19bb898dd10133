"""Plain text: one EDU per line, and the running text beside a tree."""

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, CorpusWarning, UsageError
from genrst.formats.plain import _lines, attach_text, attach_text_beside, read_edus, write_edus
from genrst.trees.node import Leaf, Unit
from tests.strategies import documents

PATH = Path("folder/rain.edus")
TREE = Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
DOCUMENT = Document.from_edus("owls", ["Owls fly", "at night .", "Cats sleep ."], TREE)


@pytest.mark.slow
@given(documents(), st.sets(st.integers(1, 14)))
def test_edus_and_paragraphs_survive(document: Document, starts: set[int]) -> None:
    starts = {start for start in starts if start < len(document.edus)}
    document = Document.from_edus("rain", document.edu_texts, paragraph_starts=starts)
    assert read_edus(write_edus(document).encode(), PATH) == document


def test_edus_of_lines_and_paragraphs() -> None:
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
    with pytest.raises(CorpusFormatError, match="one EDU per line") as caught:
        read_edus(content, PATH)
    assert caught.value.path == PATH


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            Document("x", "a  b", (Span(0, 1), Span(1, 3), Span(3, 4))),
            "EDU 1 has no text; .*",
        ),
        (Document("x", None, (Span(0, 5),)), "must have a text to be written as .edus, but has only offsets"),
        (
            Document("x", "a b c", (Span(0, 1), Span(4, 5))),
            "written as .edus, all words must be inside EDUs, got 'b' outside",
        ),
        (Document("x", "a b c", (Span(0, 1), Span(1, 4))), "got 'c' outside"),
        (Document("x", "a b c" * 9999, (Span(99, 100),)), "got '(?:a b c){8}' outside"),
    ],
)
def test_what_has_no_line_cannot_be_written(document: Document, message: str) -> None:
    with pytest.raises(UsageError, match=f"^x: .*{message}$"):
        write_edus(document)


def test_a_first_character_like_a_byte_order_mark_is_kept() -> None:
    document = Document.from_edus("rain", ["\ufeffa", "\ufeff"])
    assert write_edus(document) == "\ufeff\ufeffa\n\ufeff\n"
    assert read_edus(write_edus(document).encode(), PATH) == document


def attached(tmp_path: Path, content: str | bytes) -> Document:
    path = tmp_path / "owls"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return attach_text(DOCUMENT, path)


def test_a_text_by_hand(tmp_path: Path):
    document = attached(tmp_path, "\n  Owls fly\tat night.\n\n \n\nCats\n   sleep.  \n")
    assert document.text == "\n  Owls fly\tat night.\n\n \n\nCats\n   sleep.  \n"
    assert document.edu_texts == ["Owls fly", "at night.", "Cats\n   sleep."]
    assert [(span.start, span.end) for span in document.sentences] == [(3, 21), (26, 30), (34, 40)]
    assert [(span.start, span.end) for span in document.paragraphs] == [(3, 21), (26, 40)]
    assert (document.id, document.tree) == ("owls", TREE)
    assert document.sentence_of_edus() == [0, 0, 1]


@given(st.lists(st.sampled_from(["", " ", "a", " b c ", "\td"]), max_size=8))
def test_lines_and_blank_lines(lines: list[str]):
    text = "\n".join(lines)
    sentences, paragraphs = _lines(text)
    assert [text[span.start : span.end] for span in sentences] == [line.strip() for line in lines if line.strip()]
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        else:
            blocks.append([])
    expected = ["\n".join(block).strip() for block in blocks if block]
    assert [text[span.start : span.end] for span in paragraphs] == expected


def test_line_ends_and_encodings(tmp_path: Path):
    document = attached(tmp_path, b"Owls fly at night.\r\n\r\nCats sleep.\r\n")
    assert document.text == "Owls fly at night.\n\nCats sleep.\n"
    with pytest.warns(CorpusWarning, match="not UTF-8"), pytest.raises(CorpusFormatError, match="EDU 3 of 3"):
        attached(tmp_path, "Owls fly at night. Cáts".encode("iso-8859-1"))
    with pytest.raises(CorpusFormatError, match="binary data"):
        attached(tmp_path, b"\0\0")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "Owls fly by day. Cats sleep.",
            "EDU 2 of 3 must match the text, 'Owls fly by day. Cats sl', got 'at night .'",
        ),
        ("Owls fly at night.", "EDU 3 of 3 must match the text, 's fly at night.', got 'Cats sleep .'"),
        ("", "EDU 1 of 3 must match the text, '', got 'Owls fly'"),
    ],
)
def test_texts_that_differ(tmp_path: Path, content: str, message: str):
    with pytest.raises(CorpusFormatError) as caught:
        attached(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'owls'}: {message}")


def test_text_after_the_last_edu_is_left_out_with_a_warning(tmp_path: Path):
    with pytest.warns(CorpusWarning, match=r"owls: text after the last EDU is left out: 'Dogs\?'"):
        document = attached(tmp_path, "Owls fly at night.\n\nCats sleep.\nDogs?\n")
    assert document.text == "Owls fly at night.\n\nCats sleep."
    assert len(document.sentences) == len(document.paragraphs) == 2


@pytest.mark.parametrize(
    ("name", "content", "is_odd"),
    [
        ("file1", "Owls fly\n\nat night.\nCats sleep.", True),
        ("file1", "Owls fly at night.\n\nCats sleep.", False),
        ("wsj_0601.out", "Owls fly at night.\nCats sleep.", True),
    ],
)
@pytest.mark.filterwarnings("always")
def test_paragraphs_of_the_tree(tmp_path: Path, name: str, content: str, is_odd: bool):
    document = Document.from_edus(name, ["Owls fly", "at night.", "Cats sleep."], TREE, {2})
    (tmp_path / name).write_text(content, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        read = attach_text_beside(document, tmp_path / f"{name}.dis")
    assert [str(one.message) for one in caught] == [
        f"{tmp_path / name}: the paragraphs are taken from the <P> marks of the tree"
    ] * is_odd
    assert read.paragraph_of_edus() == [0, 0, 1]
    assert read.text == content


def test_a_text_of_other_words_is_not_read(tmp_path: Path):
    (tmp_path / "owls").write_text("Owls fly by day. Cats sleep.", encoding="utf-8")
    with pytest.warns(CorpusWarning, match=r"owls: EDU 2 of 3 must match .*; using the text of the tree instead"):
        assert attach_text_beside(DOCUMENT, tmp_path / "owls.dis") is DOCUMENT


def test_only_files_beside_count(tmp_path: Path):
    path = tmp_path / "owls.out.dis"
    assert attach_text_beside(DOCUMENT, path) is DOCUMENT
    (tmp_path / "owls").write_text("unrelated", encoding="utf-8")
    (tmp_path / "owls.out").mkdir()
    assert attach_text_beside(DOCUMENT, path) is DOCUMENT
    (tmp_path / "owls.out").rmdir()
    (tmp_path / "owls.out").write_text("Owls fly at night. Cats sleep.", encoding="utf-8")
    assert attach_text_beside(DOCUMENT, path).text == "Owls fly at night. Cats sleep."
