"""Documents as networks have read them: the scores of their charts, given what is demanded of their trees.

What follows from the scores is `genrst.chart.posterior`'s.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.chart.blocks import Borders, cut
from genrst.chart.inference import Span
from genrst.chart.layout import boundaries_around, edu_boundaries, make_layout
from genrst.chart.network import Chart, ChartNetwork, LabelParts
from genrst.rnng.examples import Example
from genrst.trees.demands import NOTHING, Demands

MOST_CELLS, MOST_SPANS = 1 << 23, 1 << 14
"""How many units are scored, and how many spans have vectors at once, unless one chart has more."""


class OwnChart(NamedTuple):
    """A chart of one of several documents."""

    document: int
    borders: Borders


@dataclass(frozen=True, slots=True)
class Reader:
    """A network, its weight in averages, and the vectors it has of the EDUs of all documents."""

    network: ChartNetwork
    weight: float
    edus: Tensor


LabelledRow: TypeAlias = tuple[int, int, int, int, int]
"""A unit by its chart, split, first and last border and label."""


class LabelMask(NamedTuple):
    """The labels that a span of a chart may have as a unit. Shape of `is_possible`: (labels)"""

    row: int
    first: int
    last: int
    is_possible: Tensor


@dataclass(frozen=True, slots=True)
class Scored:
    """Charts as a network scores them, given what is demanded of their trees."""

    network: ChartNetwork
    chart: Chart
    temperature: float
    masks: Sequence[LabelMask]
    scores: Tensor
    """Of units; −inf if forbidden. Shape: (charts, N, N, N)"""
    may_be_unit: Tensor
    """Shape: (charts, N, N)"""

    def label_logp(
        self, row: Tensor, split: Tensor, first: Tensor, last: Tensor, *, parts: LabelParts | None = None
    ) -> Tensor:
        """Log-probabilities of the labels of units, given by their charts and borders.

        Shape: (units) each → (units, labels)
        """
        logp = self.network.label_logp(self.chart, row, split, first, last, parts=parts)
        logp = torch.log_softmax(logp / self.temperature, dim=-1)
        for mask in self.masks:
            (here,) = torch.where((row == mask.row) & (first == mask.first) & (last == mask.last))
            logp[here] = torch.log_softmax(logp[here].masked_fill(~mask.is_possible, -math.inf), dim=-1)
        return logp

    def fine_p(self, units: Tensor) -> Tensor:
        """Probabilities of the finer relations of units, given by chart, split, first, last and label.

        Shape: (units, 5) → (units, finer relations)
        """
        return self.network.fine_logp(self.chart, *units.unbind(1)).exp()

    def label_logp_of(self, row: int, span: Span) -> Tensor:
        """The same for all units of a span.

        Shape: → (splits, labels)
        """
        split = torch.arange(span[0] + 1, span[1], device=self.scores.device)
        same = [torch.full_like(split, number) for number in (row, *span)]
        return self.label_logp(same[0], split, same[1], same[2])

    def tree_scores(self, units: Sequence[LabelledRow]) -> Tensor:
        """The scores of labelled trees, one of each chart.

        Shape: → (charts)
        """
        values = self.unit_scores(units)
        rows = torch.tensor([unit[0] for unit in units], dtype=torch.long, device=values.device)
        return values.new_zeros(len(self.scores)).index_add(0, rows, values)

    def unit_scores(self, units: Sequence[LabelledRow]) -> Tensor:
        """The scores of labelled units.

        Shape: → (units)
        """
        index = torch.tensor(units, dtype=torch.long).reshape(-1, 5).to(self.scores.device)
        row, split, first, last, label = index.unbind(1)
        label_logp = self.label_logp(row, split, first, last).gather(1, label[:, None])[:, 0]
        return self.scores[row, split, first, last] + label_logp


@dataclass(frozen=True, slots=True)
class Reading:
    """Documents as networks have read them, and what is demanded of their trees."""

    ids: Sequence[str]
    readers: Sequence[Reader]
    kinds: Sequence[NDArray[np.int64]]
    demands: Sequence[Demands]
    temperature: float

    def charts(self, document: int) -> list[OwnChart]:
        """The charts of a document; one EDU has none."""
        demands, kinds = self.demands[document], self.kinds[document]
        charts = cut(len(kinds) - 1, demands.whole, kinds.tolist(), demands.forbidden)
        return [OwnChart(document, borders) for borders in charts]

    def score(self, reader: Reader, charts: Sequence[OwnChart]) -> Scored:
        """The scores of some charts."""
        network = reader.network
        chart = network(reader.edus, make_layout(self.kinds, charts).to(network.device))
        scores = chart.scores.float() / self.temperature
        may_be_unit = torch.ones(scores[:, 0].shape, dtype=torch.bool, device=scores.device)
        masks = []
        for row, (document, borders) in enumerate(charts):
            demands, index = self.demands[document], {edu: number for number, edu in enumerate(borders)}
            for start, stop in demands.forbidden:
                if start in index and stop in index:
                    may_be_unit[row, index[start], index[stop]] = False
            for (start, stop), mask in demands.labels.items():
                if start in index and stop in index and index[stop] - index[start] > 1:
                    is_possible = torch.tensor(mask, device=scores.device)
                    masks.append(LabelMask(row, index[start], index[stop], is_possible))
        scores = scores.masked_fill(~may_be_unit[:, None], -math.inf)
        free = Scored(network, chart, self.temperature, (), scores, may_be_unit)
        for row, first, last, is_possible in masks:
            # A unit weighs as much less as its labels fit worse.
            logp = free.label_logp_of(row, (first, last)).masked_fill(~is_possible, -math.inf)
            scores[row, first + 1 : last, first, last] += logp.logsumexp(dim=-1)
        return replace(free, masks=masks)


def make_reading(
    networks: Sequence[tuple[ChartNetwork, float]],
    examples: Sequence[Sequence[Example]],
    demands: Sequence[Demands] | None,
    temperature: float,
    vectors: Sequence[Tensor] | None = None,
) -> Reading:
    """Let networks read documents, see `read_documents`."""
    total = sum(weight for _, weight in networks)
    kinds = [edu_boundaries(example, networks[0][0].config.layout_kinds) for example in examples[0]]
    if vectors is None:
        pairs = zip(networks, examples, strict=True)
        edus = [network.encode(network.make_batch(own).to(network.device)) for (network, _), own in pairs]
    else:
        around = boundaries_around(kinds)
        edus = [
            network.place(own, *(side.to(network.device) for side in around))
            for (network, _), own in zip(networks, vectors, strict=True)
        ]
    readers = [Reader(network, weight / total, own) for (network, weight), own in zip(networks, edus, strict=True)]
    ids = [example.id for example in examples[0]]
    return Reading(ids, readers, kinds, demands or [NOTHING] * len(kinds), temperature)


def in_groups(charts: Sequence[OwnChart]) -> Iterator[list[OwnChart]]:
    """Charts of similar sizes, as many as can be scored at once.

    The largest come first: what they leave has room for the others, and memory does not grow.
    """
    group: list[OwnChart] = []
    for chart in sorted(charts, key=lambda chart: -len(chart.borders)):
        size, n_charts = len((group or [chart])[0].borders), len(group) + 1
        if group and (n_charts * size**3 > MOST_CELLS or n_charts * size * (size - 1) // 2 > MOST_SPANS):
            yield group
            group = []
        group.append(chart)
    if group:
        yield group
