"""The transition system written out (Table 1 of the paper): states, and which actions are legal in them."""

from dataclasses import dataclass

from genrst.rnng.transitions.actions import Action, Reduce
from genrst.trees.node import Leaf, Tree, Unit


@dataclass(frozen=True)
class State:
    """A configuration ⟨S, B⟩ for a document of `n_edus`; the buffer B is the first `n_generated` EDUs."""

    n_edus: int
    n_generated: int = 0
    stack: tuple[Tree, ...] = ()

    @property
    def can_generate(self) -> bool:
        return self.n_generated < self.n_edus

    @property
    def can_reduce(self) -> bool:
        return len(self.stack) >= 2

    @property
    def is_complete(self) -> bool:
        return not self.can_generate and len(self.stack) == 1

    @property
    def tree(self) -> Tree:
        (tree,) = self.stack
        return tree

    def apply(self, action: Action) -> "State":
        """The state after a legal action."""
        if isinstance(action, Reduce):
            assert self.can_reduce
            *below, left, right = self.stack
            unit = Unit(action.relation, action.nuclearity, (left, right))
            return State(self.n_edus, self.n_generated, (*below, unit))
        assert self.can_generate
        return State(self.n_edus, self.n_generated + 1, (*self.stack, Leaf(self.n_generated)))
