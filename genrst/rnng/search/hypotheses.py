"""Hypotheses as entries of tensors, and the growing tables of stacks and units that they share.

A stack is a unit on top of another stack; a unit is a pair of units with a label. A hypothesis only holds the number of
its stack, so that thousands of hypotheses share most of their parts. Choosing hypotheses is left to the searches.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, overload

import torch
from torch import Tensor
from torch.nn.functional import pad

from genrst.encoder.tokenizer import IntArray
from genrst.errors import GenrstError
from genrst.rnng.search.scorer import Columns, Scorer, sync_is_free
from genrst.rnng.transitions.actions import GENERATE, NO_UNIT, States

EMPTY_STACK = 0
"""The number of the empty stack, the same for all documents."""

COLLECT_STACKS = {"cpu": 2**14, "mps": 2**14, "cuda": 2**20}
"""The maximum number of new stacks between two garbage collections."""

BYTES_PER_STACK = 2**16
"""The GPU memory to allow per stack. The paper's model needs a quarter of it for a unit and a stack."""


def stacks_between_collections(device: torch.device) -> int:
    """Return the number of new stacks after which unreachable ones are collected."""
    most = COLLECT_STACKS[device.type]
    if device.type == "cuda":
        most = min(most, torch.cuda.get_device_properties(device).total_memory // BYTES_PER_STACK)
    return most


class Beams(NamedTuple):
    """A set of beams. A slot without a hypothesis has log-probability −∞."""

    documents: Tensor
    """Shape: (beams)"""
    stacks: Tensor
    """Shape of this and the following: (beams, slots)"""
    sizes: Tensor
    """The number of units on the stack."""
    n_generated: Tensor
    action_logp: Tensor
    word_logp: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of beams and of slots."""
        return len(self.documents), self.stacks.shape[1]

    @property
    def is_alive(self) -> Tensor:
        """Whether each slot holds a hypothesis."""
        return self.action_logp > -torch.inf

    def scores(self, word_weight: float) -> Tensor:
        """Return the scores by which hypotheses are compared."""
        return self.action_logp + word_weight * self.word_logp

    def rows(self, index: Tensor) -> "Beams":
        """Select beams."""
        return Beams(*(column[index] for column in self))

    def slots(self, index: Tensor) -> "Beams":
        """Select or reorder the slots of each beam. Shape: (beams, slots)"""
        return Beams(self.documents, *(column.gather(1, index) for column in self[1:]))

    def keep(self, is_kept: Tensor) -> "Beams":
        """Remove all other hypotheses. Their slots become empty."""
        return self._replace(action_logp=self.action_logp.masked_fill(~is_kept, -torch.inf))


def where(is_first: Tensor, first: Beams, second: Beams) -> Beams:
    """Choose the first or the second beam for each document. The result has the larger width. Shape: (beams, 1)"""
    n_slots = max(first.shape[1], second.shape[1])
    pairs = zip(_padded(first, n_slots), _padded(second, n_slots), strict=True)
    return Beams(first.documents, *(torch.where(is_first, *pair) for pair in pairs))


def _padded(beams: Beams, n_slots: int) -> list[Tensor]:
    extra = n_slots - beams.shape[1]
    return [pad(column, (0, extra), value=-torch.inf if column is beams.action_logp else 0) for column in beams[1:]]


def join_slots(left: Beams, right: Beams) -> Beams:
    """Join beams of the same documents, with the slots of the second after those of the first."""
    return Beams(left.documents, *(torch.cat(pair, dim=1) for pair in zip(left[1:], right[1:], strict=True)))


def start(scorer: Scorer) -> Beams:
    """Return the initial beams: one hypothesis per document, with an empty stack."""
    documents = torch.arange(len(scorer.n_edus), device=scorer.device)
    zeros = torch.zeros_like(documents)[:, None]
    dtype = torch.float if scorer.device.type == "mps" else torch.double  # Apple's GPUs do not support doubles
    logp = torch.zeros(len(documents), 1, dtype=dtype, device=scorer.device)
    return Beams(documents, zeros + EMPTY_STACK, zeros, zeros, logp, logp)


class Table:
    """Columns that grow together. Rows are numbered in the order in which they are added."""

    def __init__(self, first_rows: Columns) -> None:
        # Cloned, because the rows may be parameters of a network.
        self._columns = [column.detach().clone() for column in first_rows]
        self._device = first_rows[0].device
        self.n_rows = len(first_rows[0])
        self._counter: Tensor | None = None
        """The number of rows, on the device, while it does the counting."""

    def __getitem__(self, column: int) -> Tensor:
        return self._columns[column]

    def rows(self, index: Tensor) -> "Rows":
        """Return a view of some rows."""
        return Rows(self._columns, index)

    def append(self, rows: Columns) -> Tensor:
        """Add rows and return their numbers."""
        n_new = len(rows[0])
        if self._counter is not None:
            numbers = self._counter + torch.arange(n_new, device=self._device)
            for column, values in zip(self._columns, rows, strict=True):
                column.index_copy_(0, numbers, values)
            self._counter += n_new
            return numbers
        self._make_room(n_new, at_least=2)
        first, self.n_rows = self.n_rows, self.n_rows + n_new
        for column, values in zip(self._columns, rows, strict=True):
            column[first : self.n_rows] = values
        return torch.arange(first, self.n_rows, device=self._device)

    def hold(self, n_new: int) -> None:
        """Reserve room for this many rows.

        Until `release`, nothing moves in memory and the device counts the rows, so that steps can be captured and
        replayed (`genrst.rnng.search.cuda`).
        """
        self._make_room(n_new, at_least=1)
        self._counter = torch.tensor(self.n_rows, device=self._device)

    def release(self, n_new: int) -> None:
        """Count on the host again, after `n_new` rows were added. Asking the device would force a synchronisation."""
        self.n_rows += n_new
        self._counter = None

    def retain(self, index: Tensor) -> None:
        """Drop all rows except these and renumber them. The memory of the others is reused."""
        for column in self._columns:
            column[: len(index)] = column.index_select(0, index)
        self.n_rows = len(index)

    def _make_room(self, n_new: int, at_least: int) -> None:
        """Make room for new rows. Columns that are too short grow at least by the factor `at_least`."""
        capacity, wanted = len(self._columns[0]), self.n_rows + n_new
        if wanted > capacity:
            self._columns = [_longer(column, max(wanted, at_least * capacity)) for column in self._columns]


def _longer(column: Tensor, n_rows: int) -> Tensor:
    """Return a longer column, whose new rows take no memory before they are written."""
    longer = column.new_empty(n_rows, *column.shape[1:])
    longer[: len(column)] = column
    return longer


class Rows(Sequence[Tensor]):
    """A selection of rows. A column is only gathered on access, because a scorer rarely needs all columns."""

    def __init__(self, columns: Columns, index: Tensor) -> None:
        self._columns, self._index = columns, index

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, column: int) -> Tensor: ...

    @overload
    def __getitem__(self, column: slice) -> "Rows": ...

    def __getitem__(self, column: int | slice) -> "Tensor | Rows":
        found = self._columns[column]
        return found.index_select(0, self._index) if isinstance(found, Tensor) else Rows(found, self._index)


TOP, BELOW, STACK_ROW = range(3)
"""The columns of stacks: the topmost unit, the stack below it, and its row among the scorer's columns."""

LEFT, RIGHT, LABEL, FIRST_EDU, UNIT_ROW = range(5)
"""The columns of units. The parts and the label of an EDU are −1."""


class Forest:
    """The units and stacks that a search has built, and the scorer's columns for those still reachable."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.device = scorer.device
        self.n_edus = torch.tensor(scorer.n_edus, dtype=torch.long, device=self.device)
        self._n_leaves = sum(scorer.n_edus)
        self._first_leaf = torch.tensor([0, *accumulate(scorer.n_edus[:-1])], device=self.device)
        self._stacks = Table(torch.tensor([[NO_UNIT], [EMPTY_STACK], [0]], device=self.device).unbind())
        edus = torch.tensor([edu for size in scorer.n_edus for edu in range(size)], dtype=torch.long)
        nothing = torch.full_like(edus, -1)
        units = torch.stack([nothing, nothing, nothing, edus, torch.arange(self._n_leaves)])
        self._units = Table(units.to(self.device).unbind())
        self._known_stacks, self._known_units = Table(scorer.empty_stack()), Table(scorer.leaves())
        self._composed: dict[tuple[int, int, int], int] = {}
        self._n_collected = 0
        self._is_broken = torch.zeros((), dtype=torch.bool, device=self.device)

    def states(self, documents: Tensor, stacks: Tensor, n_generated: Tensor) -> States[Tensor]:
        """Return the states of hypotheses for a scorer."""
        known = self._known_stacks.rows(self._stacks[STACK_ROW][stacks])
        return States(documents, known, *self.tops(stacks), n_generated)

    def tops(self, stacks: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first EDUs of the second and of the topmost unit of each stack; `NO_UNIT` if there is none."""
        pair = self._stacks[TOP][torch.stack([self._stacks[BELOW][stacks], stacks])]
        second, top = torch.where(pair < 0, NO_UNIT, self._units[FIRST_EDU][pair.clamp_min(0)])
        return second, top

    def advance(self, documents: Tensor, stacks: Tensor, n_generated: Tensor, actions: Tensor) -> Tensor:
        """Return the stacks after one action each."""
        units, below = self._stacks[TOP], self._stacks[BELOW]
        is_generate = actions == GENERATE
        under = below[stacks]
        # On a GPU, slots without a hypothesis are included. Their numbers only have to be in range.
        leaves = (self._first_leaf[documents] + n_generated).clamp_max(self._n_leaves - 1)
        left, right = units[under].clamp_min(0), units[stacks].clamp_min(0)
        if sync_is_free(self.device):
            rows = (~is_generate).nonzero()[:, 0]
            leaves[rows] = self._compose_once(left[rows], right[rows], actions[rows] - 1)
            tops = leaves
        else:
            tops = torch.where(is_generate, leaves, self._compose(left, right, (actions - 1).clamp_min(0)))
        return self._push(torch.where(is_generate, stacks, below[under]), tops)

    def _compose_once(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """Compose units, each only once, however many hypotheses build it."""
        keys = list(zip(left.tolist(), right.tolist(), labels.tolist(), strict=True))
        new = list(dict.fromkeys(key for key in keys if key not in self._composed))
        if new:
            numbers = self._compose(*torch.tensor(new).T)
            self._composed.update(zip(new, numbers.tolist(), strict=True))
        return torch.tensor([self._composed[key] for key in keys], dtype=torch.long)

    def _compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        left_rows, right_rows = (self._known_units.rows(self._units[UNIT_ROW][part]) for part in (left, right))
        rows = self._known_units.append(self.scorer.compose(left_rows, right_rows, labels))
        return self._units.append([left, right, labels, self._units[FIRST_EDU][left], rows])

    def _push(self, stacks: Tensor, units: Tensor) -> Tensor:
        below = self._known_stacks.rows(self._stacks[STACK_ROW][stacks])
        pushed = self.scorer.push(below, self._known_units.rows(self._units[UNIT_ROW][units]))
        return self._stacks.append([units, stacks, self._known_stacks.append(pushed)])

    @property
    def _tables(self) -> tuple[Table, ...]:
        return self._units, self._stacks, self._known_units, self._known_stacks

    def hold(self, n_new: int) -> None:
        """Reserve room for this many units and stacks (see `Table.hold`)."""
        for table in self._tables:
            table.hold(n_new)

    def release(self, n_new: int) -> None:
        """Count on the host again, after `n_new` units and stacks were added."""
        for table in self._tables:
            table.release(n_new)

    @property
    def is_full(self) -> bool:
        """Whether enough stacks were added since the last collection to make another one worthwhile."""
        return self._stacks.n_rows - self._n_collected > stacks_between_collections(self.device)

    def collect(self, stacks: Tensor, depth: int) -> None:
        """Drop the scorer's columns for all but these stacks, of at most `depth` units, and their units."""
        self.check()
        self._n_collected = self._stacks.n_rows
        is_reached = torch.zeros(self._stacks.n_rows, dtype=torch.bool, device=self.device)
        is_reached[EMPTY_STACK] = True
        for _ in range(depth + 1):
            is_reached[stacks] = True
            stacks = self._stacks[BELOW][stacks]
        reached = is_reached.nonzero()[:, 0]
        is_held = torch.zeros(self._units.n_rows, dtype=torch.bool, device=self.device)
        is_held[: self._n_leaves] = True
        is_held[self._stacks[TOP][reached[1:]]] = True
        _retain(self._known_stacks, self._stacks[STACK_ROW], reached)
        _retain(self._known_units, self._units[UNIT_ROW], is_held.nonzero()[:, 0])
        self._composed = {key: unit for key, unit in self._composed.items() if is_held[unit]}

    def watch(self, *logp: Tensor) -> None:
        """Record whether a log-probability was nan or ∞."""
        for values in logp:
            self._is_broken |= ~(values < torch.inf).all()

    def check(self) -> None:
        """Raise an error if a log-probability was nan or ∞, as in a broken model."""
        if bool(self._is_broken):
            raise GenrstError("the log-probability of an action must be a number, got nan or inf")

    def actions(self, stacks: Tensor) -> list[tuple[int, ...]]:
        """Return the derivation of the single tree on each stack."""
        # Arrays instead of lists, because only a few thousand of millions of units are read.
        left, right, labels = (
            self._units[column][: self._units.n_rows].cpu().numpy() for column in (LEFT, RIGHT, LABEL)
        )
        return [_actions(unit, left, right, labels) for unit in self._stacks[TOP][stacks].tolist()]


def _retain(known: Table, rows: Tensor, numbers: Tensor) -> None:
    """Drop all known rows except those of these numbers. `rows` maps each number to its row."""
    known.retain(rows[numbers])
    rows.fill_(-1)
    rows[numbers] = torch.arange(len(numbers), device=rows.device)


def _actions(unit: int, left: IntArray, right: IntArray, labels: IntArray) -> tuple[int, ...]:
    """Return the actions of a tree, collected backwards: the label of a unit, its right part, its left part."""
    actions: list[int] = []
    pending = [unit]
    while pending:
        unit = pending.pop()
        actions.append(int(labels[unit]) + 1)
        if left[unit] >= 0:
            pending += [int(left[unit]), int(right[unit])]
    return tuple(reversed(actions))
