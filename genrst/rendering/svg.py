"""Draw pictures as self-contained SVG files, without scripts, fonts or links, for light and dark screens.

Each node is a group with its EDUs in `data-start` and `data-stop`, for interaction. Groups are not nested, because
browsers and XML parsers reject files that are as deep as some trees.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args
from xml.sax.saxutils import escape, quoteattr

from genrst.characters import printable
from genrst.document import Document, Span
from genrst.errors import UsageError
from genrst.rendering import Colours, check_colours
from genrst.rendering.classic import classic_width, layout_classic
from genrst.rendering.colours import DARK, LIGHT, Scheme, Theme, certainties, certainty_scheme, relation_scheme
from genrst.rendering.compact import TEXT_WIDTH, layout_compact
from genrst.rendering.edges import with_edges
from genrst.rendering.geometry import FONT_SIZES, MARGIN, NOWHERE, Picture, Point, Shape, TextBox, with_legend
from genrst.rendering.labels import (
    Range,
    edu_texts,
    headings,
    nodes_of,
    paragraph_starts,
    range_label,
    range_of,
    roots,
    tree_titles,
    unknown_texts,
)
from genrst.rendering.measure import is_right_to_left
from genrst.rendering.signals import Run, count_visible, cut_line, edge_titles, edu_runs, number_places, titles
from genrst.trees.node import Tree, Unit

Style: TypeAlias = Literal["classic", "compact"]

PAGE_WIDTH = 1800.0
"""The width of a page or a screen, which fits twelve EDUs in the classic style."""

_TREE_COLUMN_WIDTH, _MOST_TREE_COLUMNS = 96.0, 20  # for a tree without a text, in the classic style

FONTS = "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', sans-serif"


Tooltips: TypeAlias = Mapping[Any, str]
"""Tooltips by node, or by the source and target of a secondary edge."""

Words: TypeAlias = Mapping[Range, Sequence[Run]]
"""The words of signals in EDUs (`genrst.rendering.signals.edu_runs`)."""

_EDGE_STYLE = (
    f".genrst .edge{{font-size:{FONT_SIZES['edge']:g}px;font-weight:600;font-style:italic}}"
    ".genrst path.edge{stroke-width:1.3;stroke-opacity:1;stroke-dasharray:5 3}"
)
_WORD_STYLE = ".genrst .marker{text-decoration:underline}"
_LIT = "{paint-order:stroke;stroke:#f5b301;stroke-width:6px;stroke-opacity:.55;stroke-linejoin:round}"


def render_svg(document: Document, style: Style | None = None, colours: Colours = "relation") -> str:
    """Draw the tree of a document as SVG, in the style `classic` or `compact`.

    The default is `classic`, or `compact` if a page would be too narrow. The tree is coloured by `relation` or, if its
    units have probabilities, by `certainty`.
    """
    picture, scheme = coloured(layout(document, style), document, colours)
    words = edu_runs(document)
    tooltips: dict[Any, str] = {**titles(document), **edge_titles(document)}
    return draw_svg(with_legend(picture, scheme), document.id, tooltips, scheme, words, hover_style(document))


def tree_svg(tree: Tree) -> str:
    """Draw a tree without a text for a notebook, with EDU numbers. Small trees are drawn in the classic style.

    The tree may be part of a larger one, so it need not start with the first EDU.
    """
    texts = unknown_texts(tree.stop)
    is_small = tree.stop - tree.start <= _MOST_TREE_COLUMNS
    picture = layout_classic([tree], texts, _TREE_COLUMN_WIDTH) if is_small else layout_compact([tree], texts)
    tooltips = tree_titles([tree], [Span(edu, edu + 1) for edu in range(tree.stop)], None)
    return draw_svg(_cropped(picture, tree), f"EDUs {range_label(tree)}", tooltips, relation_scheme(picture.relations))


def _cropped(picture: Picture, tree: Tree) -> Picture:
    """Remove the space of the EDUs before the tree, if it is part of a larger one."""
    boxes = [box for box in picture.boxes if box.node[0] >= tree.start]
    shapes = [shape for shape in picture.shapes if shape.node[0] >= tree.start]
    left = min([box.x for box in boxes] + [x for shape in shapes for x, _ in shape.points]) - MARGIN
    top = min([box.y for box in boxes] + [y for shape in shapes for _, y in shape.points]) - MARGIN
    return replace(picture, boxes=tuple(boxes), shapes=tuple(shapes)).moved(-left, -top)


def layout(document: Document, style: Style | None = None, text_width: float = TEXT_WIDTH) -> Picture:
    """Lay out the tree of a document in the given style, or in the one that fits its size.

    The compact style wraps EDUs to `text_width`. The picture of a right-to-left text is mirrored.
    """
    style = style or ("classic" if classic_width(len(document.edus)) <= PAGE_WIDTH else "compact")
    if style not in get_args(Style):
        raise UsageError(f"a style must be one of {', '.join(get_args(Style))}, got {style!r}")
    trees, texts = roots(document), edu_texts(document)
    if style == "classic":
        picture = layout_classic(trees, texts, headings=headings(document))
    else:
        picture = layout_compact(trees, texts, text_width, headings(document), paragraph_starts(document))
    picture = with_edges(picture, document.secondary_edges, is_across=style == "classic")
    return picture.mirrored() if is_right_to_left(document.text or "") else picture


def coloured(picture: Picture, document: Document, colours: Colours) -> tuple[Picture, Scheme]:
    """Colour the picture of a document's tree by relation or certainty. Return it with its colour scheme."""
    check_colours(colours)
    if colours == "relation":
        return picture, relation_scheme(picture.relations)
    names = certainties(document)
    return picture.recoloured(names), certainty_scheme(names)


