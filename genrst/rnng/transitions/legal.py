"""Which actions still leave a tree that is as demanded, and fits the stack: an action is legal iff one does.

The units on a stack lie between the places b(0) = 0 < b(1) < … < b(s) = g, the number of generated EDUs. GEN settles
that no unit but the topmost one ends at g; RE builds the unit [b(s−2), g). What can become of the topmost unit
[b(s−1), g) depends on all units below it. But for what begins at b(s−1), whatever its end, two sets of ends say all:

    joined(s) = {x: [b(s−2), x) may be a unit, and x ∈ ends(s−1)}
    ends(s)   = joined(s) ∪ {x: there is y ∈ ends(s) with a tree over [x, y), and [b(s−1), y) may be a unit}

It ends at x and is joined to the left, or it grows to the right first; joined(1) = {m}, the whole document. So RE is
legal iff g ∈ joined(s), and GEN iff g + 1 ∈ ends(s + 1) once g has become b(s).

A tree over [x, y) on top of s units has r = max_stack − s places. With one place it is an EDU; with r places it has a
left part that needs no more than r, and a right part that needs no more than r − 1. Sets of places are integers, a bit
for each place.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from genrst.trees.constraints import ResolvedConstraints, around, none_left


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What may become of the topmost unit of a stack, by what lies below it and by where it begins."""

    room: float
    """How many units the stack can still take."""
    joined: int
    """The ends at which it may be joined with the unit below."""
    ends: int
    """The ends that it may have before anything else is on top of it."""
    above: int
    """The ends at which the next unit may be joined with it."""


class LegalActions:
    """The legal actions of one document.

    Raises `ConstraintError` if no tree is as demanded. If such trees need a larger stack than `max_stack`, the bound is
    raised to what the least of them needs.
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
        """The ends of the trees that begin at each EDU, by the places that the stack has for them."""
        self.max_stack, room = max_stack, math.inf
        if max_stack is not None and max_stack < n_edus:
            self._trees = self._bounded_trees(nothing, max_stack)
            self.max_stack = room = max(max_stack, len(self._trees) - 1)
        self._frames: dict[tuple[int, float, int], Frame] = {}
        whole = 1 << n_edus
        self.bottom = Frame(room, 0, 0, whole)
        """Of the empty stack."""

    def _bounded_trees(self, nothing: list[int], max_stack: int) -> list[list[int]]:
        found = [nothing, self._next_trees(nothing)]
        while not _has(found[-1][0], self._n_edus) or (len(found) <= max_stack and found[-1] != found[-2]):
            found.append(self._next_trees(found[-1]))
        return found

    def _next_trees(self, smaller: Sequence[int]) -> list[int]:
        """The ends of trees with a place more than `smaller` ones."""
        return [*(self._grow(start, smaller) for start in range(self._n_edus)), 0]

    def _grow(self, start: int, right_parts: Sequence[int]) -> int:
        """The ends of an EDU that grows by right parts."""
        ends, may_end = 1 << (start + 1), self._may_end[start]
        for place in range(start + 1, self._n_edus):
            if _has(ends, place):
                ends |= right_parts[place] & may_end
        return ends

    def push(self, below: Frame, start: int) -> Frame:
        """The frame of a unit that begins here on top of another."""
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
        """Whether RE is legal in a state of two units or more, with a label that the new unit may have."""
        return _has(top.joined, n_generated)


def _has(places: int, place: int) -> bool:
    return places >> place & 1 == 1


def _possible_ends(n_edus: int, constraints: ResolvedConstraints) -> Iterable[int]:
    """The ends of spans that begin at each EDU, cross no span that is whole, and are not forbidden."""
    first_stop, last_start = around(n_edus, constraints.forced)
    forbidden = [0] * n_edus
    for start, stop in constraints.forbidden:
        forbidden[start] |= 1 << stop
    inside = [0] * (n_edus + 1)
    """The places by the last start around them."""
    for place, start in enumerate(last_start):
        inside[start] |= 1 << place
    blocked, found = 0, list[int]()
    for start in reversed(range(n_edus)):
        blocked |= inside[start + 1]
        up_to = (1 << (first_stop[start] + 1)) - (1 << (start + 1))
        found.append(up_to & ~blocked & ~forbidden[start])
    return reversed(found)
