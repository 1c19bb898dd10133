"""The order in which a network computes trees, a level at a time instead of an action at a time.

A unit depends only on its two children, a stack state only on its topmost unit and the state below. So all units of
the same height are independent, and so are all states of the same depth: the number of sequential steps is the height
of the trees plus the depth of the stacks, whatever the number of documents.

A step of a derivation makes one unit and pushes it, so units and states are both numbered by their step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genrst.encoder.tokenizer import IntArray
from genrst.rnng.transitions.actions import GENERATE


@dataclass(frozen=True, slots=True)
class Units:
    """The units that a derivation makes, one a step, and the stacks that they are pushed onto."""

    left: IntArray
    """The step that made the left child, −1 for a leaf."""
    right: IntArray
    height: IntArray
    """0 for a leaf, else one more than the higher child."""
    below: IntArray
    """The step that made the unit under the new one on the stack, −1 if it is the only one."""
    depth: IntArray
    """The size of the stack after the step."""
    start: IntArray
    """The first EDU of the unit."""
    stop: IntArray
    """One more than its last EDU."""
    nuclear: IntArray
    """The nuclear EDU of the unit."""

    def __len__(self) -> int:
        return len(self.left)


def build_units(actions: Sequence[int], nucleus_is_right: Sequence[bool]) -> Units:
    """The units of a complete derivation; `nucleus_is_right` says for each action number whether it makes SN units."""
    rows = np.full((8, len(actions)), -1, dtype=np.int64)
    left, right, height, below, depth, start, stop, nuclear = rows
    height[:] = 0
    stack: list[int] = []
    n_edus = 0
    for step, action in enumerate(actions):
        if action == GENERATE:
            start[step], stop[step], nuclear[step] = n_edus, n_edus + 1, n_edus
            n_edus += 1
        else:
            second, first = stack.pop(), stack.pop()
            left[step], right[step] = first, second
            height[step] = 1 + max(height[first], height[second])
            start[step], stop[step] = start[first], stop[second]
            nuclear[step] = nuclear[second if nucleus_is_right[action] else first]
        below[step] = stack[-1] if stack else -1
        stack.append(step)
        depth[step] = len(stack)
    return Units(left, right, height, below, depth, start, stop, nuclear)


@dataclass(frozen=True, slots=True)
class TreeLevel:
    """One level of composition, as rows of the units that are still waiting for their parent.

    The units at rows `left` and `right` are composed; those at `keep` wait on, and the new ones come after them.
    """

    left: IntArray
    right: IntArray
    keep: IntArray


@dataclass(frozen=True, slots=True)
class TreeSchedule:
    """How to compose all units: leaves first, then a level at a time."""

    composed: IntArray
    """The units with children, in the order in which the levels compose them."""
    levels: tuple[TreeLevel, ...]
    rows: IntArray
    """For each unit its row when leaves (in text order) and composed units are stacked on each other."""


def schedule_trees(left: IntArray, right: IntArray, height: IntArray) -> TreeSchedule:
    """Group units by height. Units of several documents may follow one another."""
    leaves = np.flatnonzero(height == 0)
    composed = np.flatnonzero(height > 0)
    composed = composed[np.argsort(height[composed], kind="stable")]
    waiting = leaves
    row = np.full(len(left), -1, dtype=np.int64)
    levels = []
    for group in np.split(composed, np.cumsum(np.bincount(height[composed]))[1:-1] if len(composed) else []):
        if not len(group):
            continue
        row[waiting] = np.arange(len(waiting))
        left_rows, right_rows = row[left[group]], row[right[group]]
        is_kept = np.ones(len(waiting), dtype=bool)
        is_kept[left_rows] = is_kept[right_rows] = False
        keep = np.flatnonzero(is_kept)
        levels.append(TreeLevel(left_rows, right_rows, keep))
        waiting = np.concatenate([waiting[keep], group])
    rows = np.empty(len(left), dtype=np.int64)
    rows[np.concatenate([leaves, composed])] = np.arange(len(left))
    return TreeSchedule(composed, tuple(levels), rows)


@dataclass(frozen=True, slots=True)
class StackLevel:
    """One level of pushes: which units, on which rows of the level below."""

    units: IntArray
    below: IntArray


@dataclass(frozen=True, slots=True)
class StackSchedule:
    """How to compute all stack states, a depth at a time; the one before the first is the empty stack."""

    levels: tuple[StackLevel, ...]
    rows: IntArray
    """For each step the row of the state before it, when the empty stack and all levels are stacked on each other."""


def schedule_stacks(below: IntArray, depth: IntArray, first_steps: IntArray) -> StackSchedule:
    """Group pushes by depth. `below` numbers steps as `depth` does, −1 for the empty stack.

    `first_steps` are the first steps of the documents, whose stacks are empty before them.
    """
    order = np.argsort(depth, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(depth))[1:-1])
    row = np.empty(len(depth), dtype=np.int64)
    levels = []
    for group in groups:
        below_rows = np.where(below[group] < 0, 0, row[below[group]])
        levels.append(StackLevel(group, below_rows))
        row[group] = np.arange(len(group))
    after = np.empty(len(depth), dtype=np.int64)
    after[order] = 1 + np.arange(len(depth))
    before = np.concatenate([[0], after[:-1]])
    before[first_steps] = 0
    return StackSchedule(tuple(levels), before)
