"""What must hold of every beam, at whatever level: agreement with the enumeration of all trees, and with the model."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from genrst.errors import GenrstError
from genrst.rnng.search import beam, word
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.hypotheses import COLLECT_STACKS, Beams, Forest, start
from genrst.rnng.search.hypotheses import Table as GrowingTable
from genrst.rnng.search.results import Parse, SearchResult
from genrst.rnng.search.scorer import Scorer
from genrst.rnng.search.word import WordOptions, search_words
from tests.rnng.search.gpu_way import DenseScorer, Waits, take_gpu_way
from tests.rnng.search.literal import enumerate_all
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import Place, Scores, Table, TableScorer, wild
from tests.rnng.test_network import KINDS

torch.set_num_threads(1)

UNLIMITED = 10**6
Search = Callable[[Scorer, int], list[SearchResult]]
SEARCHES: dict[str, Search] = {
    "bag": lambda scorer, k: search_beams(scorer, BeamOptions(k, "bag")),
    "action": lambda scorer, k: search_beams(scorer, BeamOptions(k, "action")),
    "word": lambda scorer, k: search_words(scorer, WordOptions(k)),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())


def assert_same(found: list[Parse], expected: list[Parse]) -> None:
    """The same trees in the same order, with the same parts of their probabilities."""
    assert [parse.actions for parse in found] == [parse.actions for parse in expected]
    for part in ("action_logp", "word_logp", "logp"):
        values = [getattr(parse, part) for parse in expected]
        assert [getattr(parse, part) for parse in found] == pytest.approx(values, abs=1e-9)


def n_trees(n_edus: int, n_labels: int) -> int:
    """Catalan(m − 1) shapes, and a label for every unit."""
    n_units = n_edus - 1
    n_labelled: int = n_labels**n_units
    return math.comb(2 * n_units, n_units) // n_edus * n_labelled


SMALL = [(n_edus, n_labels) for n_edus in range(1, 7) for n_labels in (1, 2, 3) if n_trees(n_edus, n_labels) < 3000]


@pytest.mark.slow
@pytest.mark.parametrize(("n_edus", "n_labels"), SMALL)
def test_unlimited_beams_are_exhaustive_with_tables(n_edus, n_labels):
    table = wild(seed=10 * n_edus + n_labels)
    expected = enumerate_all(TableScorer([n_edus], table, n_labels))
    assert len(expected) == n_trees(n_edus, n_labels)
    for search in SEARCHES.values():
        assert_same(search(TableScorer([n_edus], table, n_labels), UNLIMITED)[0].parses, expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_edus", "seed"), [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5)])
def test_unlimited_beams_are_exhaustive_with_networks(kind, n_edus, seed):
    model = random_model(kind, [n_edus], seed)
    expected = enumerate_all(model.scorer())
    assert len(expected) == n_trees(n_edus, 2)
    for search in SEARCHES.values():
        assert_same(search(model.scorer(), UNLIMITED)[0].parses, expected)


@pytest.mark.slow
@every_search
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_double", [True, False])
def test_probabilities_are_the_network_s_own(search, kind, is_double):
    model = random_model(kind, [1, 2, 7, 12, 25], seed=3, n_labels=4)
    if not is_double:
        model.network.float()
    for document, found in enumerate(search(model.scorer(), 5)):
        assert found.parses
        for parse in found.parses:
            own = model.own_logp(document, parse.actions)
            tolerance = 1e-9 if is_double else 1e-4
            assert (parse.action_logp, parse.word_logp) == pytest.approx(own, abs=tolerance)
            assert (parse.word_logp < 0) == (kind == "generative")


@every_search
def test_documents_together_are_as_alone_with_tables(search):
    sizes = [4, 1, 9, 2, 30, 9]

    def table_of(number: int) -> Table:
        return lambda place: wild(seed=5)(place._replace(document=number))

    together = search(TableScorer(sizes, wild(seed=5)), 4)
    for number, (size, found) in enumerate(zip(sizes, together, strict=True)):
        (alone,) = search(TableScorer([size], table_of(number)), 4)
        assert_same(found.parses, alone.parses)


@pytest.mark.slow
@every_search
@pytest.mark.parametrize("kind", KINDS)
def test_documents_together_are_as_alone_with_networks(search, kind):
    model = random_model(kind, [12, 1, 5, 20, 2], seed=6, n_labels=3)
    together = search(model.scorer(), 6)
    for document, found in enumerate(together):
        (alone,) = search(model.scorer(document), 6)
        assert_same(found.parses, alone.parses)


@every_search
@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_k_best_are_distinct_and_in_order(search, k):
    for seed, found in enumerate(search(TableScorer([3, 8, 15], wild(seed=k)), k)):
        assert len(found.parses) == min(k, n_trees((3, 8, 15)[seed], 2)), "and there are k of them"
        assert len({parse.actions for parse in found.parses}) == len(found.parses)
        assert all(better.logp > worse.logp for better, worse in pairwise(found.parses))


@every_search
def test_one_edu_has_one_tree(search):
    (found,) = search(TableScorer([1], wild()), 10)
    (parse,) = found.parses
    assert parse.actions == (0,)
    assert parse.action_logp == pytest.approx(0, abs=1e-12)
    assert parse.word_logp < 0


def count_dropped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many rows are dropped and kept whenever a table is told to."""
    counts, retain = list[tuple[int, int]](), GrowingTable.retain

    def counted(table: GrowingTable, index: torch.Tensor) -> None:
        counts.append((table.n_rows - len(index), len(index)))
        retain(table, index)

    monkeypatch.setattr(GrowingTable, "retain", counted)
    return counts


