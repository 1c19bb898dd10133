"""Bag-level, action-level and greedy search against the literal ones, and the diagonals that they go through."""

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import GenrstError, UsageError
from genrst.rnng.search.beam import (
    BeamOptions,
    Diagonal,
    action_diagonals,
    bag_diagonals,
    search_beams,
    search_greedily,
)
from genrst.rnng.search.results import SearchResult
from genrst.rnng.search.scorer import Scorer
from genrst.rnng.search.successors import NOWHERE
from genrst.rnng.transitions.actions import ActionSet, Reduce, actions_of, tree_of
from tests.rnng.search.literal import enumerate_all, search_actions_literally, search_bags_literally
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import Place, Scores, Table, TableScorer, constant, fixed, following, uniform, wild
from tests.rnng.search.test_searches import assert_same
from tests.rnng.test_network import KINDS
from tests.rnng.transitions.machine import State
from tests.strategies import RELATIONS, binary_trees

torch.set_num_threads(1)
CPU = torch.device("cpu")

LEVELS = ("bag", "action")
every_level = pytest.mark.parametrize("level", LEVELS)


def search(scorer: Scorer, k: int, level: str = "bag", **options: object) -> SearchResult:
    """Parse one document."""
    (found,) = search_beams(scorer, BeamOptions(k, level, **options))  # type: ignore[arg-type]
    return found


def largest_stack(actions: tuple[int, ...]) -> int:
    return max(accumulate(1 if action == 0 else -1 for action in actions))


TABLE_SIZES = [(2, 1, 3), (3, 2, 1), (6, 4, 4), (9, 1, 2), (9, 30, 2), (14, 5, 3), (30, 20, 2)]
NETWORK_SIZES = [("generative", 7, 6, 4), ("discriminative", 7, 6, 4), ("discriminative", 13, 3, 2),
                 ("generative", 20, 10, 1)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("n_edus", "k", "n_labels"), TABLE_SIZES)
def test_bags_are_the_literal_ones_with_tables(n_edus, k, n_labels):
    table = wild(seed=n_edus)
    beams = search_bags_literally(TableScorer([n_edus], table, n_labels), k)
    found = search(TableScorer([n_edus], table, n_labels), k)
    assert_same(found.parses, [state.parse for state in beams[n_edus, n_edus - 1]])


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 8])
def test_action_beams_are_the_literal_ones_with_networks(kind, k):
    model = random_model(kind, [20], seed=k, n_labels=3)
    assert_same(search(model.scorer(), k, "action").parses, search_actions_literally(model.scorer(), k))


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


@pytest.mark.slow
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
    with pytest.raises(GenrstError, match="every tree in the beam has a probability of zero"):
        search(TableScorer([4], lambda place: Scores([-1.0, -math.inf, -math.inf])), 3, level)


@every_level
@pytest.mark.parametrize("scores", [Scores([math.nan] * 3), Scores([-1.0] * 3, math.nan)])
def test_scores_that_are_no_numbers_are_an_error(level, scores):
    with pytest.raises(GenrstError, match="must be a number, got nan"):
        search(TableScorer([3], lambda place: scores), 4, level)


def test_options_without_a_slot_are_errors():
    with pytest.raises(UsageError, match="a beam must have at least one slot, got 0"):
        BeamOptions(beam=0)
    with pytest.raises(UsageError, match="a stack must have room for at least two units, got 1"):
        BeamOptions(max_stack=1)


def test_no_documents():
    assert search_beams(TableScorer([], wild()), BeamOptions()) == []


ACTIONS = ActionSet(tuple(Reduce(relation, nuclearity) for relation in RELATIONS for nuclearity in ("NN", "NS", "SN")))
NUMBERS = ACTIONS.numbers()
N_LABELS = len(ACTIONS.labels)


@pytest.mark.slow
@given(st.lists(binary_trees(), min_size=1, max_size=4))
def test_greedy_search_finds_the_one_likely_tree(trees):
    """Each document has its own tree, whose actions are a little likelier than all others."""
    table = following(*([NUMBERS[action] for action in actions_of(tree)] for tree in trees))
    parses = search_greedily(TableScorer([tree.stop for tree in trees], table, N_LABELS))
    assert [tree_of(ACTIONS[number] for number in parse.actions) for parse in parses] == trees


@pytest.mark.slow
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_every_greedy_step_takes_the_best_legal_action(n_edus):
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


@pytest.mark.slow
def test_long_documents():
    """No bound on the stack: all EDUs are on it before the first reduction."""
    (parse,) = search_greedily(TableScorer([1000], fixed(1.0, 0.0, 0.0)))
    assert len(parse.actions) == 1999
    assert largest_stack(parse.actions) == 1000


