import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import GenrstError
from genrst.search.greedy import search_greedily
from genrst.search.scorer import EMPTY_STACK, NO_UNIT, FloatArray, IntArray, Scorer
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.oracle import actions_of, tree_of
from genrst.transitions.state import State
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import RELATIONS, binary_trees

ACTIONS = ActionSet(tuple(Reduce(relation, nuclearity) for relation in RELATIONS for nuclearity in ("NN", "NS", "SN")))
NUMBERS = ACTIONS.numbers()

Table = Callable[[int, tuple[Tree, ...], int], Sequence[float]]
"""Scores of all actions, legal or not, by document, stack (from the bottom up) and number of generated EDUs."""


class TableScorer:
    """Units are trees and stacks are tuples of them; checks on the way that search says the truth about spans."""

    n_labels = len(ACTIONS.labels)

    def __init__(self, n_edus: Sequence[int], table: Table) -> None:
        self.n_edus = tuple(n_edus)
        self.table = table
        self.units: list[Tree] = []
        self.stacks: list[tuple[Tree, ...]] = [()]

    def leaves(self, documents: IntArray, edus: IntArray) -> IntArray:
        assert all(edu < self.n_edus[document] for document, edu in zip(documents, edus, strict=True))
        return self._add([Leaf(edu) for edu in edus.tolist()])

    def compose(self, left: IntArray, right: IntArray, labels: IntArray) -> IntArray:
        rows = zip(left.tolist(), right.tolist(), (ACTIONS.labels[label] for label in labels), strict=True)
        return self._add([Unit(x.relation, x.nuclearity, (self.units[a], self.units[b])) for a, b, x in rows])

    def _add(self, units: Sequence[Tree]) -> IntArray:
        self.units += units
        return np.arange(len(self.units) - len(units), len(self.units))

    def push(self, stacks: IntArray, units: IntArray) -> IntArray:
        first = len(self.stacks)
        self.stacks += [(*self.stacks[s], self.units[u]) for s, u in zip(stacks.tolist(), units.tolist(), strict=True)]
        return np.arange(first, len(self.stacks))

    def action_logp(
        self, documents: IntArray, stacks: IntArray, second: IntArray, top: IntArray, n_generated: IntArray
    ) -> FloatArray:
        rows = zip(*(column.tolist() for column in (documents, stacks, second, top, n_generated)), strict=True)
        return np.array([self._row(*row) for row in rows], dtype=np.float32)

    def _row(self, document: int, number: int, second: int, top: int, n_generated: int) -> list[float]:
        stack = self.stacks[number]
        assert (number == EMPTY_STACK) == (stack == ())
        assert top == (stack[-1].start if stack else NO_UNIT)
        assert second == (stack[-2].start if len(stack) > 1 else NO_UNIT)
        assert n_generated == (stack[-1].stop if stack else 0)
        scores = self.table(document, stack, n_generated)
        return log_softmax(scores, n_generated < self.n_edus[document], len(stack) > 1)


def log_softmax(scores: Sequence[float], can_generate: bool, can_reduce: bool) -> list[float]:
    legal = [can_generate] + [can_reduce] * (len(scores) - 1)
    total = sum(math.exp(score) for score, is_legal in zip(scores, legal, strict=True) if is_legal)
    return [s - math.log(total) if is_legal else -math.inf for s, is_legal in zip(scores, legal, strict=True)]


def scorer(n_edus: Sequence[int], table: Table) -> Scorer:
    return TableScorer(n_edus, table)


def wild_scores(document: int, stack: tuple[Tree, ...], n_generated: int) -> list[float]:
    """Any numbers, the same ones in the same state."""
    rng = random.Random(repr((document, stack, n_generated)))
    return [rng.gauss(0, 2) for _ in range(len(ACTIONS))]


@given(st.lists(binary_trees(), min_size=1, max_size=4))
def test_the_one_likely_tree_is_found(trees):
    """Each document has its own tree, whose actions are a little likelier than all others."""
    following = []
    for tree in trees:
        state, actions = State(tree.stop), {}
        for action in actions_of(tree):
            actions[tuple(state.units())[::-1], state.n_generated] = NUMBERS[action]
            state = state.apply(action)
        following.append(actions)

    def table(document: int, stack: tuple[Tree, ...], n_generated: int) -> list[float]:
        best = following[document][stack, n_generated]
        return [0.1 if number == best else 0.0 for number in range(len(ACTIONS))]

    parses = search_greedily(scorer([tree.stop for tree in trees], table))
    assert [tree_of(ACTIONS[number] for number in parse.actions) for parse in parses] == trees


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_every_step_takes_the_best_legal_action(n_edus):
    """Against a machine that does one document after the other, one action at a time."""
    parses = search_greedily(scorer(n_edus, wild_scores))
    for document, (size, parse) in enumerate(zip(n_edus, parses, strict=True)):
        state, actions, total = State(size), [], 0.0
        while not state.is_complete:
            scores = wild_scores(document, tuple(state.units())[::-1], state.n_generated)
            logp = log_softmax(scores, state.can_generate, state.can_reduce)
            actions.append(logp.index(max(logp)))
            total += max(logp)
            state = state.apply(ACTIONS[actions[-1]])
        assert parse.actions == tuple(actions)
        assert parse.action_logp == pytest.approx(total, abs=1e-4)
        assert tree_of(ACTIONS[number] for number in parse.actions) == state.tree
        assert len(parse.actions) == 2 * size - 1


def test_generating_first_or_reducing_first():
    """The first of the labels, which are all equally likely here."""
    others = [0.0] * len(ACTIONS.labels)
    first, last = (search_greedily(scorer([4], lambda *state, gen=gen: [gen, *others]))[0] for gen in (9.0, -9.0))
    assert first.actions == (0, 0, 0, 0, 1, 1, 1)
    assert last.actions == (0, 0, 1, 0, 1, 0, 1)


def test_a_forced_computation_is_certain():
    """One EDU leaves nothing to choose."""
    (parse,) = search_greedily(scorer([1], wild_scores))
    assert parse.actions == (0,)
    assert parse.action_logp == 0


def test_long_documents():
    (parse,) = search_greedily(scorer([1500], lambda *state: [1.0] + [0.0] * len(ACTIONS.labels)))
    assert len(parse.actions) == 2999


def test_scores_that_are_no_numbers_are_an_error_and_no_endless_loop():
    with pytest.raises(GenrstError, match="log-probability of an action must be a number, was: nan"):
        search_greedily(scorer([3], lambda *state: [math.nan] * len(ACTIONS)))
