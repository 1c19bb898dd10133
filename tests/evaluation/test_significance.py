import warnings
from itertools import product
from random import Random

import numpy as np
import pytest

from genrst.document import Document
from genrst.errors import GenrstError
from genrst.evaluation.counts import Counts, micro
from genrst.evaluation.report import evaluate
from genrst.evaluation.significance import approximate_randomisation, compare_systems, paired_bootstrap
from tests.evaluation.samples import chain


def simulate(n_documents: int, accuracy: float, random: np.random.Generator) -> list[Counts]:
    """Documents of 20 to 60 constituents, each right with a probability that varies around `accuracy`."""
    sizes = np.random.default_rng(n_documents).integers(20, 60, n_documents)
    rates = np.clip(random.normal(accuracy, 0.1, n_documents), 0, 1)
    return [
        Counts(int(random.binomial(size, rate)), int(size), int(size)) for size, rate in zip(sizes, rates, strict=True)
    ]


def score(counts: list[Counts]) -> float:
    return micro(counts).f1


def all_swaps_p_value(first: list[Counts], second: list[Counts]) -> float:
    """The exact p-value, by trying every way to swap the two systems."""
    real = abs(score(first) - score(second))
    n_extreme = 0
    for swaps in product([False, True], repeat=len(first)):
        pairs = [(b, a) if swap else (a, b) for a, b, swap in zip(first, second, swaps, strict=True)]
        left, right = (list(side) for side in zip(*pairs, strict=True))
        n_extreme += abs(score(left) - score(right)) >= real - 1e-12
    return float(n_extreme / 2 ** len(first))


@pytest.mark.parametrize("n_documents", [1, 2, 5, 8])
def test_few_documents_are_tested_exactly(n_documents: int):
    random = np.random.default_rng(n_documents)
    first, second = simulate(n_documents, 0.5, random), simulate(n_documents, 0.55, random)
    exact = all_swaps_p_value(first, second)
    assert approximate_randomisation(first, second) == exact
    # Too few rounds for all swaps: the same up to chance.
    rounds = 2**n_documents - 1
    sampled = [approximate_randomisation(first, second, rounds=rounds, seed=seed) for seed in range(200)]
    assert np.mean(sampled) == pytest.approx(exact + (1 - exact) / (rounds + 1), abs=0.05)


def test_the_bootstrap_draws_every_sample_equally_often():
    random = np.random.default_rng(0)
    first, second = simulate(4, 0.5, random), simulate(4, 0.6, random)
    real = score(first) - score(second)
    differences = [
        score([first[number] for number in sample]) - score([second[number] for number in sample])
        for sample in product(range(4), repeat=4)
    ]
    bootstrap = paired_bootstrap(first, second, rounds=100_000, confidence=0.5)
    exact = np.mean([abs(difference - real) >= abs(real) - 1e-12 for difference in differences])
    assert bootstrap.p_value == pytest.approx(exact, abs=0.006)
    assert (bootstrap.low, bootstrap.high) == pytest.approx(np.percentile(differences, [25, 75]), abs=0.006)


def test_equal_systems_do_not_differ():
    counts = simulate(40, 0.5, np.random.default_rng(0))
    bootstrap = paired_bootstrap(counts, counts)
    assert (bootstrap.low, bootstrap.high, bootstrap.p_value) == (0, 0, 1)
    assert approximate_randomisation(counts, counts) == 1


def test_a_clearly_better_system_is_found():
    random = np.random.default_rng(0)
    better, worse = simulate(40, 0.6, random), simulate(40, 0.4, random)
    bootstrap = paired_bootstrap(better, worse)
    assert bootstrap.p_value < 0.001
    assert 0.1 < bootstrap.low < score(better) - score(worse) < bootstrap.high < 0.3
    assert approximate_randomisation(better, worse) < 0.001
    # The order of the systems turns the interval round and leaves the p-values.
    turned = paired_bootstrap(worse, better)
    assert (turned.low, turned.high, turned.p_value) == pytest.approx(
        (-bootstrap.high, -bootstrap.low, bootstrap.p_value)
    )
    assert approximate_randomisation(worse, better) < 0.001


