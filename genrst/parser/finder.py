"""The protocol between a parser and its model, which charts and the model of the paper implement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from genrst.document import Document
from genrst.trees.constraints import Label

if TYPE_CHECKING:
    from genrst.chart.finder import Distribution


class TreeFinder(Protocol):
    """Finds the EDUs and trees of texts; implemented in `genrst.chart.finder` and `genrst.rnng.finder`."""

    device: str
    """`cpu`, or the kind of GPU."""
    labels: Sequence[Label]
    """The relation and the nuclearity of each label."""
    fine: Mapping[str, str]
    """The finer relations that it distinguishes, each with the relation of its label."""
    has_distributions: bool
    """Whether it computes the distribution over all trees."""

    def prepare(self, documents: Sequence[Document]) -> list[Document]:
        """Prepare documents for `find`, for example with annotation by spaCy; EDUs are kept."""

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Add EDUs and sentences to documents that have none."""

    def find(self, documents: Sequence[Document], n: int = 1) -> list[list[Document]]:
        """Return each document with its n best trees, best first, or fewer if there are not as many."""

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """Return the document with n trees drawn from p(tree | words)."""

    def distributions(self, documents: Sequence[Document]) -> "Iterator[Distribution]":
        """Yield the distribution over the trees of each document; charts only."""

    def free_distribution(self, document: Document) -> "Distribution":
        """Return the distribution without constraints and with nothing kept whole."""
