"""Trees to action sequences and back. Every binary tree has exactly one sequence, of 2m − 1 actions.

Table 2 of the paper: `(JUST NS e1 (ATTR SN e2 e3))` is GEN GEN GEN RE(ATTR, SN) RE(JUST, NS).
"""

from collections.abc import Iterable

from genrst.errors import TreeError
from genrst.transitions.actions import GEN, Action, Reduce
from genrst.transitions.state import State
from genrst.trees.node import Leaf, Tree, postorder


def actions_of(tree: Tree) -> list[Action]:
    """The actions that build a binary tree, bottom-up."""
    return [_action(node) for node in postorder(tree)]


def _action(node: Tree) -> Action:
    if isinstance(node, Leaf):
        return GEN
    if len(node.children) != 2:
        raise TreeError(f"only binary trees have actions (binarise them), was: a unit of {len(node.children)} children")
    return Reduce(node.relation, node.nuclearity)


def tree_of(actions: Iterable[Action]) -> Tree:
    """The tree that a completed computation builds."""
    actions = list(actions)
    state = State(actions.count(GEN))
    for action in actions:
        state = state.apply(action)
    return state.tree
