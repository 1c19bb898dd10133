"""The layout of charts: the boundaries between their EDUs, their spans, and the EDUs of these. No PyTorch.

It is used by scorers (`genrst.chart.scorer`) and by the network in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from genrst.chart.examples import Borders
from genrst.chart.labels import IntArray
from genrst.text.layout import SIZES


@dataclass(frozen=True)
class ChartLayout:
    """The layout of several charts. N is the number of leaves of the largest chart, plus one."""

    sizes: tuple[int, ...]
    """The number of leaves of each chart."""
    before: IntArray
    """The boundary at each border. Shape: (charts, N)"""
    inside: IntArray
    """The strongest boundary inside each span. Shape: (charts, N, N)"""
    edus: IntArray
    """The EDUs in these charts, chart by chart, as numbers among the EDUs of all documents. Shape: (own EDUs)"""
    spans: IntArray
    """All spans: the chart, the first and last border in it, and the first and last EDU (exclusive), as numbers among
    the EDUs in these charts. Shape: (5, spans)"""

    @property
    def n_borders(self) -> int:
        """N."""
        return int(self.before.shape[1])

    @cached_property
    def places(self) -> IntArray:
        """The index of each span in a flattened table of (charts, N, N). Shape: (spans)"""
        chart, start, stop = self.spans[:3]
        places: IntArray = (chart * self.n_borders + start) * self.n_borders + stop
        return places

    @cached_property
    def numbers(self) -> IntArray:
        """The number of each span; 0 where there is no span. Shape: (charts, N, N)"""
        table = np.zeros(self.inside.shape, dtype=np.int64)
        table.reshape(-1)[self.places] = np.arange(len(self.places))
        return table

    @cached_property
    def span_kinds(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The size class of each span, and the boundaries inside it, at its start and at its stop."""
        chart, start, stop, first, after = self.spans
        sizes = np.searchsorted(SIZES, after - first, side="right")
        return sizes, self.inside[chart, start, stop], self.before[chart, start], self.before[chart, stop]

    @cached_property
    def is_stronger(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether the boundary at a split is stronger than all boundaries inside the left and inside the right span.

        Shape: (charts, split, start), (charts, split, stop)
        """
        at = self.before[:, :, None]
        return at > self.inside.transpose(0, 2, 1), at > self.inside

    def kinds_of_units(self, units: IntArray) -> IntArray:
        """Return the kind of boundary at the split of units, combined with `is_stronger` into one number.

        Shape: (units, 4), as chart, split, start and stop → (units)
        """
        chart, split, start, stop = units.T
        left, right = self.is_stronger
        kinds: IntArray = 4 * self.before[chart, split] + 2 * left[chart, split, start] + right[chart, split, stop]
        return kinds


def make_layout(kinds: Sequence[IntArray], charts: Sequence[tuple[int, Borders]]) -> ChartLayout:
    """Make the layout of charts, each with the number of its document, given the boundaries of EDUs (`boundaries`)."""
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
    return ChartLayout(sizes, before, _inside(before, blocks), np.concatenate(own_edus), np.concatenate(spans, axis=1))


def _strongest_inside(kinds: IntArray, borders: IntArray) -> IntArray:
    """Return the strongest boundary inside each block of EDUs between two borders; 0 in a single EDU."""
    inner, starts = kinds[borders[0] : borders[-1]].copy(), borders[:-1] - borders[0]
    inner[starts] = 0
    return np.maximum.reduceat(inner, starts)


def _inside(before: IntArray, blocks: IntArray) -> IntArray:
    """Return the strongest boundary inside each span: at its inner borders, or inside its blocks.

    Shape: (charts, N) twice → (charts, N, N)
    """
    n = before.shape[1]
    # A running maximum along row i: the block at i, then each border after i with the block that follows it.
    steps = np.where(np.eye(n, dtype=bool), blocks[:, None, :], np.maximum(before, blocks)[:, None, :])
    running = np.maximum.accumulate(np.where(np.triu(np.ones((n, n), dtype=bool)), steps, 0), axis=2)
    return np.concatenate([np.zeros_like(running[:, :, :1]), running[:, :, :-1]], axis=2)
