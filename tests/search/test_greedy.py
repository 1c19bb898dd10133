import math
from itertools import accumulate

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.errors import GenrstError
from genrst.search.beam import search_greedily
from genrst.transitions.actions import ActionSet, Reduce
from genrst.transitions.oracle import actions_of, tree_of
from tests.search.tables import Place, Scores, TableScorer, fixed, following, wild
from tests.strategies import RELATIONS, binary_trees
from tests.transitions.machine import State

torch.set_num_threads(1)
ACTIONS = ActionSet(tuple(Reduce(relation, nuclearity) for relation in RELATIONS for nuclearity in ("NN", "NS", "SN")))
NUMBERS = ACTIONS.numbers()
N_LABELS = len(ACTIONS.labels)


@settings(deadline=None)
@given(st.lists(binary_trees(), min_size=1, max_size=4))
def test_the_one_likely_tree_is_found(trees):
    """Each document has its own tree, whose actions are a little likelier than all others."""
    table = following(*([NUMBERS[action] for action in actions_of(tree)] for tree in trees))
    parses = search_greedily(TableScorer([tree.stop for tree in trees], table, N_LABELS))
    assert [tree_of(ACTIONS[number] for number in parse.actions) for parse in parses] == trees


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_every_step_takes_the_best_legal_action(n_edus):
    """Against a machine that does one document after the other, one action at a time."""
    parses = search_greedily(TableScorer(n_edus, wild(), N_LABELS))
    for document, (size, parse) in enumerate(zip(n_edus, parses, strict=True)):
        state, actions, total = State(size), list[int](), 0.0
        while not state.is_complete:
            is_legal = (state.can_generate, *([state.can_reduce] * N_LABELS))
            logp = list(wild()(Place(document, tuple(actions), is_legal)).actions)
            actions.append(logp.index(max(logp)))
            total += max(logp)
            state = state.apply(ACTIONS[actions[-1]])
        assert parse.actions == tuple(actions)
        assert parse.action_logp == pytest.approx(total, abs=1e-9)
        assert parse.word_logp == 0, "words are not scored"
        assert parse.logp == parse.action_logp
        assert tree_of(ACTIONS[number] for number in parse.actions) == state.tree
        assert len(parse.actions) == 2 * size - 1


def test_generating_first_or_reducing_first():
    """The first of the labels, which are all equally likely here."""
    first, last = (search_greedily(TableScorer([4], fixed(gen, 0.0, 0.0, 0.0), 3))[0] for gen in (9.0, -9.0))
    assert first.actions == (0, 0, 0, 0, 1, 1, 1)
    assert last.actions == (0, 0, 1, 0, 1, 0, 1)


def test_unlikely_words_do_not_keep_edus_from_being_generated():
    likes_to_generate = fixed(1.0, 0.0, 0.0)
    (parse,) = search_greedily(TableScorer([5], lambda place: Scores(likes_to_generate(place).actions, -99.0)))
    assert parse.actions[:5] == (0,) * 5


def test_a_forced_computation_is_certain():
    """One EDU leaves nothing to choose."""
    (parse,) = search_greedily(TableScorer([1], wild()))
    assert parse.actions == (0,)
    assert parse.action_logp == pytest.approx(0, abs=1e-12)


def test_long_documents():
    """No bound on the stack: all EDUs are on it before the first reduction."""
    (parse,) = search_greedily(TableScorer([1000], fixed(1.0, 0.0, 0.0)))
    assert len(parse.actions) == 1999
    assert max(accumulate(1 if action == 0 else -1 for action in parse.actions)) == 1000


def test_scores_that_are_no_numbers_are_an_error_and_no_endless_loop():
    with pytest.raises(GenrstError, match="log-probability of an action must be a number, was: nan"):
        search_greedily(TableScorer([3], lambda place: Scores([math.nan] * 3)))
