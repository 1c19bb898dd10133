"""Posteriors of several documents and networks; of one document under constraints: tests/chart/test_constraints.py."""

import math
from collections import Counter
from copy import deepcopy

import pytest
import torch

from genrst.chart.examples import LabelledUnit
from genrst.chart.inference import marginals
from genrst.chart.scorer import Scorer
from genrst.errors import UsageError
from genrst.trees.constraints import resolve_constraints
from tests.chart.enumeration import labelled_score, labelled_trees, log_sum
from tests.chart.random_networks import (
    LABELS,
    infer_examples,
    make_charts,
    make_network,
    make_posterior,
    onnx_scorer,
    torch_scorer,
)
from tests.encoder.tiny_encoders import piece_example


def test_nothing_depends_on_how_much_is_scored_at_once(monkeypatch: pytest.MonkeyPatch):
    scorer = onnx_scorer(make_network())
    for n_edus in (9, 1, 2, 14, 5):
        example = piece_example(n_edus, seed=n_edus)
        constraints = resolve_constraints(n_edus, [], LABELS, [[edu // 3 for edu in range(n_edus)]])
        found = []
        for most in (1, 300, 1 << 20):
            monkeypatch.setattr("genrst.chart.scoring.MOST_CELLS", most)
            monkeypatch.setattr("genrst.chart.posterior.MOST_LABELLED", most)
            found += infer_examples([(scorer, 1.0)], [example], [constraints])
        stop = min(2, n_edus)
        for one in found[:-1]:
            assert one.mbr() == found[-1].mbr()
            assert one.log_z == pytest.approx(found[-1].log_z, abs=1e-4)
            assert one.entropy == pytest.approx(found[-1].entropy, abs=1e-4)
            assert one.mbr_logp == pytest.approx(found[-1].mbr_logp, abs=1e-4)
            assert one.span_probability(0, stop) == pytest.approx(found[-1].span_probability(0, stop), abs=1e-5)


def test_both_scorers_say_the_same():
    """In ONNX Runtime and in PyTorch; also where they choose together."""
    network = make_network(fine=[("reason", "cause"), ("result", "cause")])
    example = piece_example(11, seed=2)
    theirs, ours = torch_scorer(network), onnx_scorer(network)
    members: list[list[tuple[Scorer, float]]] = [[(theirs, 1.0)], [(ours, 1.0)], [(theirs, 1.0), (ours, 2.0)]]
    one, other, both = (infer_examples(scorers, [example])[0] for scorers in members)
    assert one.mbr() == other.mbr() == both.mbr()
    p = [posterior.label_probability(unit) for posterior in (one, other, both) for unit in one.mbr()]
    assert p == pytest.approx(p[:10] * 3, abs=1e-4)
    assert one.log_z == pytest.approx(other.log_z, abs=1e-4)
    assert one.entropy == pytest.approx(other.entropy, abs=1e-4)
    for start in range(11):
        for stop in range(start + 1, 12):
            found = [posterior.span_probability(start, stop) for posterior in (other, both)]
            assert found == pytest.approx([one.span_probability(start, stop)] * 2, abs=1e-5)


def test_long_texts_give_memory_back(monkeypatch: pytest.MonkeyPatch):
    calls: list[None] = []
    monkeypatch.setattr("genrst.chart.posterior.give_back_memory", lambda: calls.append(None))
    monkeypatch.setattr("genrst.chart.posterior.LONG", 10)
    scorer = onnx_scorer(make_network())
    for sizes, expected in (((10,), 0), ((6, 6), 0), ((11,), 1)):
        infer_examples([(scorer, 1.0)], [piece_example(n_edus) for n_edus in sizes])
        assert len(calls) == expected


def test_charts_of_sentences_say_what_the_whole_chart_says():
    """A document whose trees cannot be enumerated: the whole chart, where spans that cut sentences are forbidden."""
    n_edus, network = 40, make_network()
    example = piece_example(n_edus, seed=3)
    groups = [edu // 4 for edu in range(n_edus)]
    constraints = resolve_constraints(n_edus, [], LABELS, [groups])
    (posterior,) = infer_examples([(onnx_scorer(network), 1.0)], [example], [constraints])
    assert len(posterior.charts) == 11
    scores, _ = make_charts(network, [example])
    starts = {edu for edu in range(n_edus + 1) if edu % 4 == 0}
    for start in range(n_edus):
        for stop in range(start + 2, n_edus + 1):
            is_inside = start // 4 == (stop - 1) // 4
            if not is_inside and not {start, stop} <= starts:
                scores[0, :, start, stop] = -math.inf
    unit_p, log_z = marginals(scores, [n_edus])
    assert posterior.log_z == pytest.approx(float(log_z[0]), abs=1e-3)
    span_p = unit_p.sum(1)[0]
    for start in range(n_edus):
        for stop in range(start + 2, n_edus + 1):
            assert posterior.span_probability(start, stop) == pytest.approx(float(span_p[start, stop]), abs=1e-4)


def test_samples_are_as_frequent_as_they_are_probable():
    posterior, scores, labels = make_posterior(3)
    pairs = labelled_trees(3, len(LABELS))
    logp = {pair: labelled_score(pair, scores, labels) for pair in pairs}
    total = log_sum(logp.values())
    expected = {pair: math.exp(score - total) for pair, score in logp.items()}
    n_samples = 4000
    drawn = posterior.sample(n_samples, seed=7)
    counts = Counter((tuple(u[:3] for u in units), tuple(u.label for u in units)) for units in drawn)
    likely = [pair for pair, p in expected.items() if p * n_samples >= 5]
    statistic = sum((counts[pair] - n_samples * expected[pair]) ** 2 / (n_samples * expected[pair]) for pair in likely)
    # The 99.9% quantile for 17 degrees of freedom; fewer have a smaller one.
    assert len(likely) <= 18 and statistic < 40.8  # noqa: PT018
    assert posterior.sample(5, seed=1) == posterior.sample(5, seed=1) != posterior.sample(5, seed=2)


def test_a_temperature_flattens():
    sharp, *_ = make_posterior(5, temperature=1.0)
    flat, *_ = make_posterior(5, temperature=4.0)
    assert flat.entropy > sharp.entropy


def test_networks_are_averaged():
    scorers, example = [onnx_scorer(make_network(seed=seed)) for seed in (1, 2)], piece_example(6, seed=1)
    alone = [infer_examples([(scorer, 1.0)], [example])[0] for scorer in scorers]
    (both,) = infer_examples([(scorers[0], 3.0), (scorers[1], 1.0)], [example])
    for start in range(6):
        for stop in range(start + 1, 7):
            mean = 0.75 * alone[0].span_probability(start, stop) + 0.25 * alone[1].span_probability(start, stop)
            assert both.span_probability(start, stop) == pytest.approx(mean, abs=1e-5)
    assert sum(both.label_probabilities(0, 6)) == pytest.approx(1)
    with pytest.raises(UsageError, match="an ensemble has no log-probabilities"):
        both.k_best(2)


def test_labels_of_a_span_given_that_it_is_a_unit():
    posterior, scores, labels = make_posterior(3)
    logp = {pair: labelled_score(pair, scores, labels) for pair in labelled_trees(3, len(LABELS))}
    total = log_sum(logp.values())
    for label, found in enumerate(posterior.label_probabilities(0, 3)):
        expected = log_sum(score for (_, chosen), score in logp.items() if chosen[0] == label) - total
        assert found == pytest.approx(math.exp(expected), abs=1e-4)
    inside, *_ = make_posterior(4, groups=[0, 0, 1, 1])
    with pytest.raises(UsageError, match=r"cannot be a unit: \[1, 3\]"):
        inside.label_probabilities(1, 3)


def test_one_edu():
    posterior, _, _ = make_posterior(1)
    assert posterior.mbr() == []
    assert [tree.units for tree in posterior.k_best(3)] == [[]]
    assert posterior.sample(2, seed=0) == [[], []]
    assert posterior.log_probability([]) == 0
    assert (posterior.entropy, posterior.span_probability(0, 1)) == (0, 1)


def test_a_tree_that_cannot_be_has_no_probability():
    posterior, _, _ = make_posterior(4, groups=[0, 0, 1, 1])
    assert posterior.log_probability([LabelledUnit(0, 1, 4, 0), LabelledUnit(1, 3, 4, 0)]) == -math.inf


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_says_the_same():
    network, examples = make_network(), [piece_example(n_edus, seed=n_edus) for n_edus in (30, 2, 17)]
    expected = infer_examples([(onnx_scorer(network), 1.0)], examples)
    found = infer_examples([(torch_scorer(deepcopy(network).to("cuda")), 1.0)], examples)
    for one, other in zip(found, expected, strict=True):
        assert one.mbr() == other.mbr()
        assert one.log_z == pytest.approx(other.log_z, abs=1e-4 * one.n_edus)
        assert one.k_best(2)[1].logp == pytest.approx(other.k_best(2)[1].logp, abs=1e-3)
