"""Exact inference over all binary trees of a document: sums, marginals, best trees, samples and entropies.

Not here: where scores come from, and what labels mean. Everything is a function of tensors, on a CPU or a GPU.

A document of n EDUs has the units (i, k, j), 0 <= i < k < j <= n: the span [i, j) split at k. A tree is a set of
n − 1 of them, and its probability is exp(sum of their scores) / Z. Labels are independent given the tree.

Scores have the shape (B, N, N, N) with N = n + 1 and are indexed [b, k, i, j]; whatever stands where i < k < j does
not hold, or beyond the size of a document, is never used. −inf forbids a unit. The tables of spans are (B, N, N),
indexed [b, i, j]. All units of one width, and the children of all spans of one width, are strided views of these
tensors, so each recursion is one loop over widths: on a GPU it never waits, on a CPU it copies nothing.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from genrst.errors import UsageError

Span: TypeAlias = tuple[int, int]
Unit: TypeAlias = tuple[int, int, int]


def _units(scores: Tensor, width: int) -> Tensor:
    """A view of all units of a width. Shape: (B, N - width, width - 1), by start and by split."""
    batch, n, _, _ = scores.shape
    strides = (n**3, n * n + n + 1, n * n)
    return scores.as_strided((batch, n - width, width - 1), strides, scores.storage_offset() + n * n + width)


def _left(table: Tensor, width: int) -> Tensor:
    """A view of the left children of these units. Shape: (B, N - width, width - 1)."""
    batch, n, _ = table.shape
    return table.as_strided((batch, n - width, width - 1), (n * n, n + 1, 1), table.storage_offset() + 1)


def _right(table: Tensor, width: int) -> Tensor:
    """A view of the right children of these units. Shape: (B, N - width, width - 1)."""
    batch, n, _ = table.shape
    return table.as_strided((batch, n - width, width - 1), (n * n, n + 1, n), table.storage_offset() + n + width)


def _spans(table: Tensor, width: int) -> Tensor:
    """A view of all spans of a width. Shape: (B, N - width), by start."""
    return table.diagonal(width, -2, -1)


def _alternatives(scores: Tensor, table: Tensor, width: int) -> Tensor:
    """The weight of all trees of each span by their first split. Shape: (B, N - width, width - 1)."""
    return (_left(table, width) + _right(table, width)).add_(_units(scores, width))


def _leaves(like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """A table in which single EDUs weigh 0 and nothing else is known yet. Shape: (B, N, N)."""
    batch, n = like.shape[0], like.shape[-1]
    table = torch.full((batch, n, n), -math.inf, dtype=dtype or like.dtype, device=like.device)
    _spans(table, 1).zero_()
    return table


def _check_sizes(table: Tensor, sizes: Sequence[int]) -> None:
    most = table.shape[-1] - 1
    if len(sizes) != len(table) or not all(1 <= size <= most for size in sizes):
        raise UsageError(f"sizes must be {len(table)} numbers from 1 to {most}, was: {list(sizes)}")


def _on_device(sizes: Sequence[int], table: Tensor) -> Tensor:
    return torch.tensor(sizes).to(table.device, non_blocking=True)


def _roots(table: Tensor, sizes: Sequence[int]) -> Tensor:
    """The entries of whole documents. Shape: (B,)."""
    return table[:, 0].gather(1, _on_device(sizes, table)[:, None]).squeeze(1)


def _check_some_tree(best: Tensor) -> None:
    """Raise if a document has no tree. Shape: (B,), the weight of its best tree or of all of them."""
    (impossible,) = torch.where(best == -math.inf)
    if len(impossible):
        raise UsageError(f"scores must leave every document a tree, was: no tree is left for {impossible.tolist()}")


def _sum_up(scores: Tensor, sizes: Sequence[int]) -> Tensor:
    """The inside table of contiguous scores."""
    table = _leaves(scores)
    for width in range(2, max(sizes) + 1):
        _spans(table, width).copy_(_alternatives(scores, table, width).logsumexp(-1))
    stops = torch.arange(table.shape[-1], device=table.device)
    return table.masked_fill_((stops > _on_device(sizes, table)[:, None])[:, None], -math.inf)


def _share_out(scores: Tensor, table: Tensor, spans: Tensor, widest: int) -> Tensor:
    """What units get of what spans have, from wide spans to narrow ones; `spans` is used up.

    Each span shares out what it has over its splits by a softmax, and both of its children get what the split gets.
    With 1 at the roots this gives probabilities, and nothing is lost to rounding in sums over whole trees.
    """
    units = torch.zeros_like(scores)
    for width in range(widest, 1, -1):
        is_impossible = _spans(table, width) == -math.inf
        split_p = _alternatives(scores, table, width).softmax(-1).masked_fill_(is_impossible[..., None], 0.0)
        split_p.mul_(_spans(spans, width)[..., None])
        _units(units, width).copy_(split_p)
        _left(spans, width).add_(split_p)
        _right(spans, width).add_(split_p)
    return units


class _Inside(torch.autograd.Function):
    """The gradient is shared out as probabilities are: no graph through the recursion is ever built."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, sizes: Sequence[int]) -> Tensor:  # noqa: ANN401
        table = _sum_up(scores, sizes)
        ctx.save_for_backward(scores, table)
        ctx.widest = max(sizes)
        return table

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401
        scores, table = ctx.saved_tensors
        return _share_out(scores, table, grad.contiguous().clone(), ctx.widest), None


