"""What is reported as fallen, against bookkeeping by hand. The traces of bags and action beams are in `test_beam`."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.search.beam import BeamOptions, search_beams
from genrst.search.hypotheses import Beams
from genrst.search.literal import Machine, State, search_words_literally
from genrst.search.results import Fallen, Found, Parse
from genrst.search.scorer import Scorer
from genrst.search.successors import Chosen
from genrst.search.trace import trace_places, trace_successors
from genrst.search.word import WordOptions, search_words
from tests.model.test_network import KINDS
from tests.search.gpu_way import DenseScorer, take_gpu_way
from tests.search.networks import random_model
from tests.search.tables import Place, Scores, TableScorer, fixed, wild
from tests.search.test_beam import assert_same_trace, every_level
from tests.search.test_searches import assert_same
from tests.search.test_word import SIZES

torch.set_num_threads(1)


def ranked(states: list[State]) -> list[State]:
    return sorted(states, key=lambda state: -state.logp)


def cut(states: list[State], k: int, trace: list[Fallen]) -> list[State]:
    """The k best; the others fall."""
    best = ranked(states)
    for state in best[k:]:
        n_reduced = len(state.actions) - state.n_generated
        trace.append(Fallen(state.n_generated, n_reduced, state.logp, best[k - 1].logp))
    return best[:k]


def search_with_trace(scorer: Scorer, k: int, k_w: int, k_s: int) -> tuple[list[Parse], list[Fallen]]:
    """`search_words_literally`, with a record of what did not fit into its beams."""
    machine, trace = Machine(scorer), list[Fallen]()
    current, complete = [State()], list[State]()
    while current:
        waiting: list[State] = []
        while current and len(waiting) < k_w and len(complete) < k:
            successors = [after for state in current for after in machine.successors(state)]
            position = current[0].n_generated
            fast = ranked([after for after in successors if after.n_generated > position])[:k_s]
            kept = [*fast, *cut([after for after in successors if after not in fast], k, trace)]
            complete += [after for after in kept if machine.is_complete(after)]
            going_on = [after for after in kept if not machine.is_complete(after)]
            waiting += [after for after in going_on if after.n_generated > position]
            current = [after for after in going_on if after.n_generated == position]
        current = cut(waiting, k_w, trace)
    return [state.parse for state in ranked(complete)[:k]], trace


@pytest.mark.parametrize(("k", "k_w", "k_s"), SIZES)
@pytest.mark.parametrize(("n_edus", "n_labels"), [(1, 2), (2, 1), (5, 3), (12, 2)])
@pytest.mark.parametrize("waits", [True, False])
def test_the_trace_of_word_beams_is_what_the_literal_ones_leave_out(k, k_w, k_s, n_edus, n_labels, waits, monkeypatch):
    table = wild(seed=n_edus)
    parses, expected = search_with_trace(TableScorer([n_edus], table, n_labels), k, k_w, k_s)
    assert parses == search_words_literally(TableScorer([n_edus], table, n_labels), k, k_w, k_s), "a true record"
    assert (len(expected) > n_edus) == (n_edus >= 5)
    if not waits:
        take_gpu_way(monkeypatch)
    scorer = (TableScorer if waits else DenseScorer)([n_edus], table, n_labels)
    (found,) = search_words(scorer, WordOptions(k, k_w, k_s, with_trace=True))
    assert_same_trace(found.trace, expected)
    assert_same(found.parses, parses)
    assert all(fallen.logp < fallen.kept_logp for fallen in found.trace)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "k_w", "k_s"), [(3, 2, 1), (8, 8, 2)])
def test_the_trace_of_word_beams_with_networks(kind, k, k_w, k_s):
    model = random_model(kind, [11], seed=k, n_labels=3)
    _, expected = search_with_trace(model.scorer(), k, k_w, k_s)
    (found,) = search_words(model.scorer(), WordOptions(k, k_w, k_s, with_trace=True))
    assert_same_trace(found.trace, expected)
    assert len(expected) > 20


@pytest.mark.parametrize("waits", [True, False])
def test_traces_of_word_beams_stay_with_their_documents(waits, monkeypatch):
    """Of documents that go on at different paces."""
    sizes, options = [9, 1, 5, 9], WordOptions(4, 3, 1, with_trace=True)
    tables = (wild(), wild(), fixed(4.0, 0.0, 0.1), wild(seed=1))

    def table(place: Place) -> Scores:
        return tables[place.document](place)

    if not waits:
        take_gpu_way(monkeypatch)
    kind = TableScorer if waits else DenseScorer
    together = search_words(kind(sizes, table), options)
    assert [len(found.trace) > 0 for found in together] == [True, False, True, True]
    for document, size in enumerate(sizes):

        def alone_table(place: Place, document: int = document) -> Scores:
            return table(place._replace(document=document))

        (alone,) = search_words(kind([size], alone_table), options)
        assert_same_trace(together[document].trace, alone.trace)
        (silent,) = search_words(kind([size], alone_table), WordOptions(4, 3, 1))
        assert not silent.trace, "if not asked"
        assert silent.parses == alone.parses


@every_level
@pytest.mark.parametrize(("k", "max_stack"), [(1, None), (3, 4), (6, None)])
def test_the_way_of_a_gpu_traces_the_same(level, k, max_stack, monkeypatch):
    sizes, options = [9, 1, 5, 3], BeamOptions(k, level, max_stack=max_stack, with_trace=True)
    expected = search_beams(TableScorer(sizes, wild()), options)
    take_gpu_way(monkeypatch)
    for found, before in zip(search_beams(DenseScorer(sizes, wild()), options), expected, strict=True):
        assert_same_trace(found.trace, before.trace)
    assert len(expected[0].trace) > 10


def test_nothing_falls_off_unlimited_word_beams():
    (found,) = search_words(TableScorer([5], wild()), WordOptions(10**6, with_trace=True))
    assert found.trace == []


def test_the_trace_has_weighted_scores():
    """They are what hypotheses are compared by."""
    (found,) = search_words(TableScorer([9], wild()), WordOptions(3, word_weight=0.5, with_trace=True))
    _, expected = search_with_trace(TableScorer([9], wild(word_weight=0.5)), 3, 3, 1)
    assert_same_trace(found.trace, expected)


SCORES = st.one_of(st.just(-math.inf), st.floats(-9, 0))


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_all_places_but_the_best_are_reported(n_beams, n_places, data):
    """None that is dead, each with its own document, several beams of which may have the same."""
    documents = data.draw(st.lists(st.integers(0, 2), min_size=n_beams, max_size=n_beams))
    rows = [data.draw(st.lists(SCORES, min_size=n_places, max_size=n_places)) for _ in documents]
    n_best = data.draw(st.integers(1, n_places))
    best = [[place for _, place in sorted((-score, place) for place, score in enumerate(row))][:n_best] for row in rows]
    n_generated = torch.arange(n_beams * n_places).view(n_beams, n_places) + 100
    sizes = torch.arange(n_beams * n_places).view(n_beams, n_places) % 7
    found = [Found([]) for _ in range(3)]
    scores = torch.tensor(rows, dtype=torch.double)
    trace_places(found, torch.tensor(documents), scores, torch.tensor(best), n_generated, sizes)
    expected: list[list[Fallen]] = [[], [], []]
    for beam, (document, row) in enumerate(zip(documents, rows, strict=True)):
        for place, score in enumerate(row):
            if place not in best[beam] and score > -math.inf:
                generated, size = beam * n_places + place + 100, (beam * n_places + place) % 7
                fallen = Fallen(generated, generated - size, score, row[best[beam][-1]])
                expected[document].append(fallen)
    assert [one.trace for one in found] == expected


def test_successors_are_reported_with_their_own_counts():
    """A beam of two places, after three EDUs and one reduction, and after four EDUs."""
    two = torch.zeros(1, 2, dtype=torch.double)
    beams = Beams(torch.tensor([0]), two.long(), torch.tensor([[2, 4]]), torch.tensor([[3, 4]]), two, two)
    parents, actions = torch.tensor([[0, 1, 0, 1]]), torch.tensor([[0, 0, 1, 2]])
    offered = Chosen(parents, actions, torch.ones(1, 4).bool())
    found, scores = [Found([]), Found([])], torch.tensor([[-1.0, -4.0, -3.0, -2.0]])
    trace_successors(found, torch.tensor([1]), scores, torch.tensor([[0]]), beams, offered)
    assert found[1].trace == [Fallen(5, 0, -4.0, -1.0), Fallen(3, 2, -3.0, -1.0), Fallen(4, 1, -2.0, -1.0)]
    assert not found[0].trace
