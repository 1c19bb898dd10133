"""The only door between search and a model.

A scorer holds some documents. Units and stacks are numbers that it hands out; what is behind them (vectors, tables,
nothing at all) only it knows. Every call takes tensors with an entry per hypothesis, so that a search is a few large
calls a step, whatever the number of hypotheses and documents.
"""

from typing import Protocol

import torch
from torch import Tensor

EMPTY_STACK = 0
"""The number of the empty stack, the same for all documents."""

NO_UNIT = -1
"""The first EDU of a unit that is not there."""


class Scorer(Protocol):
    """Scores computations of some documents."""

    @property
    def n_edus(self) -> tuple[int, ...]:
        """The number of EDUs of each document."""

    @property
    def n_labels(self) -> int:
        """The number of RE(r, n) actions; label l is action l + 1."""

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""

    def leaves(self, documents: Tensor, edus: Tensor) -> Tensor:
        """The units of single EDUs."""

    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """The units that join pairs of units; equal pairs with equal labels may give the same unit."""

    def push(self, stacks: Tensor, units: Tensor) -> Tensor:
        """The stacks with a unit more on top."""

    def score(
        self,
        documents: Tensor,
        stacks: Tensor,
        second: Tensor,
        top: Tensor,
        n_generated: Tensor,
        needs_words: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities of GEN and all labels (−∞ where illegal), and of the words of the next EDU.

        `second` and `top` are the first EDUs of the two topmost units, `NO_UNIT` where there is none; the topmost unit
        ends with the last generated EDU. Words are zero where not needed, and for a model without any.

        Shape: (hypotheses, 1 + n_labels), (hypotheses)
        """

    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Nothing will be asked about other units and stacks than these any more: their memory may be used again."""
