"""The lines from a unit to its nuclei, in the classic drawing.

A lone nucleus hangs on a vertical line. Several have a fan of straight lines below the relation that they share; where
a fan would be so wide that its lines lie flat, they hang on a horizontal bar, each with the relation above it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from genrst.rendering.geometry import Canvas, line_height, line_width, wrap_relation
from genrst.rendering.labels import Range, range_of, shared_relation
from genrst.trees.node import Unit

_WIDEST_FAN = 800.0
_SLOPE = 25.0  # a fan is higher by a pixel for so many pixels of width
_HEIGHT = 20.0
_BAR_GAP = 4.0  # between a label and the bar below it
_DROP = 14.0


@dataclass(frozen=True, slots=True)
class Fan:
    """The nuclei of a unit with their anchors, and the anchor of the unit, from which the lines start."""

    unit: Range
    anchor: float
    nuclei: tuple[tuple[Range, float], ...]
    relation: str
    label: tuple[str, ...] = ()

    @property
    def breadth(self) -> float:
        """From the first to the last nucleus."""
        return self.nuclei[-1][1] - self.nuclei[0][1]

    @property
    def height(self) -> float:
        """The height that the lines and labels need."""
        label = len(self.label) * line_height("relation")
        if len(self.nuclei) == 1:
            return 0.0
        return label + (_BAR_GAP + _DROP if self.is_bar else _HEIGHT + self.breadth / _SLOPE)

    @property
    def is_bar(self) -> bool:
        """Whether the nuclei hang on a horizontal bar."""
        return self.breadth > _WIDEST_FAN


def plan_fan(unit: Unit, anchors: Mapping[Range, float], edges: tuple[float, float], column_width: float) -> Fan:
    """The lines to the nuclei of a unit between these edges, whose labels must not leave it."""
    children = (child for letter, child in zip(unit.nuclearity, unit.children, strict=True) if letter == "N")
    nuclei = tuple((range_of(child), anchors[range_of(child)]) for child in children)
    anchor = anchors[range_of(unit)]
    fan = Fan(range_of(unit), anchor, nuclei, shared_relation(unit))
    label_width = column_width if fan.is_bar else 2 * min(anchor - edges[0], edges[1] - anchor)
    return replace(fan, label=tuple(wrap_relation(fan.relation, label_width)))


def draw_fan(canvas: Canvas, fan: Fan, top: float, knee: float, bottom: float) -> None:
    """Place the lines from `top` to the nuclei at `bottom`; they spread above the knee and are vertical below it."""
    if fan.is_bar:
        _draw_bar(canvas, fan, top, knee - _DROP, bottom)
        return
    canvas.text(fan.unit, "relation", (fan.anchor, top - 2.0), fan.label, "centre", fan.relation)
    start = top + len(fan.label) * line_height("relation")
    for nucleus, x in fan.nuclei:
        canvas.line(nucleus, "nucleus", (fan.anchor, start), (x, knee), (x, bottom), relation=fan.relation)


def _draw_bar(canvas: Canvas, fan: Fan, top: float, bar: float, bottom: float) -> None:
    (_, left), (_, right) = fan.nuclei[0], fan.nuclei[-1]
    canvas.line(fan.unit, "nucleus", (fan.anchor, top), (fan.anchor, bar), relation=fan.relation)
    canvas.line(fan.unit, "nucleus", (left, bar), (right, bar), relation=fan.relation)
    label_top = bar - _BAR_GAP - len(fan.label) * line_height("relation")
    label_width = max((line_width(line, "relation") for line in fan.label), default=0.0)
    for nucleus, x in fan.nuclei:
        canvas.line(nucleus, "nucleus", (x, bar), (x, bottom), relation=fan.relation)
        if abs(x - fan.anchor) > label_width / 2 + _BAR_GAP:
            canvas.text(nucleus, "relation", (x, label_top), fan.label, "centre", fan.relation)
