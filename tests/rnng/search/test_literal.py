"""The judges themselves, against counting and a calculation by hand."""

import math

import pytest
import torch

from genrst.rnng.transitions.actions import ActionSet, Reduce, tree_of
from tests.rnng.search.literal import (
    enumerate_all,
    search_actions_literally,
    search_bags_literally,
    search_words_literally,
)
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import Place, Scores, TableScorer, constant, wild
from tests.rnng.search.test_searches import n_trees

torch.set_num_threads(1)
ACTIONS = ActionSet((Reduce("a", "NN"), Reduce("b", "NS")))


@pytest.mark.parametrize("n_edus", range(1, 7))
def test_all_trees_are_there_once_and_their_probabilities_sum_to_one(n_edus):
    parses = enumerate_all(TableScorer([n_edus], wild()))
    assert len({tree_of(ACTIONS[action] for action in parse.actions) for parse in parses}) == n_trees(n_edus, 2)
    assert len(parses) == n_trees(n_edus, 2)
    assert sum(math.exp(parse.action_logp) for parse in parses) == pytest.approx(1)
    assert [parse.logp for parse in parses] == sorted((parse.logp for parse in parses), reverse=True)


def test_a_network_s_trees_sum_to_one_too():
    parses = enumerate_all(random_model("discriminative", [4], n_labels=3).scorer())
    assert len(parses) == 5 * 27
    assert sum(math.exp(parse.logp) for parse in parses) == pytest.approx(1)


# The words of the third EDU are likelier after a reduction: p = 0.4 · 0.9 = 0.36 against 0.6 · 0.5 = 0.30.
BY_HAND = {
    (): ((1.0, 0.0), 1.0),
    (0,): ((1.0, 0.0), 1.0),
    (0, 0): ((0.6, 0.4), 0.5),
    (0, 0, 1): ((1.0, 0.0), 0.9),
    (0, 0, 0): ((0.0, 1.0), 1.0),
    (0, 0, 1, 0): ((0.0, 1.0), 1.0),
    (0, 0, 0, 1): ((0.0, 1.0), 1.0),
}


def by_hand(place: Place) -> Scores:
    actions, words = BY_HAND.get(place.actions, ((1.0, 1.0), 1.0))
    return Scores([math.log(p) if p else -math.inf for p in actions], math.log(words))


def test_three_edus_by_hand():
    left, right = enumerate_all(TableScorer([3], by_hand, n_labels=1))
    assert (left.actions, right.actions) == ((0, 0, 1, 0, 1), (0, 0, 0, 1, 1))
    assert math.exp(left.logp) == pytest.approx(0.36)
    assert math.exp(right.logp) == pytest.approx(0.30)
    assert math.exp(left.action_logp) == pytest.approx(0.4)
    assert math.exp(left.word_logp) == pytest.approx(0.9)
    beams = search_bags_literally(TableScorer([3], by_hand, n_labels=1), 1)
    assert [state.actions for state in beams[3, 2]] == [left.actions]
    assert [state.actions for state in beams[2, 1]] == [(0, 0, 1)]
    assert [parse.actions for parse in search_actions_literally(TableScorer([3], by_hand, n_labels=1), 1)] == [
        left.actions
    ]
    # With a slot for what generates first, the reduction never comes to the third EDU.
    fast = search_words_literally(TableScorer([3], by_hand, n_labels=1), 1, 1, 1)
    assert [parse.actions for parse in fast] == [right.actions]


@pytest.mark.parametrize("k", [1, 4])
def test_every_bag_holds_derivations_of_its_own_counts(k):
    n_edus = 7
    beams = search_bags_literally(TableScorer([n_edus], wild()), k)
    cells = {(0, 0)} | {(i, j) for i in range(1, n_edus + 1) for j in range(i)}
    assert beams.keys() == cells
    for (i, j), beam in beams.items():
        assert 1 <= len(beam) <= k
        for state in beam:
            assert state.actions.count(0) == state.n_generated == i
            assert len(state.actions) - i == j
            assert len(state.units) == i - j


def test_without_limits_all_find_all():
    expected = enumerate_all(TableScorer([5], wild()))
    assert search_actions_literally(TableScorer([5], wild()), 10**6) == expected
    assert search_words_literally(TableScorer([5], wild()), 10**6, 10**6, 10**6) == expected
    beams = search_bags_literally(TableScorer([5], wild()), 10**6)
    assert [state.parse for state in beams[5, 4]] == expected


def test_equal_trees_are_all_found():
    parses = enumerate_all(TableScorer([6], constant(), n_labels=1))
    assert len(parses) == 42
    assert {parse.logp for parse in parses} == {-11.0}
