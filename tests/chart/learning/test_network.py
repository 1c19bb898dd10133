"""The network against a plain one: a span at a time, a unit at a time."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import gelu

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample, boundaries
from genrst.chart.layout import make_layout
from genrst.chart.learning.network import ChartNetwork
from genrst.errors import ConfigError
from genrst.text.layout import SIZES
from tests.chart.random_networks import make_charts, make_network
from tests.encoder.tiny_encoders import piece_example


class Plain:
    """The same scores, read off the formulas."""

    def __init__(self, network: ChartNetwork, example: ChartExample) -> None:
        self.network = network
        self.kinds: list[int] = boundaries(example.kinds).tolist()
        encoder = network.edu_encoder
        states = encoder.read(network.make_batch([example]).windows)
        parts = torch.split(states, example.piece_lengths.tolist())
        pooled = [torch.cat([part.mean(0), part[0], part[-1]]) for part in parts]
        edus = torch.stack([encoder.project(encoder.norm(one)) for one in pooled])
        before, after = (torch.tensor(part) for part in (self.kinds[:-1], self.kinds[1:]))
        self.edus = edus + network.before(before) + network.after(after)

    def vector(self, start: int, stop: int) -> Tensor:
        spans = self.network.spans
        weights = spans.weights(self.edus[start:stop]).clamp(-8, 8).softmax(0)
        values = spans.values(self.edus[start:stop]).view(stop - start, spans.n_heads, -1)
        mean = (weights[..., None] * values).sum(0).flatten()
        inside = max(self.kinds[start + 1 : stop], default=0)
        size = sum(first <= stop - start for first in SIZES)
        total = spans.first(self.edus[start]) + spans.last(self.edus[stop - 1]) + spans.pooled(mean)
        total = total + spans.sizes.weight[size] + spans.inside.weight[inside]
        total = total + spans.at_start.weight[self.kinds[start]] + spans.at_stop.weight[self.kinds[stop]]
        return gelu(spans.norm(total))

    def strengths(self, start: int, split: int, stop: int) -> tuple[int, int, int]:
        left, right = (max(self.kinds[a + 1 : b], default=0) for a, b in ((start, split), (split, stop)))
        return self.kinds[split], int(self.kinds[split] > left), int(self.kinds[split] > right)

    def score(self, start: int, split: int, stop: int) -> Tensor:
        network = self.network
        product = network.left(self.vector(start, split)) @ network.right(self.vector(split, stop))
        whole = network.whole(self.vector(start, stop))[0]
        layout = network.layout_scores[self.strengths(start, split, stop)]
        score: Tensor = product / math.sqrt(network.config.split_size) + whole + layout
        return score

    def label_logp(self, start: int, split: int, stop: int) -> Tensor:
        network = self.network
        kind, left, right = self.strengths(start, split, stop)
        hidden = network.label_left(self.vector(start, split)) + network.label_right(self.vector(split, stop))
        hidden = hidden + network.label_whole(self.vector(start, stop))
        layout = network.label_layout.weight[4 * kind + 2 * left + right]
        logp: Tensor = network.labels(gelu(hidden + layout)).log_softmax(0)
        return logp


@torch.no_grad()
def test_scores_are_those_of_the_formulas():
    network = make_network()
    examples = [piece_example(n_edus, seed=n_edus) for n_edus in (7, 1, 5)]
    scores, labels = make_charts(network, examples)
    for row, example in enumerate(examples):
        plain = Plain(network, example)
        for i, k, j in combinations(range(example.n_edus + 1), 3):
            assert float(scores[row, k, i, j]) == pytest.approx(float(plain.score(i, k, j)), rel=1e-4, abs=1e-4)
            np.testing.assert_allclose(labels[row, k, i, j], plain.label_logp(i, k, j), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_charts_over_blocks_have_the_scores_of_the_chart_over_all_edus():
    network = make_network()
    examples = [piece_example(9, seed=1), piece_example(6, seed=2)]
    charts = [(0, [0, 1, 2, 3]), (1, [1, 2, 5, 6]), (0, [3, 4, 5, 6, 7]), (0, [0, 3, 7, 8, 9])]
    whole, _ = make_charts(network, examples)
    layout = make_layout([boundaries(example.kinds) for example in examples], charts)
    parts = network(network.encode(network.make_batch(examples)), layout)
    for row, (document, places) in enumerate(charts):
        for i, k, j in combinations(range(len(places)), 3):
            expected = whole[document, places[k], places[i], places[j]]
            assert float(parts.scores[row, k, i, j]) == pytest.approx(float(expected), rel=1e-4, abs=1e-4)
    assert parts.layout.sizes == (3, 3, 4, 4)


def test_layout_of_blocks():
    example = piece_example(8, seed=3)
    kinds = boundaries(example.kinds)
    borders = [0, 2, 3, 6, 7]
    layout = make_layout([boundaries(example.kinds)], [(0, borders)])
    for i, j in combinations(range(len(borders)), 2):
        assert int(layout.inside[0, i, j]) == max(kinds[borders[i] + 1 : borders[j]], default=0)


def test_heads_share_a_vector_evenly():
    with pytest.raises(ConfigError, match=r"model\.span_heads: must divide span_size .512., got 7"):
        ChartConfig(encoder="tiny", span_heads=7)


def test_a_chart_needs_an_encoder():
    with pytest.raises(ConfigError, match=r"model\.encoder: a chart needs a pretrained encoder"):
        ChartConfig()
