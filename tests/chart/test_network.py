"""The network against a plain one: a span at a time, a unit at a time."""

import math
from itertools import combinations

import pytest
import torch
from genrst.chart.layout import edu_boundaries, make_layout
from genrst.rnng.model_config import ChartConfig
from torch import Tensor
from torch.nn.functional import gelu

from genrst.chart.network import ChartNetwork
from genrst.errors import ConfigError
from genrst.rnng.examples import Example
from genrst.rnng.transitions.boundaries import boundaries, n_boundaries, unit_layout
from tests.chart.random_networks import make_charts, make_network
from tests.encoder.tiny_encoders import piece_example
from tests.rnng.random_examples import N_WORDS, random_example


class Plain:
    """The same scores, read off the formulas."""

    def __init__(self, network: ChartNetwork, example: Example) -> None:
        self.network = network
        self.kinds = boundaries(example.syntax, network.config.layout_kinds)
        self.kinds.append(n_boundaries(network.config.layout_kinds))
        encoder = network.edu_encoder
        states = network.read(network.make_batch([example]).read)
        parts = torch.split(states, example.piece_lengths.tolist())
        pooled = [torch.cat([part.mean(0), part[0], part[-1]]) for part in parts]
        edus = torch.stack([encoder.project(encoder.norm(one)) for one in pooled])  # type: ignore[operator]
        before, after = (torch.tensor(part) for part in (self.kinds[:-1], self.kinds[1:]))
        self.edus = edus + network.before(before) + network.after(after)

    def vector(self, start: int, stop: int) -> Tensor:
        spans = self.network.spans
        weights = spans.weights(self.edus[start:stop]).clamp(-8, 8).softmax(0)
        values = spans.values(self.edus[start:stop]).view(stop - start, spans.n_heads, -1)
        mean = (weights[..., None] * values).sum(0).flatten()
        _, inside, size = unit_layout(self.kinds, start, stop)
        total = spans.first(self.edus[start]) + spans.last(self.edus[stop - 1]) + spans.pooled(mean)
        total = total + spans.sizes.weight[size - 1] + spans.inside.weight[inside - 1]
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


@pytest.mark.parametrize("has_kinds", [False, True])
@torch.no_grad()
def test_scores_are_those_of_the_formulas(has_kinds: bool):
    network = make_network(has_kinds)
    examples = [piece_example(n_edus, seed=n_edus) for n_edus in (7, 1, 5)]
    scores, labels = make_charts(network, examples)
    for row, example in enumerate(examples):
        plain = Plain(network, example)
        for i, k, j in combinations(range(example.n_edus + 1), 3):
            torch.testing.assert_close(scores[row, k, i, j], plain.score(i, k, j), rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(labels[row, k, i, j], plain.label_logp(i, k, j), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_charts_over_blocks_have_the_scores_of_the_chart_over_all_edus():
    network = make_network()
    examples = [piece_example(9, seed=1), piece_example(6, seed=2)]
    charts = [(0, [0, 1, 2, 3]), (1, [1, 2, 5, 6]), (0, [3, 4, 5, 6, 7]), (0, [0, 3, 7, 8, 9])]
    whole, _ = make_charts(network, examples)
    layout = make_layout([edu_boundaries(example, True) for example in examples], charts)
    parts = network(network.encode(network.make_batch(examples)), layout)
    for row, (document, places) in enumerate(charts):
        for i, k, j in combinations(range(len(places)), 3):
            expected = whole[document, places[k], places[i], places[j]]
            torch.testing.assert_close(parts.scores[row, k, i, j], expected, rtol=1e-4, atol=1e-4)
    assert parts.sizes == (3, 3, 4, 4)


@torch.no_grad()
def test_edus_can_be_read_word_by_word():
    """Without a pretrained encoder; each document by itself."""
    config = ChartConfig(word_size=4, edu_size=3, span_size=8, span_heads=2, split_size=4, label_size=5)
    network = ChartNetwork(config, N_WORDS, 3).eval()
    examples = [random_example(4, seed=1), random_example(6, seed=2)]
    together = network.encode(network.make_batch(examples))
    alone = torch.cat([network.encode(network.make_batch([example])) for example in examples])
    torch.testing.assert_close(together, alone)
    assert together.shape == (10, 6)


def test_layout_of_blocks():
    example = piece_example(8, seed=3)
    kinds = boundaries(example.syntax, True)
    borders = [0, 2, 3, 6, 7]
    layout = make_layout([edu_boundaries(example, True)], [(0, borders)])
    for i, j in combinations(range(len(borders)), 2):
        assert int(layout.inside[0, i, j]) == max(kinds[borders[i] + 1 : borders[j]], default=0)


def test_heads_share_a_vector_evenly():
    with pytest.raises(ConfigError, match=r"model\.span_heads: must divide span_size, 512, was: 7"):
        ChartConfig(span_heads=7)
