"""The k best trees of a chart, or of the charts of a document.

This is a top-down A* search with an exact heuristic: the chart gives the cost of completing a partial tree.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from genrst.allowance import checkpoint
from genrst.chart.inference import Array, Split, best_scores, units_of_width
from genrst.trees.constraints import Span


class ScoredTree(NamedTuple):
    """A tree with its unnormalised score: units in preorder, and their labels, all 0 if there is only one."""

    score: float
    units: list[Split]
    labels: list[int]


_Units: TypeAlias = "tuple[tuple[Split, int], _Units] | None"
_Spans: TypeAlias = "tuple[Span, _Spans] | None"
_Alternative: TypeAlias = tuple[float, Split, int]  # the extra cost over the best one; the unit; its label


class _Partial(NamedTuple):
    """A partial tree: linked lists of its units and of the spans that are still to be split."""

    cost: float
    units: _Units
    spans: _Spans

    def take(self, alternative: _Alternative, spans: _Spans) -> "_Partial":
        """Split the next span; `spans` are the remaining ones."""
        gap, (i, k, j), label = alternative
        for span in ((k, j), (i, k)):
            spans = (span, spans) if span[1] - span[0] > 1 else spans
        return _Partial(self.cost + gap, (((i, k, j), label), self.units), spans)

    def read(self) -> tuple[list[Split], list[int]]:
        """Return the units in preorder, and their labels."""
        linked, pairs = self.units, list[tuple[Split, int]]()
        while linked:
            pair, linked = linked
            pairs.append(pair)
        return [unit for unit, _ in reversed(pairs)], [label for _, label in reversed(pairs)]


class Ranking:
    """The ranked ways to split and label each span of one chart."""

    def __init__(self, scores: Array, size: int, best_label: Array, label_logp: Callable[[Span], Array]) -> None:
        """`best_label` has the log-probability of each unit's best label, `label_logp` those of all labels of a span.

        Shape:
            scores, best_label: (N, N, N)
            label_logp: (splits of the span, L)
        """
        self._scores, self._label_logp = np.ascontiguousarray(scores), label_logp
        unit_scores = self._scores[None].astype(np.float64) + best_label
        self._best = best_scores(unit_scores, size, lambda width: units_of_width(unit_scores, width))[0]
        self.score = float(self._best[0, size])
        """The score of the best tree; −inf if there is no tree."""

    def __call__(self, span: Span, k: int) -> list[_Alternative]:
        """Return the k best ways to split and label a span."""
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
    """Yield all labelled trees, best first, given the ranked splits of each span; the best tree has the score 0."""
    root = _Partial(0.0, None, ((0, n_leaves), None) if n_leaves > 1 else None)
    for tree in _cheapest(root, cache(ranked)):
        yield ScoredTree(-tree.cost, *tree.read())


def _cheapest(root: _Partial, ranked: Callable[[Span], list[_Alternative]]) -> Iterator[_Partial]:
    """Yield all trees, best first. The cost of a split is its distance from the best split of the span.

    Only the trees that are output are expanded, because the best completion costs nothing. Ties go to the newest
    partial tree; otherwise all prefixes of tied trees would be expanded before one is complete.
    """
    serial = count(0, -1)
    agenda = [(root.cost, next(serial), root, 0)]
    while agenda:
        _, _, partial, rank = heapq.heappop(agenda)
        if not partial.spans:
            yield partial
            continue
        checkpoint()
        span, others = partial.spans
        alternatives = ranked(span)
        if rank + 1 < len(alternatives):
            cost = partial.cost + alternatives[rank + 1][0]
            heapq.heappush(agenda, (cost, next(serial), partial, rank + 1))
        if rank < len(alternatives):
            after = partial.take(alternatives[rank], others)
            heapq.heappush(agenda, (after.cost, next(serial), after, 0))
