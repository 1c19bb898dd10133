"""The charts of documents, and their scores under constraints.

A document has small charts inside units that are sure to be there, and one over all of them. A sentence that is kept
whole is a unit of every tree, so its inside and its outside are independent: a chart over its EDUs, and one over the
sentences, in which it is a leaf, say the same as one over all EDUs, and cost far less. The same holds for every unit
that is forced. A chart that would still be too large is cut at the strongest boundaries of the text, and what lies
between two of them is a unit from then on; only that is a choice and not exact.

What follows from the scores is in `genrst.chart.posterior`.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from genrst.chart.examples import Borders, ChartExample, IntArray, boundaries
from genrst.chart.network import Chart, ChartNetwork, LabelParts, boundaries_around, make_layout
from genrst.trees.constraints import UNCONSTRAINED, ResolvedConstraints, Span

MOST_LEAVES = 200
"""How large a chart may be; its time and memory are cubic."""

MOST_CELLS, MOST_SPANS = 1 << 23, 1 << 14
"""How many units are scored, and how many spans have vectors at once, unless one chart has more."""


class DocumentChart(NamedTuple):
    """A chart of one of several documents."""

    document: int
    borders: Borders


@dataclass(frozen=True, slots=True)
class Member:
    """A network, its weight in averages, and its vectors of the EDUs of all documents."""

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
    """Charts as a network scores them under constraints."""

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
class ScoringContext:
    """All that the charts of some documents are scored by."""

    ids: Sequence[str]
    members: Sequence[Member]
    kinds: Sequence[IntArray]
    constraints: Sequence[ResolvedConstraints]
    temperature: float

    def charts(self, document: int) -> list[DocumentChart]:
        """The charts of a document; one EDU has none."""
        constraints, kinds = self.constraints[document], self.kinds[document]
        charts = cut(len(kinds) - 1, constraints.forced, kinds.tolist(), constraints.forbidden)
        return [DocumentChart(document, borders) for borders in charts]

    def score(self, member: Member, charts: Sequence[DocumentChart]) -> Scored:
        """The scores of some charts."""
        network = member.network
        chart = network(member.edus, make_layout(self.kinds, charts).to(network.device))
        scores = chart.scores.float() / self.temperature
        may_be_unit = torch.ones(scores[:, 0].shape, dtype=torch.bool, device=scores.device)
        masks = []
        for row, (document, borders) in enumerate(charts):
            constraints, index = self.constraints[document], {edu: number for number, edu in enumerate(borders)}
            for start, stop in constraints.forbidden:
                if start in index and stop in index:
                    may_be_unit[row, index[start], index[stop]] = False
            for (start, stop), mask in constraints.labels.items():
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


def make_context(
    networks: Sequence[tuple[ChartNetwork, float]],
    examples: Sequence[ChartExample],
    vectors: Sequence[Tensor],
    constraints: Sequence[ResolvedConstraints] | None = None,
    temperature: float = 1.0,
) -> ScoringContext:
    """The context of documents, given the vectors of all their EDUs, once for each network; a network has a weight.

    A temperature above 1 makes all distributions flatter.
    """
    total = sum(weight for _, weight in networks)
    kinds = [boundaries(example.kinds) for example in examples]
    around = boundaries_around(kinds)
    members = [
        Member(network, weight / total, network.add_boundaries(own, *(side.to(network.device) for side in around)))
        for (network, weight), own in zip(networks, vectors, strict=True)
    ]
    ids = [example.id for example in examples]
    return ScoringContext(ids, members, kinds, constraints or [UNCONSTRAINED] * len(kinds), temperature)


def encode_examples(network: ChartNetwork, examples: Sequence[ChartExample]) -> Tensor:
    """The vectors of the EDUs of documents whose EDUs are known. Shape: → (EDUs, 2 · edu_size)"""
    batch = network.make_batch(examples).to(network.device)
    return network.edu_encoder.pool(network.edu_encoder.read(batch.windows), batch.lengths)


def group_charts(charts: Sequence[DocumentChart]) -> Iterator[list[DocumentChart]]:
    """Charts of similar sizes, as many as can be scored at once.

    The largest come first: what they leave has room for the others, and memory does not grow.
    """
    group: list[DocumentChart] = []
    for chart in sorted(charts, key=lambda chart: -len(chart.borders)):
        size, n_charts = len((group or [chart])[0].borders), len(group) + 1
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
    """The charts of a document, given the spans that are units of all its trees; none of these crosses another.

    A chart with more leaves than `most` is cut where `strengths`, what each EDU begins, are greatest, but not into
    forbidden spans. A document of one EDU has no chart.
    """
    return [part for borders in _nest(n_edus, whole) for part in _sections(borders, strengths, forbidden, most)]


def _nest(n_edus: int, whole: Iterable[Span]) -> list[Borders]:
    """The borders of each span's chart: those of the spans directly inside it, and single EDUs between them."""
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
    """Finish the charts that end before a place or at it."""
    while around and around[-1][0] <= place:
        stop, borders = around.pop()
        borders += range(borders[-1] + 1, stop + 1)


def _sections(borders: Borders, strengths: Sequence[int], forbidden: Collection[Span], most: int) -> list[Borders]:
    """A chart, or one over sections of it and one inside each of these."""
    n_leaves = len(borders) - 1
    if n_leaves <= most:
        return [borders]
    n_sections = -(-2 * n_leaves // most)
    places = [0, *(_place(borders, strengths, n, n_sections) for n in range(1, n_sections)), n_leaves]
    while banned := [n for n, (a, b) in enumerate(pairwise(places)) if (borders[a], borders[b]) in forbidden]:
        # A section that may not be a unit is joined to the one before it, the first one to the one after it.
        del places[max(banned[0], 1)]
    if len(places) == 2:
        return [borders]
    charts = _sections([borders[place] for place in places], strengths, forbidden, most)
    for first, last in pairwise(places):
        charts += _sections(borders[first : last + 1], strengths, forbidden, most) if last - first > 1 else []
    return charts


def _place(borders: Borders, strengths: Sequence[int], number: int, count: int) -> int:
    """The strongest boundary near the end of the number-th of some sections of equal size; the nearest among equals."""
    n_leaves = len(borders) - 1
    middle, reach = number * n_leaves // count, n_leaves // (3 * count)
    near = range(middle - reach, middle + reach + 1)
    return max(near, key=lambda place: (strengths[borders[place]] if strengths else 0, -abs(place - middle)))
