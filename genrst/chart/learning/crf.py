"""The inside algorithm for training: in PyTorch, with gradients, on a CPU or a GPU.

Scores and tables are those of `genrst.chart.inference`, which has the same recursion in NumPy for parsing. Every width
is a strided view, so the host never blocks on the GPU. The recursion builds no autograd graph.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from genrst.errors import UsageError


def _units(scores: Tensor, width: int) -> Tensor:
    """Return a view of all units of a width. Shape: (B, N - width, width - 1), by start and by split."""
    batch, n, _, _ = scores.shape
    strides = (n**3, n * n + n + 1, n * n)
    return scores.as_strided((batch, n - width, width - 1), strides, scores.storage_offset() + n * n + width)


def _left(table: Tensor, width: int) -> Tensor:
    """Return a view of the left children of these units. Shape: (B, N - width, width - 1)."""
    batch, n, _ = table.shape
    return table.as_strided((batch, n - width, width - 1), (n * n, n + 1, 1), table.storage_offset() + 1)


def _right(table: Tensor, width: int) -> Tensor:
    """Return a view of the right children of these units. Shape: (B, N - width, width - 1)."""
    batch, n, _ = table.shape
    return table.as_strided((batch, n - width, width - 1), (n * n, n + 1, n), table.storage_offset() + n + width)


def _spans(table: Tensor, width: int) -> Tensor:
    """Return a view of all spans of a width. Shape: (B, N - width), by start."""
    return table.diagonal(width, -2, -1)


def _alternatives(scores: Tensor, table: Tensor, width: int) -> Tensor:
    """Return the weight of all trees of each span, by first split. Shape: (B, N - width, width - 1)."""
    return (_left(table, width) + _right(table, width)).add_(_units(scores, width))


class _Inside(torch.autograd.Function):
    """The inside pass; the gradient is computed from wide spans to narrow ones, like an outside pass."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, sizes: Sequence[int]) -> Tensor:  # noqa: ANN401
        batch, n = scores.shape[0], scores.shape[-1]
        table = torch.full((batch, n, n), -math.inf, dtype=scores.dtype, device=scores.device)
        _spans(table, 1).zero_()
        for width in range(2, max(sizes) + 1):
            _spans(table, width).copy_(_alternatives(scores, table, width).logsumexp(-1))
        stops = torch.arange(n, device=table.device)
        last = torch.tensor(sizes).to(table.device, non_blocking=True)
        table.masked_fill_((stops > last[:, None])[:, None], -math.inf)
        ctx.save_for_backward(scores, table)
        ctx.widest = max(sizes)
        return table

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401
        scores, table = ctx.saved_tensors
        units, spans = torch.zeros_like(scores), grad.contiguous().clone()
        for width in range(ctx.widest, 1, -1):
            is_impossible = _spans(table, width) == -math.inf
            shares = _alternatives(scores, table, width).softmax(-1).masked_fill_(is_impossible[..., None], 0.0)
            shares.mul_(_spans(spans, width)[..., None])
            _units(units, width).copy_(shares)
            _left(spans, width).add_(shares)
            _right(spans, width).add_(shares)
        return units, None


def inside(scores: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the log of the summed weight of all trees of each span, and log Z. Both are differentiable (once).

    Shape:
        scores: (B, N, N, N)
        table: (B, N, N); 0 for single EDUs, −inf for positions that are not spans or have no tree
        log Z: (B,)
    """
    most = scores.shape[-1] - 1
    if len(sizes) != len(scores) or not all(1 <= size <= most for size in sizes):
        raise UsageError(f"sizes must be {len(scores)} numbers from 1 to {most}, got {list(sizes)}")
    table: Tensor = _Inside.apply(scores.contiguous(), sizes)  # type: ignore[no-untyped-call]
    roots = torch.tensor(sizes).to(table.device, non_blocking=True)
    return table, table[:, 0].gather(1, roots[:, None]).squeeze(1)


def split_logp(scores: Tensor, table: Tensor, document: Tensor, split: Tensor, start: Tensor, stop: Tensor) -> Tensor:
    """Return the log-probability of the split of each unit, given that its span is a unit; `table` is from `inside`.

    The log-probability of a tree is the sum over its units. With unit probabilities as weights, the sum is the negative
    cross-entropy of two distributions over trees, even if small probabilities are left out.

    Shape:
        scores, table: (B, N, N, N), (B, N, N)
        document, split, start, stop, result: (units)
    """
    children = table[document, start, split] + table[document, split, stop]
    return scores[document, split, start, stop] + children - table[document, start, stop]
