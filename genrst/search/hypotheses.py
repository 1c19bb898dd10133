"""Hypotheses as entries of tensors, and the growing tables that they share their stacks and units in.

A stack is a unit and the stack below it; a unit is two units and a label. Hypotheses hold only the number of their
stack, so thousands of them share nearly everything.
"""

from dataclasses import dataclass, fields
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.functional import pad

from genrst.errors import GenrstError
from genrst.search.diagonals import Integers
from genrst.search.scorer import EMPTY_STACK, NO_UNIT, Scorer, can_wait

COLLECT_STACKS = {"cpu": 2**14, "cuda": 2**20}
"""The most stacks that are made between two collections of those that no hypothesis reaches any more."""

BYTES_PER_STACK = 2**16
"""What of a GPU's memory there must be for each; the paper's model needs a quarter of it for a unit and a stack."""


def stacks_between_collections(device: torch.device) -> int:
    """How many stacks are made before those are collected that no hypothesis reaches any more."""
    most = COLLECT_STACKS[device.type]
    if device.type == "cuda":
        most = min(most, torch.cuda.get_device_properties(device).total_memory // BYTES_PER_STACK)
    return most


class Columns:
    """Columns of integers that grow together, doubling their room when it is full."""

    def __init__(self, n_columns: int, device: torch.device) -> None:
        self._values = torch.full((n_columns, 1024), -1, dtype=torch.long, device=device)
        self.n_rows = 0
        self._counted: Tensor | None = None
        """Rows, while they are counted on the device."""

    def __getitem__(self, column: int) -> Tensor:
        return self._values[column]

    def append(self, *columns: Tensor) -> None:
        """Add rows."""
        n_new = len(columns[0])
        if self._counted is not None:
            rows = self._counted + torch.arange(n_new, device=self._values.device)
            self._values.index_copy_(1, rows, torch.stack(columns))
            self._counted += n_new
            return
        self._make_room(n_new)
        for number, values in enumerate(columns):
            self._values[number, self.n_rows : self.n_rows + n_new] = values
        self.n_rows += n_new

    def hold(self, n_new: int) -> None:
        """Make room for so many rows. Until `release` nothing moves in memory, and the device counts."""
        self._make_room(n_new)
        self._counted = torch.tensor(self.n_rows, device=self._values.device)

    def release(self, n_new: int) -> None:
        """Count as before; so many rows were added."""
        self.n_rows += n_new
        self._counted = None

    def _make_room(self, n_new: int) -> None:
        while self.n_rows + n_new > self._values.shape[1]:
            self._values = torch.cat([self._values, torch.full_like(self._values, -1)], dim=1)


@dataclass(frozen=True, slots=True)
class Beams:
    """Beams side by side. A place without a hypothesis has log-probability −∞."""

    documents: Tensor
    """Shape: (beams)"""
    stacks: Tensor
    """Shape of this and the following: (beams, places)"""
    sizes: Tensor
    """Units on the stack."""
    n_generated: Tensor
    action_logp: Tensor
    word_logp: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """Beams and places."""
        return len(self.documents), self.stacks.shape[1]

    @property
    def is_alive(self) -> Tensor:
        """Where there are hypotheses."""
        return self.action_logp > -torch.inf

    def scores(self, word_weight: float) -> Tensor:
        """What hypotheses are compared by."""
        return self.action_logp + word_weight * self.word_logp

    def rows(self, index: Tensor) -> "Beams":
        """Some of the beams."""
        return Beams(*(getattr(self, field.name)[index] for field in fields(self)))

    def places(self, index: Tensor) -> "Beams":
        """Some places of each beam, or the same ones in another order. Shape: (beams, places)"""
        columns = (getattr(self, field.name).gather(1, index) for field in fields(self)[1:])
        return Beams(self.documents, *columns)

    def only(self, is_kept: Tensor) -> "Beams":
        """Without the hypotheses that are not kept; their places stay."""
        action_logp = self.action_logp.masked_fill(~is_kept, -torch.inf)
        return Beams(self.documents, self.stacks, self.sizes, self.n_generated, action_logp, self.word_logp)


def where(is_first: Tensor, first: Beams, second: Beams) -> Beams:
    """The first beam or the second for each document, with as many places as the wider has. Shape: (beams, 1)"""
    n_places = max(first.shape[1], second.shape[1])
    pairs = zip(_padded(first, n_places), _padded(second, n_places), strict=True)
    return Beams(first.documents, *(torch.where(is_first, *pair) for pair in pairs))


def _padded(beams: Beams, n_places: int) -> list[Tensor]:
    extra = n_places - beams.shape[1]
    columns = [getattr(beams, field.name) for field in fields(Beams)[1:]]
    fills = [-torch.inf if column is beams.action_logp else 0 for column in columns]
    return [pad(column, (0, extra), value=fill) for column, fill in zip(columns, fills, strict=True)]


def join_places(left: Beams, right: Beams) -> Beams:
    """Beams of the same documents, the places of the second after those of the first."""
    pairs = ((getattr(left, field.name), getattr(right, field.name)) for field in fields(Beams)[1:])
    return Beams(left.documents, *(torch.cat(pair, dim=1) for pair in pairs))


def start(scorer: Scorer) -> Beams:
    """A beam of one hypothesis for each document: nothing generated, an empty stack."""
    documents = torch.arange(len(scorer.n_edus), device=scorer.device)
    zeros = torch.zeros_like(documents)[:, None]
    logp = torch.zeros(len(documents), 1, dtype=torch.double, device=scorer.device)
    return Beams(documents, zeros + EMPTY_STACK, zeros, zeros, logp, logp)


class Forest:
    """The units and stacks that a search has built with a scorer."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.device = scorer.device
        self.n_edus = torch.tensor(scorer.n_edus, dtype=torch.long, device=self.device)
        self._first_leaf = torch.tensor([0, *accumulate(scorer.n_edus[:-1])], device=self.device)
        self._stacks = Columns(2, self.device)
        self._stacks.append(*torch.tensor([[NO_UNIT], [EMPTY_STACK]], device=self.device))
        self._units = Columns(4, self.device)
        edus = torch.tensor([edu for size in scorer.n_edus for edu in range(size)], dtype=torch.long)
        nothing = torch.full_like(edus, -1)
        self._units.append(*torch.stack([nothing, nothing, nothing, edus]).to(self.device))
        self._known: dict[tuple[int, int, int], int] = {}
        self._n_collected = 0
        self._is_broken = torch.zeros((), dtype=torch.bool, device=self.device)

    def tops(self, stacks: Tensor) -> tuple[Tensor, Tensor]:
        """The first EDUs of the second and of the topmost unit of each stack, `NO_UNIT` where there is none."""
        units, below, first_edu = self._stacks[0], self._stacks[1], self._units[3]
        pair = units[torch.stack([below[stacks], stacks])]
        second, top = torch.where(pair < 0, NO_UNIT, first_edu[pair.clamp_min(0)])
        return second, top

    def advance(self, documents: Tensor, stacks: Tensor, n_generated: Tensor, actions: Tensor) -> Tensor:
        """The stacks after an action each."""
        units, below = self._stacks[0], self._stacks[1]
        is_generate = actions == 0
        under = below[stacks]
        # Where nothing waits, places without a hypothesis come along: their numbers only have to be in range.
        leaves = (self._first_leaf[documents] + n_generated).clamp_max(sum(self.scorer.n_edus) - 1)
        left, right = units[under].clamp_min(0), units[stacks].clamp_min(0)
        if can_wait(self.device):
            rows = (~is_generate).nonzero()[:, 0]
            leaves[rows] = self._share(left[rows], right[rows], actions[rows] - 1)
            tops = leaves
        else:
            tops = torch.where(is_generate, leaves, self._compose(left, right, (actions - 1).clamp_min(0)))
        return self._push(torch.where(is_generate, stacks, below[under]), tops)

    def _share(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """Units of which each is composed once, however many hypotheses build it."""
        keys = list(zip(left.tolist(), right.tolist(), labels.tolist(), strict=True))
        new = list(dict.fromkeys(key for key in keys if key not in self._known))
        if new:
            numbers = self._compose(*torch.tensor(new).T)
            self._known.update(zip(new, numbers.tolist(), strict=True))
        return torch.tensor([self._known[key] for key in keys], dtype=torch.long)

    def _compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        first = self.scorer.compose(left, right, labels)
        self._units.append(left, right, labels, self._units[3][left])
        return torch.arange(len(left), device=self.device) + first

    def _push(self, stacks: Tensor, units: Tensor) -> Tensor:
        first = self.scorer.push(stacks, units)
        self._stacks.append(units, stacks)
        return torch.arange(len(stacks), device=self.device) + first

    def hold(self, n_new: int) -> None:
        """Make room for so many units and stacks. Until `release` nothing moves in memory, and the device counts."""
        for held in (self.scorer, self._units, self._stacks):
            held.hold(n_new)

    def release(self, n_new: int) -> None:
        """Count as before; so many units and stacks were made."""
        for held in (self.scorer, self._units, self._stacks):
            held.release(n_new)

    @property
    def is_full(self) -> bool:
        """Whether so many stacks were made since the last collection that it is worth another."""
        return self._stacks.n_rows - self._n_collected > stacks_between_collections(self.device)

    def collect(self, stacks: Tensor, depth: int) -> None:
        """Let the scorer forget what these stacks, of at most `depth` units, do not reach any more."""
        self.check()
        self._n_collected = self._stacks.n_rows
        is_reached = torch.zeros(self._stacks.n_rows, dtype=torch.bool, device=self.device)
        is_reached[EMPTY_STACK] = True
        units, below = self._stacks[0], self._stacks[1]
        for _ in range(depth + 1):
            is_reached[stacks] = True
            stacks = below[stacks]
        reached = is_reached.nonzero()[:, 0]
        is_held = torch.zeros(self._units.n_rows, dtype=torch.bool, device=self.device)
        is_held[units[reached[1:]]] = True
        self.scorer.forget(is_held.nonzero()[:, 0], reached)
        if self._known:
            self._known = {key: unit for key, unit in self._known.items() if is_held[unit]}

    def watch(self, *logp: Tensor) -> None:
        """Remember whether a log-probability was no number: nan, or ∞."""
        for values in logp:
            self._is_broken |= ~(values < torch.inf).all()

    def check(self) -> None:
        """Raise an error if a log-probability was no number, as those of a broken model are."""
        if bool(self._is_broken):
            raise GenrstError("the log-probability of an action must be a number, was: nan or inf")

    def actions(self, stacks: Tensor) -> list[tuple[int, ...]]:
        """The computations that built the one tree on each stack."""
        # Of millions of units a few thousand are looked at: as a list of numbers each would be made an object.
        left, right, labels = (self._units[column][: self._units.n_rows].cpu().numpy() for column in range(3))
        return [_actions(unit, left, right, labels) for unit in self._stacks[0][stacks].tolist()]


def _actions(unit: int, left: Integers, right: Integers, labels: Integers) -> tuple[int, ...]:
    """The actions of a tree, from its last one back: the label of a unit, then its right part, then its left one."""
    actions: list[int] = []
    pending = [unit]
    while pending:
        unit = pending.pop()
        actions.append(int(labels[unit]) + 1)
        if left[unit] >= 0:
            pending += [int(left[unit]), int(right[unit])]
    return tuple(reversed(actions))
