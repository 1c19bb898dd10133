"""Bag-level and action-level search against the literal ones, and the options that only they have."""

import math
from itertools import accumulate

import pytest
import torch

from genrst.errors import GenrstError, UsageError
from genrst.search.beam import BeamOptions, search_beams
from genrst.search.literal import Machine, State, enumerate_all, search_actions_literally, search_bags_literally
from genrst.search.results import Fallen, Found
from genrst.search.scorer import Scorer
from tests.model.test_network import KINDS
from tests.search.networks import random_model
from tests.search.tables import Place, Scores, Table, TableScorer, constant, fixed, following, uniform, wild
from tests.search.test_searches import assert_same

torch.set_num_threads(1)

LEVELS = ("bag", "action")
every_level = pytest.mark.parametrize("level", LEVELS)


def search(scorer: Scorer, k: int, level: str = "bag", **options: object) -> Found:
    """Parse one document."""
    (found,) = search_beams(scorer, BeamOptions(k, level, **options))  # type: ignore[arg-type]
    return found


def largest_stack(actions: tuple[int, ...]) -> int:
    return max(accumulate(1 if action == 0 else -1 for action in actions))


TABLE_SIZES = [(2, 1, 3), (3, 2, 1), (6, 4, 4), (9, 1, 2), (9, 30, 2), (14, 5, 3), (30, 20, 2)]
NETWORK_SIZES = [("generative", 7, 6, 4), ("discriminative", 7, 6, 4), ("discriminative", 13, 3, 2),
                 ("generative", 30, 20, 1)]  # fmt: skip


@pytest.mark.parametrize(("n_edus", "k", "n_labels"), TABLE_SIZES)
def test_bags_are_the_literal_ones_with_tables(n_edus, k, n_labels):
    table = wild(seed=n_edus)
    beams = search_bags_literally(TableScorer([n_edus], table, n_labels), k)
    found = search(TableScorer([n_edus], table, n_labels), k)
    assert_same(found.parses, [state.parse for state in beams[n_edus, n_edus - 1]])


@pytest.mark.parametrize(("kind", "n_edus", "k", "n_labels"), NETWORK_SIZES)
def test_bags_are_the_literal_ones_with_networks(kind, n_edus, k, n_labels):
    model = random_model(kind, [n_edus], seed=n_edus, n_labels=n_labels)
    beams = search_bags_literally(model.scorer(), k)
    assert_same(search(model.scorer(), k).parses, [state.parse for state in beams[n_edus, n_edus - 1]])


@pytest.mark.parametrize(("n_edus", "k", "n_labels"), TABLE_SIZES)
def test_action_beams_are_the_literal_ones_with_tables(n_edus, k, n_labels):
    table = wild(seed=n_edus)
    expected = search_actions_literally(TableScorer([n_edus], table, n_labels), k)
    assert_same(search(TableScorer([n_edus], table, n_labels), k, "action").parses, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 8])
def test_action_beams_are_the_literal_ones_with_networks(kind, k):
    model = random_model(kind, [20], seed=k, n_labels=3)
    assert_same(search(model.scorer(), k, "action").parses, search_actions_literally(model.scorer(), k))


def fallen_from(states: list[State], k: int) -> list[Fallen]:
    """What does not fit into one beam."""
    ranked = sorted(states, key=lambda state: -state.logp)
    return [
        Fallen(state.n_generated, state.actions.count(1) + state.actions.count(2), state.logp, ranked[k - 1].logp)
        for state in ranked[k:]
    ]


def assert_same_trace(found: list[Fallen], expected: list[Fallen]) -> None:
    found, expected = (sorted(trace, key=lambda fallen: fallen.logp) for trace in (found, expected))
    assert [(f.n_generated, f.n_reduced) for f in found] == [(f.n_generated, f.n_reduced) for f in expected]
    for part in ("logp", "kept_logp"):
        assert [getattr(f, part) for f in found] == pytest.approx([getattr(f, part) for f in expected], abs=1e-9)


