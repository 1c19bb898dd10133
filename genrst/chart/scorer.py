"""The scorer of a chart: from EDUs to vectors of spans, and from these to scores of units and labels.

This model is not in the paper. There is no transition system: a tree is a set of units (i, k, j), each the span [i, j)
split at k. `genrst.chart.inference` turns the scores into a distribution over trees.

The score of a unit is ⟨L·v(i, k), R·v(k, j)⟩ + w·v(i, j) + t, with a vector v for each span and a number t from a
layout table, indexed by the kind of boundary at k and by whether it is stronger than all boundaries inside the left
and inside the right span. For all units of a chart this is one batched matrix product.

The model is implemented twice: here with ONNX Runtime for parsing, and in `genrst.chart.learning.network` as a
trainable network. Tests check that both agree.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from genrst.chart.config import ChartConfig
from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray, Labels
from genrst.chart.layout import ChartLayout
from genrst.encoder.onnx import MICROSOFT, Graph, Session, in_threads
from genrst.encoder.runtime import Encoder
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.encoder.windows import WindowShape

ROWS = 1 << 10
"""The number of rows per graph call, which is fixed so that results do not depend on the number of threads."""
LARGEST_LOGIT = 8.0
"""Weights of EDUs in a span are clipped to e^±8, so that differences of running sums stay accurate."""

States = Any
"""The encoder states of the word pieces of a text: an array or a tensor. Shape: (pieces, hidden_size)"""


class ScoredCharts(Protocol):
    """The scores of several charts of a document."""

    @property
    def layout(self) -> ChartLayout:
        """The layout of the charts."""

    @property
    def scores(self) -> FloatArray:
        """The scores of units, for `genrst.chart.inference`, by chart, split, start, stop. Shape: (charts, N, N, N)"""

    def label_logits(self, units: IntArray) -> FloatArray:
        """Return the logits of label groups and fine relations of units, for `genrst.chart.labels`.

        Shape: (units, 4), as chart, split, start, stop → (units, groups + fine relations)
        """


class Scorer(Protocol):
    """The interface between parsing and a chart's network, on any device."""

    labels: Labels
    tokenizer: PieceTokenizer
    device: str

    def read(self, texts: Sequence[IntArray]) -> list[States]:
        """Return the encoder states of the word pieces of texts."""

    def start_p(self, states: States) -> FloatArray:
        """Return the probabilities that an EDU, and that a sentence, starts with each piece. Shape: → (pieces, 2)"""

    def pool(self, states: States, rows: IntArray, lengths: IntArray, kinds: IntArray) -> FloatArray:
        """Return the vectors of the EDUs of a document.

        `rows` are the pieces in EDUs, `lengths` the number of pieces per EDU, `kinds` the boundaries (`boundaries`).
        Shape: (pieces in EDUs), (EDUs), (EDUs + 1) → (EDUs, 2 · edu_size)
        """

    def score(self, edus: FloatArray, layout: ChartLayout) -> ScoredCharts:
        """Return the scores of charts over EDUs."""


