"""Draw secondary edges as dashed arcs beside a picture: below a classic one, to the right of a compact one.

Every arc runs in a lane, short arcs in inner lanes, so that the arcs and labels of a lane do not overlap. An arc leads
from the text of an EDU, or from a bracket around the EDUs of a unit, and ends in an arrow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from genrst.document import SecondaryEdge
from genrst.rendering.geometry import (
    MARGIN,
    Align,
    Canvas,
    Picture,
    Point,
    ShapeKind,
    TextBox,
    line_height,
    line_width,
    wrap_relation,
)
from genrst.rendering.labels import Range

_FIRST_LANE, _LANE_GAP, _LABEL_GAP = 16.0, 10.0, 4.0
_BRACKET, _NEIGHBOUR = 5.0, 6.0  # the depth of a bracket; the distance between arcs that end at the same unit
_LABEL_WIDTH = 150.0
_ARROW_LENGTH, _ARROW_WIDTH = 7.0, 3.2
_CORNER = 6.0
_MOST = 1000  # edges in a picture; more would be unreadable


@dataclass(frozen=True, slots=True)
class _End:
    """The point where an edge meets a unit: its position along the picture, and its distance from the brackets."""

    along: float
    reach: float
    bracket: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class _Arc:
    """The arc of an edge, with the middle of its label. It takes its lane from `low` to `high`."""

    edge: SecondaryEdge
    start: _End
    end: _End
    label: tuple[str, ...]
    middle: float
    low: float
    high: float


def with_edges(picture: Picture, edges: Sequence[SecondaryEdge], is_across: bool) -> Picture:
    """Add secondary edges to a picture. `is_across` means that EDUs are side by side.

    Edges whose EDUs do not form a unit are left out. If there are very many edges, only the first are drawn.
    """
    known = {box.node for box in picture.boxes} | {shape.node for shape in picture.shapes}
    edges = [edge for edge in edges if edge.source in known and edge.target in known][:_MOST]
    if not edges:
        return picture
    ends = _Ends(picture, is_across)
    arcs = sorted((_arc(edge, ends, is_across) for edge in edges), key=lambda arc: arc.high - arc.low)
    canvas = Canvas(list(picture.boxes), list(picture.shapes))
    out = _FIRST_LANE
    for lane in _lanes(arcs):
        depths = [_label_depth(arc, is_across) for arc in lane]
        for arc in lane:
            _draw(canvas, arc, ends, out + (max(depths) if is_across else 0.0))
        out += max(depths) + _LANE_GAP
    return canvas.finish()


class _Ends:
    """The positions of units along a picture, and the conversion of coordinates beside it to points."""

    def __init__(self, picture: Picture, is_across: bool) -> None:
        self.is_across = is_across
        self.base = (picture.height if is_across else picture.width) - MARGIN + _LABEL_GAP + _BRACKET
        self._texts = {box.node: box for box in picture.boxes if box.kind == "text"}
        self._numbers = {box.node: box for box in picture.boxes if box.kind == "number"}
        self._used: dict[Range, int] = {}

    def at(self, unit: Range) -> _End:
        """Return the next free position at a unit. The first one is in its middle."""
        start, stop = unit
        first, last = (self._box((edu, edu + 1)) for edu in (start, stop - 1))
        if self.is_across:
            low, high, far = first.x, last.x + last.width, first.y + first.height
        else:
            low, high, far = first.y, last.y + last.height, first.x + first.width
        is_edu = stop == start + 1
        count = self._used[unit] = self._used.get(unit, -1) + 1
        middle = first.y + line_height("text") / 2 if is_edu and not self.is_across else (low + high) / 2
        along = middle + _NEIGHBOUR * ((count + 1) // 2) * (-1 if count % 2 else 1)
        return _End(along, far + _LABEL_GAP - self.base, None) if is_edu else _End(along, 0.0, (low, high))

    def point(self, along: float, out: float) -> Point:
        """Return a point beside the picture."""
        return (along, self.base + out) if self.is_across else (self.base + out, along)

    def _box(self, edu: Range) -> TextBox:
        return self._texts.get(edu, self._numbers[edu])


def _arc(edge: SecondaryEdge, ends: _Ends, is_across: bool) -> _Arc:
    start, end = ends.at(edge.source), ends.at(edge.target)
    low, high = sorted((start.along, end.along))
    label = tuple(wrap_relation(edge.relation, max(high - low, _LABEL_WIDTH) if is_across else _LABEL_WIDTH))
    half = _label_length(label, is_across) / 2
    middle = max((low + high) / 2, MARGIN + half)
    low, high = min(low, middle - half) - _LABEL_GAP, max(high, middle + half) + _LABEL_GAP
    return _Arc(edge, start, end, label, middle, low, high)


def _label_length(label: Sequence[str], is_across: bool) -> float:
    """Return the length of a label along the picture."""
    return max(map(_width, label), default=0.0) if is_across else len(label) * line_height("edge")


def _label_depth(arc: _Arc, is_across: bool) -> float:
    """Return the size of a label across its lane."""
    return (
        len(arc.label) * line_height("edge") if is_across else max(map(_width, arc.label), default=0.0)
    ) + _LABEL_GAP


def _width(line: str) -> float:
    return line_width(line, "edge")


def _lanes(arcs: Sequence[_Arc]) -> list[list[_Arc]]:
    """Assign arcs to lanes, innermost first."""
    lanes: list[list[_Arc]] = []
    for arc in arcs:
        free = (lane for lane in lanes if all(arc.high < one.low or one.high < arc.low for one in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append([arc])
        else:
            lane.append(arc)
    return lanes


def _draw(canvas: Canvas, arc: _Arc, ends: _Ends, out: float) -> None:
    edge, (first, last) = arc.edge, (arc.start, arc.end)

    def line(*points: tuple[float, float], kind: ShapeKind = "edge") -> None:
        canvas.line(
            edge.source, kind, *(ends.point(*point) for point in points), relation=edge.relation, target=edge.target
        )

    for end in (first, last):
        if end.bracket is not None:
            low, high = end.bracket
            line((low, -_BRACKET), (low, 0.0), (high, 0.0), (high, -_BRACKET))
    side = 1 if last.along >= first.along else -1
    corner = min(_CORNER, abs(last.along - first.along) / 2) * side
    tip = last.reach + _LABEL_GAP / 2
    line(
        (first.along, first.reach),
        (first.along, out - _CORNER),
        (first.along + corner, out),
        (last.along - corner, out),
        (last.along, out - _CORNER),
        (last.along, tip + _ARROW_LENGTH),
    )
    line(
        (last.along, tip), *((last.along + w, tip + _ARROW_LENGTH) for w in (-_ARROW_WIDTH, _ARROW_WIDTH)), kind="arrow"
    )
    if ends.is_across:
        at = ends.point(arc.middle, out - len(arc.label) * line_height("edge") - 1.0)
    else:
        at = ends.point(arc.middle - len(arc.label) * line_height("edge") / 2, out + _LABEL_GAP)
    align: Align = "centre" if ends.is_across else "left"
    canvas.text(edge.source, "edge", at, arc.label, align, edge.relation, target=edge.target)
