"""The two kinds of action, and the numbers that a model gives them (Table 1 of the paper).

GEN generates the next EDU and pushes it. RE(r, n) pops the top two units and pushes one that joins them by the
relation r with nuclearity n.

The state of the machine: a stack of units and how many EDUs have been generated.

States are persistent: an action gives a new state that shares the stack below with the old one, so that the beams of
a search can hold thousands of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from genrst.errors import TreeError
from genrst.trees.node import Leaf, Tree, Unit, units

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

    def numbers(self) -> dict[Action, int]:
        """The number of every action."""
        return {self[number]: number for number in range(len(self))}


@dataclass(frozen=True, slots=True)
class Stack:
    """The topmost unit and the stack below it."""

    top: Tree
    below: "Stack | None"
    size: int


@dataclass(frozen=True, slots=True)
class State:
    """A configuration ⟨S, B⟩ for a document of `n_edus`; the buffer B is the first `n_generated` EDUs."""

    n_edus: int
    n_generated: int = 0
    stack: Stack | None = None

    @property
    def size(self) -> int:
        """|S|, the number of units on the stack."""
        return self.stack.size if self.stack else 0

    @property
    def can_generate(self) -> bool:
        """Whether GEN is legal: |B| < m."""
        return self.n_generated < self.n_edus

    @property
    def can_reduce(self) -> bool:
        """Whether RE is legal: |S| ≥ 2."""
        return self.size >= 2

    @property
    def is_complete(self) -> bool:
        """Whether all EDUs are generated and one tree is left."""
        return not self.can_generate and self.size == 1

    @property
    def tree(self) -> Tree:
        """The finished tree."""
        if self.stack is None or not self.is_complete:
            raise TreeError(f"a computation must end with one tree, was: {self.size} units on the stack")
        return self.stack.top

    def units(self) -> Iterator[Tree]:
        """The units on the stack, from the top down."""
        stack = self.stack
        while stack is not None:
            yield stack.top
            stack = stack.below

    def apply(self, action: Action) -> "State":
        """The state after an action, which must be legal."""
        match action:
            case Generate():
                if not self.can_generate:
                    raise TreeError(f"GEN must have an EDU left to generate, was: all {self.n_edus} generated")
                pushed = Stack(Leaf(self.n_generated), self.stack, self.size + 1)
                return State(self.n_edus, self.n_generated + 1, pushed)
            case Reduce(relation, nuclearity):
                if self.stack is None or self.stack.below is None:
                    raise TreeError(f"{action} must have two units on the stack, was: {self.size}")
                right, below = self.stack.top, self.stack.below
                unit = Unit(relation, nuclearity, (below.top, right))
                return State(self.n_edus, self.n_generated, Stack(unit, below.below, self.size - 1))
