"""What lies between the EDUs of a document, as its charts see it: the boundary at each border, and inside each span."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.chart.blocks import Borders
from genrst.rnng.examples import Example
from genrst.text.boundaries import boundaries, n_boundaries


@dataclass(frozen=True, slots=True)
class Layout:
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

    def to(self, device: torch.device | str) -> "Layout":
        """The same on a device."""
        moved = {field.name: getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)[1:]}
        return replace(self, **moved)


def edu_boundaries(example: Example, has_kinds: bool) -> NDArray[np.int64]:
    """What each EDU begins; the end of the document is one kind more. Shape: (EDUs + 1)"""
    return np.array([*boundaries(example.syntax, has_kinds), n_boundaries(has_kinds)])


def boundaries_around(kinds: Sequence[NDArray[np.int64]]) -> tuple[Tensor, Tensor]:
    """The boundaries before and after each EDU of documents, given what EDUs begin (`edu_boundaries`)."""
    sides = ([found[:-1] for found in kinds], [found[1:] for found in kinds])
    before, after = (torch.from_numpy(np.concatenate(side)) for side in sides)
    return before, after


def make_layout(kinds: Sequence[NDArray[np.int64]], charts: Sequence[tuple[int, Borders]]) -> Layout:
    """The layout of charts, each with the number of its document, given what EDUs begin (`edu_boundaries`)."""
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
    return Layout(sizes, *map(torch.from_numpy, parts))


def _strongest_inside(kinds: NDArray[np.int64], borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """The strongest boundary inside each block of EDUs from one border to the next; 0 in a single EDU."""
    inner, starts = kinds[borders[0] : borders[-1]].copy(), borders[:-1] - borders[0]
    inner[starts] = 0
    return np.maximum.reduceat(inner, starts)


def _inside(before: NDArray[np.int64], blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The strongest boundary inside each span: at its inner borders, or inside its blocks.

    Shape: (charts, N) twice → (charts, N, N)
    """
    n = before.shape[1]
    # Along row i a running maximum: of the block at i, then of each border after i with the block behind it.
    steps = np.where(np.eye(n, dtype=bool), blocks[:, None, :], np.maximum(before, blocks)[:, None, :])
    running = np.maximum.accumulate(np.where(np.triu(np.ones((n, n), dtype=bool)), steps, 0), axis=2)
    return np.concatenate([np.zeros_like(running[:, :, :1]), running[:, :, :-1]], axis=2)
