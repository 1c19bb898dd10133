"""The scores of a chart: EDUs to vectors of spans, spans to scores of splits and labels (not the paper's).

`genrst.chart.inference` makes a distribution over trees of these scores. There is no transition system here: a tree is
the set of its units (i, k, j), each the span [i, j) split at k.

The score of a unit is ⟨L·v(i, k), R·v(k, j)⟩ + w·v(i, j) + t, with a vector v for each span and a number t from a
table of layout: the kind of boundary at k, and whether it is stronger than all boundaries inside the left and inside
the right span. For all units of a chart that is one batched matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from genrst.chart.config import ChartConfig
from genrst.chart.examples import Borders, ChartExample, IntArray, Labels, boundaries
from genrst.encoder.pieces import PieceWindows, pack_pieces
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.text.layout import SIZES, Kind

LARGEST_LOGIT = 8.0
"""Weights of EDUs in a span are held to e^±8, so that differences of their running sums stay exact enough."""


# What lies between the EDUs.


@dataclass(frozen=True, slots=True)
class ChartLayout:
    """Some charts, and what lies between the EDUs of their documents. N is one more than the leaves of the largest."""

    sizes: tuple[int, ...]
    """The number of leaves of each chart."""
    before: Tensor
    """The boundary at each border. Shape: (charts, N)"""
    inside: Tensor
    """The strongest boundary inside each span. Shape: (charts, N, N)"""
    edus: Tensor
    """The numbers, among the EDUs of all documents, of those in these charts, chart by chart. Shape: (own EDUs)"""
    spans: Tensor
    """All spans: their chart, their first and last border there, and their EDUs from and to, as numbers among those
    of these charts. Shape: (5, spans)"""

    def to(self, device: torch.device | str) -> "ChartLayout":
        """The same on a device."""
        moved = {field.name: getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)[1:]}
        return replace(self, **moved)


def boundaries_around(kinds: Sequence[IntArray]) -> tuple[Tensor, Tensor]:
    """The boundaries before and after each EDU of documents, given what EDUs begin (`boundaries`)."""
    sides = ([found[:-1] for found in kinds], [found[1:] for found in kinds])
    before, after = (torch.from_numpy(np.concatenate(side)) for side in sides)
    return before, after


def make_layout(kinds: Sequence[IntArray], charts: Sequence[tuple[int, Borders]]) -> ChartLayout:
    """The layout of charts, each with the number of its document, given what EDUs begin (`boundaries`)."""
    sizes = tuple(len(borders) - 1 for _, borders in charts)
    before = np.full((len(sizes), max(sizes) + 1), max(found[-1] for found in kinds))
    blocks = np.zeros_like(before)
    first_edus = [0, *accumulate(len(found) - 1 for found in kinds)]
    own_edus, spans, n_own = [], [], 0
    for row, (document, places) in enumerate(charts):
        borders, size, found = np.array(places), len(places) - 1, kinds[document]
        before[row, : size + 1] = found[borders]
        blocks[row, :size] = _strongest_inside(found, borders)
        start, stop = np.triu_indices(size)
        own_edus.append(first_edus[document] + np.arange(borders[0], borders[-1]))
        edus = n_own + borders - borders[0]
        n_own += len(own_edus[-1])
        spans.append(np.stack([np.full(len(start), row), start, stop + 1, edus[start], edus[stop + 1]]))
    parts = (before, _inside(before, blocks), np.concatenate(own_edus), np.concatenate(spans, axis=1))
    return ChartLayout(sizes, *map(torch.from_numpy, parts))


def _strongest_inside(kinds: IntArray, borders: IntArray) -> IntArray:
    """The strongest boundary inside each block of EDUs from one border to the next; 0 in a single EDU."""
    inner, starts = kinds[borders[0] : borders[-1]].copy(), borders[:-1] - borders[0]
    inner[starts] = 0
    return np.maximum.reduceat(inner, starts)


def _inside(before: IntArray, blocks: IntArray) -> IntArray:
    """The strongest boundary inside each span: at its inner borders, or inside its blocks.

    Shape: (charts, N) twice → (charts, N, N)
    """
    n = before.shape[1]
    # Along row i a running maximum: of the block at i, then of each border after i with the block behind it.
    steps = np.where(np.eye(n, dtype=bool), blocks[:, None, :], np.maximum(before, blocks)[:, None, :])
    running = np.maximum.accumulate(np.where(np.triu(np.ones((n, n), dtype=bool)), steps, 0), axis=2)
    return np.concatenate([np.zeros_like(running[:, :, :1]), running[:, :, :-1]], axis=2)


# The network.


@dataclass(frozen=True, slots=True)
class ChartBatch:
    """Documents as the network reads them."""

    windows: PieceWindows
    lengths: Tensor
    """How many word pieces each EDU has. Shape: (EDUs)"""
    before: Tensor
    """The boundary before each EDU of all documents. Shape: (EDUs)"""
    after: Tensor
    """The boundary after each EDU. Shape: (EDUs)"""

    def to(self, device: torch.device | str) -> "ChartBatch":
        """The same batch on a device."""
        lengths, before, after = (part.to(device) for part in (self.lengths, self.before, self.after))
        return ChartBatch(self.windows.to(device), lengths, before, after)


@dataclass(frozen=True, slots=True)
class Chart:
    """The scores of some charts."""

    scores: Tensor
    """Of units, for `genrst.chart.inference`. Shape: (charts, N, N, N), by chart, split, start, stop."""
    vectors: Tensor
    """Of all spans. Shape: (spans, span_size)"""
    numbers: Tensor
    """The row of each span among the vectors. Shape: (charts, N, N)"""
    layout: ChartLayout

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of leaves of each chart."""
        return self.layout.sizes


