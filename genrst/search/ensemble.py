"""Several scorers of the same documents as one: what they say is weighed and added.

A log-linear combination: of seeds of one model, or of a generative and a discriminative one. Its scores are no
log-probabilities of anything, but comparisons are all that a search makes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from genrst.search.scorer import Scorer, States


class Ensemble:
    """A scorer made of scorers.

    All of them number units and stacks in the order in which they are made, so their numbers agree.
    """

    def __init__(self, members: Sequence[Scorer], weights: Sequence[float]) -> None:
        self._members = members
        self._weights = weights
        first = members[0]
        self.n_edus, self.n_labels, self.device = first.n_edus, first.n_labels, first.device
        for member in members:
            assert (member.n_edus, member.n_labels, member.device) == (self.n_edus, self.n_labels, self.device)

    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> int | Tensor:
        """Make units in every member."""
        first, *_ = [member.compose(left, right, labels) for member in self._members]
        return first

    def push(self, stacks: Tensor, units: Tensor) -> int | Tensor:
        """Make stacks in every member."""
        first, *_ = [member.push(stacks, units) for member in self._members]
        return first

    def score(self, states: States, n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """The weighted sums of the members' log-probabilities."""
        found = [member.score(states, n_words, n_alike) for member in self._members]
        actions, words = zip(*found, strict=True)
        return self._weighed(actions), self._weighed(words)

    def _weighed(self, parts: Sequence[Tensor]) -> Tensor:
        # What is impossible stays so, whatever its weight: 0 · −∞ would be no number.
        pairs = zip(parts, self._weights, strict=True)
        weighed = [torch.where(part > -torch.inf, weight * part, part) for part, weight in pairs]
        return torch.stack(weighed).sum(dim=0)

    def hold(self, n_new: int) -> None:
        """Let every member make room."""
        for member in self._members:
            member.hold(n_new)

    def release(self, n_new: int) -> None:
        """Let every member count as before."""
        for member in self._members:
            member.release(n_new)

    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Let every member forget."""
        for member in self._members:
            member.forget(units, stacks)
