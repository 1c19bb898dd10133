"""Against all trees that can still be built from a state."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import TreeError
from genrst.transitions.oracle import DynamicOracle

Units = frozenset[tuple[int, int, int]]
"""First EDU, end and label of every unit that a computation has made."""


@st.composite
def computations(draw: st.DrawFn, n_edus: int) -> tuple[int, ...]:
    """A completed computation with two labels."""
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
    return draw(computations(n_edus)), draw(computations(n_edus))


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
    """The most gold units that any computation has which goes on from a state where `made` of them are."""

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
def test_right_actions_lose_nothing_and_wrong_ones_something(pair):
    gold_actions, followed = pair
    gold, n_edus = units(gold_actions), gold_actions.count(0)
    right = DynamicOracle(gold_actions).right_actions(followed)
    starts: tuple[int, ...] = ()
    n_read = made = 0
    for action, allowed in zip(followed, right, strict=True):
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


@given(st.integers(1, 8).flatmap(computations))
def test_on_the_gold_path_the_gold_action_is_the_only_right_one(actions):
    assert DynamicOracle(actions).right_actions(actions) == [(action, action) for action in actions]


def test_a_unit_that_gold_lacks_has_the_label_of_the_border():
    """Gold: (e1 (e2 e3)); joined first are e1 and e2, which meet where the whole is parted."""
    gold, followed = (0, 0, 0, 1, 2), (0, 0, 2, 0, 2)
    assert DynamicOracle(gold).right_actions(followed) == [(0, 0), (0, 0), (0, 0), (0, 0), (2, 2)]
    assert DynamicOracle((0, 0, 1, 0, 2)).right_actions((0, 0, 0, 1, 1)) == [(0, 0), (0, 0), (1, 1), (2, 2), (2, 2)]


def test_a_computation_of_another_document():
    with pytest.raises(TreeError, match=r"^a computation must make one tree of 2 EDUs, was: 1 in 1$"):
        DynamicOracle((0, 0, 1)).right_actions((0,))
