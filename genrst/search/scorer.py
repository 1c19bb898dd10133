"""The only door between search and a model.

A scorer holds some documents. Units and stacks are numbers; what is behind them (vectors, tables, nothing at all) only
the scorer knows. They are numbered as they are made: units begin with all EDUs of all documents, in order, stacks with
the empty one. Every call takes tensors with an entry per hypothesis, so that a search is a few large calls a step,
whatever the number of hypotheses and documents, and none of them has to wait for a GPU.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

EMPTY_STACK = 0
"""The number of the empty stack, the same for all documents."""

NO_UNIT = -1
"""The first EDU of a unit that is not there."""


class States(NamedTuple):
    """What is scored, an entry per hypothesis."""

    documents: Tensor
    stacks: Tensor
    second: Tensor
    """The first EDU of the second unit on the stack, `NO_UNIT` where there is none."""
    top: Tensor
    """The first EDU of the topmost unit, which ends with the last generated EDU."""
    n_generated: Tensor


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

    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> int | Tensor:
        """Make the units that join pairs of units; returns the number of the first, the others follow it."""

    def push(self, stacks: Tensor, units: Tensor) -> int | Tensor:
        """Make the stacks with a unit more on top; returns the number of the first, the others follow it."""

    def score(self, states: States, n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of GEN and all labels (−∞ where illegal), and of the words of the next EDU.

        Words are wanted of the first `n_words` states; they are zero for a model without any, and mean nothing where
        no EDU is left. `n_alike` states at a time have the same document and number of EDUs, which a GPU makes use of.

        Shape: (hypotheses, 1 + n_labels), (n_words)
        """

    def hold(self, n_new: int) -> None:
        """Make room for so many units and stacks. Until `release` nothing moves in memory, and the device counts them:
        so steps can be recorded and replayed (`genrst.search.cuda`).
        """

    def release(self, n_new: int) -> None:
        """Count as before; so many units and stacks were made. Nobody else knows: asking the device would take time."""

    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Of what was made, nothing but this will be asked about any more: the rest of the memory may be used again."""


def can_wait(device: torch.device) -> bool:
    """Whether results may be looked at in the middle of a search.

    On a CPU that is free, so that only what is needed is computed. A GPU works behind the program, which would have to
    wait for it at every look: there everything is computed, needed or not.
    """
    return device.type == "cpu"
