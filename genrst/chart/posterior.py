"""The distribution over the trees of a document: probabilities of spans and labels, and the trees that follow.

`infer` scores the charts of a document in batches, with one scorer or with several whose probabilities are averaged
(`genrst.chart.scoring`). The minimum Bayes risk tree and the probabilities of spans are computed immediately; k-best
trees and samples score the charts again.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genrst.allowance import checkpoint
from genrst.chart import inference
from genrst.chart.examples import Borders, FloatArray, LabelledUnit
from genrst.chart.inference import Split, log_softmax, log_sum_exp
from genrst.chart.k_best import Ranking, cheapest_trees
from genrst.chart.labels import IntArray, Labels
from genrst.chart.scoring import Member, Scored, ScoringContext, group_charts
from genrst.encoder.memory import give_back_memory
from genrst.errors import ConstraintError, UsageError
from genrst.trees.constraints import ResolvedConstraints, Span, none_left

LEAST = 1e-6
"""Units less probable than this are not labelled, because their share in the probability of a label is negligible."""
SPAN_WEIGHT, FINE_WEIGHT = 0.3, 0.5
"""The gain of a correct span in the minimum Bayes risk tree, and the share of the relation within its class in the
gain of a correct label, which is 1."""
MOST_LABELLED = 1 << 13
"""How many units are labelled at once."""
LONG = 2_000
"""For texts with more EDUs, memory is released during parsing; for shorter ones this would only cost time."""


class LabelledTree(NamedTuple):
    """A tree: its units in preorder, and its log-probability."""

    units: list[LabelledUnit]
    logp: float


def infer(context: ScoringContext) -> "Posterior":
    """Compute the posterior of a document."""
    charts = context.charts()
    tables: dict[Span, Tables] = {}
    for group in _groups(charts):
        for borders, found in zip(group, _make_tables(context, group), strict=True):
            tables[borders[0], borders[-1]] = found
    return Posterior(context, charts, tables)


def _groups(charts: Sequence[Borders]) -> Iterator[list[Borders]]:
    """Yield groups of charts that can be scored at once; for a long document, memory is released in between."""
    is_long = any(borders[-1] > LONG for borders in charts)
    for group in group_charts(charts):
        checkpoint()
        yield group
        if is_long:
            give_back_memory()


class Tables(NamedTuple):
    """The results for the spans of a chart, indexed by their first and last border."""

    span_p: FloatArray
    """The probability of each span. Shape: (N, N)"""
    label: IntArray
    """The best label of each span. Shape: (N, N)"""
    label_p: FloatArray
    """The probability of that label, given the span. Shape: (N, N)"""
    units: list[Split]
    """The minimum Bayes risk tree."""
    log_z: float
    """log Z of the only scorer, or the mean of several."""
    entropy: float
    """The entropy of labelled trees, or the mean of several scorers."""
    logp: float
    """The log-probability of the minimum Bayes risk tree; NaN if there are several scorers."""


def _make_tables(context: ScoringContext, charts: Sequence[Borders]) -> list[Tables]:
    scored = [context.score(member, charts) for member in context.members]
    mean = _mean([_probabilities(one) for one in scored], context.members)
    if not np.isfinite(mean.log_z).all():
        raise ConstraintError(f"{context.id}: {none_left(context.constraints)}")
    gains = _label_gains(mean.label_p, context.labels)
    best = gains.argmax(axis=-1)
    best_p = np.take_along_axis(gains, best[..., None], axis=-1)[..., 0]
    chosen_p = np.take_along_axis(mean.label_p, best[..., None], axis=-1)[..., 0]
    shares = np.minimum(chosen_p / np.maximum(mean.label_p.sum(-1), LEAST), 1)
    sizes = [len(borders) - 1 for borders in charts]
    trees = inference.mbr_tree(best_p + SPAN_WEIGHT * mean.span_p, sizes, mean.may_be_unit)
    rows = np.array([(row, k, i, j, best[row, i, j]) for row, units in enumerate(trees) for i, k, j in units])
    logp = np.full(len(charts), math.nan)
    if len(scored) == 1:
        logp = np.bincount(rows[:, 0], scored[0].unit_scores(rows), len(charts)) - mean.log_z
    return [
        Tables(
            mean.span_p[row, : size + 1, : size + 1],
            best[row, : size + 1, : size + 1],
            shares[row, : size + 1, : size + 1],
            trees[row],
            float(mean.log_z[row]),
            float(mean.entropy[row]),
            float(logp[row]),
        )
        for row, size in enumerate(sizes)
    ]


def _label_gains(label_p: FloatArray, labels: Labels) -> FloatArray:
    """Return the expected gain of each label of a span. Shape: (…, labels) → (…, labels)"""
    is_member = labels.group_of_labels[:, None] == np.arange(len(labels.groups))
    group_p = label_p @ is_member.astype(label_p.dtype)
    gains: FloatArray = FINE_WEIGHT * label_p + (1 - FINE_WEIGHT) * group_p[..., labels.group_of_labels]
    return gains


class Probabilities(NamedTuple):
    """The probabilities of a scorer, or the mean of several, for some charts."""

    span_p: FloatArray
    """Shape: (charts, N, N)"""
    label_p: FloatArray
    """The joint probability of a span and its label. Shape: (charts, N, N, labels)"""
    log_z: FloatArray
    entropy: FloatArray
    may_be_unit: NDArray[np.bool_]


def _mean(found: Sequence[Probabilities], members: Sequence[Member]) -> Probabilities:
    if len(found) == 1:
        return found[0]

    def mean(parts: Sequence[FloatArray]) -> FloatArray:
        weighted = [one.weight * part for one, part in zip(members, parts, strict=True)]
        total: FloatArray = np.sum(weighted, axis=0, dtype=np.float32)
        return total

    span_p, label_p, log_z, entropy, may_be_unit = zip(*found, strict=True)
    return Probabilities(mean(span_p), mean(label_p), mean(log_z), mean(entropy), may_be_unit[0])


def _probabilities(scored: Scored) -> Probabilities:
    unit_p, log_z = inference.marginals(scored.scores, scored.charts.layout.sizes)
    span_p = unit_p.sum(1)
    label_p = np.zeros((*span_p.shape, len(scored.labels)), dtype=np.float32)
    entropy = inference.entropy(scored.scores, unit_p, log_z)
    # Sorted by span, so that the units of a span are adjacent.
    row, first, last, split = np.nonzero(unit_p.transpose(0, 2, 3, 1) > LEAST)
    likely = np.stack([row, split, first, last], axis=1)
    for units in np.split(likely, range(MOST_LABELLED, len(likely), MOST_LABELLED)):
        if not len(units):
            continue
        row, split, first, last = units.T
        p, weight = np.exp(scored.label_logp(units)), unit_p[row, split, first, last]
        starts = np.flatnonzero(np.diff(units[:, [0, 2, 3]], axis=0, prepend=-1).any(axis=1))
        label_p[row[starts], first[starts], last[starts]] += np.add.reduceat(weight[:, None] * p, starts, axis=0)
        entropy += np.bincount(row, weight * inference.entropy_of(p), len(entropy)).astype(entropy.dtype)
    return Probabilities(span_p, label_p, log_z, entropy, scored.may_be_unit)


@dataclass(frozen=True)
class Posterior:
    """The distribution over the trees of a document, made by `infer`."""

    context: ScoringContext
    charts: Sequence[Borders]
    tables: Mapping[Span, Tables]
    """The results of each chart, by the span that it covers."""

    @cached_property
    def _borders(self) -> dict[Span, Borders]:
        return {(borders[0], borders[-1]): borders for borders in self.charts}

    @property
    def n_edus(self) -> int:
        """The number of EDUs of the document."""
        return self.context.n_edus

    def given(self, constraints: ResolvedConstraints) -> "Posterior":
        """Return the distribution under other constraints; the document is not encoded again."""
        return infer(replace(self.context, constraints=constraints))

    @property
    def is_single(self) -> bool:
        """Whether there is only one scorer; an average has probabilities of spans, but not of trees."""
        return len(self.context.members) == 1

    @property
    def log_z(self) -> float:
        """The logarithm of the summed weight of all trees."""
        return sum(tables.log_z for tables in self.tables.values())

    @property
    def entropy(self) -> float:
        """The entropy of labelled trees, in nats."""
        return sum(tables.entropy for tables in self.tables.values())

    def locate(self, span: Span) -> tuple[Span, int, int] | None:
        """Return the chart of a span, and its first and last border there; None if the span cannot be a unit."""
        start, stop = span
        chart = (0, self.n_edus)
        while True:
            borders = self._borders[chart]
            first, last = bisect_right(borders, start) - 1, bisect_right(borders, stop - 1)
            leaf = borders[first], borders[first + 1]
            if last - first > 1:
                return (chart, first, last) if (borders[first], borders[last]) == span else None
            if leaf not in self._borders:
                return None
            chart = leaf

    def span_probability(self, start: int, stop: int) -> float:
        """Return the probability that EDUs are a unit."""
        if stop - start == 1:
            return 1.0
        place = self.locate((start, stop))
        # Sums in float32 can slightly exceed one.
        return min(float(self.tables[place[0]].span_p[place[1:]]), 1.0) if place else 0.0

    def label_probabilities(self, start: int, stop: int) -> list[float]:
        """Return the probabilities of the labels of a span, given that it is a unit, however improbable that is."""
        place = self.locate((start, stop))
        if place is None or stop - start < 2:
            raise UsageError(f"{self.context.id}: these EDUs cannot be a unit: [{start}, {stop}]")
        chart, first, last = place
        found = []
        for member in self.context.members:
            scored = self.context.score(member, [self._borders[chart]])
            split_logp, span_logp = inference.splits_of(scored.scores, scored.charts.layout.sizes, first, last)
            label_logp = scored.label_logp_of(0, (first, last)) + split_logp[:, None]
            found.append(log_sum_exp(label_logp.T) + span_logp + np.log(np.float32(member.weight)))
        total = log_sum_exp(np.stack(found, axis=-1))
        if not np.isfinite(total).any():
            raise UsageError(f"{self.context.id}: these EDUs cannot be a unit: [{start}, {stop}]")
        shares: list[float] = np.exp(log_softmax(total)).tolist()
        return shares

    def label_probability(self, unit: LabelledUnit) -> float:
        """Return the probability of a unit's label, given the unit."""
        place = self.locate((unit.start, unit.stop))
        if place is not None:
            chart, first, last = place
            if self.tables[chart].label[first, last] == unit.label:
                return float(self.tables[chart].label_p[first, last])
        return self.label_probabilities(unit.start, unit.stop)[unit.label]

    def mbr(self) -> list[LabelledUnit]:
        """Return the units of the minimum Bayes risk tree, which maximises the expected gain, in preorder."""
        units = [
            LabelledUnit(borders[i], borders[k], borders[j], int(self.tables[chart].label[i, j]))
            for chart, borders in self._borders.items()
            for i, k, j in self.tables[chart].units
        ]
        return sorted(units, key=lambda unit: (unit.start, -unit.stop))

    @property
    def mbr_logp(self) -> float | None:
        """The log-probability of the minimum Bayes risk tree; None if there are several networks."""
        return sum(tables.logp for tables in self.tables.values()) if self.is_single else None

    def log_probability(self, units: Sequence[LabelledUnit]) -> float:
        """Return the log-probability of a labelled tree; −inf if it is impossible."""
        return self.log_probabilities([units])[0]

    def log_probabilities(self, trees: Sequence[Sequence[LabelledUnit]]) -> list[float]:
        """Return the log-probabilities of labelled trees; −inf for impossible ones."""
        by_chart: dict[Span, list[tuple[int, int, int, int, int]]] = {chart: [] for chart in self._borders}
        totals = [-self.log_z] * len(trees)
        for number, units in enumerate(trees):
            for unit in units:
                place = self.locate((unit.start, unit.stop))
                if place is None or unit.split not in self._borders[place[0]]:
                    totals[number] = -math.inf
                    break
                chart, first, last = place
                split = bisect_left(self._borders[chart], unit.split)
                by_chart[chart].append((number, split, first, last, unit.label))
        for spans, scored in self._scored():
            numbers = [number for chart in spans for number, *_ in by_chart[chart]]
            rows = [(row, k, i, j, label) for row, chart in enumerate(spans) for _, k, i, j, label in by_chart[chart]]
            for first in range(0, len(rows), MOST_LABELLED):
                part = slice(first, first + MOST_LABELLED)
                found = scored.unit_scores(np.array(rows[part])).tolist()
                for number, score in zip(numbers[part], found, strict=True):
                    totals[number] += score
        return totals

    def k_best(self, k: int) -> list[LabelledTree]:
        """Return the k most probable labelled trees, best first, or fewer if there are not as many."""
        rankings = {
            chart: _rank(scored, row, len(self._borders[chart]))
            for spans, scored in self._scored()
            for row, chart in enumerate(spans)
        }
        best = sum(ranking.score for ranking in rankings.values()) - self.log_z

        def ranked(span: Span) -> list[tuple[float, Split, int]]:
            place = self.locate(span)
            assert place is not None
            chart, first, last = place
            borders = self._borders[chart]
            found = rankings[chart]((first, last), k)
            return [(cost, (borders[i], borders[m], borders[j]), label) for cost, (i, m, j), label in found]

        return [
            LabelledTree([LabelledUnit(*unit, label) for unit, label in zip(units, labels, strict=True)], best + score)
            for score, units, labels in islice(cheapest_trees(self.n_edus, ranked), k)
        ]

    def sample(self, n_samples: int, seed: int) -> list[list[LabelledUnit]]:
        """Sample labelled trees from the distribution, as units in preorder."""
        generator = np.random.default_rng(seed)
        trees: list[list[LabelledUnit]] = [[] for _ in range(n_samples)]
        for spans, scored in self._scored():
            drawn = inference.sample(scored.scores, scored.charts.layout.sizes, n_samples, generator)
            rows = [(row, k, i, j) for row, own in enumerate(drawn) for units in own for i, k, j in units]
            upto = np.exp(scored.label_logp(np.array(rows)), dtype=np.float64).cumsum(axis=1)
            draws = generator.random((len(rows), 1)) * upto[:, -1:]
            labels = iter((upto <= draws).sum(axis=1).tolist())
            for chart, own in zip(spans, drawn, strict=True):
                borders = self._borders[chart]
                for tree, units in zip(trees, own, strict=True):
                    tree += [LabelledUnit(borders[i], borders[k], borders[j], next(labels)) for i, k, j in units]
        return [sorted(tree, key=lambda unit: (unit.start, -unit.stop)) for tree in trees]

    def _scored(self) -> Iterator[tuple[list[Span], Scored]]:
        """Yield groups of charts, by the spans they cover, with the scores of the only network."""
        if not self.is_single:
            raise UsageError("an ensemble has no log-probabilities, k-best trees or samples; use a single model")
        for group in _groups(self.charts):
            spans = [(borders[0], borders[-1]) for borders in group]
            yield spans, self.context.score(self.context.members[0], group)


def _rank(scored: Scored, row: int, n: int) -> Ranking:
    """Rank the ways to split and label the spans of a chart with n borders."""
    scores = np.ascontiguousarray(scored.scores[row, :n, :n, :n])
    best_label = np.full_like(scores, -math.inf)
    borders = np.arange(n)
    is_unit = (borders[None, :, None] < borders[:, None, None]) & (borders[:, None, None] < borders)
    units = np.insert(np.argwhere(is_unit), 0, row, axis=1)
    for part in np.split(units, range(MOST_LABELLED, len(units), MOST_LABELLED)):
        _, split, first, last = part.T
        best_label[split, first, last] = scored.label_logp(part).max(axis=-1)
    return Ranking(scores, n - 1, best_label, lambda span: scored.label_logp_of(row, span).astype(np.float64))
