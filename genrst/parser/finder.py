"""What a parser asks of a model: the protocol that charts and the paper's model implement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from genrst.document import Document
from genrst.trees.constraints import Label

if TYPE_CHECKING:
    from genrst.chart.finder import Distribution


class TreeFinder(Protocol):
    """Reads texts, finds their EDUs and their trees. `genrst.chart.finder` and `genrst.rnng.finder` have one each."""

    device: str
    """`cpu`, or the kind of GPU it computes on."""
    labels: Sequence[Label]
    """The relation and the nuclearity of each label."""
    fine: Mapping[str, str]
    """Finer relations that it can tell apart, each with the relation of its labels."""
    has_distributions: bool
    """Whether it knows the distribution over all trees."""

    def prepare(self, documents: Sequence[Document]) -> list[Document]:
        """What is done to documents before their trees are found, such as annotation by spaCy; EDUs are kept."""

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """Documents with EDUs and sentences, where they have none."""

    def find(self, documents: Sequence[Document], n: int = 1) -> list[list[Document]]:
        """Each document with its n best trees, the best first; fewer if there are fewer."""

    def sample(self, document: Document, n: int, seed: int, particles: int) -> list[Document]:
        """A document with n trees drawn from p(tree | words)."""

    def distributions(self, documents: Sequence[Document]) -> "Iterator[Distribution]":
        """The distribution over the trees of each document; only a chart has it."""

    def free_distribution(self, document: Document) -> "Distribution":
        """The same without constraints and with nothing kept whole."""
