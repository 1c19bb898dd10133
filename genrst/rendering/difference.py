"""Compare two trees over the same text (gold and predicted, two parsers, two annotators), and draw the difference.

Trees are binarised, and their units are compared as in Parseval (`genrst.evaluation.parseval`): by their stretch of
text, and by the nuclearity and the relation between their children. The difference is drawn as an SVG file with the
text between the trees, or as a page with linked highlighting. Trees are drawn in the compact style. The dot of a unit,
the lines to its children and their labels have the colour of the unit's status, which is plain ink if both trees agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias
from xml.sax.saxutils import escape

from genrst.characters import printable
from genrst.document import Document, require_tree
from genrst.evaluation.counts import percent
from genrst.evaluation.parseval import (
    ASPECTS,
    Comparison,
    Constituent,
    Granularity,
    Position,
    choose_labels,
    parseval_constituents,
    shared_measures,
)
from genrst.rendering.colours import BLUE, BROWN, GREEN, PURPLE, RED, Scheme
from genrst.rendering.folding import FoldingPicture, folding_layout
from genrst.rendering.geometry import (
    MARGIN,
    NOWHERE,
    Align,
    Canvas,
    Picture,
    layout_legend,
    line_height,
    wrap_relation,
)
from genrst.rendering.image import ImageFormat, draw_image
from genrst.rendering.labels import Range, titles
from genrst.rendering.measure import is_right_to_left
from genrst.rendering.page import Page, fill_page, html_legend, html_text, tree_data
from genrst.rendering.svg import draw_svg, layout, svg_file, svg_groups
from genrst.trees.binarise import binarise
from genrst.trees.node import Tree

Status: TypeAlias = Literal["match", "nuclearity", "relation", "both", "missing", "extra"]
"""How a constituent differs. `missing` ones are only in the first tree, `extra` ones only in the second."""


class Pair(NamedTuple):
    """A constituent of the first tree and the constituent of the second tree with the same text. Either may be None."""

    first: Constituent | None
    second: Constituent | None

    @property
    def status(self) -> Status:
        """How the two constituents differ."""
        if self.second is None:
            return "missing"
        if self.first is None:
            return "extra"
        is_same_nuclearity = self.first.nuclearity == self.second.nuclearity
        if self.first.relation == self.second.relation:
            return "match" if is_same_nuclearity else "nuclearity"
        return "relation" if is_same_nuclearity else "both"


@dataclass(frozen=True)
class Difference:
    """Two binary trees, the positions of their EDUs in the shared text, and their constituents."""

    trees: tuple[Tree, Tree]
    edus: tuple[Sequence[Position], Sequence[Position]]
    comparison: Comparison

    @cached_property
    def pairs(self) -> list[Pair]:
        """Return all constituents of both trees: those of the first in order, then the extra ones of the second."""
        return [Pair(*pair) for pair in self.comparison.pairs()]

    def statuses(self) -> tuple[dict[Range, Status], dict[Range, Status]]:
        """Return the status of each unit of the first tree and of the second tree."""
        return (
            {pair.first.edus: pair.status for pair in self.pairs if pair.first},
            {pair.second.edus: pair.status for pair in self.pairs if pair.second},
        )

    def boundaries(self) -> tuple[set[int], set[int]]:
        """Return the numbers of the EDUs of each document that start where the other document has no EDU start."""
        first, second = self.edus
        return _starts_alone(first, second), _starts_alone(second, first)

    @property
    def has_same_edus(self) -> bool:
        """Whether both documents have the same EDUs."""
        return self.edus[0] == self.edus[1]


def _starts_alone(edus: Sequence[Position], others: Sequence[Position]) -> set[int]:
    starts = {start for start, _ in others}
    return {number for number, (start, _) in enumerate(edus) if start not in starts}


def compare(first: Document, second: Document, labels: Granularity = "coarse") -> Difference:
    """Compare two analyses of the same text.

    Relations are compared by coarse class, as in scores, or by name if `labels` is `fine`.
    """
    trees = require_tree(first), require_tree(second)
    label = choose_labels(labels, None, trees[:1], trees[1:]).label
    first_measure, second_measure = shared_measures(first, second)
    first_edus, second_edus = list(map(first_measure, first.edus)), list(map(second_measure, second.edus))
    first_tree, second_tree = map(binarise, trees)
    comparison = Comparison(
        parseval_constituents(first_tree, first_edus, label), parseval_constituents(second_tree, second_edus, label)
    )
    return Difference((first_tree, second_tree), (first_edus, second_edus), comparison)


Names: TypeAlias = tuple[str, str]

STATUS_COLOURS = {"nuclearity": BROWN, "relation": BLUE, "both": PURPLE, "missing": RED, "extra": GREEN}
"""The colour of each status, as a position in `Theme.relations`. A match has no colour."""

_DASHES = {"missing": (6, 3), "extra": (2, 3)}

_TEXT_WIDTH, _PAGE_TEXT_WIDTH = 320.0, 300.0
_HEADER = 20.0
_LEAST_WIDTH = 480.0


@dataclass(frozen=True, slots=True)
class _ComparedTree:
    """One of the two trees, ready to be drawn: a document with the binary tree, and a status per unit.

    `edus` are positions in the shared text. `odd_edus` start where the other document has no EDU start. `alone` is the
    status of units that only this tree has.
    """

    document: Document
    edus: Sequence[Position]
    statuses: dict[Range, Status]
    odd_edus: set[int]
    alone: Status
    tooltips: dict[Range, str]

    def colour(self, picture: Picture) -> Picture:
        """Colour a picture by status, and highlight the numbers of odd EDUs."""
        painted = picture.recoloured(self.statuses)
        odd = [box.kind == "number" and box.node[0] in self.odd_edus for box in painted.boxes]
        boxes = (
            replace(box, relation=self.alone) if is_odd else box for box, is_odd in zip(painted.boxes, odd, strict=True)
        )
        return replace(painted, boxes=tuple(boxes))


def _compared_trees(
    documents: tuple[Document, Document], difference: Difference, names: Names
) -> tuple[_ComparedTree, _ComparedTree]:
    """Return the two trees of a difference. If the EDUs are the same, the second tree has the text of the first."""
    statuses, boundaries = difference.statuses(), difference.boundaries()

    def make(side: int) -> _ComparedTree:
        document = documents[0 if difference.has_same_edus else side]
        drawn = replace(document, tree=difference.trees[side], signals=(), secondary_edges=())
        tooltips = titles(drawn)
        for pair in difference.pairs:
            own = pair[side]
            if own is not None:
                tooltips[own.edus] += f"\n{printable(_explain(pair, names, side))}"
        for edu in boundaries[side]:
            tooltips[edu, edu + 1] += f"\nonly {printable(names[side])} has an EDU that starts here"
        alone: Status = "extra" if side else "missing"
        return _ComparedTree(drawn, difference.edus[side], statuses[side], boundaries[side], alone, tooltips)

    return make(0), make(1)


def _explain(pair: Pair, names: Names, side: int) -> str:
    """Describe how a constituent of one side differs from that of the other side."""
    own, other = pair[side], pair[1 - side]
    if own is None or other is None:
        return f"only in {names[side]}"
    if pair.status == "match":
        return "same in both"
    return f"here {own.nuclearity} {own.relation}, in {names[1 - side]} {other.nuclearity} {other.relation}"


def _scores(difference: Difference) -> str:
    """Return the Parseval F1 of the two trees, in percent."""
    counts = difference.comparison.counts
    return "Parseval F1: " + " · ".join(f"{aspect} {percent(counts[aspect].f1)}" for aspect in ASPECTS)


def _scheme(difference: Difference, names: Names) -> Scheme:
    """Return the colours of the statuses, with a legend that counts those that occur."""
    meanings: dict[Status, str] = {
        "match": "same in both",
        "nuclearity": "different nuclearity",
        "relation": "different relation",
        "both": "different nuclearity and relation",
        "missing": f"only in {names[0]}",
        "extra": f"only in {names[1]}",
    }
    found = [pair.status for pair in difference.pairs]
    keys = [(status, f"{meaning}: {found.count(status)}") for status, meaning in meanings.items() if status in found]
    return Scheme(STATUS_COLOURS, _DASHES, keys)


def render_difference_svg(
    first: Document, second: Document, labels: Granularity = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of the same text as SVG. Both trees are binarised.

    If their EDUs are the same, the text is drawn once, between the trees. Otherwise each tree has its own text.
    """
    parts, width, legend, scheme = _lay_out(first, second, labels, names)
    body = [
        *_draw(parts[0], 0.0, width, scheme),
        *_draw(parts[1], width - parts[1].width, width, scheme),
        *svg_groups(legend, {}, scheme),
    ]
    return svg_file((max(width, legend.width), legend.height), first.id, body, scheme)


