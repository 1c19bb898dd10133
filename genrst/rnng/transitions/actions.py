"""The actions of the paper's model (Table 1), the states between them, and the oracles for the correct actions.

GEN generates the next EDU and pushes it onto the stack. RE(r, n) pops the top two units and pushes a unit that joins
them with relation r and nuclearity n. Every binary tree has exactly one derivation, of 2m − 1 actions. For example
(Table 2 of the paper), the derivation of `(JUST NS e1 (ATTR SN e2 e3))` is GEN GEN GEN RE(ATTR, SN) RE(JUST, NS). The
dynamic oracle is not in the paper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from genrst.errors import TreeError
from genrst.trees.node import Leaf, Tree, Unit, postorder, units

NUCLEARITIES = ("NS", "SN", "NN")

GENERATE = 0
"""The number of the action GEN in every action set."""


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
    """The numbered actions of a model: GEN is 0, and the labels of RE follow in the given order."""

    labels: tuple[Reduce, ...]

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> "ActionSet":
        """Build the action set from the labels that occur in binary trees, sorted."""
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
"""The first EDU of a missing unit."""

Column = TypeVar("Column")


class States(NamedTuple, Generic[Column]):
    """Many states as columns of any kind of array: everything that the next action depends on."""

    documents: Column
    stacks: Sequence[Column]
    """The scorer's columns for each stack."""
    second: Column
    """The first EDU of the second unit on the stack; `NO_UNIT` if there is none."""
    top: Column
    """The first EDU of the topmost unit. The unit ends with the last generated EDU."""
    n_generated: Column


def actions_of(tree: Tree) -> list[Action]:
    """Return the actions that build a binary tree, bottom-up."""
    return [_action(node) for node in postorder(tree)]


def _action(node: Tree) -> Action:
    if isinstance(node, Leaf):
        return GEN
    if len(node.children) != 2:
        raise TreeError(f"only binary trees have actions, got a unit with {len(node.children)} children")
    return Reduce(node.relation, node.nuclearity)


def tree_of(actions: Iterable[Action]) -> Tree:
    """Return the tree that a complete derivation builds."""
    stack: list[Tree] = []
    n_edus = 0
    for action in actions:
        if isinstance(action, Reduce):
            if len(stack) < 2:
                raise TreeError(f"{action} needs two units on the stack, got {len(stack)}")
            stack[-2:] = [Unit(action.relation, action.nuclearity, (stack[-2], stack[-1]))]
        else:
            stack.append(Leaf(n_edus))
            n_edus += 1
    if len(stack) != 1:
        raise TreeError(f"a derivation must end with one tree, got {len(stack)} units on the stack")
    return stack[0]


class DynamicOracle:
    """Returns the correct actions in all states of a document with a gold tree. Actions are given as numbers.

    An action is correct if no gold unit that could be built before it becomes impossible. A gold unit from p to q is
    still possible if it has been built, if p has not been read yet, or if a unit on the stack starts at p and no EDU
    after q has been read. Gold units never cross, so all possible units are possible together, and at most one of GEN
    and RE is wrong:

    * GEN, if a gold unit ends with the last EDU read and starts where a unit below the topmost one starts;
    * RE, if a gold unit starts where the topmost unit starts and extends past the last EDU read.

    The label of RE is that of the gold unit with the same EDUs. If there is none, any label would be correct; the
    oracle uses the label of the gold unit that is split at the boundary between the two units.
    """

    def __init__(self, gold: Sequence[int]) -> None:
        self._labels: dict[tuple[int, int], int] = {}
        """The label of every gold unit, by start and stop."""
        self._label_at: dict[int, int] = {}
        """The label of the gold unit that is split before each EDU."""
        self._longest: dict[int, int] = {}
        """The end of the longest gold unit that starts with each EDU."""
        self.n_edus = 0
        starts: list[int] = []
        for action in gold:
            if action == GENERATE:
                starts.append(self.n_edus)
                self.n_edus += 1
            else:
                middle = starts.pop()
                self._labels[starts[-1], self.n_edus] = self._label_at[middle] = action
            self._longest[starts[-1]] = self.n_edus

    def correct_actions(self, derivation: Sequence[int]) -> list[tuple[int, int]]:
        """Return the correct actions before each step of a derivation; the same one twice if there is only one."""
        starts: list[int] = []
        n_read = 0
        found = []
        for action in derivation:
            found.append(self._correct(starts, n_read))
            if action == GENERATE:
                starts.append(n_read)
                n_read += 1
            else:
                starts.pop()
        if n_read != self.n_edus or len(starts) != 1:
            raise TreeError(
                f"a derivation must make one tree of {self.n_edus} EDUs, got {n_read} EDU(s) in {len(starts)} unit(s)"
            )
        return found

    def _correct(self, starts: list[int], n_read: int) -> tuple[int, int]:
        """Return the correct actions in a state. `starts` are the first EDUs of the units on the stack."""
        if len(starts) < 2:
            return GENERATE, GENERATE
        label = self._labels.get((starts[-2], n_read), self._label_at[starts[-1]])
        if n_read == self.n_edus or any((start, n_read) in self._labels for start in starts[:-1]):
            return label, label
        if self._longest[starts[-1]] > n_read:
            return GENERATE, GENERATE
        return GENERATE, label
