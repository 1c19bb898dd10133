"""Calibration: correcting the probabilities of a chart so that they match how often units are right.

A chart is certain of units that it was constrained to assume, and does not account for errors in the EDUs. The
parameters are fitted on held-out documents (`experiments.charts.calibration`).
"""

import math
from dataclasses import dataclass

NEAR = 1e-6
"""The minimum distance of probabilities from 0 and 1, so that log-odds are finite."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Corrections of log-odds; each pair is an intercept and a slope."""

    unit: tuple[float, float] = (0.0, 1.0)
    """For the probability of a unit."""
    assumed: tuple[float, float] = (2.0, 0.0)
    """For units that are assumed because sentences are kept whole; the slope is for the logarithm of the number of
    EDUs."""
    found: tuple[float, float] = (0.0, 1.0)
    """If EDUs were predicted rather than given: a shift of the log-odds of units, and the weight of the probability of
    their borders."""
    fine: tuple[float, float] = (0.0, 1.0)
    """For the probability of a relation and nuclearity, given the unit."""
    coarse: tuple[float, float] = (0.0, 1.0)
    """For the probability of a class of relations and nuclearity, given the unit."""

    def unit_p(self, p: float, size: int, *, is_assumed: bool, border_p: float | None) -> float:
        """Return the calibrated probability that a unit is right.

        `p` is the chart's probability, `size` the number of EDUs, and `border_p` the probability that the unit starts
        and ends at EDU boundaries, or None if EDUs were given.
        """
        intercept, slope = self.assumed if is_assumed else self.unit
        odds = intercept + slope * (math.log(size) if is_assumed else log_odds(p))
        if border_p is None:
            return sigmoid(odds)
        shift, weight = self.found
        return sigmoid(odds + shift) * math.pow(max(border_p, NEAR), weight)

    def label_p(self, p: float, *, is_fine: bool) -> float:
        """Return the calibrated probability that the label of a unit is right, given the unit."""
        intercept, slope = self.fine if is_fine else self.coarse
        return sigmoid(intercept + slope * log_odds(p))


def log_odds(p: float) -> float:
    """Return log(p / (1 − p))."""
    p = min(max(p, NEAR), 1 - NEAR)
    return math.log(p / (1 - p))


def sigmoid(odds: float) -> float:
    """The inverse of `log_odds`."""
    return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))