def render_difference_image(
    first: Document,
    second: Document,
    format: ImageFormat = "png",
    labels: Granularity = "coarse",
    names: Names = ("first", "second"),
) -> bytes:
    """Draw two analyses of the same text as PNG or PDF (see `render_difference_svg`)."""
    parts, width, legend, scheme = _lay_out(first, second, labels, names)
    places = 0.0, width - parts[1].width
    drawn = [part.picture.moved(left - part.left, _HEADER) for part, left in zip(parts, places, strict=True)]
    canvas = Canvas()
    sides: list[tuple[_Part, float, Align]] = [(parts[0], MARGIN, "left"), (parts[1], width - MARGIN, "right")]
    for part, x, align in sides:
        name = wrap_relation(part.name, width / 2 - 2 * MARGIN, limit=1)
        canvas.text(NOWHERE, "relation", (x, MARGIN - line_height("relation") / 2), name, align=align)
    pictures = [*drawn, legend, canvas.finish()]
    boxes, shapes = (
        tuple(part for one in pictures for part in one.boxes),
        tuple(part for one in pictures for part in one.shapes),
    )
    return draw_image(Picture(max(width, legend.width), legend.height, boxes, shapes), format, scheme, first)


def _lay_out(
    first: Document, second: Document, labels: Granularity, names: Names
) -> "tuple[list[_Part], float, Picture, Scheme]":
    """Lay out the two trees. Return them with their total width, the legend below them, and the colours."""
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
    scheme = _scheme(difference, names)
    legend = layout_legend(scheme.keys, width, top, _scores(difference))
    return parts, width, legend, scheme


