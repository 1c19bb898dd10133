import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import TreeError
from genrst.transitions.actions import GEN, Action, ActionSet, Reduce, State
from genrst.transitions.oracle import actions_of, tree_of
from genrst.trees.node import Leaf, Unit
from tests.strategies import binary_trees
from tests.trees.test_node import EXAMPLE, chain


def test_the_paper_s_computation():
    actions: list[Action] = [GEN, GEN, GEN, Reduce("attribution", "SN"), Reduce("justify", "NS")]
    assert actions_of(EXAMPLE) == actions
    assert tree_of(actions) == EXAMPLE
    assert [str(action) for action in actions[2:4]] == ["GEN", "RE(attribution, SN)"]


@given(binary_trees())
def test_trees_and_actions_are_one_to_one(tree):
    actions = actions_of(tree)
    assert len(actions) == 2 * tree.stop - 1
    assert tree_of(actions) == tree


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_any_legal_computation_ends_in_a_tree(n_edus, random):
    state = State(n_edus)
    actions: list[Action] = []
    while not state.is_complete:
        legal: list[Action] = [GEN] * state.can_generate + [Reduce("joint", "NN")] * state.can_reduce
        actions.append(random.choice(legal))
        state = state.apply(actions[-1])
        assert state.size == sum(1 for _ in state.units())
    assert len(actions) == 2 * n_edus - 1
    assert actions_of(state.tree) == actions


def test_illegal_actions():
    with pytest.raises(TreeError, match="all 0 generated"):
        State(0).apply(GEN)
    with pytest.raises(TreeError, match=r"RE\(joint, NN\) must have two units on the stack, was: 1"):
        State(2).apply(GEN).apply(Reduce("joint", "NN"))
    with pytest.raises(TreeError, match="was: 2 units on the stack"):
        _ = State(2).apply(GEN).apply(GEN).tree
    with pytest.raises(TreeError, match="a unit of 3 children"):
        actions_of(Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))))


def test_states_share_the_stack_below():
    two = State(3).apply(GEN).apply(GEN)
    left, right = two.apply(GEN), two.apply(Reduce("joint", "NN"))
    assert left.stack is not None
    assert left.stack.below is two.stack
    assert two.size == 2, "an action leaves the old state as it was"
    assert right.size == 1


def test_actions_are_numbered_from_gen():
    actions = ActionSet.from_trees([EXAMPLE])
    assert actions.labels == (Reduce("attribution", "SN"), Reduce("justify", "NS"))
    assert [actions[number] for number in range(len(actions))] == [GEN, *actions.labels]
    assert all(actions[number] == action for action, number in actions.numbers().items())


def test_deep_trees():
    assert tree_of(actions_of(chain(3000))) == chain(3000)
