"""Pictures of two trees over one text: an SVG file with the text between them, and a page with linked highlighting.

The trees are drawn in the compact style and coloured by what differs: a unit's dot, the lines to its children and their
labels have one colour, that of plain ink where both trees agree. Not here: what differs (`difference`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from genrst.characters import printable
from genrst.document import Document
from genrst.evaluation.counts import percent
from genrst.evaluation.parseval import ASPECTS, Granularity, Position
from genrst.rendering.difference import Difference, Pair, Status, compare
from genrst.rendering.folding import FoldingPicture, folding_layout
from genrst.rendering.geometry import MARGIN, Picture, line_width, wrap_relation
from genrst.rendering.labels import Range, range_of, roots, titles
from genrst.rendering.measure import is_right_to_left
from genrst.rendering.page import Page, fill_page, html_text, tree_data
from genrst.rendering.svg import layout, svg_file, svg_groups
from genrst.trees.node import units

Names: TypeAlias = tuple[str, str]

STATUS_COLOURS: dict[str, int] = {"nuclearity": 1, "relation": 7, "both": 9, "missing": 0, "extra": 0}
"""The colour of each status, as a number in `Theme.relations`; a match has none."""

_DASHES = f".genrst .r{STATUS_COLOURS['extra']}{{stroke-dasharray:5 3}}"
"""A style rule: the lines of constituents that one tree lacks are dashed, so that not all depends on colour."""

_TEXT_WIDTH, _PAGE_TEXT_WIDTH = 320.0, 300.0
_HEADER = 20.0
_ROW = 20.0  # of the legend
_LEAST_WIDTH = 480.0
_STROKE, _STROKE_GAP, _KEY_GAP = 22.0, 6.0, 24.0


@dataclass(frozen=True, slots=True)
class _ComparedTree:
    """One of the two trees, ready to be drawn: a document with the binary tree, and a status per unit.

    `edus` are positions in the text that both trees share; `odd_edus` start where the other document has no EDU.
    """

    document: Document
    edus: Sequence[Position]
    statuses: dict[Range, Status]
    odd_edus: set[int]
    tooltips: dict[Range, str]

    def colour(self, picture: Picture) -> Picture:
        """The picture with each part in the colour of the unit to which it belongs."""
        [tree] = roots(self.document)
        parents = {range_of(child): range_of(unit) for unit in units(tree) for child in unit.children}
        rows = {shape.node: shape.points[0][1] for shape in picture.shapes if shape.kind == "dot"}

        def status(node: Range | None) -> str:
            found = self.statuses.get(node, "match") if node else "match"
            return "" if found == "match" else found

        shapes = []
        for shape in picture.shapes:
            owner = shape.node if shape.kind == "dot" else parents.get(shape.node)
            shapes.append(replace(shape, relation="" if shape.kind in ("leader", "fold") else status(owner)))
        boxes = []
        for box in picture.boxes:
            # In the row of its dot stands the label of a unit itself; other labels are about the unit above.
            is_own = box.node in rows and box.y < rows[box.node] < box.y + box.height
            name = status(box.node if is_own else parents.get(box.node))
            if box.kind in ("text", "summary", "number"):
                name = "missing" if box.kind == "number" and box.node[0] in self.odd_edus else ""
            boxes.append(replace(box, relation=name))
        return replace(picture, shapes=tuple(shapes), boxes=tuple(boxes))


def _compared_trees(
    documents: tuple[Document, Document], difference: Difference, names: Names
) -> tuple[_ComparedTree, _ComparedTree]:
    """The two trees of a difference; where the EDUs are the same, the second has the text of the first."""
    statuses, boundaries = difference.statuses(), difference.boundaries()

    def make(side: int) -> _ComparedTree:
        document = documents[0 if difference.has_same_edus else side]
        drawn = replace(document, tree=difference.trees[side])
        tooltips = titles(drawn)
        for pair in difference.pairs:
            own = pair[side]
            if own is not None:
                tooltips[own.edus] += f"\n{printable(_explain(pair, names, side))}"
        for edu in boundaries[side]:
            tooltips[edu, edu + 1] += f"\nonly {printable(names[side])} has an EDU that starts here"
        return _ComparedTree(drawn, difference.edus[side], statuses[side], boundaries[side], tooltips)

    return make(0), make(1)


def _explain(pair: Pair, names: Names, side: int) -> str:
    """How a constituent of one side differs from that of the other."""
    own, other = pair[side], pair[1 - side]
    if own is None or other is None:
        return f"only in {names[side]}"
    if pair.status == "match":
        return "same in both"
    return f"here {own.nuclearity} {own.relation}, in {names[1 - side]} {other.nuclearity} {other.relation}"


def _scores(difference: Difference) -> str:
    """The Parseval F1 of the two trees, in percent."""
    counts = difference.comparison.counts
    return "Parseval F1: " + " · ".join(f"{aspect} {percent(counts[aspect].f1)}" for aspect in ASPECTS)


def _legend(difference: Difference, names: Names) -> list[tuple[Status, str]]:
    """The statuses that occur, with what they mean and how often."""
    meanings: dict[Status, str] = {
        "match": "same in both",
        "nuclearity": "other nuclearity",
        "relation": "other relation",
        "both": "other nuclearity and relation",
        "missing": f"only in {names[0]}",
        "extra": f"only in {names[1]}",
    }
    found = [pair.status for pair in difference.pairs]
    return [(status, f"{meaning}: {found.count(status)}") for status, meaning in meanings.items() if status in found]


def render_difference_svg(
    first: Document, second: Document, labels: Granularity = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of one text as SVG; both trees are binarised.

    Where their EDUs are the same the text stands once, between the trees; otherwise each tree has its own.
    """
    difference = compare(first, second, labels)
    one, other = _compared_trees((first, second), difference, names)
    parts = [
        _Part(names[0], one, one.colour(layout(one.document, "compact", _TEXT_WIDTH))),
        _facing(_Part(names[1], other, other.colour(layout(other.document, "compact", _TEXT_WIDTH))), difference),
    ]
    if is_right_to_left(first.text or ""):
        parts.reverse()
    width = max(sum(part.width for part in parts), _LEAST_WIDTH)
    top = _HEADER + max(part.picture.height for part in parts)
    keys, bottom = _draw_legend(difference, names, width, top)
    body = [*_draw(parts[0], 0.0, width), *_draw(parts[1], width - parts[1].width, width), *keys]
    return svg_file((width, bottom), first.id, body, _DASHES)