def draw_svg(
    picture: Picture,
    title: str,
    tooltips: Tooltips,
    scheme: Scheme,
    words: Words = MappingProxyType({}),
    style: str = "",
) -> str:
    """Draw a picture as SVG, with a title, and a tooltip per node and secondary edge.

    `words` are the words of signals in each EDU. `style` is added to the style sheet.
    """
    if any(shape.kind == "edge" for shape in picture.shapes):
        style = _EDGE_STYLE + style
    groups = svg_groups(picture, tooltips, scheme, words)
    body = [f"<style>{_WORD_STYLE * bool(words)}{style}</style>", *groups] if words or style else groups
    return svg_file((picture.width, picture.height), title, body, scheme)


def svg_file(size: Point, title: str, body: Iterable[str], scheme: Scheme) -> str:
    """Return an SVG file of this width and height, with the colours of a scheme."""
    width, height = map(_number, size)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="genrst" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-label={quoteattr(printable(title))}>',
            f"<title>{escape(printable(title))}</title>",
            f"<style>{_css(scheme)}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *body,
            "</svg>\n",
        ]
    )


def svg_groups(
    picture: Picture, tooltips: Tooltips, scheme: Scheme, words: Words = MappingProxyType({})
) -> Iterator[str]:
    """Yield a group per node, in the order of the layout. The legend, which belongs to no node, has no group.

    Secondary edges are groups inside the group of their source.
    """
    parts: dict[Range, list[str]] = {}
    edges: dict[Range, dict[Range, list[str]]] = defaultdict(lambda: defaultdict(list))
    written: list[tuple[Shape | TextBox, Iterable[str]]] = [
        *((shape, [_shape(shape, scheme)]) for shape in picture.shapes),
        *((box, _text(box, scheme, words)) for box in picture.boxes),
    ]
    for part, elements in written:
        own = parts.setdefault(part.node, []) if part.target is None else edges[part.node][part.target]
        own.extend(elements)
    legend = parts.pop(NOWHERE, [])
    for (start, stop), lines in parts.items():
        yield f'<g class="node" data-start="{start}" data-stop="{stop}">'
        if (start, stop) in tooltips:
            yield f"<title>{escape(tooltips[start, stop])}</title>"
        yield from lines
        for target, beside in edges[start, stop].items():
            title = tooltips.get(((start, stop), target))
            title = f"<title>{escape(title)}</title>" if title else ""
            # On one line, because the workbench takes a line with an end tag as the end of a node.
            yield f'<g class="beside" data-target="{target[0]}-{target[1]}">{title}{"".join(beside)}</g>'
        yield "</g>"
    yield from legend


