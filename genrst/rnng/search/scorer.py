"""The interface between search and a model, and two scorers that wrap others: an ensemble, and constraints.

A scorer represents units and stacks as rows of its own columns (vectors, numbers, anything). It does not store the
rows that it makes: search does (`Forest` in `hypotheses`) and passes them back. Every call takes a row per hypothesis,
so a step of a search is a few large calls, regardless of the number of hypotheses and documents, and none of them
forces a GPU to synchronise.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from genrst.rnng.transitions.actions import States
from genrst.rnng.transitions.legal import Frame, LegalActions
from genrst.trees.constraints import ResolvedConstraints

Columns = Sequence[Tensor]
"""A scorer's representation of units or stacks, one row each."""


class Scorer(Protocol):
    """Scores derivations of documents."""

    @property
    def n_edus(self) -> tuple[int, ...]:
        """The number of EDUs of each document."""

    @property
    def n_labels(self) -> int:
        """The number of RE(r, n) actions. Label l is action l + 1."""

    @property
    def device(self) -> torch.device:
        """The device of all tensors."""

    def leaves(self) -> Columns:
        """Return the EDUs of all documents, in order, as units."""

    def empty_stack(self) -> Columns:
        """Return the empty stack, as one row."""

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """Compose pairs of units."""

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """Push units onto stacks."""

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of GEN and all labels (−∞ if illegal), and of the words of the next EDU.

        Words are scored for the first `n_words` states. Their scores are zero for a model without words, and undefined
        if no EDU is left. Each run of `n_alike` states has the same document and number of EDUs, which speeds up a GPU.

        Shape: (hypotheses, 1 + n_labels), (n_words)
        """


def sync_is_free(device: torch.device) -> bool:
    """Whether reading results in the middle of a search is free on a device.

    On a CPU it is, so only the necessary parts are computed. A CUDA GPU works asynchronously, and the host would have
    to wait for it at every read, so everything is computed, whether needed or not. Apple's GPUs are treated like a CPU.
    """
    return device.type != "cuda"


class Ensemble:
    """A log-linear combination of scorers of the same documents: a weighted sum of their log-probabilities.

    The members may be seeds of the same model, or a generative and a discriminative model. The sums are not
    log-probabilities, but a search only compares them. The columns are the concatenated columns of all members.
    """

    def __init__(self, members: Sequence[Scorer], weights: Sequence[float]) -> None:
        self._members = members
        self._weights = weights
        first = members[0]
        self.n_edus, self.n_labels, self.device = first.n_edus, first.n_labels, first.device
        for member in members:
            assert (member.n_edus, member.n_labels, member.device) == (self.n_edus, self.n_labels, self.device)

    def leaves(self) -> Columns:
        """Return the EDUs as units."""
        return _join(member.leaves() for member in self._members)

    def empty_stack(self) -> Columns:
        """Return the empty stack."""
        return _join(member.empty_stack() for member in self._members)

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """Compose pairs of units."""
        parts = zip(self._members, self._split(left), self._split(right), strict=True)
        return _join(member.compose(ours, others, labels) for member, ours, others in parts)

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """Push units onto stacks."""
        parts = zip(self._members, self._split(stacks), self._split(units), strict=True)
        return _join(member.push(*own) for member, *own in parts)

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Return the weighted sums of the members' log-probabilities."""
        parts = zip(self._members, self._split(states.stacks), strict=True)
        scores = [member.score(states._replace(stacks=stacks), n_words, n_alike) for member, stacks in parts]
        actions, words = zip(*scores, strict=True)
        return self._weighted_sum(actions), self._weighted_sum(words)

    def _split(self, columns: Columns) -> list[Columns]:
        """Divide columns among the members."""
        n = len(columns) // len(self._members)
        return [columns[first : first + n] for first in range(0, len(columns), n)]

    def _weighted_sum(self, parts: Sequence[Tensor]) -> Tensor:
        # Impossible actions stay impossible with any weight: 0 · −∞ would be nan.
        pairs = zip(parts, self._weights, strict=True)
        weighted = [torch.where(part > -torch.inf, weight * part, part) for part, weight in pairs]
        return torch.stack(weighted).sum(dim=0)


def _join(parts: Iterable[Columns]) -> list[Tensor]:
    parts = list(parts)
    assert len({len(columns) for columns in parts}) == 1, "members must have the same number of columns"
    return [column for columns in parts for column in columns]


NO_LABEL, ANY_LABEL = range(2)
"""The first rows of the label masks. The rows after them come from the constraints of documents."""


class Constrained:
    """A scorer that gives −∞ to actions after which no tree could satisfy the constraints.

    It wraps any scorer, so that neither scorers nor searches need to handle constraints. The legal actions are computed
    by `genrst.rnng.transitions.legal`; their log-probabilities are unchanged. Stacks have an additional column for the
    number of a frame, and units have one for the number of their first EDU. Frames are built during the search, which
    forces a GPU to synchronise.
    """

    def __init__(
        self, scorer: Scorer, constraints: Sequence[ResolvedConstraints], max_stack: int | None = None
    ) -> None:
        self._scorer = scorer
        self.n_edus, self.n_labels, self.device = scorer.n_edus, scorer.n_labels, scorer.device
        self._legal = [LegalActions(*one, max_stack) for one in zip(self.n_edus, constraints, strict=True)]
        self.max_stack = max_stack and max(one.max_stack or max_stack for one in self._legal)
        """The limit on the stack, raised if the constraints on a document need more."""
        self._first_edus = [(document, edu) for document, size in enumerate(self.n_edus) for edu in range(size)]
        self._frames: list[Frame | None] = [None]
        """The frames by number. The first one stands for the empty stack, whose frame depends on the document."""
        self._numbers: dict[Frame, int] = {}
        spans = [(document, *span) for document, own in enumerate(constraints) for span in own.labels]
        self._labels = {span: 2 + number for number, span in enumerate(spans)}
        demanded = [mask for own in constraints for mask in own.labels.values()]
        labels = [(False,) * self.n_labels, (True,) * self.n_labels, *demanded]
        rows = [(may_generate, *mask) for mask in labels for may_generate in (False, True)]
        self._masks = torch.tensor(rows, device=self.device)

    def leaves(self) -> Columns:
        """Return the EDUs as units."""
        return [*self._scorer.leaves(), torch.arange(sum(self.n_edus), device=self.device)]

    def empty_stack(self) -> Columns:
        """Return the empty stack."""
        return [*self._scorer.empty_stack(), torch.zeros(1, dtype=torch.long, device=self.device)]

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        """Compose pairs of units."""
        return [*self._scorer.compose(left[:-1], right[:-1], labels), left[-1]]

    def push(self, stacks: Columns, units: Columns) -> Columns:
        """Push units onto stacks."""
        pairs = zip(*torch.stack([stacks[-1], units[-1]]).tolist(), strict=True)
        numbers = torch.tensor([self._push(*pair) for pair in pairs], dtype=torch.long, device=self.device)
        return [*self._scorer.push(stacks[:-1], units[:-1]), numbers]

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Return the scorer's log-probabilities; −∞ for illegal actions."""
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
        """Return the number of the mask of legal actions."""
        legal, frame, labels = self._legal[document], self._frame(document, stack), NO_LABEL
        if legal.may_reduce(frame, n_generated):
            labels = self._labels.get((document, second, n_generated), ANY_LABEL)
        return 2 * labels + legal.may_generate(frame, n_generated)

    def _frame(self, document: int, stack: int) -> Frame:
        return self._frames[stack] or self._legal[document].bottom
