"""Exact inference over all binary trees of a document: sums, marginals, best trees, samples and entropies.

All functions work on arrays of scores and are independent of networks and labels. The versions with gradients, for
training, are in `genrst.chart.learning.crf`.

A document of n EDUs has the units (i, k, j), 0 <= i < k < j <= n: the span [i, j) split at k. A tree is a set of
n − 1 of them, and its probability is exp(sum of their scores) / Z. Labels are independent given the tree.

Scores have the shape (B, N, N, N) with N = n + 1 and are indexed [b, k, i, j]. Entries where i < k < j does not hold,
or beyond the size of a document, are never used. −inf forbids a unit. The tables of spans are (B, N, N), indexed
[b, i, j]. All units of one width, and the children of all spans of one width, are strided views of these arrays, so
each recursion is a loop over widths that copies nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.errors import UsageError

Array: TypeAlias = NDArray[np.floating[Any]]
Split: TypeAlias = tuple[int, int, int]
"""A unit, as start, split and stop."""


def _view(array: NDArray[Any], first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[Any]:
    """Return a view of a contiguous array from element `first`; strides are in elements."""
    size = array.itemsize
    return np.ndarray(shape, array.dtype, array.data, first * size, tuple(stride * size for stride in strides))


def units_of_width(scores: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view of all units of a width, by start and split. Shape: (B, N - width, width - 1)"""
    batch, n, _, _ = scores.shape
    return _view(scores, n * n + width, (batch, n - width, width - 1), (n**3, n * n + n + 1, n * n))


