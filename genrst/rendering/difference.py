"""How two trees over the same text differ: gold and predicted, two parsers, two annotators.

Trees are binarised, as scoring does it, and their units compared as Parseval compares them: by their stretch of text,
by the nuclearity and by the relation between their children. Not here: pictures of a difference (`difference_svg`,
`difference_html`).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.parseval import Position, shared_measures
from genrst.rendering.labels import Range, range_of
from genrst.trees.binarise import binarise
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import detect_inventory

Status: TypeAlias = Literal["match", "nuclearity", "relation", "both", "missing", "extra"]
"""What differs where both trees have a constituent; `missing` is only in the first tree, `extra` only in the second."""

Labels: TypeAlias = Literal["coarse", "fine"]


@dataclass(frozen=True, slots=True)
class Constituent:
    """A unit of a binarised tree: its EDUs, its place in the text that both documents share, and its labels."""

    edus: Range
    position: Position
    nuclearity: str
    relation: str


class Pairing(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents: its EDUs in shared positions, its binary tree, and its constituents."""

    edus: Sequence[Position]
    tree: Tree
    constituents: Sequence[Constituent]


@dataclass(frozen=True, slots=True)
class Difference:
    """All constituents of two trees, those of the first in their order, then the extra ones of the second."""

    first: Side
    second: Side
    pairings: Sequence[Pairing]

    def statuses(self) -> tuple[dict[Range, Status], dict[Range, Status]]:
        """The status of each unit of the first tree, and of each of the second."""
        return (
            {pair.first.edus: pair.status for pair in self.pairings if pair.first},
            {pair.second.edus: pair.status for pair in self.pairings if pair.second},
        )

    def counts(self, aspect: Literal["S", "N", "R", "F"]) -> tuple[int, int, int]:
        """How many constituents agree, how many the first tree has, and how many the second, as Parseval counts.

        `S` asks for the same text, `N` also for the nuclearity, `R` for the relation, `F` for both.
        """
        keys = [{_key(one, aspect) for one in side.constituents} for side in (self.first, self.second)]
        return len(keys[0] & keys[1]), len(self.first.constituents), len(self.second.constituents)

    def boundaries(self) -> tuple[set[int], set[int]]:
        """The EDUs, by number, that start where the other document has none, of the first and of the second."""
        starts = [{start for start, _ in side.edus} for side in (self.first, self.second)]
        first, second = (
            {number for number, (start, _) in enumerate(side.edus) if start not in other}
            for side, other in zip((self.first, self.second), reversed(starts), strict=True)
        )
        return first, second

    @property
    def has_same_edus(self) -> bool:
        """Whether both documents are segmented alike."""
        return self.first.edus == self.second.edus


def compare(first: Document, second: Document, labels: Labels = "coarse") -> Difference:
    """Compare two analyses of one text.

    Relations are compared by their coarse classes, as scores are, or with `fine` as they are written.
    """
    trees = [_require_tree(analysis) for analysis in (first, second)]
    label = _choose_label(trees, labels)
    one, other = (
        _side(list(map(measure, analysis.edus)), binarise(tree), label)
        for analysis, tree, measure in zip((first, second), trees, shared_measures(first, second), strict=True)
    )
    return Difference(one, other, _pair(one.constituents, other.constituents))


def _require_tree(analysis: Document) -> Tree:
    if analysis.tree is None:
        raise GenrstError(f"{analysis.id}: a compared document must have a tree, was: only segmented")
    return analysis.tree


def _choose_label(trees: Sequence[Tree], labels: Labels) -> Callable[[str], str]:
    if labels not in get_args(Labels):
        raise UsageError(f"labels must be one of {', '.join(get_args(Labels))}, was: {labels!r}")
    if labels == "fine":
        return str.lower
    names = {name.lower() for tree in trees for unit in units(tree) for name in unit.relations}
    return detect_inventory(names - {SPAN}).coarse


def _side(edus: list[Position], tree: Tree, label: Callable[[str], str]) -> Side:
    constituents = [
        Constituent(
            range_of(unit),
            (edus[unit.start][0], edus[unit.stop - 1][1]),
            unit.nuclearity,
            label(unit.relations[max(unit.nuclearity.find("S"), 0)]),
        )
        for unit in units(tree)
    ]
    return Side(edus, tree, constituents)


def _pair(first: Sequence[Constituent], second: Sequence[Constituent]) -> list[Pairing]:
    """Pair by position; where empty EDUs give one position to several constituents, in their order."""
    candidates: dict[Position, list[Constituent]] = defaultdict(list)
    for constituent in second:
        candidates[constituent.position].append(constituent)
    pairings = []
    for constituent in first:
        found = candidates[constituent.position]
        pairings.append(Pairing(constituent, found.pop(0) if found else None))
    extra = {one.edus for found in candidates.values() for one in found}
    return pairings + [Pairing(None, constituent) for constituent in second if constituent.edus in extra]


def _key(constituent: Constituent, aspect: str) -> tuple[object, ...]:
    labels = {"S": (), "N": (constituent.nuclearity,), "R": (constituent.relation,)}
    return (constituent.position, *labels.get(aspect, (constituent.nuclearity, constituent.relation)))
