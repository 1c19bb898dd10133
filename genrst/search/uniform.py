"""Scorers without knowledge, to see what a search prefers by itself (section 4.1 of the paper).

Labels do not matter here, so there is one. Generating an EDU has a constant small probability, so that GEN ranks below
RE as it does in real models.
"""

from typing import Literal

import torch
from torch import Tensor

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
        self._n_units = max(n_edus)
        self._n_stacks = 1

    def leaves(self, documents: Tensor, edus: Tensor) -> Tensor:
        """Units are only numbers; those of leaves are the numbers of their EDUs."""
        del documents
        return edus

    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """A new number for each unit."""
        del right, labels
        self._n_units += len(left)
        return torch.arange(self._n_units - len(left), self._n_units)

    def push(self, stacks: Tensor, units: Tensor) -> Tensor:
        """A new number for each stack."""
        del units
        self._n_stacks += len(stacks)
        return torch.arange(self._n_stacks - len(stacks), self._n_stacks)

    def score(
        self,
        documents: Tensor,
        stacks: Tensor,
        second: Tensor,
        top: Tensor,
        n_generated: Tensor,
        needs_words: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The same for every state with the same legal actions."""
        del stacks, top
        is_legal = torch.stack([n_generated < self._sizes[documents], second >= 0], dim=1)
        scores = torch.zeros(len(documents), 2)
        if self.kind == "uniform":
            scores = scores - is_legal.sum(dim=1, keepdim=True).float().log()
        return scores.masked_fill(~is_legal, -torch.inf), GENERATION_LOGP * needs_words.float()

    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Nothing is kept anyway."""
