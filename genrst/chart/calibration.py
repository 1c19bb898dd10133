"""From what a chart says of a unit to how often such units are right.

A chart is sure of what it was made to assume, and knows nothing of EDUs that may be wrong. The numbers here are fitted
on documents that it has not learned from (`experiments.charts.calibration`).
"""

import math
from dataclasses import dataclass

NEAR = 1e-6
"""Probabilities are held this far from 0 and 1, so that their log-odds are finite."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How log-odds are corrected: each pair is an intercept and a slope."""

    unit: tuple[float, float] = (0.0, 1.0)
    """Of the probability of a unit."""
    assumed: tuple[float, float] = (2.0, 0.0)
    """Of units that are only assumed, because sentences are kept whole: the slope is that of the logarithm of how many
    EDUs they have."""
    found: tuple[float, float] = (0.0, 1.0)
    """Where EDUs were found and not given: what is added to the log-odds of units, and how much the probability of
    their borders weighs."""
    fine: tuple[float, float] = (0.0, 1.0)
    """Of the probability of a relation and nuclearity, given the unit."""
    coarse: tuple[float, float] = (0.0, 1.0)
    """The same for classes of relations."""

    def unit_p(self, p: float, size: int, *, is_assumed: bool, border_p: float | None) -> float:
        """The probability that a unit is right.

        `p` is the chart's, `size` its number of EDUs, `border_p` the probability that it starts and ends where EDUs
        do; None if they were given.
        """
        intercept, slope = self.assumed if is_assumed else self.unit
        odds = intercept + slope * (math.log(size) if is_assumed else log_odds(p))
        if border_p is None:
            return sigmoid(odds)
        shift, weight = self.found
        return sigmoid(odds + shift) * math.pow(max(border_p, NEAR), weight)

    def label_p(self, p: float, *, is_fine: bool) -> float:
        """The probability that the label of a unit is right, given that it is one."""
        intercept, slope = self.fine if is_fine else self.coarse
        return sigmoid(intercept + slope * log_odds(p))


def log_odds(p: float) -> float:
    """log(p / (1 − p))"""
    p = min(max(p, NEAR), 1 - NEAR)
    return math.log(p / (1 - p))


def sigmoid(odds: float) -> float:
    """The inverse of `log_odds`."""
    return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))
