"""The scores of a chart: EDUs to vectors of spans, spans to scores of splits and labels (not the paper's).

`genrst.chart.inference` makes a distribution over trees of these scores. There is no transition system here: a tree is
the set of its units (i, k, j), each the span [i, j) split at k.

The score of a unit is ⟨L·v(i, k), R·v(k, j)⟩ + w·v(i, j) + t, with a vector v for each span and a number t from a
table of layout: the kind of boundary at k, and whether it is stronger than all boundaries inside the left and inside
the right span. For all units of a chart that is one batched matrix product.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from genrst.config import check_sizes
from genrst.errors import ConfigError
from genrst.model.encoder.pretrained import PretrainedEncoder
from genrst.model.encoder.windows import PieceWindows, WindowShape, pack_windows
from genrst.model.examples import Example
from genrst.transitions.boundaries import SIZES, boundaries, n_boundaries

LARGEST_LOGIT = 8.0
"""Weights of EDUs in a span are held to e^±8, so that differences of their running sums stay exact enough."""

Borders = Sequence[int]
"""The places where the leaves of a chart begin and where the last one ends, in EDUs: 0, 1, …, n for a whole document.
A leaf may be a block of several EDUs, a sentence say, that has a chart of its own."""


@dataclass(frozen=True, slots=True)
class ChartConfig:
    """The sizes of a chart network; that of EDU vectors is the encoder's."""

    span_size: int = 512
    """Width of the vector of a span."""
    span_heads: int = 8
    """Weighted means over the EDUs of a span, each over its own part of the vector."""
    split_size: int = 128
    """Width of the product of the left and the right span."""
    label_size: int = 256
    """Width of the hidden layer of labels."""
    layout_kinds: bool = True
    """Whether headings, list items and turns of speakers are told from other paragraphs."""
    dropout: float = 0.3
    """Fraction of EDU vectors, span vectors and the hidden layer of labels that is dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(asdict(self), "chart")
        if self.span_size % self.span_heads:
            raise ConfigError(f"chart.span_heads: must divide span_size, {self.span_size}, was: {self.span_heads}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The charts of some documents, and what lies between their EDUs. N is one more than the leaves of the largest."""

    sizes: tuple[int, ...]
    """The number of leaves of each chart."""
    edu_before: Tensor
    """The boundary before each EDU of all documents. Shape: (EDUs)"""
    edu_after: Tensor
    """The boundary after each EDU; the end of a document is one kind more. Shape: (EDUs)"""
    before: Tensor
    """The boundary at each border. Shape: (charts, N)"""
    inside: Tensor
    """The strongest boundary inside each span. Shape: (charts, N, N)"""
    spans: Tensor
    """All spans: their chart, their first and last border there, and their EDUs from and to. Shape: (5, spans)"""

    def to(self, device: torch.device | str) -> "Layout":
        """The same on a device."""
        moved = {field.name: getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)[1:]}
        return replace(self, **moved)


def make_layout(
    examples: Sequence[Example], has_kinds: bool, charts: Sequence[Sequence[Borders]] | None = None
) -> Layout:
    """The layout of documents, each with its charts; one chart over all EDUs if none are given."""
    if charts is None:
        charts = [[range(example.n_edus + 1)] for example in examples]
    end = n_boundaries(has_kinds)
    kinds = [np.array([*boundaries(example.syntax, has_kinds), end]) for example in examples]
    all_borders = [np.array(borders) for own in charts for borders in own]
    sizes = tuple(len(borders) - 1 for borders in all_borders)
    before = np.full((len(sizes), max(sizes) + 1), end)
    blocks = np.zeros_like(before)
    spans, row = [], 0
    for own, found, first in zip(charts, kinds, accumulate((e.n_edus for e in examples), initial=0), strict=False):
        for borders in map(np.array, own):
            size = len(borders) - 1
            before[row, : size + 1] = found[borders]
            blocks[row, :size] = _strongest_inside(found, borders)
            start, stop = np.triu_indices(size)
            rows = np.full(len(start), row)
            spans.append(np.stack([rows, start, stop + 1, first + borders[start], first + borders[stop + 1]]))
            row += 1
    parts = (
        np.concatenate([found[:-1] for found in kinds]),
        np.concatenate([found[1:] for found in kinds]),
        before,
        _inside(before, blocks),
        np.concatenate(spans, axis=1),
    )
    return Layout(sizes, *map(torch.from_numpy, parts))


