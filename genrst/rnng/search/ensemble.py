"""Several scorers of the same documents as one: their log-probabilities are weighted and added.

A log-linear combination: of seeds of one model, or of a generative and a discriminative one. Its scores are not
log-probabilities of anything, but comparisons are all that a search makes.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from genrst.rnng.search.scorer import Columns, Scorer
from genrst.rnng.transitions.actions import States


class Ensemble:
    """A scorer made of scorers; its columns are those of all members, one member after the other."""

    def __init__(self, members: Sequence[Scorer], weights: Sequence[float]) -> None:
        self._members = members
        self._weights = weights
        first = members[0]
        self.n_edus, self.n_labels, self.device = first.n_edus, first.n_labels, first.device
        for member in members:
            assert (member.n_edus, member.n_labels, member.device) == (self.n_edus, self.n_labels, self.device)

    def leaves(self) -> Columns:
        """The EDUs as units."""
        return _join(member.leaves() for member in self._members)

    def empty_stack(self) -> Columns:
        """The empty stack."""
        return _join(member.empty_stack() for member in self._members)

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """The units that join pairs of units."""
        parts = zip(self._members, self._split(left), self._split(right), strict=True)
        return _join(member.compose(ours, others, labels) for member, ours, others in parts)

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """The stacks with one more unit on top."""
        parts = zip(self._members, self._split(stacks), self._split(units), strict=True)
        return _join(member.push(*own) for member, *own in parts)

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """The weighted sums of the members' log-probabilities."""
        parts = zip(self._members, self._split(states.stacks), strict=True)
        scores = [member.score(states._replace(stacks=stacks), n_words, n_alike) for member, stacks in parts]
        actions, words = zip(*scores, strict=True)
        return self._weighted_sum(actions), self._weighted_sum(words)

    def _split(self, columns: Columns) -> list[Columns]:
        """The columns of each member."""
        n = len(columns) // len(self._members)
        return [columns[first : first + n] for first in range(0, len(columns), n)]

    def _weighted_sum(self, parts: Sequence[Tensor]) -> Tensor:
        # What is impossible stays so, whatever its weight: 0 · −∞ would be nan.
        pairs = zip(parts, self._weights, strict=True)
        weighted = [torch.where(part > -torch.inf, weight * part, part) for part, weight in pairs]
        return torch.stack(weighted).sum(dim=0)


def _join(parts: Iterable[Columns]) -> list[Tensor]:
    parts = list(parts)
    assert len({len(columns) for columns in parts}) == 1, "members have equally many columns"
    return [column for columns in parts for column in columns]
