"""Find the disagreements between two annotators, and build a third tree from their decisions.

A stretch of text is *shared* if both trees have a node for it. Between a shared unit and the nearest shared nodes
inside it, each tree has a *frame*: the relation and nuclearity of the unit, and the units that only this tree has. Each
pair of frames that differ is a decision. Decisions are independent: any choice of frames gives a tree. Trees are
compared as they are, without binarising them or mapping relations to classes. Their EDUs may differ.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from genrst.document import Document, Signal, Span, require_tree, signal_words
from genrst.errors import GenrstError
from genrst.evaluation.parseval import Position, shared_measures
from genrst.trees.node import SPAN, Leaf, Tree, Unit, postorder, preorder

Side: TypeAlias = Literal["left", "right"]
Range: TypeAlias = tuple[int, int]
"""A range of EDUs: start (inclusive) and stop (exclusive)."""
_Part: TypeAlias = Span | Unit
"""A node in a postorder list: the characters of an EDU, or a unit whose children are ignored.

In such a list, a subtree is a contiguous run, which can be replaced by another one.
"""
_N_SHOWN = 4  # units in the description of a frame


class Disagreement(NamedTuple):
    """A shared unit whose frames differ: its EDUs in both documents, and a line that describes each frame."""

    left_edus: Range
    right_edus: Range
    left: str
    right: str


class Pair:
    """Two analyses of the same text. Documents without trees, and texts that cannot be compared, are an error."""

    def __init__(self, left: Document, right: Document) -> None:
        self.left, self.right = left, right
        grids = _grids(left, right)
        lefts, rights = (grid.nodes() for grid in grids)
        shared = lefts.keys() & rights.keys()
        self._shared: dict[Side, set[Range]] = {
            "left": {_range(lefts[key]) for key in shared},
            "right": {_range(rights[key]) for key in shared},
        }
        self.disagreements: list[Disagreement] = []
        """The disagreements in the order of the left tree, parents before children."""
        for key, node in lefts.items():
            if key in shared:
                other = rights[key]
                if grids[0].frame(node, shared) != grids[1].frame(other, shared):
                    lines = _describe(grids[0], node, shared), _describe(grids[1], other, shared)
                    self.disagreements.append(Disagreement(_range(node), _range(other), *lines))

    def start(self) -> Document:
        """Return the initial result: the left document, with the text of the right one if it has none."""
        if self.left.text is not None or self.right.text is None:
            return replace(self.left, constraints=())
        edus = self.right.edus if len(self.left.edus) == len(self.right.edus) else self.left.edus
        return replace(self.left, text=self.right.text, edus=edus, constraints=())

    def take(self, result: Document, number: int, side: Side) -> Document:
        """Put the frame of one side into a result, and keep the result's own nodes inside the frame."""
        source = self.left if side == "left" else self.right
        whole, given = _grids(result, source)
        decision = self.disagreements[number]
        top_range = decision.left_edus if side == "left" else decision.right_edus
        top = next(node for node in preorder(given.tree) if _range(node) == top_range)
        parts, runs = whole.parts()
        if given.key(top) not in runs:
            raise GenrstError(f"{result.id}: the result no longer has a unit of these EDUs; undo, or edit it by hand")

        def is_edge(node: Tree) -> bool:
            return _range(node) in self._shared[side] and given.key(node) in runs

        place, frame, taken = _placer(result, source), list(_frame(top, is_edge)), list[_Part]()
        for node, at_edge in frame:
            if at_edge:
                taken += parts[slice(*runs[given.key(node)])]
            else:
                taken.append(place(source.edus[node.edu]) if isinstance(node, Leaf) else node)
        first, stop = runs[given.key(top)]
        made = _build(result, [*parts[:first], *taken, *parts[stop:]])
        edges = {given.key(node) for node, at_edge in frame if at_edge}
        return _with_signals(made, whole, given, given.key(top), edges)


@dataclass(frozen=True, slots=True)
class _Grid:
    """A document whose EDU boundaries have coordinates that are comparable with those of another document."""

    document: Document
    tree: Tree
    boundaries: Sequence[int]

    def key(self, node: Tree) -> Position:
        return self.boundaries[node.start], self.boundaries[node.stop]

    def nodes(self) -> dict[Position, Tree]:
        return {self.key(node): node for node in preorder(self.tree)}

    def frame(self, top: Tree, shared: Collection[Position]) -> list[Any]:
        """Return the frame of a node, down to the nearest shared nodes, in a comparable form."""
        return [
            (self.key(node), None if at_edge or isinstance(node, Leaf) else (node.nuclearity, node.relations))
            for node, at_edge in _frame(top, lambda one: self.key(one) in shared)
        ]

    def parts(self) -> tuple[list[_Part], dict[Position, Range]]:
        """Return the tree as a postorder list, and the run of each subtree."""
        parts: list[_Part] = []
        runs: dict[Position, Range] = {}
        starts: list[int] = []
        for node in postorder(self.tree):
            if isinstance(node, Leaf):
                starts.append(len(parts))
                parts.append(self.document.edus[node.edu])
            else:
                del starts[len(starts) - len(node.children) + 1 :]
                parts.append(node)
            runs[self.key(node)] = starts[-1], len(parts)
        return parts, runs


