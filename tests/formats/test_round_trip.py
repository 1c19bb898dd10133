"""Whatever is written reads back as it was, in every format; what a format cannot hold is refused in one line."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from genrst.document import Document
from genrst.errors import CorpusWarning, UsageError
from genrst.formats.files import READABLE, WRITABLE, format_documents, read_content
from genrst.formats.plain import collapse_spaces
from genrst.trees.node import Leaf, Unit
from tests.formats.test_dis import CLEAN_DOCUMENTS
from tests.strategies import hostile_documents

BOTH_WAYS = [suffix for suffix in READABLE if suffix in WRITABLE]


def expected(document: Document, suffix: str) -> Document:
    """What the format promises to keep: JSON everything, others their EDUs as lines, and what they have room for."""
    if suffix in (".json", ".jsonl"):
        return document
    tree = None if suffix == ".edus" else document.tree
    numbers = document.paragraph_of_edus() if suffix in (".dis", ".edus") else [0]
    starts = {edu for edu in range(1, len(numbers)) if numbers[edu] != numbers[edu - 1]}
    kept = Document.from_edus("random", list(map(collapse_spaces, document.edu_texts)), tree, starts)
    if suffix == ".rs4":
        kept = replace(kept, secondary_edges=document.secondary_edges, signals=document.signals)
    return kept


def read_back(text: str, suffix: str) -> Document:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpusWarning)  # an empty EDU is kept, with a warning
        (document,) = read_content(text.encode("utf-8"), Path(f"random{suffix}"))
    return document


@pytest.mark.slow
@given(hostile_documents())
def test_a_document_is_read_back_or_refused(document: Document) -> None:
    for suffix in BOTH_WAYS:
        try:
            text = format_documents([document], suffix)
        except UsageError as error:
            assert str(error).startswith(document.id) or suffix.startswith(".json")  # noqa: PT017
            assert len(str(error)) < len(document.id) + 200  # noqa: PT017
            continue
        found = read_back(text, suffix)
        if document.tree is None and len(document.edus) == 1 and suffix in (".rs3", ".rs4"):
            found = replace(found, tree=None)  # a lone EDU is its own tree there
        assert found == expected(document, suffix), suffix


@pytest.mark.slow
@given(CLEAN_DOCUMENTS)
def test_plain_documents_are_never_refused(document: Document) -> None:
    for suffix in BOTH_WAYS:
        assert read_back(format_documents([document], suffix), suffix) == expected(document, suffix), suffix


@pytest.mark.parametrize("suffix", [".dis", ".rs3", ".rs4", ".edus", ".rsd"])
@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_what_is_no_text_is_refused(suffix: str, character: str) -> None:
    document = Document.from_edus("x", ["a", f"b{character}"], Unit("joint", "NN", (Leaf(0), Leaf(1))))
    with pytest.raises(UsageError, match=rf"^x: {suffix} files cannot hold the character U\+{ord(character):04X}"):
        format_documents([document], suffix)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_two_halves_of_a_character_are_not_made_one(suffix: str) -> None:
    with pytest.raises(UsageError, match="written as two surrogates"):
        format_documents([Document.from_edus("x", ["a\ud83d\ude42"])], suffix)
    document = Document.from_edus("\0\udfff", ["a\ude42\ud83d", "🙂"])
    assert read_back(format_documents([document], suffix), suffix) == document