def inside(scores: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The logarithm of the summed weight of all trees of each span, and log Z. Both can be differentiated (once).

    Shape:
        scores: (B, N, N, N)
        table: (B, N, N); 0 for single EDUs, −inf for what is no span or has no tree
        log Z: (B,)
    """
    _check_sizes(scores, sizes)
    scores = scores.contiguous()
    if torch.is_grad_enabled() and scores.requires_grad:
        table: Tensor = _Inside.apply(scores, sizes)  # type: ignore[no-untyped-call]
    else:
        table = _sum_up(scores, sizes)
    return table, _roots(table, sizes)


@torch.no_grad()
def marginals(scores: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The probability of each unit, and log Z. The probability of a span is the sum over its splits, `.sum(1)`.

    Shape:
        scores, units: (B, N, N, N)
        log Z: (B,)
    """
    scores = scores.contiguous()
    table, log_z = inside(scores, sizes)
    spans = torch.zeros_like(table)
    spans[:, 0].scatter_(1, _on_device(sizes, table)[:, None], 1.0)
    return _share_out(scores, table, spans, max(sizes)), log_z


def log_partition(scores: Tensor, sizes: Sequence[int]) -> Tensor:
    """Log Z, which can be differentiated (once).

    Shape:
        scores: (B, N, N, N)
        log Z: (B,)
    """
    return inside(scores, sizes)[1]


def split_logp(scores: Tensor, table: Tensor, document: Tensor, split: Tensor, start: Tensor, stop: Tensor) -> Tensor:
    """The log-probability of the split of each unit, given that its span is a unit; `table` is that of `inside`.

    The log-probability of a tree is the sum over its units. So is, with probabilities of units as weights, the negative
    cross-entropy of two distributions over trees; and it stays one where small probabilities were left out.

    Shape:
        scores, table: (B, N, N, N), (B, N, N)
        document, split, start, stop, result: (units)
    """
    children = table[document, start, split] + table[document, split, stop]
    return scores[document, split, start, stop] + children - table[document, start, stop]


def tree_score(scores: Tensor, trees: Sequence[Sequence[Unit]]) -> Tensor:
    """The summed scores of a tree for each document; less log Z, this is the log-probability of the tree.

    Shape:
        scores: (B, N, N, N)
        sums: (B,)
    """
    places = [(document, k, i, j) for document, units in enumerate(trees) for i, k, j in units]
    index = torch.tensor(places, dtype=torch.long).reshape(-1, 4).to(scores.device, non_blocking=True)
    document, k, i, j = index.unbind(1)
    return scores.new_zeros(len(trees)).index_add(0, document, scores[document, k, i, j])


def entropy(scores: Tensor, unit_p: Tensor, log_z: Tensor, label_logp: Tensor | None = None) -> Tensor:
    """The entropy of each document's trees in nats, or that of its labelled trees if given the labels of units.

    Shape:
        scores, unit_p: (B, N, N, N), the latter from `marginals`
        log_z, entropy: (B,)
        label_logp: (B, N, N, N, L)
    """
    surprisal = -scores
    if label_logp is not None:
        surprisal = torch.special.entr(label_logp.exp()).sum(-1) - scores
    return log_z + (unit_p * surprisal.masked_fill(unit_p == 0, 0.0)).sum((1, 2, 3))


def _viterbi(table: Tensor, widest: int, score: Callable[[int], Tensor]) -> Tensor:
    """Fill a table with the scores of best trees. Gives their splits; the first of equally good ones.

    `score` gives the scores of the units of a width. Shape: (B, N - width, width - 1) or (B, N - width, 1).
    """
    splits = torch.zeros_like(table, dtype=torch.long)
    for width in range(2, widest + 1):
        best, number = (_left(table, width) + _right(table, width)).add_(score(width)).max(-1)
        _spans(table, width).copy_(best)
        first = torch.arange(1, best.shape[-1] + 1, device=table.device)
        _spans(splits, width).copy_(number + first)
    return splits


def _read(splits: npt.NDArray[np.int64] | npt.NDArray[np.int16], size: int) -> list[Unit]:
    """The tree that a table of splits describes, the root first."""
    units: list[Unit] = []
    pending = [(0, size)]
    while pending:
        i, j = pending.pop()
        if j - i > 1:
            k = int(splits[i, j])
            units.append((i, k, j))
            pending += [(k, j), (i, k)]
    return units


def _best(table: Tensor, sizes: Sequence[int], score: Callable[[int], Tensor]) -> list[list[Unit]]:
    splits = _viterbi(table, max(sizes), score).cpu().numpy()
    _check_some_tree(_roots(table, sizes))
    return [_read(document, size) for document, size in zip(splits, sizes, strict=True)]


@torch.no_grad()
def best_tree(scores: Tensor, sizes: Sequence[int]) -> list[list[Unit]]:
    """The best tree of each document (CKY): its units in preorder.

    Shape:
        scores: (B, N, N, N)
    """
    _check_sizes(scores, sizes)
    scores = scores.contiguous()
    return _best(_leaves(scores), sizes, lambda width: _units(scores, width))


def _span_scores(gains: Tensor, may_be_unit: Tensor | None) -> Callable[[int], Tensor]:
    if may_be_unit is not None:
        gains = gains.masked_fill(~may_be_unit, -math.inf)
    return lambda width: _spans(gains, width)[..., None]


@torch.no_grad()
def minimum_risk_tree(span_gains: Tensor, sizes: Sequence[int], may_be_unit: Tensor | None = None) -> list[list[Unit]]:
    """The tree of each document whose spans have the greatest sum of gains: its units in preorder.

    With the probabilities of spans as gains this is the tree of the greatest expected number of right spans. Gains of
    single EDUs do not matter, since every tree has them.

    Shape:
        span_gains: (B, N, N)
        may_be_unit: (B, N, N), boolean
    """
    _check_sizes(span_gains, sizes)
    return _best(_leaves(span_gains), sizes, _span_scores(span_gains, may_be_unit))


@torch.no_grad()
def has_tree(may_be_unit: Tensor) -> bool:
    """Whether there is a tree of none but these spans. Shape: (N, N), boolean."""
    gains = torch.zeros(1, *may_be_unit.shape, device=may_be_unit.device)
    table, size = _leaves(gains), len(may_be_unit) - 1
    _viterbi(table, size, _span_scores(gains, may_be_unit[None]))
    return bool(table[0, 0, size] > -math.inf)


@torch.no_grad()
def sample(
    scores: Tensor, sizes: Sequence[int], n_samples: int, generator: torch.Generator | None = None
) -> list[list[list[Unit]]]:
    """Trees drawn from the distribution itself: for each document `n_samples` trees, their units in preorder.

    A sample draws a split for every span, whether its tree has that span or not, and is then read from the root.

    Shape:
        scores: (B, N, N, N)
    """
    scores = scores.contiguous()
    table, log_z = inside(scores, sizes)
    _check_some_tree(log_z)
    # No chart has 32,767 EDUs: its time and memory are cubic.
    splits = torch.zeros((n_samples, *table.shape), dtype=torch.int16, device=scores.device)
    for width in range(2, max(sizes) + 1):
        upto = _alternatives(scores, table, width).double().softmax(-1).cumsum(-1).contiguous()
        draws = torch.rand((*upto.shape[:2], n_samples), dtype=upto.dtype, device=upto.device, generator=generator)
        number = torch.searchsorted(upto, draws * upto[..., -1:], right=True).clamp_(max=width - 2)
        first = torch.arange(1, upto.shape[1] + 1, device=upto.device)
        _spans(splits, width).copy_((number + first[:, None]).permute(2, 0, 1))
    tables = splits.transpose(0, 1).cpu().numpy()
    return [[_read(one, size) for one in document] for document, size in zip(tables, sizes, strict=True)]


class ScoredTree(NamedTuple):
    """A tree with its score (without 1/Z): units in preorder, and their labels, all 0 if there is only one."""

    score: float
    units: list[Unit]
    labels: list[int]


_Units: TypeAlias = "tuple[tuple[Unit, int], _Units] | None"
_Spans: TypeAlias = "tuple[Span, _Spans] | None"
_Alternative: TypeAlias = tuple[float, Unit, int]  # what it costs more than the best one; the unit; its label


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

    def read(self) -> tuple[list[Unit], list[int]]:
        """The units in preorder, and their labels."""
        linked, pairs = self.units, list[tuple[Unit, int]]()
        while linked:
            pair, linked = linked
            pairs.append(pair)
        return [unit for unit, _ in reversed(pairs)], [label for _, label in reversed(pairs)]


class Ranking:
    """The ways to split and label each span of one chart, the best first: what k best trees are read from."""

    def __init__(self, scores: Tensor, size: int, best_label: Tensor, label_logp: Callable[[Span], Tensor]) -> None:
        """`best_label` has the log-probability of each unit's best label, `label_logp` all those of a span's units.

        Shape:
            scores, best_label: (N, N, N)
            label_logp: (splits of the span, L)
        """
        self._scores, self._label_logp = scores.cpu().contiguous(), label_logp
        best_label = best_label.cpu().contiguous()
        table = _leaves(self._scores[None], torch.double)
        of_width = lambda width: _units(self._scores[None], width).double() + _units(best_label[None], width)  # noqa: E731
        _viterbi(table, size, of_width)
        self._best = table[0]
        self.score = float(self._best[0, size])
        """Of the best tree; −inf if there is no tree."""

    def __call__(self, span: Span, k: int) -> list[_Alternative]:
        """The k best ways to split and label a span."""
        i, j = span
        below = self._best[i, i + 1 : j] + self._best[i + 1 : j, j]
        weights = (below + self._scores[i + 1 : j, i, j])[:, None] + self._label_logp(span).cpu()
        values, order = weights.flatten().sort(descending=True, stable=True)
        places = [divmod(place, weights.shape[1]) for place in order[:k].tolist()]
        gaps = (values[:k].max() - values[:k]).tolist()
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


@torch.no_grad()
def k_best(scores: Tensor, size: int, k: int, label_logp: Tensor | None = None) -> list[ScoredTree]:
    """The k best trees of one document, or its k best labelled trees; fewer if there are fewer.

    A search from the top that knows from the chart what the rest of a tree will cost (A* with an exact heuristic):
    about k·n steps. Of equally good trees, that with the first splits and labels comes first.

    Shape:
        scores: (N, N, N)
        label_logp: (N, N, N, L)
    """
    _check_sizes(scores[None], [size])
    # A tree without labels is one whose units all have the same sure label.
    labels = scores.new_zeros(1).expand(*scores.shape, 1) if label_logp is None else label_logp
    ranking = Ranking(scores, size, labels.amax(-1), lambda span: labels[span[0] + 1 : span[1], span[0], span[1]])
    found = cheapest_trees(size, lambda span: ranking(span, k)) if ranking.score > -math.inf else ()
    return [tree._replace(score=ranking.score + tree.score) for tree in islice(found, k)]
