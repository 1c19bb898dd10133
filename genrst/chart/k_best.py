"""The k best trees of a chart, and of several charts that make up a document.

A search from the top that knows from the chart what the rest of a tree will cost (A* with an exact heuristic).
"""

import heapq
import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from genrst.chart.inference import Array, Split, best_scores, units_of_width
from genrst.trees.constraints import Span


class ScoredTree(NamedTuple):
    """A tree with its score (without 1/Z): units in preorder, and their labels, all 0 if there is only one."""

    score: float
    units: list[Split]
    labels: list[int]


_Units: TypeAlias = "tuple[tuple[Split, int], _Units] | None"
_Spans: TypeAlias = "tuple[Span, _Spans] | None"
_Alternative: TypeAlias = tuple[float, Split, int]  # what it costs more than the best one; the unit; its label


class _Partial(NamedTuple):
    """A tree built from the top: units linked to those before, and the spans still to split, linked likewise."""

    cost: float
    units: _Units
    spans: _Spans

    def take(self, alternative: _Alternative, spans: _Spans) -> "_Partial":
        """Split the next span; `spans` are the others."""
        gap, (i, k, j), label = alternative
        for span in ((k, j), (i, k)):
            spans = (span, spans) if span[1] - span[0] > 1 else spans
        return _Partial(self.cost + gap, (((i, k, j), label), self.units), spans)

    def read(self) -> tuple[list[Split], list[int]]:
        """The units in preorder, and their labels."""
        linked, pairs = self.units, list[tuple[Split, int]]()
        while linked:
            pair, linked = linked
            pairs.append(pair)
        return [unit for unit, _ in reversed(pairs)], [label for _, label in reversed(pairs)]


class Ranking:
    """The ways to split and label each span of one chart, the best first: what k best trees are read from."""

    def __init__(self, scores: Array, size: int, best_label: Array, label_logp: Callable[[Span], Array]) -> None:
        """`best_label` has the log-probability of each unit's best label, `label_logp` all those of a span's units.

        Shape:
            scores, best_label: (N, N, N)
            label_logp: (splits of the span, L)
        """
        self._scores, self._label_logp = np.ascontiguousarray(scores), label_logp
        unit_scores = self._scores[None].astype(np.float64) + best_label
        self._best = best_scores(unit_scores, size, lambda width: units_of_width(unit_scores, width))[0]
        self.score = float(self._best[0, size])
        """Of the best tree; −inf if there is no tree."""

    def __call__(self, span: Span, k: int) -> list[_Alternative]:
        """The k best ways to split and label a span."""
        i, j = span
        below = self._best[i, i + 1 : j] + self._best[i + 1 : j, j]
        weights = (below + self._scores[i + 1 : j, i, j])[:, None] + self._label_logp(span)
        order = np.argsort(-weights, axis=None, kind="stable")[:k]
        values = weights.reshape(-1)[order]
        places = [divmod(place, weights.shape[1]) for place in order.tolist()]
        with np.errstate(invalid="ignore"):
            gaps = (values[0] - values).tolist()
        return [(gap, (i, i + 1 + n, j), label) for gap, (n, label) in zip(gaps, places, strict=True) if gap < math.inf]


def cheapest_trees(n_leaves: int, ranked: Callable[[Span], list[_Alternative]]) -> Iterator[ScoredTree]:
    """All labelled trees, the best first, given the ways to split each span; scores are relative to the best tree's."""
    root = _Partial(0.0, None, ((0, n_leaves), None) if n_leaves > 1 else None)
    for tree in _cheapest(root, cache(ranked)):
        yield ScoredTree(-tree.cost, *tree.read())


def _cheapest(root: _Partial, ranked: Callable[[Span], list[_Alternative]]) -> Iterator[_Partial]:
    """All trees, the best first: each split costs what it is worse than the best one, and the cheapest goes on.

    No more is expanded than the trees that come out, since the best way to go on costs nothing. Among equals the
    youngest goes on, or all prefixes of equal trees would be expanded before one of them is whole.
    """
    serial = count(0, -1)
    agenda = [(root.cost, next(serial), root, 0)]
    while agenda:
        _, _, partial, rank = heapq.heappop(agenda)
        if not partial.spans:
            yield partial
            continue
        span, others = partial.spans
        alternatives = ranked(span)
        if rank + 1 < len(alternatives):
            cost = partial.cost + alternatives[rank + 1][0]
            heapq.heappush(agenda, (cost, next(serial), partial, rank + 1))
        if rank < len(alternatives):
            after = partial.take(alternatives[rank], others)
            heapq.heappush(agenda, (after.cost, next(serial), after, 0))
