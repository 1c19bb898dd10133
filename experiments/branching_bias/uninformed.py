"""Uninformed scorers, which reveal the bias of a search itself (section 4.1 of the paper).

There is only one label, because labels do not matter here. Generating an EDU has a constant small probability, so that
GEN ranks below RE, as in real models.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from genrst.rnng.transitions.actions import States

GENERATION_LOGP = -20.0
"""About the log-probability of an EDU of three or four words."""


class UninformedScorer:
    """`uniform`: all legal actions are equally likely, so forced ones are certain.

    `constant`: every action has the same score, forced or not.
    """

    n_labels = 1
    device = torch.device("cpu")

    def __init__(
        self, n_edus: tuple[int, ...], kind: Literal["uniform", "constant"], generation_logp: float = GENERATION_LOGP
    ) -> None:
        self.n_edus = n_edus
        self.kind = kind
        self.generation_logp = generation_logp
        self._sizes = torch.tensor(n_edus)

    def leaves(self) -> Sequence[Tensor]:
        """Return a column of zeros, because units and stacks carry no information."""
        return [torch.zeros(sum(self.n_edus))]

    def empty_stack(self) -> Sequence[Tensor]:
        """Return the empty stack."""
        return [torch.zeros(1)]

    def compose(self, left: Sequence[Tensor], right: Sequence[Tensor], labels: Tensor) -> Sequence[Tensor]:
        """Return the units that join pairs of units."""
        del right, labels
        return left

    def push(self, stacks: Sequence[Tensor], units: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the stacks with one more unit on top."""
        del units
        return stacks

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Score states; states with the same legal actions have the same scores."""
        del n_alike
        is_legal = torch.stack([states.n_generated < self._sizes[states.documents], states.second >= 0], dim=1)
        scores = torch.zeros(is_legal.shape)
        if self.kind == "uniform":
            scores = scores - is_legal.sum(dim=1, keepdim=True).float().log()
        return scores.masked_fill(~is_legal, -torch.inf), torch.full((n_words,), self.generation_logp)
