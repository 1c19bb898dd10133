"""One picture of two trees: the first on one side of the text, the second on the other, coloured by what differs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from genrst.rendering.characters import is_right_to_left, printable
from genrst.rendering.compact import layout_compact
from genrst.rendering.difference import Difference, Labels, compare
from genrst.rendering.difference_picture import (
    DASHES,
    STATUS_COLOURS,
    ComparedTree,
    Names,
    compared_trees,
    legend,
    scores,
)
from genrst.rendering.geometry import MARGIN, Layout, line_width, wrap_relation
from genrst.rendering.svg import svg_file, svg_groups
from genrst.trees.analysis import Analysis

TEXT_WIDTH = 320.0

_HEADER = 20.0
_ROW = 20.0  # of the legend
_LEAST_WIDTH = 480.0
_STROKE, _STROKE_GAP, _KEY_GAP = 22.0, 6.0, 24.0


def render_difference_svg(
    first: Analysis, second: Analysis, labels: Labels = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of one text as SVG; both trees are binarised.

    Where their EDUs are the same the text stands once, between the trees; otherwise each tree has its own.
    """
    difference = compare(first, second, labels)
    one, other = compared_trees((first, second), difference, names)
    parts = [
        _Part(names[0], one, one.colour(layout_compact(one.subject, TEXT_WIDTH))),
        _facing(_Part(names[1], other, other.colour(layout_compact(other.subject, TEXT_WIDTH))), difference),
    ]
    if is_right_to_left(first.text or ""):
        parts.reverse()
    width = max(sum(part.width for part in parts), _LEAST_WIDTH)
    top = _HEADER + max(part.picture.height for part in parts)
    keys, bottom = _legend(difference, names, width, top)
    body = [*_draw(parts[0], 0.0, width), *_draw(parts[1], width - parts[1].width, width), *keys]
    return svg_file((width, bottom), first.id, body, DASHES)


@dataclass(frozen=True, slots=True)
class _Part:
    """A tree of the picture; only what is between `left` and `right` of its own picture is shown."""

    name: str
    tree: ComparedTree
    picture: Layout
    left: float = 0.0
    right: float | None = None

    @property
    def width(self) -> float:
        """What the part takes of the whole."""
        return (self.picture.width if self.right is None else self.right) - self.left


def _facing(part: _Part, difference: Difference) -> _Part:
    """The part with its root on the other side, and without its text if the first tree has the same."""
    picture = part.picture.mirrored()
    if not difference.has_same_edus:
        return replace(part, picture=picture)
    boxes = tuple(box for box in picture.boxes if box.kind != "text")
    places = [x for shape in picture.shapes for x, _ in shape.points]
    places += [edge for box in boxes for edge in (box.x, box.x + box.width)]
    left, right = min(places) - MARGIN, max(places) + MARGIN
    return replace(part, picture=replace(picture, boxes=boxes), left=left, right=right)


def _draw(part: _Part, left: float, width: float) -> Iterator[str]:
    name = "".join(wrap_relation(part.name, width / 2 - 2 * MARGIN, limit=1))
    is_first = left == 0.0
    yield _text(name, MARGIN if is_first else width - MARGIN, MARGIN + 4.0, "start" if is_first else "end", "relation")
    yield f'<g transform="translate({left - part.left:.1f} {_HEADER:.1f})">'
    yield from svg_groups(part.picture, part.tree.tooltips, STATUS_COLOURS)
    yield "</g>"


def _legend(difference: Difference, names: Names, width: float, top: float) -> tuple[list[str], float]:
    """A line of scores, then what the colours mean; and where it ends."""
    y = top + _ROW / 2
    keys = [_text(scores(difference), MARGIN, y + 4.0)]
    x, y = MARGIN, y + _ROW
    for status, meaning in legend(difference, names):
        length = _STROKE + _STROKE_GAP + line_width(meaning, "text")
        if x > MARGIN and x + length > width - MARGIN:
            x, y = MARGIN, y + _ROW
        colour = f" r{STATUS_COLOURS[status]}" if status in STATUS_COLOURS else ""
        keys.append(f'<path class="nucleus{colour}" d="M{x:.1f},{y:.1f}L{x + _STROKE:.1f},{y:.1f}"/>')
        keys.append(_text(meaning, x + _STROKE + _STROKE_GAP, y + 4.0))
        x += length + _KEY_GAP
    return keys, y + _ROW / 2 + MARGIN


def _text(text: str, x: float, y: float, anchor: str = "start", kind: str = "text") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} xml:space="preserve">{escape(printable(text))}</text>'