@pytest.mark.parametrize(("n_edus", "k"), [(4, 1), (7, 3), (12, 6)])
def test_the_trace_of_bags_is_what_the_literal_beams_leave_out(n_edus, k):
    """So all beams on the way are the same, not only the last one."""
    scorer = TableScorer([n_edus], wild())
    beams, machine = search_bags_literally(scorer, k), Machine(scorer)
    offered: dict[tuple[int, int], list[State]] = {}
    for cell, beam in beams.items():
        assert len(beam) <= k
        for state in beam:
            for after in () if cell == (n_edus, n_edus - 1) else machine.successors(state):
                n_reduced = len(after.actions) - after.n_generated
                offered.setdefault((after.n_generated, n_reduced), []).append(after)
    expected = [fallen for states in offered.values() for fallen in fallen_from(states, k)]
    assert len(expected) > n_edus
    assert_same_trace(search(TableScorer([n_edus], wild()), k, with_trace=True).trace, expected)


@pytest.mark.parametrize("k", [1, 5])
def test_the_trace_of_an_action_beam_is_what_the_literal_one_leaves_out(k):
    machine = Machine(TableScorer([8], wild()))
    beam, expected = [State()], list[Fallen]()
    for _ in range(15):
        offered = [after for state in beam for after in machine.successors(state)]
        expected += fallen_from(offered, k)
        beam = sorted(offered, key=lambda state: -state.logp)[:k]
    found = search(TableScorer([8], wild()), k, "action", with_trace=True)
    assert_same_trace(found.trace, expected)
    assert all(fallen.logp < fallen.kept_logp for fallen in found.trace)


@every_level
def test_traces_stay_with_their_documents(level):
    sizes, options = [9, 1, 5], BeamOptions(2, level, with_trace=True)
    together = search_beams(TableScorer(sizes, wild()), options)
    assert [len(found.trace) > 0 for found in together] == [True, False, True]
    for document in (0, 2):

        def table(place: Place, document: int = document) -> Scores:
            return wild()(place._replace(document=document))

        (alone,) = search_beams(TableScorer([sizes[document]], table), options)
        assert_same_trace(together[document].trace, alone.trace)
        assert not search_beams(TableScorer([sizes[document]], table), BeamOptions(2, level))[0].trace, "if not asked"


@every_level
def test_nothing_falls_off_an_unlimited_beam(level):
    assert search(TableScorer([5], wild()), 10**6, level, with_trace=True).trace == []


@every_level
def test_a_tree_that_stands_out_is_found_with_the_narrowest_beam(level):
    gold = (0, 0, 1, 0, 0, 0, 2, 1, 0, 2, 2)
    assert search(TableScorer([6], following(gold, margin=9.0)), 1, level).parses[0].actions == gold


def with_small_stacks(place: Place) -> Scores:
    """Hardly ever more than three units."""
    scores, words = wild(seed=4)(place)
    size = sum(1 if action == 0 else -1 for action in place.actions)
    return Scores([scores[0] - (60 if size >= 3 else 0), *scores[1:]], words)


@every_level
def test_a_bound_that_does_not_bind_changes_nothing(level):
    for n_edus, table, bound in ((12, wild(seed=4), 12), (12, wild(seed=4), 40), (25, with_small_stacks, 8)):
        bounded, free = (
            search(TableScorer([n_edus], table), 5, level, max_stack=max_stack) for max_stack in (bound, None)
        )
        assert bounded.parses == free.parses
        assert len(bounded.parses) == 5
        assert not bounded.is_bounded
        assert not free.is_bounded


@every_level
@pytest.mark.parametrize("n_edus", [6, 30])
def test_a_bound_that_binds_is_kept_and_reported(level, n_edus):
    """All EDUs would be generated before anything is reduced."""
    table = fixed(3.0, 0.0, 0.1)
    assert largest_stack(search(TableScorer([n_edus], table), 4, level, max_stack=None).parses[0].actions) == n_edus
    found = search(TableScorer([n_edus], table), 4, level, max_stack=5)
    assert found.is_bounded
    assert max(largest_stack(parse.actions) for parse in found.parses) == 5
    whole = search(TableScorer([n_edus], table), 4, level, max_stack=n_edus)
    assert not whole.is_bounded, "a stack of all EDUs has nothing beyond it"


