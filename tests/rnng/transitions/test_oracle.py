"""Trees and their actions; the dynamic oracle against all trees that can still be built from a state."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import TreeError
from genrst.rnng.transitions.actions import GEN, Action, ActionSet, DynamicOracle, Reduce, actions_of, tree_of
from genrst.trees.node import Leaf, Unit
from tests.rnng.transitions.machine import State
from tests.strategies import binary_trees
from tests.trees.test_node import EXAMPLE, chain


def test_the_paper_s_derivation():
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
def test_any_legal_derivation_ends_in_a_tree(n_edus, random):
    state = State(n_edus)
    actions: list[Action] = []
    while not state.is_complete:
        legal: list[Action] = [GEN] * state.can_generate + [Reduce("joint", "NN")] * state.can_reduce
        actions.append(random.choice(legal))
        state = state.apply(actions[-1])
    assert len(actions) == 2 * n_edus - 1
    assert actions_of(state.tree) == actions
    assert tree_of(actions) == state.tree


def test_illegal_actions():
    with pytest.raises(TreeError, match=r"RE\(joint, NN\) needs two units on the stack, got 1"):
        tree_of([GEN, Reduce("joint", "NN")])
    for actions, size in (([GEN, GEN], 2), ([], 0)):
        with pytest.raises(TreeError, match=f"must end with one tree, got {size} units on the stack"):
            tree_of(actions)
    with pytest.raises(TreeError, match="a unit with 3 children"):
        actions_of(Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))))


def test_actions_are_numbered_from_gen():
    actions = ActionSet.from_trees([EXAMPLE])
    assert actions.labels == (Reduce("attribution", "SN"), Reduce("justify", "NS"))
    assert [actions[number] for number in range(len(actions))] == [GEN, *actions.labels]
    assert all(actions[number] == action for action, number in actions.numbers().items())


def test_deep_trees():
    assert tree_of(actions_of(chain(3000))) == chain(3000)


Units = frozenset[tuple[int, int, int]]
"""First EDU, end and label of every unit that a derivation has made."""


@st.composite
def derivations(draw: st.DrawFn, n_edus: int) -> tuple[int, ...]:
    """A completed derivation with two labels."""
    actions: list[int] = []
    n_read = size = 0
    while n_read < n_edus or size > 1:
        legal = [0] * (n_read < n_edus) + [1, 2] * (size > 1)
        actions.append(draw(st.sampled_from(legal)))
        n_read, size = (n_read + 1, size + 1) if actions[-1] == 0 else (n_read, size - 1)
    return tuple(actions)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n_edus = draw(st.integers(1, 6))
    return draw(derivations(n_edus)), draw(derivations(n_edus))


def units(actions: tuple[int, ...]) -> Units:
    starts, n_read, made = [], 0, set()
    for action in actions:
        if action == 0:
            starts.append(n_read)
            n_read += 1
        else:
            starts.pop()
            made.add((starts[-1], n_read, action))
    return frozenset(made)


def most(gold: Units, n_edus: int, starts: tuple[int, ...], n_read: int, made: int) -> int:
    """The most gold units that any derivation has which goes on from a state where `made` of them are."""

    @cache
    def search(starts: tuple[int, ...], n_read: int) -> int:
        options = [0] if len(starts) == 1 and n_read == n_edus else []
        if n_read < n_edus:
            options.append(search((*starts, n_read), n_read + 1))
        if len(starts) > 1:
            gain = any((starts[-2], n_read, label) in gold for label in (1, 2))
            options.append(gain + search(starts[:-1], n_read))
        return max(options)

    return made + search(starts, n_read)


@given(pairs())
def test_correct_actions_lose_nothing_and_wrong_ones_something(pair):
    gold_actions, done = pair
    gold, n_edus = units(gold_actions), gold_actions.count(0)
    correct = DynamicOracle(gold_actions).correct_actions(done)
    starts: tuple[int, ...] = ()
    n_read = made = 0
    for action, allowed in zip(done, correct, strict=True):
        best = most(gold, n_edus, starts, n_read, made)
        if n_read < n_edus:
            assert (0 in allowed) == (most(gold, n_edus, (*starts, n_read), n_read + 1, made) == best)
        else:
            assert 0 not in allowed
        labels = {label for label in allowed if label}
        assert len(labels) <= 1
        if len(starts) > 1:
            gains = {label: (starts[-2], n_read, label) in gold for label in (1, 2)}
            values = {label: most(gold, n_edus, starts[:-1], n_read, made + gains[label]) for label in gains}
            assert bool(labels) == (max(values.values()) == best)
            assert all(values[label] == best for label in labels)
        else:
            assert not labels
        if action == 0:
            starts, n_read = (*starts, n_read), n_read + 1
        else:
            made += (starts[-2], n_read, action) in gold
            starts = starts[:-1]


@given(st.integers(1, 8).flatmap(derivations))
def test_on_the_gold_path_the_gold_action_is_the_only_correct_one(actions):
    assert DynamicOracle(actions).correct_actions(actions) == [(action, action) for action in actions]


def test_a_unit_that_gold_lacks_has_the_label_of_the_border():
    """Gold: (e1 (e2 e3)); joined first are e1 and e2, which meet where the whole is split."""
    gold, done = (0, 0, 0, 1, 2), (0, 0, 2, 0, 2)
    assert DynamicOracle(gold).correct_actions(done) == [(0, 0), (0, 0), (0, 0), (0, 0), (2, 2)]
    assert DynamicOracle((0, 0, 1, 0, 2)).correct_actions((0, 0, 0, 1, 1)) == [(0, 0), (0, 0), (1, 1), (2, 2), (2, 2)]


def test_a_derivation_of_another_document():
    with pytest.raises(TreeError, match=r"^a derivation must make one tree of 2 EDUs, got 1 EDU\(s\) in 1 unit\(s\)$"):
        DynamicOracle((0, 0, 1)).correct_actions((0,))