class OnnxScorer:
    """A chart's network in ONNX Runtime; see `Scorer`."""

    device = "cpu"
    reload: Callable[[], Scorer] | None = None
    """A function that loads the scorer again in another process, because sessions cannot be pickled."""

    def __init__(
        self,
        config: ChartConfig,
        labels: Labels,
        tokenizer: PieceTokenizer,
        encoder: Encoder,
        weights: dict[str, FloatArray],
        shape: WindowShape,
    ) -> None:
        """`weights` are the unpacked weights of the network without its encoder."""
        self.labels, self.tokenizer = labels, tokenizer
        self._encoder, self._shape, self._n_heads = encoder, shape, config.span_heads
        self._weights = weights
        self._starts = Session(_starts_graph(weights))
        self._project = Session(_projection_graph(weights))
        self._edus = Session(_edus_graph(weights))
        self._spans = Session(_spans_graph(weights), keeps_memory=True)
        self._products = Session(_products_graph())
        self._labels = Session(_labels_graph(weights, labels), keeps_memory=True)

    def __reduce__(self) -> tuple[Callable[[], Scorer], tuple[()]]:
        if self.reload is None:
            raise TypeError("a scorer must be loaded from a folder to be pickled")
        return self.reload, ()

    def read(self, texts: Sequence[IntArray]) -> list[States]:
        """Return the encoder states of the word pieces of texts."""
        return self._encoder.read(texts, self._shape)

    def start_p(self, states: States) -> FloatArray:
        """Return the probabilities that an EDU, and that a sentence, starts with each piece. Shape: → (pieces, 2)"""
        p: FloatArray = self._starts(states.astype(np.float32, copy=False))[0]
        return p

    def pool(self, states: States, rows: IntArray, lengths: IntArray, kinds: IntArray) -> FloatArray:
        """Return the vectors of the EDUs of a document; see `Scorer`."""
        # Convert to float32, because sums over long EDUs would lose too much precision.
        own = states[rows].astype(np.float32, copy=False)
        ends = np.cumsum(lengths)
        mean = np.add.reduceat(own, ends - lengths, axis=0) / lengths[:, None].astype(np.float32)
        joined = np.concatenate([mean, own[ends - lengths], own[ends - 1]], axis=1)
        before, after = self._weights["before.weight"], self._weights["after.weight"]
        vectors: FloatArray = self._project(joined)[0] + before[kinds[:-1]] + after[kinds[1:]]
        return vectors

    def score(self, edus: FloatArray, layout: ChartLayout) -> "OnnxCharts":
        """Return the scores of charts over EDUs."""
        splits, labels = _run_rows(self._spans, *self._span_parts(edus[layout.edus], layout))
        scores = self._split_scores(splits, layout)
        return OnnxCharts(self, layout, scores, labels)

    def _span_parts(self, edus: FloatArray, layout: ChartLayout) -> tuple[FloatArray, FloatArray]:
        """Return the inputs of span vectors: sums and weighted means of their EDUs.

        Shape: (own EDUs, 2 · edu_size) → (spans, span_size) twice
        """
        first, last, values, weights = self._edus(edus)
        start, after = layout.spans[3:]
        parts = first[start] + last[after - 1]
        for name, kinds in zip(("sizes", "inside", "at_start", "at_stop"), layout.span_kinds, strict=True):
            parts += self._weights[f"spans.{name}.weight"][kinds]
        # Means are computed from differences of running sums.
        weights = np.exp(weights.clip(-LARGEST_LOGIT, LARGEST_LOGIT))[..., None]
        weighted = np.concatenate([values.reshape(len(edus), self._n_heads, -1) * weights, weights], axis=-1)
        sums = np.zeros((len(edus) + 1, *weighted.shape[1:]))
        np.cumsum(weighted, axis=0, dtype=np.float64, out=sums[1:])
        total = (sums[after] - sums[start]).astype(np.float32)
        return parts, (total[..., :-1] / total[..., -1:]).reshape(len(parts), -1)

    def _split_scores(self, splits: FloatArray, layout: ChartLayout) -> FloatArray:
        """Shape: (spans, 2 · split_size + 1) → (charts, N, N, N)"""
        size = splits.shape[1] // 2
        n_charts, n = layout.before.shape
        left, right = np.zeros((2, n_charts * n * n, size + 2), dtype=np.float32)
        whole = np.zeros((n_charts, n, n), dtype=np.float32)
        left[layout.places, :size], right[layout.places, :size] = splits[:, :size], splits[:, size:-1]
        whole.reshape(-1)[layout.places] = splits[:, -1]
        left, right = left.reshape(n_charts, n, n, -1).transpose(0, 2, 1, 3), right.reshape(n_charts, n, n, -1)
        # The layout score is part of the matrix product too: a one-hot row index times the table.
        is_stronger_left, is_stronger_right = layout.is_stronger
        left[..., size], left[..., size + 1] = ~is_stronger_left, is_stronger_left
        table = self._weights["layout_scores"]
        kinds = np.minimum(layout.before, len(table) - 1)[:, :, None]
        right[..., size:] = table.transpose(0, 2, 1)[kinds, is_stronger_right.astype(np.int64)]
        scores: FloatArray = self._products(np.ascontiguousarray(left), right.transpose(0, 1, 3, 2), whole[:, None])[0]
        return scores


@dataclass(frozen=True, slots=True)
class OnnxCharts:
    """The scores of several charts; see `ScoredCharts`."""

    scorer: OnnxScorer
    layout: ChartLayout
    scores: FloatArray
    parts: FloatArray
    """The contribution of each span to the hidden layer of labels, as the left, the right and the whole span.

    Shape: (spans, 3 · label_size)
    """

    def label_logits(self, units: IntArray) -> FloatArray:
        """See `ScoredCharts`."""
        logits: FloatArray = _run_rows(self.scorer._labels, self._hidden(units))[0]
        return logits

    def _hidden(self, units: IntArray) -> FloatArray:
        chart, split, start, stop = units.T
        numbers, size = self.layout.numbers, self.parts.shape[1] // 3
        hidden: FloatArray = self.scorer._weights["label_layout.weight"][self.layout.kinds_of_units(units)]
        for place, (first, last) in enumerate(((start, split), (split, stop), (start, stop))):
            hidden += self.parts[numbers[chart, first, last], place * size : (place + 1) * size]
        return hidden