@pytest.mark.slow
@every_search
def test_nothing_that_is_still_needed_is_dropped(search, monkeypatch):
    """To look at what was dropped is an error."""
    sizes = [30, 3, 17]
    expected = search(TableScorer(sizes, wild(seed=1)), 6)
    for n_stacks in (0, 60):
        monkeypatch.setitem(COLLECT_STACKS, "cpu", n_stacks)
        with monkeypatch.context() as patch:
            counts = count_dropped(patch)
            for found, before in zip(search(TableScorer(sizes, wild(seed=1)), 6), expected, strict=True):
                assert found.parses == before.parses
        n_stacks_kept = counts[-2][1]
        assert sum(n_dropped for n_dropped, _ in counts) > 10 * n_stacks_kept


@pytest.mark.slow
@every_search
def test_a_network_s_memory_is_used_again_when_collected(search, monkeypatch):
    model = random_model("generative", [25, 9], seed=2, n_labels=3)
    forests, check = list[Forest](), Forest.check

    def remembered_check(forest: Forest) -> None:
        forests.append(forest)
        check(forest)

    monkeypatch.setattr(Forest, "check", remembered_check)
    expected, without = search(model.scorer(), 5), forests[-1]
    monkeypatch.setitem(COLLECT_STACKS, "cpu", 20)
    for found, before in zip(search(model.scorer(), 5), expected, strict=True):
        assert_same(found.parses, before.parses)
    for name in ("_known_units", "_known_stacks"):
        before, after = (len(getattr(forest, name)[0]) for forest in (without, forests[-1]))
        assert after < before / 3, name


@every_search
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_finds_the_same(search, kind):
    model = random_model(kind, [12, 1, 30, 5], seed=8, n_labels=5)
    expected = search(model.scorer(), 6)
    model.network.cuda()
    for found, before in zip(search(model.scorer(), 6), expected, strict=True):
        assert_same(found.parses, before.parses)


VARIANTS: dict[str, Search] = SEARCHES | {
    "tight": lambda scorer, k: search_beams(scorer, BeamOptions(k, "bag", max_stack=3)),
    "tight action": lambda scorer, k: search_beams(scorer, BeamOptions(k, "action", max_stack=3)),
    "weighted": lambda scorer, k: search_beams(scorer, BeamOptions(k, word_weight=0.5)),
    "wordless": lambda scorer, k: search_beams(scorer, BeamOptions(k, "action", word_weight=0.0)),
    "slow words": lambda scorer, k: search_words(scorer, WordOptions(k, fast_beam=0)),
    "wide words": lambda scorer, k: search_words(scorer, WordOptions(k, word_beam=2 * k + 1, fast_beam=k)),
}
every_variant = pytest.mark.parametrize("search", VARIANTS.values(), ids=VARIANTS.keys())


def assert_same_everywhere(found: list[SearchResult], expected: list[SearchResult]) -> None:
    for one, before in zip(found, expected, strict=True):
        assert_same(one.parses, before.parses)
        assert one.is_bounded == before.is_bounded


@pytest.mark.slow
@every_variant
@pytest.mark.parametrize(
    ("k", "n_labels", "collect_stacks"), [(1, 3, 9), (1, 1, 10**6), (2, 3, 0), (7, 1, 99), (7, 3, 10**6), (40, 1, 0)]
)
def test_the_way_of_a_gpu_finds_the_same_with_tables(search, k, n_labels, collect_stacks, monkeypatch):
    """Documents that are over before others, and beams with slots that nothing fills."""
    sizes = [4, 1, 13, 2, 7]
    expected = search(TableScorer(sizes, wild(seed=k), n_labels), k)
    take_gpu_way(monkeypatch)
    monkeypatch.setitem(COLLECT_STACKS, "cpu", collect_stacks)
    counts = count_dropped(monkeypatch)
    assert_same_everywhere(search(DenseScorer(sizes, wild(seed=k), n_labels), k), expected)
    assert any(n_dropped for n_dropped, _ in counts) == (collect_stacks < 10**6)


