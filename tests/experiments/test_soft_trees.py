"""Soft trees against the enumeration, and their loss against the mean of the losses of trees."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments.silver_trees.soft_trees import LEAST, make_soft_tree
from genrst.chart.examples import ChartExample, SoftTree
from genrst.chart.learning.network import ChartNetwork
from genrst.chart.learning.task import find_losses
from genrst.chart.learning.teaching import make_context, make_soft_starts
from genrst.chart.scorer import Scorer
from genrst.trees.constraints import UNCONSTRAINED, ResolvedConstraints, resolve_constraints
from tests.chart.enumeration import labelled_score, labelled_trees, log_sum
from tests.chart.random_networks import LABELS, make_charts, make_network, onnx_scorer, torch_scorer
from tests.encoder.tiny_encoders import piece_example


def by_unit(tree: SoftTree) -> dict[tuple[int, ...], dict[int, float]]:
    """The probability of each unit with each of its labels."""
    rows = zip(tree.units.tolist(), tree.p.tolist(), tree.labels.tolist(), tree.label_p.tolist(), strict=True)
    return {tuple(unit): {label: p * q for label, q in zip(labels, qs, strict=True)} for unit, p, labels, qs in rows}


def make_soft(
    networks: Sequence[tuple[ChartNetwork, float]],
    example: ChartExample,
    constraints: ResolvedConstraints = UNCONSTRAINED,
) -> SoftTree:
    scorers = [(torch_scorer(network), weight) for network, weight in networks]
    return make_soft_tree(make_context(scorers, [example] * len(networks), constraints))


def test_soft_trees_have_the_probabilities_of_all_likely_units():
    networks = [(make_network(seed=1), 1.0), (make_network(seed=2), 3.0)]
    examples = [piece_example(5, seed=1), piece_example(1, seed=2), piece_example(4, seed=3)]
    found = [make_soft(networks, example) for example in examples]
    for row, (example, tree) in enumerate(zip(examples, found, strict=True)):
        expected: dict[tuple[int, ...], dict[int, float]] = {}
        for network, weight in networks:
            scores, labels = make_charts(network, examples)
            trees = {pair: labelled_score(pair, scores[row], labels[row]) for pair in labelled_trees(example.n_edus, 3)}
            total = log_sum(trees.values())
            for (units, chosen), score in trees.items():
                for place, label in zip(units, chosen, strict=True):
                    own = expected.setdefault(place, {})
                    own[label] = own.get(label, 0) + weight / 4 * math.exp(score - total)
        likely = {unit: own for unit, own in expected.items() if sum(own.values()) > LEAST}
        assert by_unit(tree).keys() == likely.keys()
        for unit, found_p in by_unit(tree).items():
            assert found_p == pytest.approx(likely[unit], abs=1e-4)


def test_whole_sentences_have_charts_of_their_own():
    network, example = make_network(), piece_example(7, seed=1)
    tree = make_soft([(network, 1.0)], example, resolve_constraints(7, [], LABELS, [[0, 0, 0, 1, 1, 1, 1]]))
    spans = {(start, stop): 0.0 for start, _, stop in tree.units.tolist()}
    for (start, _, stop), p in zip(tree.units.tolist(), tree.p.tolist(), strict=True):
        spans[start, stop] += p
    assert [spans[0, 3], spans[3, 7], spans[0, 7]] == pytest.approx([1, 1, 1], abs=0.1)
    assert (2, 5) not in spans


@torch.no_grad()
def test_soft_segments_are_the_mean_of_the_probabilities():
    networks, examples = [make_network(seed=1), make_network(seed=2)], [piece_example(5, seed=1), piece_example(3)]
    for number, network in enumerate(networks, start=1):
        network.segments.output.weight.mul_(number / 100)
        network.segments.output.bias.mul_(0)
    # Wherever they compute.
    scorers: list[Scorer] = [torch_scorer(networks[0]), onnx_scorer(networks[1])]
    for example, found in zip(examples, make_soft_starts(scorers, examples), strict=True):
        each = [
            torch.sigmoid(one.segments(one.edu_encoder.read(one.make_batch([example]).windows))) for one in networks
        ]
        assert not np.allclose(each[0], each[1], atol=1e-3)
        np.testing.assert_allclose(found, ((each[0] + each[1]) / 2).numpy(), atol=1e-5)


@torch.no_grad()
def test_the_loss_of_a_soft_tree_is_the_mean_of_those_of_its_trees(monkeypatch: pytest.MonkeyPatch):
    """Weighted by their probabilities, and for trees and labels."""
    monkeypatch.setattr("experiments.silver_trees.soft_trees.LEAST", 0.0)
    teacher, student, example = make_network(seed=1), make_network(seed=2), piece_example(4, seed=1)
    soft = make_soft([(teacher, 1.0)], example)
    tree, label, *_ = find_losses(student, [replace(example, soft=soft)])
    theirs, ours = (make_charts(network, [example]) for network in (teacher, student))
    pairs = labelled_trees(4, 3)
    scores = [labelled_score(pair, theirs[0][0], theirs[1][0]) for pair in pairs]
    own_scores = [labelled_score(pair, ours[0][0], ours[1][0]) for pair in pairs]
    total, own_total = log_sum(scores), log_sum(own_scores)
    expected = -math.fsum(
        math.exp(score - total) * (own - own_total) for score, own in zip(scores, own_scores, strict=True)
    )
    assert float(tree + label) == pytest.approx(expected, abs=1e-3)


def test_what_teachers_left_out_does_not_drive_scores_away():
    """Scores of a student that are all lower by the same number have the same loss."""
    network, example = make_network(), piece_example(12, seed=4)
    soft = make_soft([(network, 1.0)], example)
    assert soft.p.sum() < 10.9, "something is left out"
    losses = []
    for shift in (0.0, -100.0):
        with torch.no_grad():
            network.whole.bias.add_(shift)
            losses.append(float(find_losses(network, [replace(example, soft=soft)])[0]))
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)
    assert losses[0] > 0
