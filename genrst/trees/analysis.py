"""What evaluation and rendering need of a document, so that they need not know where documents come from.

`genrst.corpora.document.Document` fits this; so does anything else with these attributes.
"""

from collections.abc import Sequence
from typing import Protocol

from genrst.trees.node import Tree


class TextSpan(Protocol):
    """A half-open range of characters, perhaps labelled."""

    @property
    def start(self) -> int:
        """The first character."""

    @property
    def end(self) -> int:
        """One more than the last character."""

    @property
    def label(self) -> str:
        """An entity's type, a paragraph's kind, a sentence's speaker, or empty."""


class Analysis(Protocol):
    """A text, its EDUs, and their tree."""

    @property
    def id(self) -> str:
        """The name of the document."""

    @property
    def text(self) -> str | None:
        """The text, or None if only offsets are known."""

    @property
    def edus(self) -> Sequence[TextSpan]:
        """The elementary discourse units, in order."""

    @property
    def tree(self) -> Tree | None:
        """The tree, or None if the text is only segmented."""

    @property
    def sentences(self) -> Sequence[TextSpan]:
        """The sentences, empty if unknown."""

    @property
    def paragraphs(self) -> Sequence[TextSpan]:
        """The paragraphs, empty if unknown."""