@pytest.mark.slow
def test_p_values_are_uniform_where_there_is_no_difference():
    random = np.random.default_rng(0)
    pairs = [(simulate(30, 0.5, random), simulate(30, 0.5, random)) for _ in range(400)]
    for p_values in (
        np.sort([approximate_randomisation(*pair, rounds=400, seed=seed) for seed, pair in enumerate(pairs)]),
        np.sort([paired_bootstrap(*pair, rounds=400, seed=seed).p_value for seed, pair in enumerate(pairs)]),
    ):
        # Kolmogorov–Smirnov: for 400 values a distance above 0.0815 has probability 0.01.
        distance = np.abs(p_values - (np.arange(400) + 0.5) / 400).max()
        assert distance < 0.0815
        assert 0.02 < np.mean(p_values <= 0.05) < 0.09


def test_the_interval_covers_the_true_difference():
    random = np.random.default_rng(1)
    intervals = [
        paired_bootstrap(simulate(40, 0.6, random), simulate(40, 0.5, random), rounds=400, seed=seed)
        for seed in range(300)
    ]
    covered = np.mean([interval.low <= 0.1 <= interval.high for interval in intervals])
    assert 0.9 < covered < 0.98


def test_the_seed_decides():
    random = np.random.default_rng(0)
    first, second = simulate(30, 0.5, random), simulate(30, 0.52, random)
    assert paired_bootstrap(first, second, seed=1) == paired_bootstrap(first, second, seed=1)
    assert paired_bootstrap(first, second, seed=1) != paired_bootstrap(first, second, seed=2)
    assert approximate_randomisation(first, second, seed=1) == approximate_randomisation(first, second, seed=1)


def test_memory_is_bounded_by_working_in_blocks(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(0)
    first, second = simulate(30, 0.5, random), simulate(30, 0.55, random)
    whole = paired_bootstrap(first, second, seed=3), approximate_randomisation(first, second, seed=3)
    monkeypatch.setattr("genrst.evaluation.significance._MAX_CELLS", 1000)
    in_blocks = paired_bootstrap(first, second, seed=3), approximate_randomisation(first, second, seed=3)
    assert in_blocks[0].p_value == pytest.approx(whole[0].p_value, abs=0.02)
    assert in_blocks[1] == pytest.approx(whole[1], abs=0.02)


def corpus(accuracy: float, n_documents: int = 12) -> list[Document]:
    """Documents in which a share of the units has the relation of the gold ones."""
    random = Random(str(accuracy))
    return [
        Document.from_edus(f"d{number}", ["x"] * 6, chain("joint" if random.random() < accuracy else "cause", "NN", 6))
        for number in range(n_documents)
    ]


def test_evaluations_are_compared_by_document():
    gold = corpus(1.0)
    first, second = evaluate(gold, corpus(0.9)), evaluate(list(reversed(gold)), corpus(0.2))
    result = compare_systems(first, second, "parseval", "R")
    assert result.first == pytest.approx(first.micro()["R"].f1)
    assert result.second == pytest.approx(second.micro()["R"].f1)
    assert result.difference == pytest.approx(result.first - result.second)
    assert result.randomisation_p_value < 0.05
    assert compare_systems(first, evaluate(gold, corpus(0.2)), "parseval", "R") == result
    spans = compare_systems(first, second, "rst_parseval", "S")
    assert (spans.difference, spans.randomisation_p_value, spans.bootstrap.p_value) == (0, 1, 1)
    assert compare_systems(first, second, "segmentation").first == 1


def test_only_like_is_compared_with_like():
    gold = corpus(1.0)
    whole, part = evaluate(gold, gold), evaluate(gold[:5], gold[:5])
    with pytest.raises(GenrstError, match="same gold documents; they differ in d10"):
        compare_systems(whole, part)
    with pytest.raises(GenrstError, match="the same label set"):
        compare_systems(whole, evaluate(gold, gold, labels="fine"))


@pytest.mark.parametrize(("n_documents", "warns"), [(5, True), (9, True), (10, False)])
def test_few_documents_are_told(n_documents: int, warns: bool):
    gold = corpus(1.0)[:n_documents]
    pair = evaluate(gold, gold), evaluate(gold, corpus(0.5)[:n_documents])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compare_systems(*pair)
    assert [f"{n_documents} documents are few for a test:" in str(one.message) for one in told] == [True] * warns