def test_probabilities_under_a_bound_are_still_the_model_s():
    """GEN is no less likely where the bound forbids it, so the parts of p do not change."""
    table = wild(seed=7)
    every = {parse.actions: parse for parse in enumerate_all(TableScorer([5], table))}
    bounded = search(TableScorer([5], table), 10**6, max_stack=3).parses
    allowed = [parse for actions, parse in every.items() if largest_stack(actions) <= 3]
    assert 10 < len(allowed) < len(every)
    assert_same(bounded, sorted(allowed, key=lambda parse: -parse.logp))


@every_level
@pytest.mark.parametrize("word_weight", [0.5, 2.0])
def test_weighted_words_rank_by_the_weighted_sum(level, word_weight):
    """The parts that are returned have no weight."""
    expected = enumerate_all(TableScorer([5], wild()))
    weighted = sorted(expected, key=lambda parse: -(parse.action_logp + word_weight * parse.word_logp))
    assert weighted != expected
    assert_same(search(TableScorer([5], wild()), 10**6, level, word_weight=word_weight).parses, weighted)
    narrow = search(TableScorer([11], wild()), 3, level, word_weight=word_weight)
    scaled = search(TableScorer([11], wild(word_weight=word_weight)), 3, level)
    assert [parse.actions for parse in narrow.parses] == [parse.actions for parse in scaled.parses]
    found, unweighted = ([parse.word_logp for parse in one.parses] for one in (scaled, narrow))
    assert found == pytest.approx([word_weight * logp for logp in unweighted])


@every_level
def test_words_without_weight_are_not_scored(level):
    def table(place: Place) -> Scores:
        return Scores(wild()(place).actions, math.nan)

    found = search(TableScorer([6], table), 4, level, word_weight=0.0)
    assert {parse.word_logp for parse in found.parses} == {0.0}


@pytest.mark.parametrize(("level", "table"), [("bag", uniform()), ("bag", constant()), ("action", constant())])
def test_ties_are_broken_in_order_or_at_random(level, table: Table):
    def trees(generator: torch.Generator | None) -> tuple[tuple[int, ...], ...]:
        (found,) = search_beams(TableScorer([8], table, n_labels=1), BeamOptions(2, level), generator)
        return tuple(parse.actions for parse in found.parses)

    assert len({trees(None) for _ in range(3)}) == 1
    drawn = [trees(torch.Generator().manual_seed(seed)) for seed in range(20)]
    assert len(set(drawn)) > 3
    assert trees(torch.Generator().manual_seed(0)) == drawn[0]


@every_level
def test_impossible_trees_are_not_found(level):
    """A label that never occurs has no probability."""

    def table(place: Place) -> Scores:
        return Scores([-1.0, -2.0 - 0.1 * len(place.actions), -math.inf])

    found = search(TableScorer([4], table), 10**6, level)
    assert len(found.parses) == 5
    assert not any(2 in parse.actions for parse in found.parses)
    with pytest.raises(GenrstError, match="a tree must have a probability above zero"):
        search(TableScorer([4], lambda place: Scores([-1.0, -math.inf, -math.inf])), 3, level)


@every_level
@pytest.mark.parametrize("scores", [Scores([math.nan] * 3), Scores([-1.0] * 3, math.nan)])
def test_scores_that_are_no_numbers_are_an_error(level, scores):
    with pytest.raises(GenrstError, match="must be a number, was: nan"):
        search(TableScorer([3], lambda place: scores), 4, level)


def test_options_without_a_place_are_errors():
    with pytest.raises(UsageError, match="a beam must have a place or more, was: 0"):
        BeamOptions(beam=0)
    with pytest.raises(UsageError, match="a stack must have room for two units or more, was: 1"):
        BeamOptions(max_stack=1)


def test_no_documents():
    assert search_beams(TableScorer([], wild()), BeamOptions()) == []
