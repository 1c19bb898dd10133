"""A chart's network in PyTorch, as parsing sees it: on a GPU, in training, and for encoders of other kinds.

Scores come back as arrays, so that inference is the same wherever they were computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genrst.chart.examples import FloatArray, IntArray, Labels
from genrst.chart.layout import ChartLayout
from genrst.chart.network import Chart, ChartNetwork, boundaries_around
from genrst.encoder.batch import pack_pieces
from genrst.encoder.tokenizer import PieceTokenizer


class TorchScorer:
    """See `genrst.chart.scorer.Scorer`."""

    def __init__(self, network: ChartNetwork, labels: Labels, tokenizer: PieceTokenizer) -> None:
        self.network, self.labels, self.tokenizer = network, labels, tokenizer
        self.device = network.device.type

    @torch.inference_mode()
    def read(self, texts: Sequence[IntArray]) -> list[Tensor]:
        """The states of the word pieces of texts."""
        windows = pack_pieces(texts, self.network.edu_encoder.shape).to(self.network.device)
        return list(torch.split(self.network.edu_encoder.read(windows), [len(text) for text in texts]))

    @torch.inference_mode()
    def start_p(self, states: Tensor) -> FloatArray:
        """The probabilities that an EDU, and that a sentence starts with each piece. Shape: → (pieces, 2)"""
        return _array(self.network.segments(states).float().sigmoid())

    @torch.inference_mode()
    def pool(self, states: Tensor, rows: IntArray, lengths: IntArray, kinds: IntArray) -> FloatArray:
        """The vectors of the EDUs of a document."""
        device = self.network.device
        own = states.index_select(0, torch.from_numpy(rows).to(device))
        vectors = self.network.edu_encoder.pool(own, torch.from_numpy(lengths).to(device))
        return _array(self.network.add_boundaries(vectors, *(side.to(device) for side in boundaries_around([kinds]))))

    @torch.inference_mode()
    def score(self, edus: FloatArray, layout: ChartLayout) -> "TorchCharts":
        """The scores of charts over EDUs."""
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
        """The scores of the labels of units. Shape: (units, 4), as chart, split, start, stop → (units, labels)"""
        return _array(self.network.label_logits(self.chart, units))

    @torch.inference_mode()
    def fine_logits(self, units: IntArray) -> FloatArray:
        """The scores of the finer relations of units. Shape: (units, 4) → (units, finer relations)"""
        return _array(self.network.fine_logits(self.chart, units))


def _array(tensor: Tensor) -> FloatArray:
    found: FloatArray = tensor.cpu().numpy().astype(np.float32, copy=False)
    return found
