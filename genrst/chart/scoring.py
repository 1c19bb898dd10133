"""The charts of a document, and their scores under constraints.

A document is divided into small charts. A sentence that is kept whole is a unit of every tree, so its inside and its
outside are independent: a chart over its EDUs, and one over the sentences in which it is a leaf, are equivalent to one
chart over all EDUs, and far cheaper. The same holds for every forced unit. A chart that is still too large is cut at
the strongest boundaries of the text, and each section becomes a unit; only this step is an approximation.

`genrst.chart.posterior` computes probabilities and trees from the scores.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genrst.chart.examples import Borders, FloatArray
from genrst.chart.inference import log_softmax, log_sum_exp
from genrst.chart.labels import IntArray, Labels, label_logp
from genrst.chart.layout import make_layout
from genrst.chart.scorer import ScoredCharts, Scorer
from genrst.trees.constraints import ResolvedConstraints, Span

MOST_LEAVES = 200
"""The maximum number of leaves of a chart, because time and memory are cubic."""

MOST_CELLS, MOST_SPANS = 1 << 23, 1 << 14
"""How many units are scored, and how many span vectors are computed, at once, unless one chart has more."""


@dataclass(frozen=True, slots=True)
class Member:
    """A scorer, its weight in averages, and its vectors of a document's EDUs."""

    scorer: Scorer
    weight: float
    edus: FloatArray


class LabelMask(NamedTuple):
    """The labels that a span of a chart may have. Shape of `is_possible`: (labels)"""

    row: int
    first: int
    last: int
    is_possible: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of charts by one scorer, under constraints."""

    charts: ScoredCharts
    labels: Labels
    temperature: float
    masks: Sequence[LabelMask]
    scores: FloatArray
    """The scores of units; −inf if forbidden. Shape: (charts, N, N, N)"""
    may_be_unit: NDArray[np.bool_]
    """Shape: (charts, N, N)"""

    def label_logp(self, units: IntArray) -> FloatArray:
        """Return the log-probabilities of the labels of units.

        Shape: (units, 4), as chart, split, first and last → (units, labels)
        """
        logp = label_logp(self.labels, self.charts.label_logits(units), self.temperature)
        row, _, first, last = units.T
        for mask in self.masks:
            here = np.flatnonzero((row == mask.row) & (first == mask.first) & (last == mask.last))
            logp[here] = log_softmax(np.where(mask.is_possible, logp[here], np.float32(-math.inf)))
        return logp

    def label_logp_of(self, row: int, span: Span) -> FloatArray:
        """Return the log-probabilities of the labels of all units of a span. Shape: → (splits, labels)"""
        first, last = span
        return self.label_logp(np.array([(row, split, first, last) for split in range(first + 1, last)]))

    def unit_scores(self, units: IntArray) -> FloatArray:
        """Return the scores of labelled units. Shape: (units, 5) → (units)"""
        row, split, first, last, label = units.T
        label_logp = self.label_logp(units[:, :4])[np.arange(len(units)), label]
        found: FloatArray = self.scores[row, split, first, last] + label_logp
        return found


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """Everything needed to score the charts of a document."""

    id: str
    members: Sequence[Member]
    kinds: IntArray
    """The kinds of EDU boundaries (`boundaries`). Shape: (EDUs + 1)"""
    labels: Labels
    """The labels of the scorers, or their groups."""
    constraints: ResolvedConstraints
    temperature: float = 1.0
    """Values above 1 flatten all distributions."""

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""
        return len(self.kinds) - 1

    def charts(self) -> list[Borders]:
        """Return the charts of the document; a document of one EDU has none."""
        return cut(self.n_edus, self.constraints.forced, self.kinds.tolist(), self.constraints.forbidden)

    def score(self, member: Member, charts: Sequence[Borders]) -> Scored:
        """Score charts by one member."""
        found = member.scorer.score(member.edus, make_layout([self.kinds], [(0, borders) for borders in charts]))
        scores = found.scores / np.float32(self.temperature)
        may_be_unit = np.ones(scores[:, 0].shape, dtype=np.bool_)
        masks = []
        for row, borders in enumerate(charts):
            index = {edu: number for number, edu in enumerate(borders)}
            for start, stop in self.constraints.forbidden:
                if start in index and stop in index:
                    may_be_unit[row, index[start], index[stop]] = False
            for (start, stop), mask in self.constraints.labels.items():
                if start in index and stop in index and index[stop] - index[start] > 1:
                    masks.append(LabelMask(row, index[start], index[stop], np.array(mask)))
        scores = np.where(may_be_unit[:, None], scores, np.float32(-math.inf))
        free = Scored(found, self.labels, self.temperature, (), scores, may_be_unit)
        for row, first, last, is_possible in masks:
            # Lower the score of a unit by the probability that it has none of the allowed labels.
            logp = np.where(is_possible, free.label_logp_of(row, (first, last)), np.float32(-math.inf))
            scores[row, first + 1 : last, first, last] += log_sum_exp(logp)
        return replace(free, masks=masks)


def group_charts(charts: Sequence[Borders]) -> Iterator[list[Borders]]:
    """Yield groups of charts of similar sizes that can be scored at once.

    The largest come first, so that later groups fit into the memory that they free.
    """
    group: list[Borders] = []
    for chart in sorted(charts, key=lambda chart: -len(chart)):
        size, n_charts = len((group or [chart])[0]), len(group) + 1
        if group and (n_charts * size**3 > MOST_CELLS or n_charts * size * (size - 1) // 2 > MOST_SPANS):
            yield group
            group = []
        group.append(chart)
    if group:
        yield group


# The charts of a document.


def cut(
    n_edus: int,
    whole: Iterable[Span] = (),
    strengths: Sequence[int] = (),
    forbidden: Collection[Span] = (),
    most: int = MOST_LEAVES,
) -> list[Borders]:
    """Return the charts of a document, given the spans that are units of all its trees and do not cross each other.

    A chart with more leaves than `most` is cut at the greatest `strengths` (the kinds of boundaries), but not into
    forbidden spans. A document of one EDU has no chart.
    """
    return [part for borders in _nest(n_edus, whole) for part in _sections(borders, strengths, forbidden, most)]


def _nest(n_edus: int, whole: Iterable[Span]) -> list[Borders]:
    """Return the borders of each span's chart: of the spans directly inside it, and of single EDUs between them."""
    spans = sorted({(0, n_edus), *whole}, key=lambda span: (span[0], -span[1]))
    charts: list[list[int]] = []
    around: list[tuple[int, list[int]]] = []
    for start, stop in (span for span in spans if span[1] - span[0] > 1):
        _close(around, start)
        if around:
            _, outer = around[-1]
            outer += [*range(outer[-1] + 1, start + 1), stop]
        charts.append([start])
        around.append((stop, charts[-1]))
    _close(around, n_edus)
    return list(charts)