def _shape(shape: Shape, scheme: Scheme) -> str:
    first, *others = [f"{_number(x)},{_number(y)}" for x, y in shape.points]
    path = f"M{first}{'C' if shape.is_curved else 'L'}{' '.join(others)}{'Z' if shape.is_filled else ''}"
    return f'<path class="{css_classes(shape.kind, shape.relation, scheme)}" d="{path}"/>'


def _text(box: TextBox, scheme: Scheme, words: Words) -> Iterator[str]:
    classes = css_classes(box.kind, box.relation, scheme) + (" strong" if box.is_strong else "")
    direction = ' direction="rtl"' if box.right_to_left else ""
    anchor = "middle" if box.align == "centre" else "start" if (box.align == "right") == box.right_to_left else "end"
    runs, n_visible = words.get(box.node, ()) if box.kind == "text" else (), 0
    for (x, y), line in box.baselines():
        place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
        content = escape(line)
        if runs:
            pieces = cut_line(line, n_visible, runs)
            content = "".join(f'<tspan class="{c}">{escape(p)}</tspan>' if c else escape(p) for p, c in pieces)
            n_visible += count_visible(line)
        yield f'<text class="{classes}" {place}{direction} xml:space="preserve">{content}</text>'


def css_classes(kind: str, relation: str, scheme: Scheme) -> str:
    """Return the CSS classes of a part of this kind and colour."""
    kind = "edge rule" if kind == "edge" else kind  # so that folding moves it like the rules beside texts
    return f"{kind} r{scheme.numbers[relation]}" if relation in scheme.numbers else kind


def hover_style(document: Document) -> str:
    """Return the style that highlights the words of a relation on hover, in programs that support `:has`."""
    parents = {
        range_of(child): f"{_selector(range_of(unit))},"
        for tree in roots(document)
        for unit in nodes_of([tree])
        if isinstance(unit, Unit)
        for letter, child in zip(unit.nuclearity, unit.children, strict=True)
        if letter == "N"
    }
    return "".join(
        f".genrst:has(:is({parents.get(unit, '')}{_selector(unit)}):hover) .w{number}{_LIT}"
        if target is None
        else f'.genrst:has({_selector(unit)} [data-target="{target[0]}-{target[1]}"]:hover) .w{number}{_LIT}'
        for (unit, target), number in number_places(document).items()
    )


def _selector(node: Range) -> str:
    return f'[data-start="{node[0]}"][data-stop="{node[1]}"]'


@lru_cache(maxsize=65536)
def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _css(scheme: Scheme) -> str:
    """Return the style sheet. It has no variables, because many programs other than browsers do not support them."""
    dashes = {scheme.numbers[name]: pattern for name, pattern in scheme.dashes.items()}
    sizes = "".join(f".genrst .{kind}{{font-size:{size:g}px}}" for kind, size in FONT_SIZES.items() if kind != "edge")
    return (
        f".genrst text{{font-family:{FONTS};fill:currentColor;unicode-bidi:embed}}{sizes}"
        ".genrst .relation,.genrst .mark,.genrst .strong{font-weight:600}"
        ".genrst path{fill:none;stroke:currentColor;stroke-width:1.4;stroke-linecap:round;stroke-linejoin:round}"
        ".genrst .nucleus{stroke-width:2}.genrst .leader{stroke-width:1;stroke-dasharray:1 4}"
        ".genrst .rule{stroke-width:1;stroke-opacity:.35}"
        ".genrst .arrow,.genrst .dot{fill:currentColor;stroke:none}"
        f"{_theme(LIGHT)}@media (prefers-color-scheme:dark){{{_theme(DARK)}}}"
        + "".join(f".genrst .r{number}{{stroke-dasharray:{on} {off}}}" for number, (on, off) in dashes.items())
    )


def _theme(theme: Theme) -> str:
    relations = "".join(f".genrst .r{number}{{color:{colour}}}" for number, colour in enumerate(theme.relations))
    return (
        f".genrst{{color:{theme.ink}}}.genrst .paper{{fill:{theme.paper}}}"
        f".genrst .number,.genrst .mark,.genrst .leader,.genrst .rule{{color:{theme.faint}}}{relations}"
    )
