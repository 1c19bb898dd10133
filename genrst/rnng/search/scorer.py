"""The only door between search and a model, and two scorers made of others: of several, or under constraints.

A scorer holds some documents and knows what units and stacks are to its model: rows of columns of its own (vectors,
numbers, anything). It keeps none of those it makes: search does (`Forest` in `hypotheses`), and shows them again. Every
call takes a row per hypothesis, so that a step of a search is a few large calls, whatever the number of hypotheses and
documents, and none of them has to wait for a GPU.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from genrst.rnng.transitions.actions import States
from genrst.rnng.transitions.legal import Frame, LegalActions
from genrst.trees.constraints import ResolvedConstraints

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


class Ensemble:
    """Scorers of the same documents as one, by weighted sums of their log-probabilities.

    A log-linear combination: of seeds of one model, or of a generative and a discriminative one. Its scores are not
    log-probabilities of anything, but comparisons are all that a search makes. Its columns are those of all members,
    one member after the other.
    """

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
    assert len({len(columns) for columns in parts}) == 1, "members must have the same number of columns"
    return [column for columns in parts for column in columns]


NO_LABEL, ANY_LABEL = range(2)
"""Which labels RE may have; what follows are the constraints of documents."""


class Constrained:
    """A scorer without illegal actions: where a tree could not become as demanded any more, the score is −∞.

    It stands between any scorer and any search, so neither knows of constraints; `genrst.rnng.transitions.legal` says
    what is legal. Log-probabilities of legal actions are as they were. Stacks have one more column, the number of a
    frame, and units the number of their first EDU. Frames are made on the way, which a GPU has to wait for.
    """

    def __init__(
        self, scorer: Scorer, constraints: Sequence[ResolvedConstraints], max_stack: int | None = None
    ) -> None:
        self._scorer = scorer
        self.n_edus, self.n_labels, self.device = scorer.n_edus, scorer.n_labels, scorer.device
        self._legal = [LegalActions(*one, max_stack) for one in zip(self.n_edus, constraints, strict=True)]
        self.max_stack = max_stack and max(one.max_stack or max_stack for one in self._legal)
        """The bound on the stack, or what the constraints on one of the documents need."""
        self._first_edus = [(document, edu) for document, size in enumerate(self.n_edus) for edu in range(size)]
        self._frames: list[Frame | None] = [None]
        """The first one, of the empty stack, is another in each document."""
        self._numbers: dict[Frame, int] = {}
        spans = [(document, *span) for document, own in enumerate(constraints) for span in own.labels]
        self._labels = {span: 2 + number for number, span in enumerate(spans)}
        demanded = [mask for own in constraints for mask in own.labels.values()]
        labels = [(False,) * self.n_labels, (True,) * self.n_labels, *demanded]
        rows = [(may_generate, *mask) for mask in labels for may_generate in (False, True)]
        self._masks = torch.tensor(rows, device=self.device)

    def leaves(self) -> Columns:
        """The EDUs as units."""
        return [*self._scorer.leaves(), torch.arange(sum(self.n_edus), device=self.device)]

    def empty_stack(self) -> Columns:
        """The empty stack."""
        return [*self._scorer.empty_stack(), torch.zeros(1, dtype=torch.long, device=self.device)]

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """The units that join pairs of units."""
        return [*self._scorer.compose(left[:-1], right[:-1], labels), left[-1]]

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """The stacks with one more unit on top."""
        pairs = zip(*torch.stack([stacks[-1], units[-1]]).tolist(), strict=True)
        numbers = torch.tensor([self._push(*pair) for pair in pairs], dtype=torch.long, device=self.device)
        return [*self._scorer.push(stacks[:-1], units[:-1]), numbers]

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """The scorer's log-probabilities, −∞ where an action is illegal."""
        stacks = states.stacks
        logp, word_logp = self._scorer.score(states._replace(stacks=stacks[:-1]), n_words, n_alike)
        columns = torch.stack([states.documents, stacks[-1], states.second, states.n_generated]).tolist()
        rows = torch.tensor([self._mask(*state) for state in zip(*columns, strict=True)], dtype=torch.long)
        return logp.masked_fill(~self._masks[rows.to(self.device)], -torch.inf), word_logp

    def _push(self, stack: int, first_edu: int) -> int:
        document, edu = self._first_edus[first_edu]
        frame = self._legal[document].push(self._frame(document, stack), edu)
        if frame not in self._numbers:
            self._numbers[frame] = len(self._frames)
            self._frames.append(frame)
        return self._numbers[frame]

    def _mask(self, document: int, stack: int, second: int, n_generated: int) -> int:
        """The number of the row of legal actions."""
        legal, frame, labels = self._legal[document], self._frame(document, stack), NO_LABEL
        if legal.may_reduce(frame, n_generated):
            labels = self._labels.get((document, second, n_generated), ANY_LABEL)
        return 2 * labels + legal.may_generate(frame, n_generated)

    def _frame(self, document: int, stack: int) -> Frame:
        return self._frames[stack] or self._legal[document].bottom