LabelParts: TypeAlias = tuple[Tensor, Tensor, Tensor]


class SpanVectors(nn.Module):
    """v(i, j): the first and the last EDU of a span, a weighted mean of all of them, its size and its boundaries."""

    limits: Tensor

    def __init__(self, edu_size: int, span_size: int, n_kinds: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.first = nn.Linear(edu_size, span_size)
        self.last = nn.Linear(edu_size, span_size, bias=False)
        self.weights = nn.Linear(edu_size, n_heads)
        self.values = nn.Linear(edu_size, span_size)
        self.pooled = nn.Linear(span_size, span_size, bias=False)
        self.sizes = nn.Embedding(len(SIZES) + 1, span_size)
        self.inside = nn.Embedding(n_kinds, span_size)
        self.at_start = nn.Embedding(n_kinds + 1, span_size)
        self.at_stop = nn.Embedding(n_kinds + 1, span_size)
        self.norm = nn.LayerNorm(span_size)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("limits", torch.tensor(SIZES), persistent=False)

    def forward(self, edus: Tensor, layout: ChartLayout) -> Tensor:
        """The vectors of all spans.

        Shape: edus (EDUs, edu_size) → (spans, span_size)
        """
        chart, start, stop, first, after = layout.spans
        edus = edus.index_select(0, layout.edus)
        parts = self.first(edus).index_select(0, first) + self.last(edus).index_select(0, after - 1)
        parts = parts + self.pooled(self._means(edus, first, after))
        parts = parts + _look_up(self.sizes.weight, torch.bucketize(after - first, self.limits, right=True))
        parts = parts + _look_up(self.inside.weight, layout.inside[chart, start, stop])
        parts = parts + _look_up(self.at_start.weight, layout.before[chart, start])
        parts = parts + _look_up(self.at_stop.weight, layout.before[chart, stop])
        vectors: Tensor = self.dropout(nn.functional.gelu(self.norm(parts)))
        return vectors

    def _means(self, edus: Tensor, first: Tensor, after: Tensor) -> Tensor:
        """Weighted means over the EDUs of spans, by differences of running sums.

        Shape: (EDUs, edu_size), (spans) twice → (spans, span_size)
        """
        with torch.autocast(edus.device.type, enabled=False):
            edus = edus.float()
            weights = self.weights(edus).clamp(-LARGEST_LOGIT, LARGEST_LOGIT).exp()
            values = self.values(edus).unflatten(-1, (self.n_heads, -1)) * weights[..., None]
            sums = torch.cat([values, weights[..., None]], dim=-1).double().cumsum(dim=0)
            sums = nn.functional.pad(sums, (0, 0, 0, 0, 1, 0))
            total = (sums.index_select(0, after) - sums.index_select(0, first)).to(edus.dtype)
            return (total[..., :-1] / total[..., -1:]).flatten(1)


class SegmentScores(nn.Module):
    """How likely an EDU, and how likely a sentence starts with a word piece."""

    def __init__(self, state_size: int, segment_size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(state_size, segment_size)
        self.output = nn.Linear(segment_size, 2)

    def forward(self, states: Tensor) -> Tensor:
        """Logits of EDUs and of sentences.

        Shape: (pieces, state_size) → (pieces, 2)
        """
        logits: Tensor = self.output(nn.functional.gelu(self.hidden(states.to(self.hidden.weight.dtype))))
        return logits


class ChartNetwork(nn.Module):
    """Scores every unit that a document could have, and the labels of any of them."""

    fine_of_labels: Tensor
    """Which finer relations each label may have. Shape: (labels, finer relations)"""

    def __init__(self, config: ChartConfig, labels: Labels, pretrained: PretrainedEncoder) -> None:
        super().__init__()
        self.config = config
        edu_size, n_kinds = 2 * config.edu_size, len(Kind)
        self.edu_encoder = pretrained
        self.segments = SegmentScores(pretrained.state_size, config.segment_size)
        self.before = nn.Embedding(n_kinds + 1, edu_size)
        self.after = nn.Embedding(n_kinds + 1, edu_size)
        self.spans = SpanVectors(edu_size, config.span_size, n_kinds, config.span_heads, config.dropout)
        self.left = nn.Linear(config.span_size, config.split_size)
        self.right = nn.Linear(config.span_size, config.split_size)
        self.whole = nn.Linear(config.span_size, 1)
        self.layout_scores = nn.Parameter(torch.zeros(n_kinds, 2, 2))
        self.label_left = nn.Linear(config.span_size, config.label_size)
        self.label_right = nn.Linear(config.span_size, config.label_size, bias=False)
        self.label_whole = nn.Linear(config.span_size, config.label_size, bias=False)
        self.label_layout = nn.Embedding(n_kinds * 4, config.label_size)
        self.labels = nn.Linear(config.label_size, len(labels))
        possible = torch.tensor(labels.fine_of_labels, dtype=torch.bool).reshape(len(labels), -1)
        self.register_buffer("fine_of_labels", possible, persistent=False)
        self.fine = nn.Linear(config.label_size, possible.shape[1]) if possible.numel() else None
        self.dropout = nn.Dropout(config.dropout)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.layout_scores.device

    def make_batch(self, examples: Sequence[ChartExample]) -> ChartBatch:
        """Documents as this network reads them."""
        before, after = boundaries_around([boundaries(example.kinds) for example in examples])
        lengths = np.concatenate([example.piece_lengths for example in examples])
        windows = pack_pieces([example.pieces for example in examples], self.edu_encoder.shape)
        return ChartBatch(windows, torch.from_numpy(lengths), before, after)

    def encode(self, batch: ChartBatch, states: Tensor | None = None) -> Tensor:
        """The vectors of all EDUs of documents; `states` are those of their word pieces, if they are known.

        Shape: → (EDUs, 2 · edu_size)
        """
        states = self.edu_encoder.read(batch.windows) if states is None else states
        return self.add_boundaries(self.edu_encoder.pool(states, batch.lengths), batch.before, batch.after)

    def add_boundaries(self, vectors: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """The vectors of EDUs with the boundaries around them.

        Shape: (EDUs, 2 · edu_size), (EDUs) twice → (EDUs, 2 · edu_size)
        """
        edus: Tensor = self.dropout(vectors + self.before(before) + self.after(after))
        return edus

    def forward(self, edus: Tensor, layout: ChartLayout) -> Chart:
        """The scores of charts over the EDUs of documents, which `encode` gives."""
        vectors = self.spans(edus, layout)
        numbers = _table(torch.arange(len(vectors), device=vectors.device)[:, None], layout)[..., 0]
        return Chart(self._split_scores(vectors, layout), vectors, numbers, layout)

    def _split_scores(self, vectors: Tensor, layout: ChartLayout) -> Tensor:
        """Shape: (spans, span_size) → (charts, N, N, N)"""
        with torch.autocast(vectors.device.type, enabled=False):
            vectors = vectors.float()
            left = _table(self.left(vectors) / self.config.split_size**0.5, layout).transpose(1, 2)
            right = _table(self.right(vectors), layout)
            is_stronger_left, is_stronger_right = _strengths(layout)
            # The layout's number is a product as well: which row of the table, times that row.
            rows = nn.functional.one_hot(is_stronger_left.long(), 2).to(left.dtype)
            kinds = layout.before.clamp_max(len(self.layout_scores) - 1)
            by_right = self.layout_scores.transpose(1, 2).flatten(0, 1)
            table = _look_up(by_right, 2 * kinds[:, :, None] + is_stronger_right.long())
            product = torch.cat([left, rows], dim=-1) @ torch.cat([right, table], dim=-1).transpose(2, 3)
            whole: Tensor = _table(self.whole(vectors), layout)[..., 0]
            return product + whole[:, None]

    def label_logp(
        self,
        chart: Chart,
        charts: Tensor,
        split: Tensor,
        start: Tensor,
        stop: Tensor,
        *,
        parts: LabelParts | None = None,
    ) -> Tensor:
        """Log-probabilities of the labels of some units; `parts` are what `label_parts` gives, if it is known.

        Shape: (units) each → (units, labels)
        """
        state = self._label_state(chart, charts, split, start, stop, parts=parts)
        return torch.log_softmax(self.labels(state).float(), dim=-1)

    def label_parts(self, chart: Chart) -> LabelParts:
        """What each span adds to the states of units: with more units than spans, this is faster than one by one.

        Shape: → (spans, label_size), as the left, the right and the whole span
        """
        return self.label_left(chart.vectors), self.label_right(chart.vectors), self.label_whole(chart.vectors)

    def fine_logp(
        self, chart: Chart, charts: Tensor, split: Tensor, start: Tensor, stop: Tensor, labels: Tensor
    ) -> Tensor:
        """Log-probabilities of the finer relations of some units, given their labels.

        What is learned about them does not change the rest of the network. Labels without finer relations score −∞.

        Shape: (units) each → (units, finer relations)
        """
        assert self.fine is not None
        scores = self.fine(self._label_state(chart, charts, split, start, stop).detach()).float()
        is_possible = self.fine_of_labels[labels]
        # Softmax of nothing has no gradient.
        scores = scores.masked_fill(~is_possible & is_possible.any(dim=1, keepdim=True), -torch.inf)
        return torch.log_softmax(scores, dim=-1).masked_fill(~is_possible, -torch.inf)

    def _label_state(
        self,
        chart: Chart,
        charts: Tensor,
        split: Tensor,
        start: Tensor,
        stop: Tensor,
        *,
        parts: LabelParts | None = None,
    ) -> Tensor:
        """Shape: (units) each → (units, label_size)"""
        stronger_left, stronger_right = _strengths(chart.layout)
        kind = chart.layout.before[charts, split]
        row = 4 * kind + 2 * stronger_left[charts, split, start].long() + stronger_right[charts, split, stop].long()
        numbers = [chart.numbers[charts, first, last] for first, last in ((start, split), (split, stop), (start, stop))]
        if parts is not None:
            left, right, whole = (part.index_select(0, span) for part, span in zip(parts, numbers, strict=True))
        else:
            spans = (chart.vectors.index_select(0, span) for span in numbers)
            maps = (self.label_left, self.label_right, self.label_whole)
            left, right, whole = (one(vectors) for one, vectors in zip(maps, spans, strict=True))
        state: Tensor = self.dropout(nn.functional.gelu(left + right + whole + self.label_layout(row)))
        return state


def _strengths(layout: ChartLayout) -> tuple[Tensor, Tensor]:
    """Whether the boundary at a split is stronger than all inside the left span, and inside the right span.

    Shape: → (charts, split, start), (charts, split, stop)
    """
    at = layout.before[:, :, None]
    return at > layout.inside.transpose(1, 2), at > layout.inside


def _look_up(table: Tensor, numbers: Tensor) -> Tensor:
    """Rows of a small table, looked up by a product: on a GPU the gradient of a repeated row is much faster that way.

    Shape: (rows, size), (…) → (…, size)
    """
    return nn.functional.one_hot(numbers, len(table)).to(table.dtype) @ table


def _table(rows: Tensor, layout: ChartLayout) -> Tensor:
    """What is known of every span, by its start and stop; zeros where there is no span.

    Shape: (spans, size) → (charts, N, N, size)
    """
    chart, start, stop = layout.spans[:3]
    n_charts, n = layout.before.shape
    place = (chart * n + start) * n + stop
    return rows.new_zeros(n_charts * n * n, rows.shape[1]).index_copy(0, place, rows).view(n_charts, n, n, -1)


def make_network(config: ChartConfig, labels: Labels, pretrained: PretrainedEncoder | None) -> ChartNetwork:
    """An untrained network for some labels; only the encoder is pretrained."""
    assert pretrained is not None, "a chart's configuration names an encoder"
    return ChartNetwork(config, labels, pretrained)
