"""An analysis made up for a picture: a binarised tree instead of the one of a document, or a tree without a text."""

from collections.abc import Sequence
from dataclasses import dataclass

from genrst.trees.analysis import Analysis, TextSpan
from genrst.trees.node import Tree


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters."""

    start: int
    end: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is drawn: fits `genrst.trees.analysis.Analysis`."""

    id: str
    text: str | None
    edus: Sequence[TextSpan]
    tree: Tree | None
    sentences: Sequence[TextSpan] = ()
    paragraphs: Sequence[TextSpan] = ()

    @classmethod
    def of(cls, document: Analysis, tree: Tree) -> "Subject":
        """A document with another tree over its EDUs."""
        return cls(document.id, document.text, document.edus, tree)

    @classmethod
    def without_text(cls, tree: Tree) -> "Subject":
        """A tree alone."""
        return cls("tree", None, [Span(edu, edu + 1) for edu in range(tree.stop)], tree)