def _left(table: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view of the left children of these units. Shape: (B, N - width, width - 1)"""
    batch, n, _ = table.shape
    return _view(table, 1, (batch, n - width, width - 1), (n * n, n + 1, 1))


def _right(table: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view of the right children of these units. Shape: (B, N - width, width - 1)"""
    batch, n, _ = table.shape
    return _view(table, n + width, (batch, n - width, width - 1), (n * n, n + 1, n))


def _spans(table: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view of all spans of a width, by start. Shape: (B, N - width)"""
    batch, n, _ = table.shape
    return _view(table, width, (batch, n - width), (n * n, n + 1))


def _alternatives(scores: Array, table: Array, width: int) -> Array:
    """Return the weight of all trees of each span, by their first split. Shape: (B, N - width, width - 1)"""
    found: Array = _left(table, width) + _right(table, width)
    found += units_of_width(scores, width)
    return found


def _leaves(like: Array, dtype: type[np.floating[Any]] | None = None) -> Array:
    """Return a table with 0 for single EDUs and −inf elsewhere. Shape: (B, N, N)"""
    batch, n = like.shape[0], like.shape[-1]
    table = np.full((batch, n, n), -math.inf, dtype=dtype or like.dtype)
    _spans(table, 1)[...] = 0.0
    return table


def check_sizes(table: NDArray[Any], sizes: Sequence[int]) -> None:
    """Raise an error unless there is a size for each document that fits the table."""
    most = table.shape[-1] - 1
    if len(sizes) != len(table) or not all(1 <= size <= most for size in sizes):
        raise UsageError(f"sizes must be {len(table)} numbers from 1 to {most}, got {list(sizes)}")


def _roots(table: NDArray[Any], sizes: Sequence[int]) -> NDArray[Any]:
    """Return the entries of whole documents. Shape: (B,)"""
    found: NDArray[Any] = table[np.arange(len(table)), 0, sizes]
    return found


def _check_some_tree(best: Array) -> None:
    """Raise an error if a document has no tree, given the weight of its best tree or of all trees. Shape: (B,)"""
    impossible = np.flatnonzero(best == -math.inf)
    if len(impossible):
        raise UsageError(f"the scores forbid all trees of the documents {impossible.tolist()}")


def log_sum_exp(values: Array) -> Array:
    """Return log Σ exp over the last dimension; −inf if there is nothing to sum. Shape: (…, n) → (…)"""
    largest = values.max(axis=-1, keepdims=True)
    base = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        found: Array = np.log(np.exp(values - base).sum(axis=-1)) + base[..., 0]
    return found


def log_softmax(values: Array) -> Array:
    """Return the log-softmax over the last dimension; −inf where all values are −inf. Shape: (…, n) → (…, n)"""
    largest = values.max(axis=-1, keepdims=True)
    # Subtract the maximum first, because a difference of large numbers loses precision.
    centred: Array = values - np.where(np.isfinite(largest), largest, 0)
    total = log_sum_exp(centred)[..., None]
    centred -= np.where(np.isfinite(total), total, 0)
    return centred


def inside(scores: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Return the inside scores (log of the summed weight of all trees) of all spans, and log Z.

    Shape:
        scores: (B, N, N, N)
        table: (B, N, N); 0 for single EDUs, −inf for non-spans and spans without a tree
        log Z: (B,)
    """
    check_sizes(scores, sizes)
    scores = np.ascontiguousarray(scores)
    table = _leaves(scores)
    for width in range(2, max(sizes) + 1):
        _spans(table, width)[...] = log_sum_exp(_alternatives(scores, table, width))
    is_beyond = np.arange(table.shape[-1]) > np.array(sizes)[:, None]
    table[np.broadcast_to(is_beyond[:, None], table.shape)] = -math.inf
    return table, _roots(table, sizes)


def marginals(scores: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Return the probability of each unit, and log Z. The probability of a span is the sum over its splits, `.sum(1)`.

    From wide to narrow spans, each span distributes its probability over its splits by a softmax, and both children
    receive the share of the split. This avoids rounding errors in sums over whole trees.

    Shape:
        scores, units: (B, N, N, N)
        log Z: (B,)
    """
    scores = np.ascontiguousarray(scores)
    table, log_z = inside(scores, sizes)
    spans, units = np.zeros_like(table), np.zeros_like(scores)
    spans[np.arange(len(spans)), 0, sizes] = 1.0
    for width in range(max(sizes), 1, -1):
        total = _spans(table, width)
        is_possible = (total > -math.inf)[..., None]
        split_logp = _alternatives(scores, table, width) - np.where(is_possible, total[..., None], 0)
        split_p = np.where(is_possible, np.exp(split_logp), 0)
        # They sum to one except for rounding errors in the table, whose numbers may be large.
        split_p *= (_spans(spans, width) / np.where(is_possible, split_p.sum(axis=-1, keepdims=True), 1)[..., 0])[
            ..., None
        ]
        units_of_width(units, width)[...] = split_p
        _left(spans, width)[...] += split_p
        _right(spans, width)[...] += split_p
    return units, log_z


def splits_of(scores: Array, sizes: Sequence[int], first: int, last: int) -> tuple[Array, float]:
    """Return the log-probabilities of the splits of a span of the first document, and of the span itself.

    Shape: (B, N, N, N) → (splits)
    """
    table, log_z = inside(scores, sizes)
    weights = (
        scores[0, first + 1 : last, first, last] + table[0, first, first + 1 : last] + table[0, first + 1 : last, last]
    )
    # The outside weight of the span is the weight of all trees in which the span is one leaf.
    cut = np.array([border for border in range(sizes[0] + 1) if not first < border < last])
    around, _ = inside(np.ascontiguousarray(scores[:1, cut][:, :, cut][:, :, :, cut]), [len(cut) - 1])
    span_logp = float(around[0, 0, len(cut) - 1] + table[0, first, last] - log_z[0])
    return log_softmax(weights), span_logp


def entropy(scores: Array, unit_p: Array, log_z: Array) -> Array:
    """Return the entropy of each document's unlabelled trees, in nats.

    Shape:
        scores, unit_p: (B, N, N, N), the latter from `marginals`
        log_z, entropy: (B,)
    """
    found: Array = log_z - np.where(unit_p == 0, 0, unit_p * np.where(unit_p == 0, 0, scores)).sum((1, 2, 3))
    return found


def entropy_of(p: Array) -> Array:
    """Return the entropy of distributions. Shape: (…, n) → (…)"""
    found: Array = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)
    return found


def _viterbi(table: Array, widest: int, score: Callable[[int], Array]) -> NDArray[np.int64]:
    """Fill a table with the scores of the best trees, and return their splits; ties go to the first split.

    `score` gives the scores of the units of a width. Shape: (B, N - width, width - 1) or (B, N - width, 1).
    """
    splits = np.zeros(table.shape, dtype=np.int64)
    for width in range(2, widest + 1):
        weights = _left(table, width) + _right(table, width) + score(width)
        best = weights.argmax(axis=-1)
        _spans(table, width)[...] = np.take_along_axis(weights, best[..., None], axis=-1)[..., 0]
        _spans(splits, width)[...] = best + np.arange(1, best.shape[-1] + 1)
    return splits


def best_scores(like: Array, size: int, score: Callable[[int], Array]) -> Array:
    """Return the scores of the best trees of all spans, in float64; `score` as in `_viterbi`. Shape: (B, N, N)"""
    table = _leaves(like, np.float64)
    _viterbi(table, size, score)
    return table


def _follow(splits: NDArray[np.integer[Any]], size: int) -> list[Split]:
    """Return the tree that a table of splits describes, in preorder."""
    units: list[Split] = []
    pending = [(0, size)]
    while pending:
        i, j = pending.pop()
        if j - i > 1:
            k = int(splits[i, j])
            units.append((i, k, j))
            pending += [(k, j), (i, k)]
    return units


def mbr_tree(
    span_gains: Array, sizes: Sequence[int], may_be_unit: NDArray[np.bool_] | None = None
) -> list[list[Split]]:
    """Return the tree of each document whose spans have the greatest sum of gains, as units in preorder.

    With the probabilities of spans as gains, this is the tree with the highest expected number of correct spans. The
    gains of single EDUs do not matter, because every tree has them.

    Shape:
        span_gains: (B, N, N)
        may_be_unit: (B, N, N), boolean
    """
    check_sizes(span_gains, sizes)
    gains = span_gains if may_be_unit is None else np.where(may_be_unit, span_gains, -math.inf)
    gains = np.ascontiguousarray(gains, dtype=span_gains.dtype)
    table = _leaves(gains)
    splits = _viterbi(table, max(sizes), lambda width: _spans(gains, width)[..., None])
    _check_some_tree(_roots(table, sizes))
    return [_follow(document, size) for document, size in zip(splits, sizes, strict=True)]


def sample(
    scores: Array, sizes: Sequence[int], n_samples: int, generator: "np.random.Generator"
) -> list[list[list[Split]]]:
    """Sample `n_samples` trees of each document from the exact distribution, as units in preorder.

    Shape:
        scores: (B, N, N, N)
    """
    scores = np.ascontiguousarray(scores)
    table, log_z = inside(scores, sizes)
    _check_some_tree(log_z)
    return [
        [_draw(scores[row], table[row], size, generator) for _ in range(n_samples)] for row, size in enumerate(sizes)
    ]


def _draw(scores: Array, table: Array, size: int, generator: "np.random.Generator") -> list[Split]:
    """Sample a tree from the root down."""
    units: list[Split] = []
    pending = [(0, size)]
    while pending:
        i, j = pending.pop()
        if j - i > 1:
            logp = scores[i + 1 : j, i, j] + table[i, i + 1 : j] + table[i + 1 : j, j] - table[i, j]
            upto = np.exp(logp, dtype=np.float64).cumsum()
            k = i + 1 + min(int(np.searchsorted(upto, generator.random() * upto[-1], side="right")), j - i - 2)
            units.append((i, k, j))
            pending += [(k, j), (i, k)]
    return units
