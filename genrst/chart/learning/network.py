"""The network of a chart in PyTorch, for training and for parsing on a GPU (not the paper's).

`genrst.chart.scorer` describes the network and computes the same scores for parsing on a CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample, FloatArray, boundaries
from genrst.chart.labels import IntArray, Labels
from genrst.chart.layout import ChartLayout
from genrst.chart.scorer import LARGEST_LOGIT
from genrst.encoder.batch import PieceWindows, pack_pieces
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.text.layout import SIZES, Kind


def boundaries_around(kinds: Sequence[IntArray]) -> tuple[Tensor, Tensor]:
    """Return the boundaries before and after each EDU, given what each EDU begins (`boundaries`)."""
    sides = ([found[:-1] for found in kinds], [found[1:] for found in kinds])
    before, after = (torch.from_numpy(np.concatenate(side)) for side in sides)
    return before, after


@dataclass(frozen=True, slots=True)
class ChartBatch:
    """A batch of documents as input of the network."""

    windows: PieceWindows
    lengths: Tensor
    """The number of word pieces of each EDU. Shape: (EDUs)"""
    before: Tensor
    """The boundary before each EDU of all documents. Shape: (EDUs)"""
    after: Tensor
    """The boundary after each EDU. Shape: (EDUs)"""

    def to(self, device: torch.device | str) -> "ChartBatch":
        """Return the batch on a device."""
        lengths, before, after = (part.to(device) for part in (self.lengths, self.before, self.after))
        return ChartBatch(self.windows.to(device), lengths, before, after)


@dataclass(frozen=True, slots=True)
class Chart:
    """The scores of a batch of charts."""

    scores: Tensor
    """The scores of units, for `genrst.chart.inference`. Shape: (charts, N, N, N), by chart, split, start, stop."""
    vectors: Tensor
    """The vectors of all spans. Shape: (spans, span_size)"""
    layout: ChartLayout


class SpanVectors(nn.Module):
    """v(i, j): the first and last EDU of a span, a weighted mean of all its EDUs, its size and its boundaries."""

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

    def forward(self, edus: Tensor, layout: ChartLayout) -> Tensor:
        """Return the vectors of all spans.

        Shape: edus (EDUs, edu_size) → (spans, span_size)
        """
        own, first, after = on_device(edus.device, layout.edus, *layout.spans[3:])
        edus = edus.index_select(0, own)
        parts = self.first(edus).index_select(0, first) + self.last(edus).index_select(0, after - 1)
        parts = parts + self.pooled(self._means(edus, first, after))
        tables = self.sizes, self.inside, self.at_start, self.at_stop
        for table, kinds in zip(tables, on_device(edus.device, *layout.span_kinds), strict=True):
            parts = parts + _look_up(table.weight, kinds)
        vectors: Tensor = self.dropout(nn.functional.gelu(self.norm(parts)))
        return vectors

    def _means(self, edus: Tensor, first: Tensor, after: Tensor) -> Tensor:
        """Return weighted means over the EDUs of spans, computed as differences of running sums.

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
    """Scores how likely an EDU, and how likely a sentence, starts at each word piece."""

    def __init__(self, state_size: int, segment_size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(state_size, segment_size)
        self.output = nn.Linear(segment_size, 2)

    def forward(self, states: Tensor) -> Tensor:
        """Return the logits of EDU starts and of sentence starts.

        Shape: (pieces, state_size) → (pieces, 2)
        """
        logits: Tensor = self.output(nn.functional.gelu(self.hidden(states.to(self.hidden.weight.dtype))))
        return logits


class ChartNetwork(nn.Module):
    """Scores all possible units of a document, and the labels of selected units."""

    def __init__(self, config: ChartConfig, labels: Labels, pretrained: PretrainedEncoder) -> None:
        super().__init__()
        self.config, self.label_names = config, labels
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
        self.labels = nn.Linear(config.label_size, len(labels.groups))
        self.fine = nn.Linear(config.label_size, len(labels.fine)) if labels.fine else None
        self.dropout = nn.Dropout(config.dropout)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.layout_scores.device

    def make_batch(self, examples: Sequence[ChartExample]) -> ChartBatch:
        """Return a batch of documents as input of this network."""
        before, after = boundaries_around([boundaries(example.kinds) for example in examples])
        lengths = np.concatenate([example.piece_lengths for example in examples])
        windows = pack_pieces([example.pieces for example in examples], self.edu_encoder.shape)
        return ChartBatch(windows, torch.from_numpy(lengths), before, after)

    def encode(self, batch: ChartBatch, states: Tensor | None = None) -> Tensor:
        """Return the vectors of all EDUs; `states` are the states of their word pieces, if already computed.

        Shape: → (EDUs, 2 · edu_size)
        """
        states = self.edu_encoder.read(batch.windows) if states is None else states
        return self.add_boundaries(self.edu_encoder.pool(states, batch.lengths), batch.before, batch.after)

    def add_boundaries(self, vectors: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """Return the vectors of EDUs, including the boundaries around them.

        Shape: (EDUs, 2 · edu_size), (EDUs) twice → (EDUs, 2 · edu_size)
        """
        edus: Tensor = self.dropout(vectors + self.before(before) + self.after(after))
        return edus

    def forward(self, edus: Tensor, layout: ChartLayout) -> Chart:
        """Return the scores of charts over the EDU vectors from `encode`."""
        vectors = self.spans(edus, layout)
        return Chart(self._split_scores(vectors, layout), vectors, layout)

    def _split_scores(self, vectors: Tensor, layout: ChartLayout) -> Tensor:
        """Shape: (spans, span_size) → (charts, N, N, N)"""
        with torch.autocast(vectors.device.type, enabled=False):
            vectors = vectors.float()
            left = _table(self.left(vectors) / self.config.split_size**0.5, layout).transpose(1, 2)
            right = _table(self.right(vectors), layout)
            before, is_stronger_left, is_stronger_right = on_device(vectors.device, layout.before, *layout.is_stronger)
            # The layout score is also a matrix product: a one-hot row index times the table.
            rows = nn.functional.one_hot(is_stronger_left.long(), 2).to(left.dtype)
            kinds = before.clamp_max(len(self.layout_scores) - 1)
            by_right = self.layout_scores.transpose(1, 2).flatten(0, 1)
            table = _look_up(by_right, 2 * kinds[:, :, None] + is_stronger_right.long())
            product = torch.cat([left, rows], dim=-1) @ torch.cat([right, table], dim=-1).transpose(2, 3)
            whole: Tensor = _table(self.whole(vectors), layout)[..., 0]
            return product + whole[:, None]

    def label_logits(self, chart: Chart, units: IntArray) -> Tensor:
        """Return the scores of label groups and of fine relations of some units.

        Shape: (units, 4), as chart, split, start, stop → (units, groups + fine relations)
        """
        state = self._label_state(chart, units)
        heads = [self.labels, *([self.fine] if self.fine is not None else [])]
        return torch.cat([head(state) for head in heads], dim=-1).float()

    def label_logp(self, chart: Chart, units: IntArray, bias: FloatArray | None = None) -> Tensor:
        """Return log-probabilities of labels, then of label groups (`Labels.number`); a bias is added to labels.

        Shape: (units, 4), (labels) → (units, labels + groups)
        """
        labels, device = self.label_names, self.device
        logits = self.label_logits(chart, units)
        groups, fine = torch.log_softmax(logits[:, : len(labels.groups)], -1), logits[:, len(labels.groups) :]
        group_of_labels, fine_of_labels = on_device(device, labels.group_of_labels, labels.fine_of_labels)
        logp = groups.index_select(1, group_of_labels)
        if labels.fine:
            own = fine.index_select(1, fine_of_labels.clamp_min(0)) * (fine_of_labels >= 0)
            if bias is not None:
                own = own + on_device(device, bias)[0]
            is_member = group_of_labels == torch.arange(len(labels.groups), device=device)[:, None]
            total = torch.where(is_member, own[:, None], -torch.inf).logsumexp(-1)
            logp = logp + own - total.index_select(1, group_of_labels)
        return torch.cat([logp, groups], dim=-1)

    def _label_state(self, chart: Chart, units: IntArray) -> Tensor:
        """Shape: (units, 4) → (units, label_size)"""
        row, split, start, stop = units.T
        numbers = [chart.layout.numbers[row, *span] for span in ((start, split), (split, stop), (start, stop))]
        kinds, *spans = on_device(chart.vectors.device, chart.layout.kinds_of_units(units), *numbers)
        state = self.label_layout(kinds)
        for linear, span in zip((self.label_left, self.label_right, self.label_whole), spans, strict=True):
            state = state + linear(chart.vectors.index_select(0, span))
        hidden: Tensor = self.dropout(nn.functional.gelu(state))
        return hidden


def on_device(device: torch.device, *arrays: NDArray[Any]) -> list[Tensor]:
    """Copy arrays to a device without blocking."""
    return [torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True) for array in arrays]


def _look_up(table: Tensor, numbers: Tensor) -> Tensor:
    """Look up rows of a small table by a matrix product, because a GPU is slow at the gradient of repeated rows.

    Shape: (rows, size), (…) → (…, size)
    """
    return nn.functional.one_hot(numbers, len(table)).to(table.dtype) @ table


def _table(rows: Tensor, layout: ChartLayout) -> Tensor:
    """Arrange the vectors of spans by start and stop, with zeros elsewhere.

    Shape: (spans, size) → (charts, N, N, size)
    """
    n_charts, n = layout.before.shape
    (places,) = on_device(rows.device, layout.places)
    return rows.new_zeros(n_charts * n * n, rows.shape[1]).index_copy(0, places, rows).view(n_charts, n, n, -1)


def make_network(config: ChartConfig, labels: Labels, pretrained: PretrainedEncoder | None) -> ChartNetwork:
    """Return an untrained network for these labels; only the encoder is pretrained."""
    assert pretrained is not None, "a chart needs model.encoder"
    return ChartNetwork(config, labels, pretrained)


# The network's interface for parsing. Scores are returned as arrays, so inference does not depend on the device.


class TorchScorer:
    """See `genrst.chart.scorer.Scorer`."""

    def __init__(self, network: ChartNetwork, labels: Labels, tokenizer: PieceTokenizer) -> None:
        self.network, self.labels, self.tokenizer = network, labels, tokenizer
        self.device = network.device.type

    @torch.inference_mode()
    def read(self, texts: Sequence[IntArray]) -> list[Tensor]:
        """Return the states of the word pieces of texts."""
        windows = pack_pieces(texts, self.network.edu_encoder.shape).to(self.network.device)
        return list(torch.split(self.network.edu_encoder.read(windows), [len(text) for text in texts]))

    @torch.inference_mode()
    def start_p(self, states: Tensor) -> FloatArray:
        """Return the probabilities that an EDU, and that a sentence, starts at each piece. Shape: → (pieces, 2)"""
        return _array(self.network.segments(states).float().sigmoid())

    @torch.inference_mode()
    def pool(self, states: Tensor, rows: IntArray, lengths: IntArray, kinds: IntArray) -> FloatArray:
        """Return the vectors of the EDUs of a document."""
        device = self.network.device
        own = states.index_select(0, torch.from_numpy(rows).to(device))
        vectors = self.network.edu_encoder.pool(own, torch.from_numpy(lengths).to(device))
        return _array(self.network.add_boundaries(vectors, *(side.to(device) for side in boundaries_around([kinds]))))

    @torch.inference_mode()
    def score(self, edus: FloatArray, layout: ChartLayout) -> "TorchCharts":
        """Return the scores of charts over EDUs."""
        chart = self.network(torch.from_numpy(edus).to(self.network.device), layout)
        return TorchCharts(self.network, chart, layout, _array(chart.scores.float()))


@dataclass(frozen=True, slots=True)
class TorchCharts:
    """See `genrst.chart.scorer.ScoredCharts`."""

    network: ChartNetwork
    chart: Chart
    layout: ChartLayout
    scores: FloatArray

    @torch.inference_mode()
    def label_logits(self, units: IntArray) -> FloatArray:
        """See `genrst.chart.scorer.ScoredCharts`."""
        return _array(self.network.label_logits(self.chart, units))


def _array(tensor: Tensor) -> FloatArray:
    found: FloatArray = tensor.cpu().numpy().astype(np.float32, copy=False)
    return found
