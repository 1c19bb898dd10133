"""Hypotheses as rows of tensors, and the growing tables that they share their stacks and units in.

A stack is a unit and the stack below it; a unit is two units and a label. Hypotheses hold only the number of their
stack, so thousands of them share nearly everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from genrst.search.scorer import EMPTY_STACK, NO_UNIT, Scorer


class Columns:
    """Columns of integers that grow together, doubling their room when it is full."""

    def __init__(self, n_columns: int, device: torch.device) -> None:
        self._values = torch.full((n_columns, 1024), -1, dtype=torch.long, device=device)

    def __getitem__(self, column: int) -> Tensor:
        return self._values[column]

    def put(self, rows: Tensor, *columns: Tensor | int) -> None:
        """Set rows, which may lie past the end."""
        needed = int(rows.max()) + 1 if len(rows) else 0
        while needed > self._values.shape[1]:
            self._values = torch.cat([self._values, torch.full_like(self._values, -1)], dim=1)
        for number, values in enumerate(columns):
            self._values[number, rows] = values


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """A row per hypothesis."""

    documents: Tensor
    stacks: Tensor
    sizes: Tensor
    """Units on the stack."""
    n_generated: Tensor
    action_logp: Tensor
    word_logp: Tensor

    def __len__(self) -> int:
        return len(self.documents)

    def rows(self, index: Tensor) -> "Hypotheses":
        """Some of them."""
        return Hypotheses(*(getattr(self, field.name)[index] for field in fields(self)))


def start(scorer: Scorer) -> Hypotheses:
    """One hypothesis for each document: nothing generated, an empty stack."""
    documents = torch.arange(len(scorer.n_edus), device=scorer.device)
    zeros = torch.zeros_like(documents)
    logp = torch.zeros(len(documents), dtype=torch.double, device=scorer.device)
    return Hypotheses(documents, zeros + EMPTY_STACK, zeros, zeros, logp, logp)


def join(parts: Sequence[Hypotheses]) -> Hypotheses:
    """Several sets of hypotheses as one."""
    return Hypotheses(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Hypotheses)))


class Forest:
    """The units and stacks that a search has built with a scorer."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._stacks = Columns(2, scorer.device)
        self._units = Columns(4, scorer.device)
        self._stacks.put(torch.tensor([EMPTY_STACK], device=scorer.device), NO_UNIT, EMPTY_STACK)

    def tops(self, hypotheses: Hypotheses) -> tuple[Tensor, Tensor]:
        """The first EDUs of the second and of the topmost unit of each stack, `NO_UNIT` where there is none."""
        units, below = self._stacks[0], self._stacks[1]
        top, second = units[hypotheses.stacks], units[below[hypotheses.stacks]]
        first_edu = self._units[3]
        is_one, is_two = hypotheses.sizes >= 1, hypotheses.sizes >= 2
        return (
            torch.where(is_two, first_edu[second.clamp_min(0)], NO_UNIT),
            torch.where(is_one, first_edu[top.clamp_min(0)], NO_UNIT),
        )

    def generate(self, hypotheses: Hypotheses) -> Tensor:
        """The stacks after GEN."""
        units = self.scorer.leaves(hypotheses.documents, hypotheses.n_generated)
        self._units.put(units, -1, -1, -1, hypotheses.n_generated)
        return self._push(hypotheses.stacks, units)

    def reduce(self, hypotheses: Hypotheses, labels: Tensor) -> Tensor:
        """The stacks after RE with these labels."""
        units, below = self._stacks[0], self._stacks[1]
        under = below[hypotheses.stacks]
        left, right = units[under], units[hypotheses.stacks]
        joined = self.scorer.compose(left, right, labels)
        self._units.put(joined, left, right, labels, self._units[3][left])
        return self._push(below[under], joined)

    def _push(self, stacks: Tensor, units: Tensor) -> Tensor:
        pushed = self.scorer.push(stacks, units)
        self._stacks.put(pushed, units, stacks)
        return pushed

    def collect(self, hypotheses: Hypotheses) -> None:
        """Let the scorer forget what no hypothesis can reach any more."""
        stacks = [torch.unique(hypotheses.stacks)]
        while bool((stacks[-1] != EMPTY_STACK).any()):
            stacks.append(torch.unique(self._stacks[1][stacks[-1]]))
        reached = torch.unique(torch.cat(stacks))
        units = self._stacks[0][reached]
        self.scorer.forget(torch.unique(units[units >= 0]), reached)

    def actions(self, stacks: Tensor) -> list[tuple[int, ...]]:
        """The computations that built the one tree on each stack."""
        left, right, labels = (self._units[column].tolist() for column in range(3))
        return [_actions(unit, left, right, labels) for unit in self._stacks[0][stacks].tolist()]


def _actions(unit: int, left: list[int], right: list[int], labels: list[int]) -> tuple[int, ...]:
    """The actions of a tree, from its last one back: the label of a unit, then its right part, then its left one."""
    actions: list[int] = []
    pending = [unit]
    while pending:
        unit = pending.pop()
        actions.append(labels[unit] + 1)
        if left[unit] >= 0:
            pending += [left[unit], right[unit]]
    return tuple(reversed(actions))
