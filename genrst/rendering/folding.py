"""The data that a page needs for folding the units of a picture.

A unit folds along one axis: vertically in the compact style, horizontally in the classic one. Its EDUs shrink to the
size of one, its `summary` replaces their texts, and the rest of the picture closes the gap. The folding itself is done
in the browser by `templates/folding.js`.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from genrst.characters import printable
from genrst.document import Document
from genrst.rendering.classic import COLUMN_WIDTH
from genrst.rendering.compact import TEXT_WIDTH
from genrst.rendering.geometry import (
    FONT_SIZES,
    MARGIN,
    Canvas,
    Picture,
    Shape,
    ShapeKind,
    TextBox,
    TextKind,
    line_height,
)
from genrst.rendering.labels import Range, edu_texts, nodes_of, range_of, roots
from genrst.rendering.measure import is_right_to_left, shorten, wrap
from genrst.rendering.svg import Style, layout
from genrst.trees.node import Tree, Unit, fold

Axis: TypeAlias = Literal["x", "y"]

_SUMMARY_LINES = 4  # in the classic style
_MOST_PROMOTED = 4  # EDUs in a summary, which is more than there is room for
_PADDING = 4.0  # around the text of an EDU
_NUMBER_GAP, _NUMBER_TOP, _HEAD = 8.0, 3.0, 19.0  # the same as in the layouts


@dataclass(frozen=True, slots=True)
class Area:
    """The area of a node in a picture. `anchor` is where lines from above meet the node, along the axis.

    `folded_bottom` is the end of the area when the node is folded.
    """

    left: float
    top: float
    right: float
    bottom: float
    anchor: float
    folded_bottom: float


@dataclass(frozen=True, slots=True)
class FoldingPicture:
    """A picture with the summaries of its units, and the area of every node, parents before children.

    `size` is the size of a folded unit along the axis.
    """

    picture: Picture
    areas: dict[Range, Area]
    axis: Axis
    size: float
    is_mirrored: bool


def folding_layout(document: Document, style: Style, text_width: float = TEXT_WIDTH) -> FoldingPicture:
    """Lay out the tree of a document. In the compact style, its EDUs are wrapped to `text_width`."""
    is_mirrored = is_right_to_left(document.text or "")
    picture = layout(document, style, text_width)
    straight = picture.mirrored() if is_mirrored else picture
    canvas = Canvas(list(straight.boxes), list(straight.shapes))
    axis: Axis
    if style == "compact":
        axis, size = "y", line_height("text") + 2 * _PADDING
        areas = _compact_areas(document, _Parts(straight), canvas, text_width)
    else:
        axis, size = "x", COLUMN_WIDTH
        areas = _classic_areas(document, _Parts(straight), canvas)
    picture = canvas.finish()
    if is_mirrored:
        areas = {key: _mirrored(area, picture.width, axis) for key, area in areas.items()}
        picture = picture.mirrored()
    return FoldingPicture(picture, areas, axis, size, is_mirrored)


class _Parts:
    """The boxes and shapes of a picture, by node and kind."""

    def __init__(self, picture: Picture) -> None:
        self.width = picture.width
        self.boxes: dict[tuple[Range, TextKind], TextBox] = {(box.node, box.kind): box for box in picture.boxes}
        self.shapes: dict[tuple[Range, ShapeKind], Shape] = {
            (shape.node, shape.kind): shape for shape in picture.shapes
        }

    def number(self, node: Range) -> TextBox:
        """Return the box with the number of a node."""
        return self.boxes[node, "number"]

    def label_end(self, node: Range, x: float, y: float) -> float:
        """Return where the space beside a unit at (x, y) begins: after its dot, or after its label if it has one."""
        box = self.boxes.get((node, "relation"))
        return box.x + box.width + _PADDING if box is not None and box.y < y < box.y + box.height else x + 3 * _PADDING

    def text_bottom(self, leaf: Range) -> float:
        """Return where the text of an EDU ends. The EDU may be empty."""
        box = self.boxes.get((leaf, "text"), self.number(leaf))
        return box.y + box.height


def _compact_areas(document: Document, parts: _Parts, canvas: Canvas, text_width: float) -> dict[Range, Area]:
    lines = summaries(document, text_width, 1, with_range=True)
    areas: dict[Range, Area] = {}
    for node in nodes_of(roots(document)):
        key, first, last = range_of(node), (node.start, node.start + 1), (node.stop - 1, node.stop)
        number = parts.number(first)
        top = _middle(number) - line_height("text") / 2 - _PADDING
        bottom = max(parts.text_bottom(last), _middle(parts.number(last)) + line_height("text") / 2) + _PADDING
        left, anchor = number.x, _middle(number)
        if isinstance(node, Unit):
            (left, anchor), *_ = parts.shapes[key, "dot"].points
            text_column = number.x + number.width + _NUMBER_GAP
            canvas.text(key, "summary", (text_column, anchor - line_height("summary") / 2), lines[key])
            canvas.line(key, "fold", (parts.label_end(key, left, anchor), anchor), (text_column - _NUMBER_GAP, anchor))
        areas[key] = Area(left - _PADDING, top, left, bottom, anchor, bottom)
    # The width is only known after all summaries are placed.
    right = max(parts.width - MARGIN, *(box.x + box.width for box in canvas.boxes)) + MARGIN / 2
    return {key: replace(area, right=right) for key, area in areas.items()}


def _classic_areas(document: Document, parts: _Parts, canvas: Canvas) -> dict[Range, Area]:
    lines = summaries(document, COLUMN_WIDTH, _SUMMARY_LINES)
    bottoms = _bottoms(document, parts)
    areas: dict[Range, Area] = {}
    for node in nodes_of(roots(document)):
        key = range_of(node)
        (left, top), (right, _) = parts.shapes[key, "span"].points
        number = parts.number(key)
        anchor = number.x + number.width / 2
        text_top = number.y - _NUMBER_TOP + _HEAD
        n_lines = 0
        if isinstance(node, Unit):
            canvas.text(key, "summary", (anchor, text_top), lines[key], "centre")
            n_lines = len(lines[key])
        folded_bottom = text_top + n_lines * line_height("summary") + _PADDING
        areas[key] = Area(left, top - _PADDING, right, bottoms[key] + _PADDING, anchor, folded_bottom)
    lowest = [y for shape in canvas.shapes if shape.target for _, y in shape.points]
    if lowest:  # there are secondary edges below the texts
        root = range_of(roots(document)[0])
        areas[root] = replace(areas[root], bottom=max(lowest))
    return areas


def _middle(box: TextBox) -> float:
    return box.y + box.height / 2


def _bottoms(document: Document, parts: _Parts) -> dict[Range, float]:
    """Return where the lowest text below each node ends."""
    bottoms: dict[Range, float] = {}

    def note(node: Tree, below: list[float]) -> float:
        bottoms[range_of(node)] = max(below) if below else parts.text_bottom(range_of(node))
        return bottoms[range_of(node)]

    for root in roots(document):
        fold(root, lambda leaf: note(leaf, []), note)
    return bottoms


def _mirrored(area: Area, width: float, axis: Axis) -> Area:
    anchor = area.anchor if axis == "y" else width - area.anchor
    return replace(area, left=width - area.right, right=width - area.left, anchor=anchor)


def summaries(document: Document, width: float, limit: int, with_range: bool = False) -> dict[Range, list[str]]:
    """Return the summary of each unit as lines of this width. Summaries of more than `limit` lines are shortened."""
    texts = edu_texts(document)
    em = width / FONT_SIZES["summary"]
    result: dict[Range, list[str]] = {}
    for (start, stop), edus in _promoted(document).items():
        text = (f"{start + 1}–{stop} · " if with_range else "") + _join(edus, texts)
        lines = shorten(wrap(printable(text), em), limit, em)
        result[start, stop] = [line.replace("……", "…") for line in lines]
    return result


def _promoted(document: Document) -> dict[Range, tuple[int, ...]]:
    """Return the first EDUs of each unit's promotion set. In a deep tree, the full sets would exhaust the memory."""
    promoted: dict[Range, tuple[int, ...]] = {}

    def promote(unit: Unit, parts: list[tuple[int, ...]]) -> tuple[int, ...]:
        nuclei = (part for letter, part in zip(unit.nuclearity, parts, strict=True) if letter == "N")
        edus = tuple(edu for part in nuclei for edu in part)[:_MOST_PROMOTED]
        promoted[range_of(unit)] = edus
        return edus

    for root in roots(document):
        fold(root, lambda leaf: (leaf.edu,), promote)
    return promoted


def _join(edus: tuple[int, ...], texts: list[str]) -> str:
    """Join the texts of EDUs, with an ellipsis where EDUs are left out."""
    text = texts[edus[0]]
    for before, edu in pairwise(edus):
        text += (" " if edu == before + 1 else " … ") + texts[edu]
    return text
