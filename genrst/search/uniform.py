"""Scorers without knowledge, to see what a search prefers by itself (section 4.1 of the paper).

Labels do not matter here, so there is one. Generating an EDU has a constant small probability, so that GEN ranks below
RE as it does in real models.
"""

from typing import Literal

import torch
from torch import Tensor

from genrst.search.scorer import States

GENERATION_LOGP = -20.0
"""About what an EDU of three or four words has."""


class UninformedScorer:
    """`uniform`: all legal actions are equally likely, so forced ones are certain.

    `constant`: every action has the same score, forced or not.
    """

    n_labels = 1
    device = torch.device("cpu")

    def __init__(self, n_edus: tuple[int, ...], kind: Literal["uniform", "constant"]) -> None:
        self.n_edus = n_edus
        self.kind = kind
        self._sizes = torch.tensor(n_edus)
        self._n_units = sum(n_edus)
        self._n_stacks = 1

    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> int:
        """Units are only numbers."""
        del right, labels
        self._n_units += len(left)
        return self._n_units - len(left)

    def push(self, stacks: Tensor, units: Tensor) -> int:
        """Stacks too."""
        del units
        self._n_stacks += len(stacks)
        return self._n_stacks - len(stacks)

    def score(self, states: States, n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """The same for every state with the same legal actions."""
        del n_alike
        is_legal = torch.stack([states.n_generated < self._sizes[states.documents], states.second >= 0], dim=1)
        scores = torch.zeros(is_legal.shape)
        if self.kind == "uniform":
            scores = scores - is_legal.sum(dim=1, keepdim=True).float().log()
        return scores.masked_fill(~is_legal, -torch.inf), torch.full((n_words,), GENERATION_LOGP)

    def hold(self, n_new: int) -> None:
        """Numbers need no room."""

    def release(self, n_new: int) -> None:
        """So there is nothing to do."""

    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Nothing is kept anyway."""