# ONNX graphs. The names of weights are those of `genrst.chart.learning.network`.


def _linear(graph: Graph, weights: dict[str, FloatArray], value: str, *names: str) -> str:
    """Add the named linear layers, concatenated; some have no bias."""
    matrix = np.concatenate([weights[f"{name}.weight"] for name in names]).T
    zeros = [np.zeros(len(weights[f"{name}.weight"]), dtype=np.float32) for name in names]
    bias = np.concatenate([weights.get(f"{name}.bias", none) for name, none in zip(names, zeros, strict=True)])
    return graph("Gemm", value, graph.constant(matrix), graph.constant(bias))


def _normalised(graph: Graph, weights: dict[str, FloatArray], value: str, name: str) -> str:
    parts = [graph.constant(weights[f"{name}.{part}"]) for part in ("weight", "bias")]
    return graph("LayerNormalization", value, *parts, epsilon=1e-5)


def _starts_graph(weights: dict[str, FloatArray]) -> Graph:
    """Shape: (pieces, state_size) → (pieces, 2)"""
    graph = Graph()
    hidden = graph("Gelu", _linear(graph, weights, graph.input("states", 2), "segments.hidden"), domain=MICROSOFT)
    graph.output(graph("Sigmoid", _linear(graph, weights, hidden, "segments.output")), 2)
    return graph


def _projection_graph(weights: dict[str, FloatArray]) -> Graph:
    """Shape: (EDUs, 3 · state_size) → (EDUs, 2 · edu_size)"""
    graph = Graph()
    states = _normalised(graph, weights, graph.input("states", 2), "edu_encoder.norm")
    graph.output(_linear(graph, weights, states, "edu_encoder.project"), 2)
    return graph


def _edus_graph(weights: dict[str, FloatArray]) -> Graph:
    """The contributions of an EDU to spans: as the first EDU, as the last EDU, its values and their weights."""
    graph = Graph()
    edus = graph.input("edus", 2)
    for name in ("first", "last", "values", "weights"):
        graph.output(_linear(graph, weights, edus, f"spans.{name}"), 2)
    return graph


def _spans_graph(weights: dict[str, FloatArray]) -> Graph:
    """The vectors of spans, projected for the products of splits and for the hidden layer of labels."""
    graph = Graph()
    parts, means = graph.input("parts", 2), graph.input("means", 2)
    total = graph("Add", parts, _linear(graph, weights, means, "spans.pooled"))
    vectors = graph("Gelu", _normalised(graph, weights, total, "spans.norm"), domain=MICROSOFT)
    size = len(weights["left.weight"])
    scaled = {f"left.{part}": weights[f"left.{part}"] / np.float32(size**0.5) for part in ("weight", "bias")}
    graph.output(_linear(graph, weights | scaled, vectors, "left", "right", "whole"), 2)
    graph.output(_linear(graph, weights, vectors, "label_left", "label_right", "label_whole"), 2)
    return graph


def _products_graph() -> Graph:
    """Shape: (charts, split, start, size), (charts, split, size, stop), (charts, 1, start, stop) → (charts, N, N, N)"""
    graph = Graph()
    left, right, whole = graph.input("left", 4), graph.input("right", 4), graph.input("whole", 4)
    graph.output(graph("Add", graph("MatMul", left, right), whole), 4)
    return graph


def _labels_graph(weights: dict[str, FloatArray], labels: Labels) -> Graph:
    """Shape: (units, label_size) → (units, groups + fine relations)"""
    graph = Graph()
    hidden = graph("Gelu", graph.input("hidden", 2), domain=MICROSOFT)
    graph.output(_linear(graph, weights, hidden, "labels", *(["fine"] if labels.fine else [])), 2)
    return graph


def _run_rows(session: Session, *inputs: NDArray[Any]) -> list[NDArray[Any]]:
    """Run a graph with independent rows on blocks of rows, in threads."""
    starts = range(0, max(len(inputs[0]), 1), ROWS)
    parts = in_threads(lambda start: session(*(one[start : start + ROWS] for one in inputs)), starts)
    return parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
