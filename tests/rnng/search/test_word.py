"""Word-level search against the literal one. What all searches share is in `test_searches`."""

import math

import pytest
import torch

from genrst.errors import GenrstError, UsageError
from genrst.rnng.search import word
from genrst.rnng.search.word import WordOptions, search_words
from tests.rnng.search.gpu_way import DenseScorer, take_gpu_way
from tests.rnng.search.literal import enumerate_all, search_words_literally
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import Place, Scores, TableScorer, constant, fixed, wild
from tests.rnng.search.test_searches import assert_same
from tests.rnng.test_network import KINDS

torch.set_num_threads(1)

SIZES = [(1, 1, 0), (1, 1, 1), (4, 4, 0), (4, 2, 1), (4, 9, 2), (10, 10, 1), (10, 3, 10), (10, 40, 3), (30, 20, 3)]


@pytest.mark.parametrize(("k", "k_w", "k_s"), SIZES)
@pytest.mark.parametrize(("n_edus", "n_labels"), [(1, 2), (2, 1), (5, 3), (12, 2), (20, 1)])
def test_word_beams_are_the_literal_ones_with_tables(k, k_w, k_s, n_edus, n_labels):
    table = wild(seed=n_edus)
    expected = search_words_literally(TableScorer([n_edus], table, n_labels), k, k_w, k_s)
    (found,) = search_words(TableScorer([n_edus], table, n_labels), WordOptions(k, k_w, k_s))
    assert_same(found.parses, expected)
    assert found.parses


@pytest.mark.parametrize(("k", "k_w", "k_s"), SIZES)
@pytest.mark.parametrize("look_steps", [1, 3, 16])
def test_word_beams_are_the_literal_ones_the_way_of_a_gpu(k, k_w, k_s, look_steps, monkeypatch):
    """Documents that are over stay quiet until the last one is, and until somebody looks."""
    sizes = [5, 1, 12, 2]
    take_gpu_way(monkeypatch)
    monkeypatch.setattr(word, "LOOK_STEPS", look_steps)
    together = search_words(DenseScorer(sizes, wild()), WordOptions(k, k_w, k_s))
    for document, (size, found) in enumerate(zip(sizes, together, strict=True)):

        def table(place: Place, document: int = document) -> Scores:
            return wild()(place._replace(document=document))

        assert_same(found.parses, search_words_literally(TableScorer([size], table), k, k_w, k_s))


@pytest.mark.parametrize(("seed", "n_edus", "k", "n_labels"), [(3, 6, 3, 2), (6, 8, 5, 2), (1, 8, 10, 3)])
def test_a_document_with_k_trees_is_done(seed, n_edus, k, n_labels):
    """In these, others of the k best would still have come."""
    expected = search_words_literally(TableScorer([n_edus], wild(seed), n_labels), k, k, 1)
    (found,) = search_words(TableScorer([n_edus], wild(seed), n_labels), WordOptions(k))
    assert_same(found.parses, expected)
    assert len(found.parses) == k


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "k_w", "k_s"), [(3, 2, 1), (8, 8, 2)])
def test_word_beams_are_the_literal_ones_with_networks(kind, k, k_w, k_s):
    model = random_model(kind, [14], seed=k, n_labels=3)
    expected = search_words_literally(model.scorer(), k, k_w, k_s)
    assert_same(search_words(model.scorer(), WordOptions(k, k_w, k_s))[0].parses, expected)


def test_documents_go_on_at_their_own_pace():
    """One likes to generate, one to reduce; neither waits for the other's beam."""
    tables = (fixed(4.0, 0.0, 0.1), fixed(-4.0, 0.0, 0.1))
    together = search_words(TableScorer([9, 9], lambda place: tables[place.document](place)), WordOptions(5))
    for found, table in zip(together, tables, strict=True):
        (alone,) = search_words(TableScorer([9], table), WordOptions(5))
        assert found.parses == alone.parses


def test_sizes_follow_from_the_first():
    assert WordOptions(100).sizes == (100, 100, 10)
    assert WordOptions(5).sizes == (5, 5, 1)
    assert WordOptions(5, word_beam=7, fast_beam=0).sizes == (5, 7, 0)


@pytest.mark.parametrize("options", [{"beam": 0}, {"word_beam": 0}, {"fast_beam": -1}])
def test_options_without_a_slot_are_errors(options):
    with pytest.raises(UsageError, match="a beam must have at least one slot"):
        WordOptions(**options)


def test_weighted_words_rank_by_the_weighted_sum():
    expected = enumerate_all(TableScorer([5], wild()))
    weighted = sorted(expected, key=lambda parse: -(parse.action_logp + 0.5 * parse.word_logp))
    assert weighted != expected
    assert_same(search_words(TableScorer([5], wild()), WordOptions(10**6, word_weight=0.5))[0].parses, weighted)
    (narrow,) = search_words(TableScorer([11], wild()), WordOptions(3, word_weight=0.5))
    (scaled,) = search_words(TableScorer([11], wild(word_weight=0.5)), WordOptions(3))
    assert [parse.actions for parse in narrow.parses] == [parse.actions for parse in scaled.parses]


@pytest.mark.slow
def test_ties_are_broken_in_order_or_at_random():
    def best(generator: torch.Generator | None) -> tuple[int, ...]:
        (found,) = search_words(TableScorer([8], constant(), n_labels=1), WordOptions(4), generator)
        return found.parses[0].actions

    assert len({best(None) for _ in range(3)}) == 1
    assert len({best(torch.Generator().manual_seed(seed)) for seed in range(20)}) > 3
    assert best(torch.Generator().manual_seed(1)) == best(torch.Generator().manual_seed(1))


@pytest.mark.parametrize("scores", [Scores([math.nan] * 3), Scores([-1.0] * 3, math.nan)])
def test_scores_that_are_no_numbers_are_an_error(scores):
    with pytest.raises(GenrstError, match="must be a number, got nan"):
        search_words(TableScorer([3], lambda place: scores), WordOptions(4))
