"""Lay out RST trees in the classic style, as in RSTTool and rstWeb.

Each EDU has a column, and each node a horizontal line over its EDUs. Below the line of a unit, a vertical line leads to
its nucleus, or a fan of lines to its nuclei, and a labelled arrow leads from each satellite to its nucleus. A unit is
drawn only between its own line and those of its children, and only in its own columns, so units never overlap.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from genrst.rendering.geometry import (
    CIRCLE,
    MARGIN,
    Canvas,
    Picture,
    Point,
    line_height,
    line_width,
    wrap_relation,
    wrap_text,
)
from genrst.rendering.labels import Range, levels, nodes_of, nucleus_of, range_label, range_of, shared_relation
from genrst.trees.node import Leaf, Tree, Unit, fold

COLUMN_WIDTH = 128.0

_GAP = 18.0  # between two columns
_HEAD = 19.0  # for the line of a node and the number below it


def classic_width(n_edus: int) -> float:
    """Return the width of a picture in the classic style."""
    return n_edus * (COLUMN_WIDTH + _GAP) + 2 * MARGIN


def layout_classic(
    trees: Sequence[Tree],
    texts: Sequence[str],
    column_width: float = COLUMN_WIDTH,
    headings: Collection[int] = (),
) -> Picture:
    """Lay out trees in the classic style, with the texts of EDUs in columns of this width and headings in bold."""
    plan = _Plan(trees, column_width + _GAP)
    canvas = Canvas()
    for node in nodes_of(trees):
        key = range_of(node)
        top = plan.top(node)
        left, right = plan.edges(node)
        unit = key if isinstance(node, Unit) else None
        canvas.line(key, "span", (left, top), (right, top), unit=unit)
        canvas.text(key, "number", (plan.anchors[key], top + 3.0), [range_label(node)], "centre", unit=unit)
        if isinstance(node, Leaf):
            is_strong = node.edu in headings
            lines = wrap_text(texts[node.edu], column_width, is_strong)
            canvas.text(key, "text", (plan.anchors[key], top + _HEAD), lines, "centre", is_strong=is_strong)
        else:
            bottom = plan.top(node.children[0])
            _draw_fan(canvas, plan.fans[key], top + _HEAD, bottom - _arcs_height(plan.arcs[key]), bottom)
            _draw_arcs(canvas, key, plan.arcs[key], bottom)
    return canvas.finish()


@dataclass(slots=True)
class _Plan:
    """The positions of the lines of all nodes. The anchor of a node is where lines from above meet it."""

    trees: Sequence[Tree]
    pitch: float
    anchors: dict[Range, float] = field(default_factory=dict)
    arcs: dict[Range, list["_Arc"]] = field(default_factory=dict)
    fans: dict[Range, "_Fan"] = field(default_factory=dict)
    levels: dict[Range, int] = field(default_factory=dict)
    tops: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for tree in self.trees:
            fold(tree, lambda leaf: self._place(leaf, []), self._place)
        self.levels = levels(self.trees)
        heights = [0.0] * (1 + max(self.levels.values()))
        for node in nodes_of(self.trees):
            if isinstance(node, Unit):
                key = range_of(node)
                self.arcs[key] = _plan_arcs(node, self.anchors)
                self.fans[key] = _plan_fan(node, self.anchors, self.edges(node), self.pitch - _GAP)
                height = _HEAD + self.fans[key].height + _arcs_height(self.arcs[key])
                heights[self.levels[key]] = max(heights[self.levels[key]], height)
        self.tops = list(accumulate(heights[:-1], initial=MARGIN))

    def top(self, node: Tree) -> float:
        """Return the vertical position of the line of a node."""
        return self.tops[self.levels[range_of(node)]]

    def edges(self, node: Tree) -> tuple[float, float]:
        """Return the ends of the line of a node."""
        return MARGIN + node.start * self.pitch + _GAP / 2, MARGIN + node.stop * self.pitch - _GAP / 2

    def _place(self, node: Tree, below: list[float]) -> float:
        if isinstance(node, Leaf):
            anchor = MARGIN + (node.edu + 0.5) * self.pitch
        else:
            anchor = (below[node.nuclearity.index("N")] + below[node.nuclearity.rindex("N")]) / 2
        self.anchors[range_of(node)] = anchor
        return anchor


_WIDEST_FAN = 800.0
_SLOPE = 25.0  # pixels of a fan's width for each pixel of its height above the minimum
_HEIGHT = 20.0  # the minimum height of a fan
_BAR_GAP = 4.0  # between a label and the bar below it
_DROP = 14.0  # from a bar to the knee


@dataclass(frozen=True, slots=True)
class _Fan:
    """The lines from the anchor of a unit to those of its nuclei.

    A lone nucleus hangs from a vertical line. Several nuclei hang from a fan of straight lines below their shared
    relation. If the lines of a fan would be almost horizontal, the nuclei hang from a bar, each below its own label.
    """

    unit: Range
    anchor: float
    nuclei: tuple[tuple[Range, float], ...]
    relation: str
    label: tuple[str, ...] = ()

    @property
    def breadth(self) -> float:
        """The distance from the first to the last nucleus."""
        return self.nuclei[-1][1] - self.nuclei[0][1]

    @property
    def height(self) -> float:
        """The height of the lines and labels."""
        label = len(self.label) * line_height("relation")
        if len(self.nuclei) == 1:
            return 0.0
        return label + (_BAR_GAP + _DROP if self.is_bar else _HEIGHT + self.breadth / _SLOPE)

    @property
    def is_bar(self) -> bool:
        """Whether the nuclei hang from a horizontal bar."""
        return self.breadth > _WIDEST_FAN


def _plan_fan(unit: Unit, anchors: Mapping[Range, float], edges: tuple[float, float], column_width: float) -> _Fan:
    """Plan the lines to the nuclei of a unit, with labels between its edges."""
    children = (child for letter, child in zip(unit.nuclearity, unit.children, strict=True) if letter == "N")
    nuclei = tuple((range_of(child), anchors[range_of(child)]) for child in children)
    anchor = anchors[range_of(unit)]
    fan = _Fan(range_of(unit), anchor, nuclei, shared_relation(unit))
    label_width = column_width if fan.is_bar else 2 * min(anchor - edges[0], edges[1] - anchor)
    return replace(fan, label=tuple(wrap_relation(fan.relation, label_width)))


def _draw_fan(canvas: Canvas, fan: _Fan, top: float, knee: float, bottom: float) -> None:
    """Draw the lines from `top` to the nuclei at `bottom`. They spread above the knee and are vertical below it."""
    if fan.is_bar:
        _draw_bar(canvas, fan, top, knee - _DROP, bottom)
        return
    canvas.text(fan.unit, "relation", (fan.anchor, top - 2.0), fan.label, "centre", fan.relation, fan.unit)
    start = top + len(fan.label) * line_height("relation")
    for nucleus, x in fan.nuclei:
        points = (fan.anchor, start), (x, knee), (x, bottom)
        canvas.line(nucleus, "nucleus", *points, relation=fan.relation, unit=fan.unit)


def _draw_bar(canvas: Canvas, fan: _Fan, top: float, bar: float, bottom: float) -> None:
    (_, left), (_, right) = fan.nuclei[0], fan.nuclei[-1]
    canvas.line(fan.unit, "nucleus", (fan.anchor, top), (fan.anchor, bar), relation=fan.relation, unit=fan.unit)
    canvas.line(fan.unit, "nucleus", (left, bar), (right, bar), relation=fan.relation, unit=fan.unit)
    label_top = bar - _BAR_GAP - len(fan.label) * line_height("relation")
    label_width = max((line_width(line, "relation") for line in fan.label), default=0.0)
    for nucleus, x in fan.nuclei:
        canvas.line(nucleus, "nucleus", (x, bar), (x, bottom), relation=fan.relation, unit=fan.unit)
        if abs(x - fan.anchor) > label_width / 2 + _BAR_GAP:
            canvas.text(nucleus, "relation", (x, label_top), fan.label, "centre", fan.relation, fan.unit)


_RISE = 24.0  # from the satellite to the top of its arrow in the lowest lane
_LANE_GAP = 6.0  # between a label and the next arrow above it
_LANDING = 9.0  # from the vertical line of the nucleus to the arrowhead beside it
_LABEL_GAP = 3.0
_LABEL_DISTANCE = 300.0  # from a satellite to the middle of its label, at most
_WIDE_CORNER, _NARROW_CORNER = 100.0, 12.0
_ARROW_LENGTH, _ARROW_WIDTH = 7.0, 3.2


@dataclass(frozen=True, slots=True)
class _Arc:
    """The arrow of a satellite, from its anchor at `start` to a point near the nucleus at `end`.

    Each satellite on the same side of a nucleus has its own lane, with the nearest satellite in the lowest lane. So
    their arrows are nested, and neither arrows nor labels cross.
    """

    satellite: Range
    relation: str
    lane: int
    start: float
    end: float
    label: tuple[str, ...]


def _plan_arcs(unit: Unit, anchors: Mapping[Range, float]) -> list[_Arc]:
    """Plan an arc for each satellite of a unit."""
    sides: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for position, letter in enumerate(unit.nuclearity):
        if letter == "S":
            nucleus = nucleus_of(unit.nuclearity, position)
            sides[nucleus, position < nucleus].append(position)
    arcs: list[_Arc] = []
    for (nucleus, is_left), satellites in sides.items():
        target = anchors[range_of(unit.children[nucleus])]
        for lane, position in enumerate(satellites[::-1] if is_left else satellites):
            # The outermost arrow ends next to the vertical line, the others inside it.
            landing = _LANDING + min(8.0, 32.0 / len(satellites)) * (len(satellites) - 1 - lane)
            satellite, relation = range_of(unit.children[position]), unit.relations[position]
            start, end = anchors[satellite], target + (-landing if is_left else landing)
            label = tuple(wrap_relation(relation, abs(end - start) - 8.0))
            arcs.append(_Arc(satellite, relation, lane, start, end, label))
    return arcs


def _arcs_height(arcs: Sequence[_Arc]) -> float:
    """Return the height of the arcs of a unit and their labels above its children."""
    return _RISE + sum(_lane_heights(arcs)) if arcs else 0.0


def _lane_heights(arcs: Sequence[_Arc]) -> list[float]:
    heights = [0.0] * (1 + max(arc.lane for arc in arcs))
    for arc in arcs:
        needed = len(arc.label) * line_height("relation") + _LABEL_GAP + _LANE_GAP
        heights[arc.lane] = max(heights[arc.lane], needed)
    return heights


def _draw_arcs(canvas: Canvas, unit: Range, arcs: Sequence[_Arc], bottom: float) -> None:
    """Draw the arcs of a unit above its children, whose lines are at `bottom`."""
    if not arcs:
        return
    tops = [bottom - _RISE]
    for height in _lane_heights(arcs):
        tops.append(tops[-1] - height)
    for arc in arcs:
        top = tops[arc.lane]
        points = _path(arc, top, bottom)
        canvas.line(arc.satellite, "satellite", *points, is_curved=True, relation=arc.relation, unit=unit)
        tip, back = (arc.end, bottom - 1.0), bottom - 1.0 - _ARROW_LENGTH
        corners = (arc.end - _ARROW_WIDTH, back), (arc.end + _ARROW_WIDTH, back)
        canvas.line(arc.satellite, "arrow", tip, *corners, relation=arc.relation, unit=unit)
        # The middle of the arc, or a point closer to the satellite if the arc is very wide.
        centre = arc.start + max(-_LABEL_DISTANCE, min((arc.end - arc.start) / 2, _LABEL_DISTANCE))
        at = centre, top - _LABEL_GAP - len(arc.label) * line_height("relation")
        canvas.text(arc.satellite, "relation", at, arc.label, "centre", arc.relation, unit)


def _path(arc: _Arc, top: float, bottom: float) -> list[Point]:
    """Return the path of an arc: up from the satellite, around two corners, and down to its head."""
    side = 1 if arc.end > arc.start else -1
    across = side * min(abs(arc.end - arc.start) / 2, _NARROW_CORNER if arc.lane else _WIDE_CORNER)
    end = bottom - _ARROW_LENGTH
    down = _NARROW_CORNER if arc.lane else end - top
    return [
        (arc.start, bottom),
        *_straight((arc.start, bottom), (arc.start, top + down)),
        (arc.start, top + down * (1 - CIRCLE)),
        (arc.start + across * (1 - CIRCLE), top),
        (arc.start + across, top),
        *_straight((arc.start + across, top), (arc.end - across, top)),
        (arc.end - across * (1 - CIRCLE), top),
        (arc.end, top + down * (1 - CIRCLE)),
        (arc.end, top + down),
        *_straight((arc.end, top + down), (arc.end, end)),
    ]


def _straight(start: Point, end: Point) -> tuple[Point, Point, Point]:
    return start, end, end
