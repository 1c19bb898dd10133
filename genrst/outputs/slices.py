"""What every output takes from a document: its tree, and slices of its text by EDUs."""

from collections.abc import Callable
from typing import TypeAlias

from genrst.document import Document
from genrst.errors import GenrstError
from genrst.trees.node import Tree

Count: TypeAlias = Callable[[str], int]
"""How long a text is; for a language model, the number of its tokens."""

CHARACTERS_PER_WORD = 6
"""What a word is taken to be, with the space after it, in a document without text."""


def count_words(text: str) -> int:
    """The number of words, which white space separates."""
    return len(text.split())


def tree_of(document: Document) -> Tree:
    """The tree of a document that must have one."""
    if document.tree is None:
        raise GenrstError(f"{document.id}: a document must have a tree, was: only segmented")
    return document.tree


def offsets_of(document: Document, start: int, stop: int) -> tuple[int, int]:
    """The characters of the EDUs from `start` to `stop` (exclusive), also half-open."""
    return document.edus[start].start, document.edus[stop - 1].end


def text_of(document: Document, start: int, stop: int) -> str | None:
    """The slice of the text that these EDUs take, with what stands between them; None in a document without text."""
    first, end = offsets_of(document, start, stop)
    return None if document.text is None else document.text[first:end]


def size_of(document: Document, start: int, stop: int, count: Count) -> int:
    """The length of that slice; without text, an estimate from the offsets."""
    text = text_of(document, start, stop)
    if text is None:
        first, end = offsets_of(document, start, stop)
        return -(-(end - first) // CHARACTERS_PER_WORD)
    return count(text)