def _grids(first: Document, second: Document) -> tuple[_Grid, _Grid]:
    trees = require_tree(first), require_tree(second)
    measures = shared_measures(first, second)
    edus = [list(map(measures[0], first.edus)), list(map(measures[1], second.edus))]
    if edus[0] == edus[1]:
        numbers = range(len(edus[0]) + 1)
        return _Grid(first, trees[0], numbers), _Grid(second, trees[1], numbers)
    boundaries = [[0, *(start for start, _ in side[1:]), sys.maxsize] for side in edus]
    if any(left >= right for side in boundaries for left, right in pairwise(side)):
        raise GenrstError(f"{first.id}: documents with empty EDUs must have the same EDUs to be compared")
    return _Grid(first, trees[0], boundaries[0]), _Grid(second, trees[1], boundaries[1])


def _range(node: Tree) -> Range:
    return node.start, node.stop


def _frame(top: Tree, is_edge: Callable[[Tree], bool]) -> Iterator[tuple[Tree, bool]]:
    """Yield the nodes of a frame in postorder, each with whether it is at the edge of the frame."""
    pending: list[tuple[Tree, bool]] = [(top, False)]
    while pending:
        node, is_done = pending.pop()
        at_edge = node is not top and is_edge(node)
        if at_edge or is_done or isinstance(node, Leaf):
            yield node, at_edge
        else:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))


def _describe(grid: _Grid, top: Tree, shared: Collection[Position]) -> str:
    """Describe a frame on one line: the label of the unit, then the units that the other tree lacks."""
    if isinstance(top, Leaf):
        return "one EDU"
    frame = _frame(top, lambda one: grid.key(one) in shared)
    inner = [node for node, at_edge in frame if isinstance(node, Unit) and not at_edge and node is not top]
    inner.sort(key=lambda unit: (unit.start, -unit.stop))
    others = [f"{unit.start + 1}–{unit.stop} {_label(unit)}" for unit in inner]
    if len(others) > _N_SHOWN:
        others[_N_SHOWN:] = [f"{len(others) - _N_SHOWN} more"]
    return f"{_label(top)} ({'; '.join(others)})" if others else _label(top)


def _label(unit: Unit) -> str:
    names = dict.fromkeys(name for name in unit.relations if name != SPAN)
    return f"{' / '.join(names) or unit.relation} {unit.nuclearity}"


def _placer(result: Document, source: Document) -> Callable[[Span], Span]:
    """Return a function that maps a span of the source to the same characters in the result."""
    text = result.text
    if text is None or text == source.text:
        return lambda span: span
    _, measure = shared_measures(result, source)
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]

    def place(span: Span) -> Span:
        start, end = measure(span)
        first = offsets[start] if start < len(offsets) else len(text)
        return Span(first, offsets[end - 1] + 1 if end > start else first, span.label)

    return place


def _build(result: Document, parts: Sequence[_Part]) -> Document:
    """Return the result with another tree. Constraints and secondary edges are kept if their units still exist."""
    edus: list[Span] = []
    stack: list[Tree] = []
    for part in parts:
        if isinstance(part, Span):
            stack.append(Leaf(len(edus)))
            edus.append(part)
        else:
            children = tuple(stack[-len(part.children) :])
            del stack[-len(children) :]
            stack.append(Unit(part.relation, part.nuclearity, children, part.relations, *part.certainty))
    made = replace(result, edus=tuple(edus), tree=stack[0], signals=())
    move, ranges = _mover(result, made), set(map(_range, preorder(stack[0])))
    constraints = [(one, move(one.span)) for one in result.constraints]
    edges = [(one, move(one.source), move(one.target)) for one in result.secondary_edges]
    return replace(
        made,
        constraints=tuple(
            replace(one, start=span[0], stop=span[1])
            for one, span in constraints
            if span is not None and one.is_unit == (span in ranges)
        ),
        secondary_edges=tuple(
            replace(one, source=source, target=target)
            for one, source, target in edges
            if source in ranges and target in ranges and source is not None and target is not None
        ),
    )


def _mover(before: Document, after: Document) -> Callable[[Range], Range | None]:
    """Return a function that maps EDUs between two documents of the same text; None if their boundaries differ."""
    numbers = {edu.start: number for number, edu in enumerate(after.edus)}
    starts = [numbers.get(edu.start) for edu in before.edus] + [len(after.edus)]

    def move(edus: Range) -> Range | None:
        start, stop = (starts[number] for number in edus)
        return None if start is None or stop is None or start >= stop else (start, stop)

    return move


def _with_signals(made: Document, whole: _Grid, given: _Grid, top: Position, edges: Collection[Position]) -> Document:
    """Add signals to a new result: those of the old result outside the frame, those of the source inside it."""
    ranges = set(map(_range, preorder(require_tree(made))))

    def moved(document: Document, grid: _Grid, is_inside: bool) -> Iterator[Signal]:
        node, move = grid.nodes()[top], _mover(document, made)
        frame = {_range(one) for one, _ in _frame(node, lambda one: grid.key(one) in edges) if one is not node}
        for signal in document.signals:
            unit, target = move(signal.unit), signal.target and move(signal.target)
            is_there = unit in ranges and (signal.target is None or target in ranges)
            if unit is not None and is_there and (signal.unit in frame) == is_inside:
                yield replace(signal, unit=unit, target=target)

    signals = [*moved(whole.document, whole, False)]
    source = given.document
    if source.signals:
        place = _placer(made, source)
        placed = replace(source, text=made.text, edus=tuple(map(place, source.edus)), tokens=made.tokens)
        has_same_words = len(signal_words(placed)) == len(signal_words(source))
        signals += [one if has_same_words else replace(one, tokens=()) for one in moved(placed, given, True)]
    return replace(made, signals=tuple(signals))
