"""The order in which a network computes trees: a level at a time instead of an action at a time.

A unit depends only on its two children, a stack state only on its topmost unit and the state below. So all units of the
same height are independent, and so are all states of the same depth. The number of sequential steps is the height of
the trees plus the depth of the stacks, regardless of the number of documents.

A step of a derivation builds one unit and pushes it, so units and states are both numbered by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genrst.encoder.tokenizer import IntArray
from genrst.rnng.transitions.actions import GENERATE


@dataclass(frozen=True, slots=True)
class Units:
    """The units that a derivation builds, one per step, and the stacks that they are pushed onto."""

    left: IntArray
    """The step that built the left child; −1 for a leaf."""
    right: IntArray
    height: IntArray
    """0 for a leaf, otherwise one more than the height of the higher child."""
    below: IntArray
    """The step that built the unit below the new one on the stack; −1 if there is none."""
    depth: IntArray
    """The size of the stack after the step."""
    start: IntArray
    """The first EDU of the unit."""
    stop: IntArray
    """One more than the last EDU of the unit."""
    nuclear: IntArray
    """The nuclear EDU of the unit."""

    def __len__(self) -> int:
        return len(self.left)


def build_units(actions: Sequence[int], nucleus_is_right: Sequence[bool]) -> Units:
    """Build the units of a complete derivation. `nucleus_is_right` tells for each action whether it builds SN units."""
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
    """One level of composition, as rows of the units that have no parent yet.

    The units at rows `left` and `right` are composed. Those at `keep` stay, and the new units are appended to them.
    """

    left: IntArray
    right: IntArray
    keep: IntArray


@dataclass(frozen=True, slots=True)
class TreeSchedule:
    """The schedule for composing all units: leaves first, then a level at a time."""

    composed: IntArray
    """The units with children, in the order in which the levels compose them."""
    levels: tuple[TreeLevel, ...]
    rows: IntArray
    """The row of each unit in the concatenation of leaves (in text order) and composed units."""


def schedule_trees(left: IntArray, right: IntArray, height: IntArray) -> TreeSchedule:
    """Group units by height. The units of several documents may be concatenated."""
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
    """One level of pushes: the units, and the rows of the level below that they are pushed onto."""

    units: IntArray
    below: IntArray


@dataclass(frozen=True, slots=True)
class StackSchedule:
    """The schedule for computing all stack states, a depth at a time, starting from the empty stack."""

    levels: tuple[StackLevel, ...]
    rows: IntArray
    """The row of the state before each step, in the concatenation of the empty stack and all levels."""


def schedule_stacks(below: IntArray, depth: IntArray, first_steps: IntArray) -> StackSchedule:
    """Group pushes by depth. `below` and `depth` use the same step numbers; −1 is the empty stack.

    `first_steps` are the first steps of the documents, before which the stack is empty.
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
