"""Exact inference over all binary trees of a document: sums, marginals, best trees, samples and entropies.

Not here: where scores come from, and what labels mean. Everything is a function of tensors, on a CPU or a GPU.

A document of n EDUs has the units (i, k, j), 0 <= i < k < j <= n: the span [i, j) split at k. A tree is a set of
n − 1 of them, and its probability is exp(sum of their scores) / Z. Labels are independent given the tree.

Scores have the shape (B, N, N, N) with N = n + 1 and are indexed [b, k, i, j]; whatever stands where i < k < j does
not hold, or beyond the size of a document, is never used. −inf forbids a unit. The tables of spans are (B, N, N),
indexed [b, i, j]. All units of one width, and the children of all spans of one width, are strided views of these
tensors, so each recursion is one loop over widths: on a GPU it never waits, on a CPU it copies nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from genrst.errors import UsageError

Split: TypeAlias = tuple[int, int, int]
"""A unit by its start, split and stop."""


def units_of_width(scores: Tensor, width: int) -> Tensor:
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
    return (_left(table, width) + _right(table, width)).add_(units_of_width(scores, width))


def _leaves(like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """A table in which single EDUs weigh 0 and nothing else is known yet. Shape: (B, N, N)."""
    batch, n = like.shape[0], like.shape[-1]
    table = torch.full((batch, n, n), -math.inf, dtype=dtype or like.dtype, device=like.device)
    _spans(table, 1).zero_()
    return table


def check_sizes(table: Tensor, sizes: Sequence[int]) -> None:
    """Raise an error unless there is a size for each document, and a table has room for it."""
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
        units_of_width(units, width).copy_(split_p)
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
    check_sizes(scores, sizes)
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


def best_scores(like: Tensor, size: int, score: Callable[[int], Tensor]) -> Tensor:
    """The scores of the best trees of all spans in double precision; `score` as in `_viterbi`. Shape: (B, N, N)"""
    table = _leaves(like, torch.double)
    _viterbi(table, size, score)
    return table


def _follow(splits: npt.NDArray[np.int64] | npt.NDArray[np.int16], size: int) -> list[Split]:
    """The tree that a table of splits describes, the root first."""
    units: list[Split] = []
    pending = [(0, size)]
    while pending:
        i, j = pending.pop()
        if j - i > 1:
            k = int(splits[i, j])
            units.append((i, k, j))
            pending += [(k, j), (i, k)]
    return units


def _span_scores(gains: Tensor, may_be_unit: Tensor | None) -> Callable[[int], Tensor]:
    if may_be_unit is not None:
        gains = gains.masked_fill(~may_be_unit, -math.inf)
    return lambda width: _spans(gains, width)[..., None]


@torch.no_grad()
def mbr_tree(span_gains: Tensor, sizes: Sequence[int], may_be_unit: Tensor | None = None) -> list[list[Split]]:
    """The tree of each document whose spans have the greatest sum of gains: its units in preorder.

    With the probabilities of spans as gains this is the tree of the greatest expected number of right spans. Gains of
    single EDUs do not matter, since every tree has them.

    Shape:
        span_gains: (B, N, N)
        may_be_unit: (B, N, N), boolean
    """
    check_sizes(span_gains, sizes)
    table = _leaves(span_gains)
    splits = _viterbi(table, max(sizes), _span_scores(span_gains, may_be_unit)).cpu().numpy()
    _check_some_tree(_roots(table, sizes))
    return [_follow(document, size) for document, size in zip(splits, sizes, strict=True)]


@torch.no_grad()
def sample(
    scores: Tensor, sizes: Sequence[int], n_samples: int, generator: torch.Generator | None = None
) -> list[list[list[Split]]]:
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
    return [[_follow(one, size) for one in document] for document, size in zip(tables, sizes, strict=True)]