def _close(around: list[tuple[int, list[int]]], place: int) -> None:
    """Complete the charts that end at or before a place."""
    while around and around[-1][0] <= place:
        stop, borders = around.pop()
        borders += range(borders[-1] + 1, stop + 1)


def _sections(borders: Borders, strengths: Sequence[int], forbidden: Collection[Span], most: int) -> list[Borders]:
    """Return the chart itself or, if it is too large, a chart over sections and one inside each section."""
    n_leaves = len(borders) - 1
    if n_leaves <= most:
        return [borders]
    n_sections = -(-2 * n_leaves // most)
    places = [0, *(_place(borders, strengths, n, n_sections) for n in range(1, n_sections)), n_leaves]
    while banned := [n for n, (a, b) in enumerate(pairwise(places)) if (borders[a], borders[b]) in forbidden]:
        # A section that may not be a unit is merged with the previous one, the first section with the next.
        del places[max(banned[0], 1)]
    if len(places) == 2:
        return [borders]
    charts = _sections([borders[place] for place in places], strengths, forbidden, most)
    for first, last in pairwise(places):
        charts += _sections(borders[first : last + 1], strengths, forbidden, most) if last - first > 1 else []
    return charts


def _place(borders: Borders, strengths: Sequence[int], number: int, count: int) -> int:
    """Return the strongest boundary near the end of section `number` of `count` equal sections; ties: the nearest."""
    n_leaves = len(borders) - 1
    middle, reach = number * n_leaves // count, n_leaves // (3 * count)
    near = range(middle - reach, middle + reach + 1)
    return max(near, key=lambda place: (strengths[borders[place]] if strengths else 0, -abs(place - middle)))
