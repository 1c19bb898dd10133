"""The only door between search and a model.

A scorer holds some documents and knows what units and stacks are to its model: rows of columns of its own (vectors,
numbers, anything). It keeps none of those it makes: search does (`Forest` in `hypotheses`), and shows them again. Every
call takes a row per hypothesis, so that a step of a search is a few large calls, whatever the number of hypotheses and
documents, and none of them has to wait for a GPU.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from genrst.rnng.transitions.actions import States

Columns = Sequence[Tensor]
"""What a scorer knows about units or about stacks, a row each."""


class Scorer(Protocol):
    """Scores derivations of some documents."""

    @property
    def n_edus(self) -> tuple[int, ...]:
        """The number of EDUs of each document."""

    @property
    def n_labels(self) -> int:
        """The number of RE(r, n) actions; label l is action l + 1."""

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""

    def leaves(self) -> Columns:
        """The EDUs of all documents, in order, as units."""

    def empty_stack(self) -> Columns:
        """The empty stack, one row."""

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """The units that join pairs of units."""

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """The stacks with one more unit on top."""

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of GEN and all labels (−∞ where illegal), and of the words of the next EDU.

        Words are scored for the first `n_words` states; their scores are zero for a model without words, and mean
        nothing where no EDU is left. Each run of `n_alike` states has one document and number of EDUs, which a GPU
        makes use of.

        Shape: (hypotheses, 1 + n_labels), (n_words)
        """


def sync_is_free(device: torch.device) -> bool:
    """Whether results may be looked at in the middle of a search.

    On a CPU that is free, so that only what is needed is computed. A GPU works behind the program, which would have to
    wait for it at every look: there everything is computed, needed or not. Apple's are asked in the way of a CPU.
    """
    return device.type != "cuda"
