"""The only door between search and a model.

A scorer holds some documents. Units and stacks are numbers that it hands out; what is behind them (vectors, tables,
nothing at all) only it knows. Every call takes arrays, one entry per hypothesis.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]

EMPTY_STACK = 0
"""The number of the empty stack, the same for all documents."""

NO_UNIT = -1
"""Where the span of a unit is asked for that is not there."""


class Scorer(Protocol):
    """Scores computations of some documents."""

    @property
    def n_edus(self) -> tuple[int, ...]:
        """The number of EDUs of each document."""

    @property
    def n_labels(self) -> int:
        """The number of RE(r, n) actions; label l is action l + 1."""

    def leaves(self, documents: IntArray, edus: IntArray) -> IntArray:
        """The units of single EDUs."""

    def compose(self, left: IntArray, right: IntArray, labels: IntArray) -> IntArray:
        """The units that join pairs of units."""

    def push(self, stacks: IntArray, units: IntArray) -> IntArray:
        """The stacks with a unit more on top."""

    def action_logp(
        self, documents: IntArray, stacks: IntArray, second: IntArray, top: IntArray, n_generated: IntArray
    ) -> FloatArray:
        """Log-probabilities of GEN and all labels, −∞ where illegal.

        `second` and `top` are the first EDUs of the two topmost units, `NO_UNIT` where there is none; the topmost unit
        ends with the last generated EDU.

        Shape: (hypotheses, 1 + n_labels)
        """
