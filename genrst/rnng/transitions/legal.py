"""Determine the legal actions under constraints.

An action is legal if and only if it leaves a tree that satisfies the constraints and fits the stack.

The units on a stack are separated by the boundaries b(0) = 0 < b(1) < … < b(s) = g, the number of generated EDUs. After
GEN, no unit but the topmost one can end at g; RE builds the unit [b(s−2), g). The future of the topmost unit
[b(s−1), g) depends on all units below it. But for all units that begin at b(s−1), two sets of ends
contain all the information:

    joined(s) = {x: [b(s−2), x) may be a unit, and x ∈ ends(s−1)}
    ends(s)   = joined(s) ∪ {x: there is y ∈ ends(s) with a tree over [x, y), and [b(s−1), y) may be a unit}

Such a unit ends at x and is joined to the left, or it grows to the right first. joined(1) = {m}, the whole document. So
RE is legal if and only if g ∈ joined(s), and GEN if and only if g + 1 ∈ ends(s + 1), where g has become b(s).

A tree over [x, y) on top of s units has r = max_stack − s places on the stack. With one place, it must be an EDU. With
r places, it has a left part that needs at most r places, and a right part that needs at most r − 1. Sets are integers
with a bit per element.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from genrst.trees.constraints import ResolvedConstraints, around, none_left


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The possible futures of the topmost unit of a stack, given the units below it and its start."""

    room: float
    """The number of units that the stack still has room for."""
    joined: int
    """The ends at which the unit may be joined with the unit below."""
    ends: int
    """The ends that the unit may have before another unit is pushed."""
    above: int
    """The ends at which the next unit may be joined with this one."""


class LegalActions:
    """The legal actions of a document.

    Raises `ConstraintError` if no tree satisfies the constraints. If all such trees need a larger stack than
    `max_stack`, the limit is raised to the smallest size that allows one.
    """

    def __init__(self, n_edus: int, constraints: ResolvedConstraints, max_stack: int | None = None) -> None:
        self._n_edus = n_edus
        self._may_end = list(_possible_ends(n_edus, constraints))
        nothing, trees = [0] * (n_edus + 1), [0] * (n_edus + 1)
        for start in reversed(range(n_edus)):
            trees[start] = self._grow(start, trees)
        if not _has(trees[0], n_edus):
            raise none_left(constraints)
        self._trees = [nothing, trees]
        """The ends of the trees that begin at each EDU, by the number of places on the stack."""
        self.max_stack, room = max_stack, math.inf
        if max_stack is not None and max_stack < n_edus:
            self._trees = self._bounded_trees(nothing, max_stack)
            self.max_stack = room = max(max_stack, len(self._trees) - 1)
        self._frames: dict[tuple[int, float, int], Frame] = {}
        whole = 1 << n_edus
        self.bottom = Frame(room, 0, 0, whole)
        """The frame of the empty stack."""

    def _bounded_trees(self, nothing: list[int], max_stack: int) -> list[list[int]]:
        found = [nothing, self._next_trees(nothing)]
        while not _has(found[-1][0], self._n_edus) or (len(found) <= max_stack and found[-1] != found[-2]):
            found.append(self._next_trees(found[-1]))
        return found

    def _next_trees(self, smaller: Sequence[int]) -> list[int]:
        """Return the ends of trees with one more place than the `smaller` ones."""
        return [*(self._grow(start, smaller) for start in range(self._n_edus)), 0]

    def _grow(self, start: int, right_parts: Sequence[int]) -> int:
        """Return the ends of the trees that an EDU can grow into by adding right parts."""
        ends, may_end = 1 << (start + 1), self._may_end[start]
        for place in range(start + 1, self._n_edus):
            if _has(ends, place):
                ends |= right_parts[place] & may_end
        return ends

    def push(self, below: Frame, start: int) -> Frame:
        """Return the frame of a unit that begins at `start`, on top of another unit."""
        key = (start, below.room - 1, below.above)
        if key not in self._frames:
            _, room, joined = key
            right_parts, may_end = self._trees[int(max(0, min(room, len(self._trees) - 1)))], self._may_end[start]
            ends = joined
            for place in reversed(range(start + 1, self._n_edus)):
                if right_parts[place] & may_end & ends:
                    ends |= 1 << place
            self._frames[key] = Frame(room, joined, ends, ends & may_end)
        return self._frames[key]

    def may_generate(self, top: Frame, n_generated: int) -> bool:
        """Whether GEN is legal in a state."""
        if n_generated == self._n_edus or top.room < 1:
            return False
        return _has(self.push(top, n_generated).ends, n_generated + 1)

    def may_reduce(self, top: Frame, n_generated: int) -> bool:
        """Whether RE is legal in a state with at least two units, with a label that the new unit may have."""
        return _has(top.joined, n_generated)


def _has(places: int, place: int) -> bool:
    return places >> place & 1 == 1


def _possible_ends(n_edus: int, constraints: ResolvedConstraints) -> Iterable[int]:
    """Return the ends of the spans at each EDU that cross no forced span and are not forbidden."""
    first_stop, last_start = around(n_edus, constraints.forced)
    forbidden = [0] * n_edus
    for start, stop in constraints.forbidden:
        forbidden[start] |= 1 << stop
    inside = [0] * (n_edus + 1)
    """The boundaries, grouped by the last start around them."""
    for place, start in enumerate(last_start):
        inside[start] |= 1 << place
    blocked, found = 0, list[int]()
    for start in reversed(range(n_edus)):
        blocked |= inside[start + 1]
        up_to = (1 << (first_stop[start] + 1)) - (1 << (start + 1))
        found.append(up_to & ~blocked & ~forbidden[start])
    return reversed(found)
