"""The arrows from the satellites of a unit to its nuclei, in the classic drawing.

Satellites on the same side of a nucleus get a lane each, the nearest the lowest: their arrows enclose each other, and
neither arrows nor labels cross.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genrst.rendering.geometry import Canvas, Point, line_height, wrap_relation
from genrst.rendering.labels import Range, nucleus_of, range_of
from genrst.trees.node import Unit

_RISE = 24.0  # from the satellite to the top of its arrow in the lowest lane
_LANE_GAP = 6.0  # between a label and the next arrow above it
_LANDING = 9.0  # from the vertical line of the nucleus to the arrow that ends beside it
_LABEL_GAP = 3.0
_LABEL_DISTANCE = 300.0  # from a satellite to the middle of its label, at most
_WIDE_CORNER, _NARROW_CORNER = 100.0, 12.0
_ARROW_LENGTH, _ARROW_WIDTH = 7.0, 3.2
_CIRCLE = 0.5523  # where the control points of a quarter of a circle are


@dataclass(frozen=True, slots=True)
class Arc:
    """The arrow of a satellite: from its anchor at `start` to a place near the nucleus at `end`."""

    satellite: Range
    relation: str
    lane: int
    start: float
    end: float
    label: tuple[str, ...]


def plan_arcs(unit: Unit, anchors: Mapping[Range, float]) -> list[Arc]:
    """An arc for each satellite of a unit."""
    sides: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for position, letter in enumerate(unit.nuclearity):
        if letter == "S":
            nucleus = nucleus_of(unit.nuclearity, position)
            sides[nucleus, position < nucleus].append(position)
    arcs: list[Arc] = []
    for (nucleus, is_left), satellites in sides.items():
        target = anchors[range_of(unit.children[nucleus])]
        for lane, position in enumerate(satellites[::-1] if is_left else satellites):
            # The outermost arrow lands next to the vertical line, inside it the others.
            landing = _LANDING + min(8.0, 32.0 / len(satellites)) * (len(satellites) - 1 - lane)
            satellite, relation = range_of(unit.children[position]), unit.relations[position]
            start, end = anchors[satellite], target + (-landing if is_left else landing)
            label = tuple(wrap_relation(relation, abs(end - start) - 8.0))
            arcs.append(Arc(satellite, relation, lane, start, end, label))
    return arcs


def arcs_height(arcs: Sequence[Arc]) -> float:
    """The height that the arcs of a unit and their labels need above its children."""
    return _RISE + sum(_lane_heights(arcs)) if arcs else 0.0


def _lane_heights(arcs: Sequence[Arc]) -> list[float]:
    heights = [0.0] * (1 + max(arc.lane for arc in arcs))
    for arc in arcs:
        needed = len(arc.label) * line_height("relation") + _LABEL_GAP + _LANE_GAP
        heights[arc.lane] = max(heights[arc.lane], needed)
    return heights


def draw_arcs(canvas: Canvas, arcs: Sequence[Arc], bottom: float) -> None:
    """Place the arcs of a unit above its children, whose lines are at `bottom`."""
    if not arcs:
        return
    tops = [bottom - _RISE]
    for height in _lane_heights(arcs):
        tops.append(tops[-1] - height)
    for arc in arcs:
        top = tops[arc.lane]
        canvas.curve(arc.satellite, "satellite", *_path(arc, top, bottom), relation=arc.relation)
        tip, back = (arc.end, bottom - 1.0), bottom - 1.0 - _ARROW_LENGTH
        corners = (arc.end - _ARROW_WIDTH, back), (arc.end + _ARROW_WIDTH, back)
        canvas.line(arc.satellite, "arrow", tip, *corners, relation=arc.relation)
        label_top = top - _LABEL_GAP - len(arc.label) * line_height("relation")
        canvas.text(arc.satellite, "relation", (_label_centre(arc), label_top), arc.label, "centre", arc.relation)


def _label_centre(arc: Arc) -> float:
    """The middle of an arc, or a place near the satellite where the middle is out of sight."""
    half = (arc.end - arc.start) / 2
    return arc.start + max(-_LABEL_DISTANCE, min(half, _LABEL_DISTANCE))


def _path(arc: Arc, top: float, bottom: float) -> list[Point]:
    """Up from the satellite, round, along, round, and down to the arrow's head."""
    side = 1 if arc.end > arc.start else -1
    across = side * min(abs(arc.end - arc.start) / 2, _NARROW_CORNER if arc.lane else _WIDE_CORNER)
    end = bottom - _ARROW_LENGTH
    down = _NARROW_CORNER if arc.lane else end - top
    return [
        (arc.start, bottom),
        *_straight((arc.start, bottom), (arc.start, top + down)),
        (arc.start, top + down * (1 - _CIRCLE)),
        (arc.start + across * (1 - _CIRCLE), top),
        (arc.start + across, top),
        *_straight((arc.start + across, top), (arc.end - across, top)),
        (arc.end - across * (1 - _CIRCLE), top),
        (arc.end, top + down * (1 - _CIRCLE)),
        (arc.end, top + down),
        *_straight((arc.end, top + down), (arc.end, end)),
    ]


def _straight(start: Point, end: Point) -> tuple[Point, Point, Point]:
    return start, end, end
