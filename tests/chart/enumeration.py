"""All binary trees of a small document, and distributions over them by definition.

The reference that charts are tested against: slow, and without any code of `genrst.chart`. `fits` says which trees
satisfy constraints, as the documentation has it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.trees.constraints import Constraint

Array: TypeAlias = NDArray[np.floating[Any]]
Unit = tuple[int, int, int]
Tree = tuple[Unit, ...]
LabelledTree = tuple[Tree, tuple[int, ...]]


@cache
def all_trees(start: int, stop: int) -> list[Tree]:
    """The units of each tree in preorder, trees by the splits of their units."""
    if stop - start == 1:
        return [()]
    return [
        ((start, split, stop), *left, *right)
        for split in range(start + 1, stop)
        for left in all_trees(start, split)
        for right in all_trees(split, stop)
    ]


def labelled_trees(n_edus: int, n_labels: int) -> list[LabelledTree]:
    """Each tree with each choice of labels for its units."""
    return [(tree, labels) for tree in all_trees(0, n_edus) for labels in product(range(n_labels), repeat=n_edus - 1)]


@cache
def spans_of(tree: Tree, n_edus: int) -> set[tuple[int, int]]:
    """All spans of a tree with its single EDUs."""
    return {(i, j) for i, _, j in tree} | {(edu, edu + 1) for edu in range(n_edus)}


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """They share EDUs, and each has some that the other has not."""
    first, second = set(range(*one)), set(range(*other))
    return bool(first & second and first - second and second - first)


def runs(groups: Sequence[int]) -> list[tuple[int, int]]:
    return [(groups.index(n), groups.index(n) + groups.count(n)) for n in sorted(set(groups))]


def fits(tree: Tree, constraints: Sequence[Constraint], groups: Sequence[int] | None, n_edus: int) -> bool:
    """Whether the structure of a tree satisfies constraints, as the documentation has it."""
    spans = spans_of(tree, n_edus)
    if any((one.span in spans) != one.is_unit for one in constraints):
        return False
    for group in runs(groups or []):
        overruled = any(cross(group, one.span) if one.is_unit else group == one.span for one in constraints)
        if not overruled and any(cross(group, span) for span in spans):
            return False
    return True


def score_of(tree: Tree, scores: Array) -> float:
    return math.fsum(float(scores[k, i, j]) for i, k, j in tree)


def labelled_score(pair: LabelledTree, scores: Array, label_logp: Array) -> float:
    tree, labels = pair
    labels_logp = (float(label_logp[k, i, j, label]) for (i, k, j), label in zip(tree, labels, strict=True))
    return score_of(tree, scores) + math.fsum(labels_logp)


def log_sum(values: Iterable[float]) -> float:
    values = [value for value in values if value > -math.inf]
    top = max(values, default=0.0)
    return top + math.log(math.fsum(math.exp(value - top) for value in values)) if values else -math.inf


def distribution(scores: Array, n_edus: int, keep: Callable[[Tree], bool] = lambda tree: True) -> dict[Tree, float]:
    """The probabilities of the trees that are kept and possible."""
    by_tree = {tree: score_of(tree, scores) for tree in all_trees(0, n_edus) if keep(tree)}
    log_z = log_sum(by_tree.values())
    return {tree: math.exp(score - log_z) for tree, score in by_tree.items() if score > -math.inf}


def unit_probabilities(trees: Mapping[Tree, float], n_positions: int) -> Array:
    """Shape: (N, N, N), by split, start and stop."""
    table = np.zeros((n_positions,) * 3)
    for tree, p in trees.items():
        for i, k, j in tree:
            table[k, i, j] += p
    return table


def entropy_of(probabilities: Iterable[float]) -> float:
    return -math.fsum(p * math.log(p) for p in probabilities if p > 0)


def total_gain(tree: Sequence[Unit], gains: Array) -> float:
    return math.fsum(float(gains[i, j]) for i, _, j in tree)
