"""The state of the machine: a stack of units and how many EDUs have been generated.

States are persistent: an action gives a new state that shares the stack below with the old one, so that the beams of
a search can hold thousands of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from genrst.errors import TreeError
from genrst.transitions.actions import Action, Generate, Reduce
from genrst.trees.node import Leaf, Tree, Unit


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