class Cell(NamedTuple):
    """The hypotheses of a document with i EDUs and j reductions."""

    document: int
    i: int
    j: int


def successors(cell: Cell, n_edus: int, max_stack: int | None) -> Iterator[Cell]:
    document, i, j = cell
    if i < n_edus and (max_stack is None or i - j < max_stack):
        yield Cell(document, i + 1, j)
    if i - j >= 2:
        yield Cell(document, i, j + 1)


def reachable(n_edus: list[int], max_stack: int | None) -> list[set[Cell]]:
    """The cells after each number of actions."""
    found = [{Cell(document, 0, 0) for document in range(len(n_edus))}]
    while found[-1]:
        found.append({after for cell in found[-1] for after in successors(cell, n_edus[cell.document], max_stack)})
    return found[1:-1]


def cell_of(diagonal: Diagonal, row: int, before: list[Cell]) -> Cell:
    """The cell that a beam is, by the cells that its hypotheses come from."""
    document = int(diagonal.documents[row])
    generates, reduces = int(diagonal.generates_from[row]), int(diagonal.reduces_from[row])
    cells = set()
    if generates != NOWHERE:
        source = before[generates]
        cells.add(Cell(source.document, source.i + 1, source.j))
    if reduces != NOWHERE:
        source = before[reduces]
        cells.add(Cell(source.document, source.i, source.j + 1))
    (cell,) = cells
    assert cell.document == document
    return cell


@pytest.mark.slow
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.one_of(st.none(), st.integers(2, 11)))
def test_bags_are_the_reachable_cells(n_edus, max_stack):
    """Each once, after as many actions as it stands for, with all cells from which it is reached as its sources."""
    before = [Cell(document, 0, 0) for document in range(len(n_edus))]
    diagonals = list(bag_diagonals(n_edus, max_stack, CPU))
    expected = reachable(n_edus, max_stack)
    assert len(diagonals) == len(expected) == 2 * max(n_edus) - 1
    for diagonal, cells in zip(diagonals, expected, strict=True):
        found = [cell_of(diagonal, row, before) for row in range(len(diagonal.documents))]
        assert len(found) == len({*found})
        assert {*found} == cells
        arrivals = {
            (source, after) for source in before for after in successors(source, n_edus[source.document], max_stack)
        }
        sources = {
            (before[number], cell)
            for column in (diagonal.generates_from, diagonal.reduces_from)
            for number, cell in zip(column.tolist(), found, strict=True)
            if number != NOWHERE
        }
        assert sources == arrivals, "so nothing that is legal is lost"
        assert_divided(diagonal, found, n_edus)
        before = [found[row] for row in diagonal.going_on.tolist()]
        may_generate = [
            any(after.i > cell.i for after in successors(cell, n_edus[cell.document], max_stack)) for cell in before
        ]
        assert may_generate == [number < diagonal.n_generating for number in range(len(before))]
    assert not before


def assert_divided(diagonal: Diagonal, cells: list[Cell], n_edus: list[int]) -> None:
    """Every beam is complete or goes on."""
    is_complete = [(cell.i, cell.j) == (n_edus[cell.document], n_edus[cell.document] - 1) for cell in cells]
    assert diagonal.complete.tolist() == [row for row, complete in enumerate(is_complete) if complete]
    assert sorted(diagonal.going_on.tolist()) == [row for row, complete in enumerate(is_complete) if not complete]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_an_action_beam_follows_itself_until_its_document_is_complete(n_edus):
    before = list(range(len(n_edus)))
    diagonals = list(action_diagonals(n_edus, CPU))
    assert len(diagonals) == 2 * max(n_edus) - 1
    for t, diagonal in enumerate(diagonals, start=1):
        documents = diagonal.documents.tolist()
        assert documents == [document for document, size in enumerate(n_edus) if t <= 2 * size - 1]
        for column in (diagonal.generates_from, diagonal.reduces_from):
            assert [before[number] for number in column.tolist()] == documents
        complete = [row for row, document in enumerate(documents) if t == 2 * n_edus[document] - 1]
        assert diagonal.complete.tolist() == complete
        assert diagonal.going_on.tolist() == [row for row in range(len(documents)) if row not in complete]
        assert diagonal.n_generating == len(diagonal.going_on), "any of them may have a hypothesis that generates"
        before = [documents[row] for row in diagonal.going_on.tolist()]
    assert not before


@pytest.mark.parametrize("n_edus", [50, 400])
def test_a_bound_keeps_the_number_of_beams_linear(n_edus):
    free, bounded = (
        sum(len(diagonal.documents) for diagonal in bag_diagonals([n_edus], max_stack, CPU)) for max_stack in (None, 10)
    )
    assert free == n_edus * (n_edus + 1) // 2
    assert bounded <= 10 * n_edus