@pytest.mark.slow
@every_variant
@pytest.mark.parametrize(
    ("kind", "k", "n_labels", "collect_stacks"),
    [
        ("generative", 1, 3, 10**6),
        ("discriminative", 6, 1, 70),
        ("discriminative", 9, 3, 10**6),
        ("generative", 20, 2, 300),
    ],
)
def test_the_way_of_a_gpu_finds_the_same_with_networks(search, kind, k, n_labels, collect_stacks, monkeypatch):
    model = random_model(kind, [12, 1, 5, 20, 3], seed=k, n_labels=n_labels)
    expected = search(model.scorer(), k)
    take_gpu_way(monkeypatch)
    monkeypatch.setitem(COLLECT_STACKS, "cpu", collect_stacks)
    assert_same_everywhere(search(model.scorer(), k), expected)


@pytest.mark.slow
@every_search
@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("is_word", [True, False])
@pytest.mark.parametrize("n_edus", [2, 40])
def test_the_way_of_a_gpu_finds_out_about_what_is_no_number(search, number, is_word, n_edus, monkeypatch):
    """At the latest at its end, which comes in any case."""

    def table(place: Place) -> Scores:
        actions, words = wild()(place)
        if place.actions != (0,):
            return Scores(actions, words)
        return Scores(actions, number) if is_word else Scores([number, *actions[1:]], words)

    take_gpu_way(monkeypatch)
    with pytest.raises(GenrstError, match="log-probability of an action must be a number, got nan or inf"):
        search(DenseScorer([n_edus, 3], table), 4)


class NoDoubles(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A device without double precision, as Apple's GPUs are."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        assert getattr(result, "dtype", None) != torch.double, func
        return result


def start_single(scorer: Scorer) -> Beams:
    with torch.utils._python_dispatch._disable_current_modes():
        beams = start(scorer)
        return beams._replace(action_logp=beams.action_logp.float(), word_logp=beams.word_logp.float())


@every_search
def test_a_device_may_have_no_doubles(search, monkeypatch):
    """Then sums are single, and with scores that are far apart trees are the same."""
    model = random_model("generative", [6, 1, 4], seed=4)
    model.network.float()
    expected = search(model.scorer(), 3)
    for module in (beam, word):
        monkeypatch.setattr(module, "start", start_single)
    scorer = model.scorer()
    with NoDoubles():  # type: ignore[no-untyped-call]
        found = search(scorer, 3)
    assert [one.parses[0].actions for one in found] == [one.parses[0].actions for one in expected]


@every_search
def test_words_too_far_apart_for_the_way_of_a_gpu_are_an_error(search, monkeypatch):
    """And no trouble for a CPU."""
    model = random_model("generative", [6, 2], seed=4)
    language_model = model.network.float().language_model
    assert language_model is not None
    for layer in (language_model.from_stack, language_model.from_decoder):
        layer.weight.data *= 200
    for document, found in enumerate(search(model.scorer(), 3)):
        for parse in found.parses:
            own = model.own_logp(document, parse.actions)
            assert (parse.action_logp, parse.word_logp) == pytest.approx(own, rel=1e-4)
            assert parse.word_logp < -150
    take_gpu_way(monkeypatch)
    with pytest.raises(GenrstError, match="must be a number, got nan or inf"):
        search(model.scorer(), 3)


@pytest.mark.slow
@every_search
@pytest.mark.parametrize("kind", KINDS)
def test_the_way_of_a_gpu_hardly_ever_waits(search, kind, monkeypatch):
    """No more for long documents than for short ones, but for the looks of word-level search whether it is over."""
    take_gpu_way(monkeypatch)
    monkeypatch.setitem(COLLECT_STACKS, "cpu", 10**6)
    counts = []
    for n_edus in (4, 30):
        scorer = random_model(kind, [n_edus, 3], n_labels=3).scorer()
        with monkeypatch.context() as patch, Waits(patch) as waits:
            search(scorer, 4)
        counts.append(waits.count)
    assert counts[0] > 0
    n_looks = 4 * 30 // word.LOOK_STEPS if search is SEARCHES["word"] else 0
    assert counts[1] <= counts[0] + n_looks
