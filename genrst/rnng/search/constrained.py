"""A scorer that has no illegal action: where a tree could not become as demanded any more, the score is −∞.

Stands between any scorer and any search, so neither knows of constraints; `genrst.rnng.transitions.legal` says what is
legal. Log-probabilities of legal actions are as they were. Stacks have one more column, the number of a frame, and
units the number of their first EDU. Frames are made on the way, which a GPU has to wait for.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from genrst.rnng.search.scorer import Columns, Scorer
from genrst.rnng.transitions.actions import States
from genrst.rnng.transitions.legal import Frame, LegalActions
from genrst.trees.constraints import ResolvedConstraints

NO_LABEL, ANY_LABEL = range(2)
"""Which labels RE may have; what follows are the constraints of documents."""


class Constrained:
    """A scorer of documents under constraints."""

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
