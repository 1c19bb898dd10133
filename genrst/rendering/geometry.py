"""Pictures as plain data: text boxes and shapes with their positions, each belonging to a node.

A line to a child belongs to the child, but shows a relation of the unit above: that unit is stored in `unit`, which is
None for parts that do not depend on a unit, such as the texts and numbers of EDUs.

A `Canvas` collects the parts while `classic` or `compact` lays out a tree; `svg` and `image` draw them. Sizes are in
pixels, and the origin is at the top left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from genrst.characters import printable
from genrst.rendering.labels import Range
from genrst.rendering.measure import is_right_to_left, shorten, text_width, wrap

if TYPE_CHECKING:
    from genrst.rendering.colours import Scheme

Point: TypeAlias = tuple[float, float]
Align: TypeAlias = Literal["left", "centre", "right"]
TextKind: TypeAlias = Literal["text", "relation", "number", "mark", "summary", "edge"]
ShapeKind: TypeAlias = Literal["span", "nucleus", "satellite", "leader", "arrow", "dot", "fold", "rule", "edge"]

FONT_SIZES: dict[TextKind, float] = {
    "text": 12.0,
    "relation": 11.0,
    "number": 10.0,
    "mark": 9.0,
    "summary": 12.0,
    "edge": 11.0,
}
LINE_SPACING = 1.3
BOLD = 1.13
"""The width of bold letters (relation names and headings), relative to plain ones."""

MARGIN = 16.0
"""The margin of every picture."""

CIRCLE = 0.5523
"""The position of the control points of a Bézier curve that approximates a quarter circle."""


@dataclass(frozen=True, slots=True)
class TextBox:
    """One or more lines of text. (x, y) is the top left corner; `relation` determines the colour.

    Boxes and shapes of a secondary edge have the `target` of the edge.
    """

    node: Range
    kind: TextKind
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    align: Align = "left"
    relation: str = ""
    right_to_left: bool = False
    unit: Range | None = None
    is_strong: bool = False
    target: Range | None = None

    def baselines(self) -> Iterator[tuple[Point, str]]:
        """Yield each line with the position of its left end, centre or right end, depending on the alignment."""
        x = self.x + {"left": 0.0, "centre": self.width / 2, "right": self.width}[self.align]
        for number, line in enumerate(self.lines):
            middle = self.y + (number + 0.5) * line_height(self.kind)
            yield (x, middle + 0.35 * FONT_SIZES[self.kind]), line


@dataclass(frozen=True, slots=True)
class Shape:
    """A line through points, or a curve: a point, then any number of (control, control, point).

    Arrows and dots are filled, other shapes are strokes.
    """

    node: Range
    kind: ShapeKind
    points: tuple[Point, ...]
    is_curved: bool = False
    relation: str = ""
    unit: Range | None = None
    target: Range | None = None

    @property
    def is_filled(self) -> bool:
        """Whether the shape is filled."""
        return self.kind in ("arrow", "dot")


@dataclass(frozen=True, slots=True)
class Picture:
    """A complete picture."""

    width: float
    height: float
    boxes: tuple[TextBox, ...]
    shapes: tuple[Shape, ...]

    @property
    def relations(self) -> set[str]:
        """The names of all relations, which determine the colours."""
        return {box.relation for box in self.boxes} | {shape.relation for shape in self.shapes}

    def recoloured(self, names: Mapping[Range, str]) -> "Picture":
        """Return the picture with each part coloured by the new name of its unit."""
        boxes = (replace(box, relation=names.get(box.unit, "") if box.unit else "") for box in self.boxes)
        shapes = (replace(shape, relation=names.get(shape.unit, "") if shape.unit else "") for shape in self.shapes)
        return replace(self, boxes=tuple(boxes), shapes=tuple(shapes))

    def mirrored(self) -> "Picture":
        """Return the picture with left and right swapped, for right-to-left texts."""
        sides: dict[Align, Align] = {"left": "right", "centre": "centre", "right": "left"}
        boxes = (replace(box, x=self.width - box.x - box.width, align=sides[box.align]) for box in self.boxes)
        shapes = (replace(shape, points=tuple((self.width - x, y) for x, y in shape.points)) for shape in self.shapes)
        return replace(self, boxes=tuple(boxes), shapes=tuple(shapes))

    def moved(self, right: float, down: float) -> "Picture":
        """Return the picture with all parts moved."""
        boxes = (replace(box, x=box.x + right, y=box.y + down) for box in self.boxes)
        shapes = (replace(one, points=tuple((x + right, y + down) for x, y in one.points)) for one in self.shapes)
        return Picture(self.width + right, self.height + down, tuple(boxes), tuple(shapes))


def line_height(kind: TextKind) -> float:
    """Return the line height of this kind of text."""
    return FONT_SIZES[kind] * LINE_SPACING


def wrap_text(text: str, width: float, is_strong: bool = False) -> list[str]:
    """Wrap the text of an EDU to a column of this width. Headings are strong."""
    return wrap(printable(text), width / FONT_SIZES["text"] / (BOLD if is_strong else 1.0))


def wrap_relation(relation: str, width: float, limit: int = 3) -> list[str]:
    """Wrap a relation name to this width. A name of more than `limit` lines ends in an ellipsis."""
    em = width / FONT_SIZES["relation"] / BOLD
    return shorten(wrap(printable(relation), em), limit, em)


def line_width(line: str, kind: TextKind, is_strong: bool = False) -> float:
    """Return the width of a line of this kind of text."""
    return text_width(line, FONT_SIZES[kind]) * (BOLD if kind in ("relation", "edge") or is_strong else 1.0)


@dataclass(slots=True)
class Canvas:
    """Collects the parts of a picture."""

    boxes: list[TextBox] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    def text(
        self,
        node: Range,
        kind: TextKind,
        at: Point,
        lines: Sequence[str],
        align: Align = "left",
        relation: str = "",
        unit: Range | None = None,
        is_strong: bool = False,
        target: Range | None = None,
    ) -> None:
        """Add lines of text, downwards from a point, which is their left end, centre or right end."""
        if not lines:
            return
        width = max(line_width(line, kind, is_strong) for line in lines)
        x = at[0] - {"left": 0.0, "centre": width / 2, "right": width}[align]
        height = len(lines) * line_height(kind)
        is_reversed = is_right_to_left("".join(lines))
        style = align, relation, is_reversed, unit, is_strong, target
        self.boxes.append(TextBox(node, kind, x, at[1], width, height, tuple(lines), *style))

    def line(
        self,
        node: Range,
        kind: ShapeKind,
        *points: Point,
        is_curved: bool = False,
        relation: str = "",
        unit: Range | None = None,
        target: Range | None = None,
    ) -> None:
        """Add a line or a filled area through these points (see `Shape`)."""
        self.shapes.append(Shape(node, kind, points, is_curved, relation, unit, target))

    def finish(self) -> Picture:
        """Return the picture, which is as large as its parts and a margin."""
        xs = [x for shape in self.shapes for x, _ in shape.points] + [box.x + box.width for box in self.boxes]
        ys = [y for shape in self.shapes for _, y in shape.points] + [box.y + box.height for box in self.boxes]
        return Picture(max(xs) + MARGIN, max(ys) + MARGIN, tuple(self.boxes), tuple(self.shapes))


# Legends.


NOWHERE: Range = (0, 0)
"""The node of parts that belong to no node."""

_ROW = 20.0
_STROKE, _STROKE_GAP, _KEY_GAP = 22.0, 6.0, 24.0


def with_legend(picture: Picture, scheme: "Scheme") -> Picture:
    """Add a legend to a picture, if it needs one."""
    if not scheme.keys:
        return picture
    legend = layout_legend(scheme.keys, picture.width, picture.height)
    boxes, shapes = picture.boxes + legend.boxes, picture.shapes + legend.shapes
    return Picture(max(picture.width, legend.width), legend.height, boxes, shapes)


def layout_legend(keys: Sequence[tuple[str, str]], width: float, top: float, heading: str = "") -> Picture:
    """Lay out a legend in this width, downwards from `top`, below an optional heading."""
    canvas = Canvas()
    x, y = MARGIN, top
    if heading:
        _place(canvas, heading, x, y)
        y += _ROW
    for name, meaning in keys:
        length = _STROKE + _STROKE_GAP + line_width(printable(meaning), "text")
        if x > MARGIN and x + length > width - MARGIN:
            x, y = MARGIN, y + _ROW
        middle = y + _ROW / 2
        canvas.line(NOWHERE, "nucleus", (x, middle), (x + _STROKE, middle), relation=name)
        _place(canvas, meaning, x + _STROKE + _STROKE_GAP, y)
        x += length + _KEY_GAP
    return canvas.finish()


def _place(canvas: Canvas, text: str, x: float, y: float) -> None:
    canvas.text(NOWHERE, "text", (x, y + (_ROW - line_height("text")) / 2), [printable(text)])
