"""How two trees over the same text differ: gold and predicted, two parsers, two annotators.

Trees are binarised and their units compared as Parseval does it (`genrst.evaluation.parseval`): by their stretch of
text, by the nuclearity and by the relation between their children. Not here: pictures (`difference_picture`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from genrst.document import Document, require_tree
from genrst.evaluation.parseval import (
    Comparison,
    Constituent,
    Granularity,
    Position,
    choose_labels,
    parseval_constituents,
    shared_measures,
)
from genrst.rendering.labels import Range
from genrst.trees.binarise import binarise
from genrst.trees.node import Tree

Status: TypeAlias = Literal["match", "nuclearity", "relation", "both", "missing", "extra"]
"""What differs where both trees have a constituent; `missing` is only in the first tree, `extra` only in the second."""


class Pair(NamedTuple):
    """A constituent of the first tree and the one of the second with the same text, or None."""

    first: Constituent | None
    second: Constituent | None

    @property
    def status(self) -> Status:
        """What differs between the two."""
        if self.second is None:
            return "missing"
        if self.first is None:
            return "extra"
        is_same_nuclearity = self.first.nuclearity == self.second.nuclearity
        if self.first.relation == self.second.relation:
            return "match" if is_same_nuclearity else "nuclearity"
        return "relation" if is_same_nuclearity else "both"


@dataclass(frozen=True)
class Difference:
    """Two binary trees, the positions of their EDUs in the text that they share, and their constituents."""

    trees: tuple[Tree, Tree]
    edus: tuple[Sequence[Position], Sequence[Position]]
    comparison: Comparison

    @cached_property
    def pairs(self) -> list[Pair]:
        """All constituents of both trees, those of the first in their order, then the extra ones of the second."""
        return [Pair(*pair) for pair in self.comparison.pairs()]

    def statuses(self) -> tuple[dict[Range, Status], dict[Range, Status]]:
        """The status of each unit of the first tree, and of each of the second."""
        return (
            {pair.first.edus: pair.status for pair in self.pairs if pair.first},
            {pair.second.edus: pair.status for pair in self.pairs if pair.second},
        )

    def boundaries(self) -> tuple[set[int], set[int]]:
        """The EDUs, by number, that start where the other document has none, of the first and of the second."""
        first, second = self.edus
        return _starts_alone(first, second), _starts_alone(second, first)

    @property
    def has_same_edus(self) -> bool:
        """Whether both documents are segmented alike."""
        return self.edus[0] == self.edus[1]


def _starts_alone(edus: Sequence[Position], others: Sequence[Position]) -> set[int]:
    starts = {start for start, _ in others}
    return {number for number, (start, _) in enumerate(edus) if start not in starts}


def compare(first: Document, second: Document, labels: Granularity = "coarse") -> Difference:
    """Compare two analyses of one text.

    Relations are compared by their coarse classes, as scores are, or with `fine` as they are written.
    """
    trees = require_tree(first), require_tree(second)
    label = choose_labels(labels, None, trees[:1], trees[1:]).label
    first_measure, second_measure = shared_measures(first, second)
    first_edus, second_edus = list(map(first_measure, first.edus)), list(map(second_measure, second.edus))
    first_tree, second_tree = map(binarise, trees)
    comparison = Comparison(
        parseval_constituents(first_tree, first_edus, label), parseval_constituents(second_tree, second_edus, label)
    )
    return Difference((first_tree, second_tree), (first_edus, second_edus), comparison)