@dataclass(frozen=True, slots=True)
class _Part:
    """A tree in the picture. Only the part of its own picture between `left` and `right` is shown."""

    name: str
    tree: _ComparedTree
    picture: Picture
    left: float = 0.0
    right: float | None = None

    @property
    def width(self) -> float:
        """The width of the part."""
        return (self.picture.width if self.right is None else self.right) - self.left


def _facing(part: _Part, difference: Difference) -> _Part:
    """Mirror a part, and leave out its text if the first tree has the same."""
    picture = part.picture.mirrored()
    if not difference.has_same_edus:
        return replace(part, picture=picture)
    boxes = tuple(box for box in picture.boxes if box.kind != "text")
    # The rules between paragraphs are as wide as the text, so they are left out with it.
    shapes = tuple(shape for shape in picture.shapes if shape.kind != "rule")
    places = [x for shape in shapes for x, _ in shape.points]
    places += [edge for box in boxes for edge in (box.x, box.x + box.width)]
    left, right = min(places) - MARGIN, max(places) + MARGIN
    return replace(part, picture=replace(picture, boxes=boxes, shapes=shapes), left=left, right=right)


def _draw(part: _Part, left: float, width: float, scheme: Scheme) -> Iterator[str]:
    name = "".join(wrap_relation(part.name, width / 2 - 2 * MARGIN, limit=1))
    is_first = left == 0.0
    place = f'x="{MARGIN if is_first else width - MARGIN:.1f}" text-anchor="{"start" if is_first else "end"}"'
    yield f'<text class="relation" {place} y="{MARGIN + 4.0:.1f}" xml:space="preserve">{escape(name)}</text>'
    yield f'<g transform="translate({left - part.left:.1f} {_HEADER:.1f})">'
    yield from svg_groups(part.picture, part.tree.tooltips, scheme)
    yield "</g>"


def render_difference_html(
    first: Document, second: Document, labels: Granularity = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of the same text as a self-contained HTML file. Both trees are binarised."""
    return fill_page(difference_page(first, second, labels, names))


def difference_page(first: Document, second: Document, labels: Granularity, names: Names) -> Page:
    """Return a page with two analyses side by side."""
    difference = compare(first, second, labels)
    trees = _compared_trees((first, second), difference, names)
    foldings = [folding_layout(tree.document, "compact", _PAGE_TEXT_WIDTH) for tree in trees]
    scheme = _scheme(difference, names)
    figures = [
        f"<figure><figcaption>{html_text(name)}</figcaption>\n"
        f"{draw_svg(tree.colour(folding.picture), name, {}, scheme)}</figure>"
        for tree, folding, name in zip(trees, foldings, names, strict=True)
    ]
    return Page(
        title=first.id,
        kind="difference",
        facts=f"<span>{_scores(difference)}</span>{html_legend(scheme)}",
        trees="\n".join(figures),
        data=list(map(_data, trees, foldings)),
    )


def _data(tree: _ComparedTree, folding: FoldingPicture) -> dict[str, Any]:
    """Return the records of a tree, with the position of each node in the shared text."""
    data = tree_data(tree.document, folding, tree.tooltips)
    for record in data["nodes"]:
        record["span"] = tree.edus[record["start"]][0], tree.edus[record["stop"] - 1][1]
    return data
