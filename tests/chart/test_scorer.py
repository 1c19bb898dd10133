"""The scorer of parsing against the network that was trained."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
import torch

from genrst.chart.examples import Borders, ChartExample, FloatArray, boundaries
from genrst.chart.labels import IntArray
from genrst.chart.layout import make_layout
from genrst.chart.learning.network import ChartNetwork
from genrst.chart.scorer import OnnxScorer, ScoredCharts, Scorer
from tests.chart.random_networks import make_network, onnx_scorer, torch_scorer
from tests.encoder.tiny_encoders import FAST_KINDS, piece_example

every_kind = pytest.mark.parametrize("kind", FAST_KINDS)
FINE = [("reason", "cause"), ("result", "cause"), ("list", "joint")]


def scorers(seed: int, kind: str) -> tuple[ChartNetwork, OnnxScorer]:
    network = make_network(seed, FINE, kind)
    with torch.no_grad():
        # Some weights of EDUs are beyond what they are held to.
        network.spans.weights.weight.mul_(4)
    return network, onnx_scorer(network, kind)


def pooled(scorer: Scorer, example: ChartExample) -> FloatArray:
    (states,) = scorer.read([example.pieces])
    rows = np.arange(len(example.pieces))
    return scorer.pool(states, rows, example.piece_lengths, boundaries(example.kinds))


def assert_close(found: FloatArray, expected: FloatArray, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def units_of(charts: Sequence[Borders]) -> IntArray:
    """All units of charts. Shape: (units, 4)"""
    found = [(row, k, i, j) for row, borders in enumerate(charts) for i, k, j in combinations(range(len(borders)), 3)]
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def check_alike(one: ScoredCharts, other: ScoredCharts, charts: Sequence[Borders]) -> None:
    units = units_of(charts)
    row, k, i, j = units.T
    assert one.scores.dtype == other.scores.dtype == np.float32
    assert one.scores.shape == other.scores.shape
    assert one.layout.sizes == tuple(len(borders) - 1 for borders in charts)
    assert_close(one.scores[row, k, i, j], other.scores[row, k, i, j])
    for some in (units, units[::-1], units[:1], units[:0]):
        assert_close(one.label_logits(some), other.label_logits(some))
        assert one.label_logits(some).shape == (len(some), 3 + len(FINE))


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_texts_have_the_same_states_starts_and_vectors(kind: str, seed: int):
    network, ours = scorers(seed, kind)
    theirs = torch_scorer(network, kind)
    examples = [piece_example(n_edus, seed) for n_edus in (9, 1, 30)]
    texts = [example.pieces for example in examples]
    found, expected = ours.read(texts), theirs.read(texts)
    for own, other in zip(found, expected, strict=True):
        assert_close(own, other.numpy())
        assert_close(ours.start_p(own), theirs.start_p(other))
        assert ours.start_p(own).shape == (len(own), 2)
    for example in examples:
        assert_close(pooled(ours, example), pooled(theirs, example))


@every_kind
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_edus", [2, 3, 11])
def test_a_chart_has_the_same_scores(kind: str, seed: int, n_edus: int):
    network, ours = scorers(seed, kind)
    theirs, example = torch_scorer(network, kind), piece_example(n_edus, seed)
    charts = [range(n_edus + 1)]
    layout = make_layout([boundaries(example.kinds)], [(0, borders) for borders in charts])
    check_alike(ours.score(pooled(ours, example), layout), theirs.score(pooled(theirs, example), layout), charts)


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_several_charts_have_the_same_scores(kind: str, seed: int):
    """Of one document, of unlike sizes, and over blocks of EDUs."""
    network, ours = scorers(seed, kind)
    theirs, example = torch_scorer(network, kind), piece_example(12, seed)
    charts = [[0, 3, 4, 9, 12], [0, 1, 2, 3], [4, 5, 6, 7, 8, 9], [10, 11, 12]]
    layout = make_layout([boundaries(example.kinds)], [(0, borders) for borders in charts])
    edus = pooled(ours, example)
    check_alike(ours.score(edus, layout), theirs.score(edus, layout), charts)
    together = ours.score(edus, layout)
    for row, borders in enumerate(charts):
        alone = ours.score(edus, make_layout([boundaries(example.kinds)], [(0, borders)]))
        n = len(borders)
        i, k, j = np.array([*combinations(range(n), 3)]).T
        assert_close(alone.scores[0, k, i, j], together.scores[row, k, i, j], 1e-5)


@every_kind
def test_with_int8_scores_stay_near(kind: str):
    network, exact = scorers(1, kind)
    rounded, example = onnx_scorer(network, kind, "int8"), piece_example(30, 1)
    one, other = pooled(exact, example), pooled(rounded, example)
    assert np.linalg.norm(other - one) < 0.2 * np.linalg.norm(one)
    assert not np.array_equal(one, other)
    assert rounded.read([example.pieces])[0].dtype == np.float16, "states take half of the memory"


def test_edus_are_pooled_from_their_own_pieces():
    """What is in no EDU, such as a bullet, changes no vector; and neither does how many EDUs are pooled at once."""
    _, scorer = scorers(1, "bert")
    example = piece_example(9, 1)
    kinds, lengths = boundaries(example.kinds), example.piece_lengths
    (states,) = scorer.read([example.pieces])
    expected = scorer.pool(states, np.arange(len(states)), lengths, kinds)
    rows = np.arange(len(states)) + 1 + np.repeat(np.arange(9), lengths)
    spaced = np.full((rows[-1] + 2, states.shape[1]), 1e3, dtype=np.float32)
    spaced[rows] = states
    assert_close(scorer.pool(spaced, rows, lengths, kinds), expected, 1e-6)
    ends = np.append(0, np.cumsum(lengths))
    parts = [
        scorer.pool(states, np.arange(ends[first], ends[last]), lengths[first:last], kinds[first : last + 1])
        for first, last in ((0, 1), (1, 5), (5, 9))
    ]
    assert_close(np.concatenate(parts), expected, 1e-5)


def test_a_long_text_is_as_exact_as_a_short_one():
    """Means are differences of running sums: at the end of a text they are still those of the EDUs alone."""
    network, scorer = scorers(2, "bert")
    theirs = torch_scorer(network)
    edus = np.random.default_rng(1).normal(size=(2000, 6)).astype(np.float32)
    kinds = np.array([2] + [1] * 1999 + [6])
    charts = [[1990, 1991, 1995, 1998, 2000]]
    far = scorer.score(edus, make_layout([kinds], [(0, charts[0])]))
    near = scorer.score(edus[1990:], make_layout([kinds[1990:]], [(0, [0, 1, 5, 8, 10])]))
    check_alike(far, near, charts)
    whole = [[0, 500, 1000, 1999, 2000]]
    layout = make_layout([kinds], [(0, whole[0])])
    check_alike(scorer.score(edus, layout), theirs.score(edus, layout), whole)
