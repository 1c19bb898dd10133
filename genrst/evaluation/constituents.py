"""The constituents of a tree, as the two families of metrics list them.

Parseval (Morey, Muller and Asher 2017) scores attachment decisions: a unit has the nuclearity and the relation that
hold between its children. RST-Parseval (Marcu 2000) scores nodes: each has its own role and its relation to its
sibling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from genrst.evaluation.counts import Counts, count_matches
from genrst.trees.node import Tree, units
from genrst.trees.positions import Position

ASPECTS = ("S", "N", "R", "F")
"""What must match: the span alone, also its nuclearity, also its relation, or all three."""


class Constituent(NamedTuple):
    """A labelled span, in positions that gold and predicted documents share."""

    start: int
    end: int
    nuclearity: str
    relation: str

    @property
    def span(self) -> Position:
        """Where the constituent starts and ends."""
        return self.start, self.end


ConstituentLister: TypeAlias = Callable[[Tree, Sequence[Position], Callable[[str], str]], list[Constituent]]
"""Lists the constituents of a binary tree, given where its EDUs stand and the label of each relation name."""


def parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """All units of a binary tree, the root included, each with NS, SN or NN and the relation of its children.

    That is the satellite's relation, or the left nucleus's.
    """
    return [
        Constituent(
            edus[unit.start][0],
            edus[unit.stop - 1][1],
            unit.nuclearity,
            label(unit.relations[max(unit.nuclearity.find("S"), 0)]),
        )
        for unit in units(tree)
    ]


def rst_parseval_constituents(tree: Tree, edus: Sequence[Position], label: Callable[[str], str]) -> list[Constituent]:
    """All nodes of a binary tree but the root, leaves included, with N or S and their relation or `span`."""
    return [
        Constituent(edus[child.start][0], edus[child.stop - 1][1], role, label(relation))
        for unit in units(tree)
        for child, role, relation in zip(unit.children, unit.nuclearity, unit.relations, strict=True)
    ]


@dataclass(frozen=True)
class Comparison:
    """The gold and the predicted constituents of one document."""

    gold: Sequence[Constituent]
    predicted: Sequence[Constituent]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """How many constituents agree, for each of `ASPECTS`."""
        return {
            "S": count_matches([c[:2] for c in self.gold], [c[:2] for c in self.predicted]),
            "N": count_matches([c[:3] for c in self.gold], [c[:3] for c in self.predicted]),
            "R": count_matches([(*c[:2], c[3]) for c in self.gold], [(*c[:2], c[3]) for c in self.predicted]),
            "F": count_matches(self.gold, self.predicted),
        }

    def split(self, key: Callable[[Constituent], str]) -> "dict[str, Comparison]":
        """Divide the constituents into classes; those of a class are only compared with each other."""
        parts: dict[str, tuple[list[Constituent], list[Constituent]]] = {}
        for side, constituents in enumerate((self.gold, self.predicted)):
            for constituent in constituents:
                parts.setdefault(key(constituent), ([], []))[side].append(constituent)
        return {name: Comparison(*sides) for name, sides in parts.items()}
