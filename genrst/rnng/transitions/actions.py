"""The two kinds of action, the numbers a model gives them, and the states between them (Table 1 of the paper).

GEN generates the next EDU and pushes it onto the stack. RE(r, n) pops the top two units and pushes one that joins them
by the relation r with nuclearity n. A derivation is a sequence of actions; a complete one leaves one tree on the stack.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from genrst.trees.node import Tree, units

NUCLEARITIES = ("NS", "SN", "NN")

GENERATE = 0
"""The number of GEN in every action set."""


@dataclass(frozen=True, slots=True, order=True)
class Reduce:
    """RE(r, n): join the top two units."""

    relation: str
    nuclearity: str

    def __str__(self) -> str:
        return f"RE({self.relation}, {self.nuclearity})"


@dataclass(frozen=True, slots=True)
class Generate:
    """GEN: generate the next EDU."""

    def __str__(self) -> str:
        return "GEN"


Action: TypeAlias = Generate | Reduce
GEN = Generate()


@dataclass(frozen=True, slots=True)
class ActionSet:
    """The actions of a model, numbered: GEN is 0, the labels of RE follow in the order given."""

    labels: tuple[Reduce, ...]

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> "ActionSet":
        """The labels that occur in binary trees, sorted."""
        return cls(tuple(sorted({Reduce(unit.relation, unit.nuclearity) for tree in trees for unit in units(tree)})))

    def __len__(self) -> int:
        return 1 + len(self.labels)

    def __getitem__(self, number: int) -> Action:
        return self.labels[number - 1] if number else GEN

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The relation and the nuclearity of each label."""
        return [(label.relation, label.nuclearity) for label in self.labels]

    def numbers(self) -> dict[Action, int]:
        """The number of every action."""
        return {self[number]: number for number in range(len(self))}


NO_UNIT = -1
"""The first EDU of a unit that is not there."""

Column = TypeVar("Column")


class States(NamedTuple, Generic[Column]):
    """Many states at once, in columns of any kind of array: all that the next action depends on."""

    documents: Column
    stacks: Sequence[Column]
    """What a scorer knows about each stack, in columns of its own."""
    second: Column
    """The first EDU of the second unit on the stack, `NO_UNIT` where there is none."""
    top: Column
    """The first EDU of the topmost unit, which ends with the last generated EDU."""
    n_generated: Column