@dataclass(frozen=True, slots=True)
class _Part:
    """A tree of the picture; only what is between `left` and `right` of its own picture is shown."""

    name: str
    tree: _ComparedTree
    picture: Picture
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


def _draw_legend(difference: Difference, names: Names, width: float, top: float) -> tuple[list[str], float]:
    """A line of scores, then what the colours mean; and where it ends."""
    y = top + _ROW / 2
    keys = [_text(_scores(difference), MARGIN, y + 4.0)]
    x, y = MARGIN, y + _ROW
    for status, meaning in _legend(difference, names):
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


def render_difference_html(
    first: Document, second: Document, labels: Granularity = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of one text as a self-contained HTML file; both trees are binarised."""
    difference = compare(first, second, labels)
    trees = _compared_trees((first, second), difference, names)
    foldings = [folding_layout(tree.document, "compact", _PAGE_TEXT_WIDTH) for tree in trees]
    keys = "".join(_key(status, meaning) for status, meaning in _legend(difference, names))
    return fill_page(
        Page(
            title=first.id,
            kind="difference",
            facts=f'<span>{_scores(difference)}</span><span class="keys genrst">{keys}</span>',
            trees="\n".join(map(_figure, trees, foldings, names)),
            data=list(map(_data, trees, foldings)),
        )
    )


def _key(status: Status, meaning: str) -> str:
    colour = f"r{STATUS_COLOURS[status]}" if status in STATUS_COLOURS else ""
    only = " only" if status in ("missing", "extra") else ""
    return f'<span class="key{only}"><i class="{colour}"></i>{html_text(meaning)}</span>'


def _figure(tree: _ComparedTree, folding: FoldingPicture, name: str) -> str:
    picture = tree.colour(folding.picture)
    svg = svg_file((picture.width, picture.height), name, svg_groups(picture, {}, STATUS_COLOURS), _DASHES)
    return f"<figure><figcaption>{html_text(name)}</figcaption>\n{svg}</figure>"


def _data(tree: _ComparedTree, folding: FoldingPicture) -> dict[str, Any]:
    """The records of a tree, with the place of each node in the text that both trees share."""
    data = tree_data(tree.document, folding, tree.tooltips)
    for record in data["nodes"]:
        record["span"] = tree.edus[record["start"]][0], tree.edus[record["stop"] - 1][1]
    return data