def _strongest_inside(kinds: NDArray[np.int64], borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """The strongest boundary inside each block of EDUs from one border to the next; 0 in a single EDU."""
    inner = kinds[: borders[-1]].copy()
    inner[borders[:-1]] = 0
    return np.maximum.reduceat(inner, borders[:-1])


def _inside(before: NDArray[np.int64], blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The strongest boundary inside each span: at its inner borders, or inside its blocks.

    Shape: (charts, N) twice → (charts, N, N)
    """
    n = before.shape[1]
    # Along row i a running maximum: of the block at i, then of each border after i with the block behind it.
    steps = np.where(np.eye(n, dtype=bool), blocks[:, None, :], np.maximum(before, blocks)[:, None, :])
    running = np.maximum.accumulate(np.where(np.triu(np.ones((n, n), dtype=bool)), steps, 0), axis=2)
    return np.concatenate([np.zeros_like(running[:, :, :1]), running[:, :, :-1]], axis=2)


@dataclass(frozen=True, slots=True)
class ChartBatch:
    """Documents as the network reads them."""

    windows: PieceWindows
    layout: Layout

    def to(self, device: torch.device | str) -> "ChartBatch":
        """The same batch on a device."""
        return ChartBatch(self.windows.to(device), self.layout.to(device))


@dataclass(frozen=True, slots=True)
class Chart:
    """The scores of some charts."""

    scores: Tensor
    """Of units, for `genrst.chart.inference`. Shape: (charts, N, N, N), by chart, split, start, stop."""
    vectors: Tensor
    """Of all spans. Shape: (spans, span_size)"""
    numbers: Tensor
    """The row of each span among the vectors. Shape: (charts, N, N)"""
    layout: Layout

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of leaves of each chart."""
        return self.layout.sizes


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
        for table in (self.sizes, self.inside, self.at_start, self.at_stop):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, edus: Tensor, layout: Layout) -> Tensor:
        """The vectors of all spans.

        Shape: edus (EDUs, edu_size) → (spans, span_size)
        """
        chart, start, stop, first, after = layout.spans
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


class ChartNetwork(nn.Module):
    """Scores every unit that a document could have, and the labels of any of them."""

    def __init__(self, config: ChartConfig, n_labels: int, pretrained: PretrainedEncoder) -> None:
        super().__init__()
        self.config = config
        edu_size, n_kinds = pretrained.project.out_features, n_boundaries(config.layout_kinds)
        self.edu_encoder = pretrained
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
        self.labels = nn.Linear(config.label_size, n_labels)
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.before, self.after, self.label_layout):
            nn.init.normal_(table.weight, std=0.1)

    @property
    def window_shape(self) -> WindowShape:
        """How documents are cut for the pretrained encoder."""
        return self.edu_encoder.shape

    def make_batch(self, examples: Sequence[Example], charts: Sequence[Sequence[Borders]] | None = None) -> ChartBatch:
        """Documents as this network reads them; one chart over all EDUs if none are given."""
        layout = make_layout(examples, self.config.layout_kinds, charts)
        return ChartBatch(pack_windows(examples, self.window_shape), layout)

    def forward(self, batch: ChartBatch) -> Chart:
        """The charts of some documents."""
        layout = batch.layout
        edus = self.edu_encoder(batch.windows) + self.before(layout.edu_before) + self.after(layout.edu_after)
        vectors = self.spans(self.dropout(edus), layout)
        numbers = _table(torch.arange(len(vectors), device=vectors.device)[:, None], layout)[..., 0]
        return Chart(self._split_scores(vectors, layout), vectors, numbers, layout)

    def _split_scores(self, vectors: Tensor, layout: Layout) -> Tensor:
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

    def label_logp(self, chart: Chart, charts: Tensor, split: Tensor, start: Tensor, stop: Tensor) -> Tensor:
        """Log-probabilities of the labels of some units.

        Shape: (units) each → (units, labels)
        """
        stronger_left, stronger_right = _strengths(chart.layout)
        kind = chart.layout.before[charts, split]
        row = 4 * kind + 2 * stronger_left[charts, split, start].long() + stronger_right[charts, split, stop].long()
        left, right, whole = (
            chart.vectors.index_select(0, chart.numbers[charts, first, last])
            for first, last in ((start, split), (split, stop), (start, stop))
        )
        hidden = self.label_left(left) + self.label_right(right) + self.label_whole(whole)
        hidden = self.dropout(nn.functional.gelu(hidden + self.label_layout(row)))
        return torch.log_softmax(self.labels(hidden).float(), dim=-1)


def _strengths(layout: Layout) -> tuple[Tensor, Tensor]:
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


def _table(rows: Tensor, layout: Layout) -> Tensor:
    """What is known of every span, by its start and stop; zeros where there is no span.

    Shape: (spans, size) → (charts, N, N, size)
    """
    chart, start, stop = layout.spans[:3]
    n_charts, n = layout.before.shape
    place = (chart * n + start) * n + stop
    return rows.new_zeros(n_charts * n * n, rows.shape[1]).index_copy(0, place, rows).view(n_charts, n, n, -1)
