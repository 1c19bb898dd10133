"""Samples of trees against the enumeration of all trees and their probabilities."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest
import torch

from genrst.errors import GenrstError, UsageError
from genrst.rnng.search.particles import Samples, sample_trees
from genrst.rnng.search.results import Parse
from genrst.rnng.search.scorer import Scorer
from genrst.trees.constraints import ResolvedConstraints
from tests.chart.enumeration import log_sum
from tests.rnng.search.gpu_way import DenseScorer, take_gpu_way
from tests.rnng.search.literal import enumerate_all
from tests.rnng.search.networks import random_model
from tests.rnng.search.tables import Place, Scores, Table, TableScorer, wild
from tests.rnng.search.test_constrained import Case

torch.set_num_threads(1)


def without_words(seed: int) -> Table:
    # Thousands of particles ask the same.
    return cache(lambda place: Scores(wild(seed)(place).actions))


def with_words(seed: int) -> Table:
    """Words that differ, but not by so much that one tree has all of the probability, and layout that GEN generates."""

    def table(place: Place) -> Scores:
        (generate, *reduce), words = wild(seed)(place)
        return Scores([generate + words / 9, *reduce], words / 3 - 20)

    return cache(table)


def draw(
    scorer: Scorer, n: int, seed: int = 0, constraints: ResolvedConstraints | None = None, particles: int = 1
) -> Samples:
    return sample_trees(scorer, n, torch.Generator().manual_seed(seed), constraints, particles)


def posterior(parses: list[Parse]) -> dict[tuple[int, ...], float]:
    """By the actions of trees."""
    total = log_sum(parse.logp for parse in parses)
    return {parse.actions: math.exp(parse.logp - total) for parse in parses}


def distance(found: Samples, expected: dict[tuple[int, ...], float]) -> float:
    """Half of the summed differences between frequencies and probabilities."""
    counts = Counter(parse.actions for parse in found.parses)
    assert counts.keys() <= expected.keys()
    return sum(abs(counts[actions] / len(found.parses) - p) for actions, p in expected.items()) / 2


def chi_square(found: Samples, expected: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """The statistic and its degrees of freedom, with rare trees put together."""
    counts, n = Counter(parse.actions for parse in found.parses), len(found.parses)
    common = {actions: p for actions, p in expected.items() if p * n >= 10}
    pairs = [(counts[actions], p * n) for actions, p in common.items()]
    rest = n - sum(count for count, _ in pairs), n - sum(count for _, count in pairs)
    return sum((count - p) ** 2 / p for count, p in [*pairs, rest] if p > 1), len(common)


@pytest.mark.slow
def test_without_words_and_demands_samples_are_exact_and_independent():
    """Chi-square: three standard deviations above its mean, and no more."""
    expected = posterior(enumerate_all(TableScorer([4], without_words(1))))
    assert len(expected) == 40
    found = draw(TableScorer([4], without_words(1)), 2500, seed=1)
    statistic, freedom = chi_square(found, expected)
    assert freedom > 5
    assert statistic < freedom + 3 * math.sqrt(2 * freedom)
    assert found.effective_size == pytest.approx(2500)
    assert found.log_total == pytest.approx(0)
    wrong = posterior(enumerate_all(TableScorer([4], without_words(2))))
    assert chi_square(found, wrong)[0] > 10 * freedom, "the test can fail"


@pytest.mark.slow
@pytest.mark.parametrize(("n_edus", "demanded"), [(4, None), (4, 1), (5, 4), (5, 7)])
def test_with_words_or_demands_samples_come_near_the_posterior(n_edus, demanded):
    """What is demanded has 12%, 1% and 85% of the probability."""
    case = None if demanded is None else Case(n_edus, demanded)
    every = enumerate_all(TableScorer([n_edus], with_words(n_edus)))
    kept = [parse for parse in every if case is None or case.has(parse)]
    expected = posterior(kept)
    found = draw(TableScorer([n_edus], with_words(n_edus)), 1000, 2, None if case is None else case.resolved)
    noise = sum(math.sqrt(p * (1 - p) / found.effective_size) for p in expected.values()) / 2
    assert distance(found, expected) < 2 * noise
    prior = posterior([Parse(one.actions, one.action_logp, 0.0) for one in every])
    assert sum(abs(p - expected.get(actions, 0)) for actions, p in prior.items()) / 2 > 3 * noise, "the test can fail"
    assert found.log_total == pytest.approx(log_sum(parse.logp for parse in kept), abs=0.2)
    assert 50 < found.effective_size < 1000


@pytest.mark.slow
def test_samples_of_a_generative_network():
    model = random_model("generative", [4], seed=2)
    every = enumerate_all(model.scorer())
    found = draw(model.scorer(), 800)
    expected = posterior(every)
    noise = sum(math.sqrt(p * (1 - p) / found.effective_size) for p in expected.values()) / 2
    assert distance(found, expected) < 2 * noise
    own = {parse.actions: parse for parse in every}
    for parse in found.parses:
        assert parse.logp == pytest.approx(own[parse.actions].logp)


def same_with(change: Callable[[], Scorer]) -> list[tuple[int, ...]]:
    return [parse.actions for parse in draw(change(), 20, seed=5, particles=50).parses]


def test_a_seed_says_all_and_a_gpu_s_way_the_same(monkeypatch: pytest.MonkeyPatch):
    expected = same_with(lambda: TableScorer([5], with_words(0)))
    assert same_with(lambda: TableScorer([5], with_words(0))) == expected
    other = draw(TableScorer([5], with_words(0)), 20, seed=6, particles=50)
    assert [parse.actions for parse in other.parses] != expected
    take_gpu_way(monkeypatch)
    assert same_with(lambda: DenseScorer([5], with_words(0))) == expected


def test_one_edu_has_one_tree():
    found = draw(TableScorer([1], wild()), 3)
    assert [parse.actions for parse in found.parses] == [(0,)] * 3
    assert found.log_total == pytest.approx(found.parses[0].logp)


def test_what_cannot_be_drawn_is_an_error():
    with pytest.raises(GenrstError, match="every tree that was drawn has a probability of zero"):
        draw(TableScorer([3], lambda place: Scores([-1.0, -math.inf, -math.inf])), 5)
    with pytest.raises(GenrstError, match="must be a number, got nan"):
        draw(TableScorer([3], lambda place: Scores([math.nan] * 3)), 5)
    with pytest.raises(UsageError, match="the number of samples must be 1 or more, got 0"):
        draw(TableScorer([3], wild()), 0)
