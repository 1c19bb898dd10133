"""Minimum-risk decoding: of the k best trees the one that has most in common with all of them, the likelier the more.

Every tree over the same EDUs has as many units, so F of two trees is the share of units they have in common, and the
expected F of a tree is the sum of what its units are expected to count.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from genrst.transitions.actions import GENERATE

Units: TypeAlias = frozenset[tuple[int, int, int]]
"""The first EDU, the EDU after the last one, and the label, by the number of its action, of all units of a tree."""


def units_of(actions: Sequence[int]) -> Units:
    """The units that a computation makes."""
    starts: list[int] = []
    n_read = 0
    units = set()
    for action in actions:
        if action == GENERATE:
            starts.append(n_read)
            n_read += 1
        else:
            starts.pop()
            units.add((starts[-1], n_read, action))
    return frozenset(units)


def choose_least_risk(trees: Sequence[Units], scores: Sequence[float], temperature: float) -> int:
    """The tree with the highest expected F against all of them, the first of equals.

    A tree is as likely as exp(score / temperature), of the sum over all trees.
    """
    expected: defaultdict[tuple[int, int, int], float] = defaultdict(float)
    for units, probability in zip(trees, probabilities(scores, temperature), strict=True):
        for unit in units:
            expected[unit] += probability
    # Rounding must not choose among equals.
    return _first_best([round(sum(expected[unit] for unit in sorted(units)), 9) for units in trees])


def probabilities(scores: Sequence[float], temperature: float) -> list[float]:
    """The shares of exp(score / temperature)."""
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    return [weight / sum(weights) for weight in weights]


def choose_oracle(trees: Sequence[Units], gold: Units) -> int:
    """The tree with the highest F against the gold tree, the first of equals."""
    return _first_best([len(units & gold) for units in trees])


def _first_best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)
