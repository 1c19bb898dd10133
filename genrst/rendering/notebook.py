"""Documents and trees as notebooks show them."""

from dataclasses import replace
from html import escape

from genrst.document import Document, Span
from genrst.rendering.classic import layout_classic
from genrst.rendering.colours import relation_scheme
from genrst.rendering.compact import layout_compact
from genrst.rendering.geometry import MARGIN, Picture
from genrst.rendering.labels import range_label, tree_titles, unknown_texts
from genrst.rendering.page import html_text, render_html
from genrst.rendering.svg import draw_svg
from genrst.trees.node import Tree

_COLUMN_WIDTH = 96.0
_MOST_COLUMNS = 20
_LEAST_HEIGHT, _MOST_HEIGHT, _ROW_HEIGHT = 260, 640, 45


def document_html(document: Document) -> str:
    """The page of a document in a frame of its own, so that neither page nor notebook can disturb the other."""
    height = max(_LEAST_HEIGHT, min(160 + _ROW_HEIGHT * len(document.edus), _MOST_HEIGHT))
    page = escape(render_html(document))
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{page}" title="{html_text(document.id)}"'
        f' style="width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"></iframe>'
    )


def tree_svg(tree: Tree) -> str:
    """A tree without a text: its EDUs are numbers. Small trees are drawn in the classic style.

    It may be part of a larger one, so it need not start with the first EDU.
    """
    texts = unknown_texts(tree.stop)
    is_small = tree.stop - tree.start <= _MOST_COLUMNS
    picture = layout_classic([tree], texts, _COLUMN_WIDTH) if is_small else layout_compact([tree], texts)
    tooltips = tree_titles([tree], [Span(edu, edu + 1) for edu in range(tree.stop)], None)
    return draw_svg(_cropped(picture, tree), f"EDUs {range_label(tree)}", tooltips, relation_scheme(picture.relations))


def _cropped(picture: Picture, tree: Tree) -> Picture:
    """The picture without the room for the EDUs before the tree, if it is part of a larger one."""
    boxes = [box for box in picture.boxes if box.node[0] >= tree.start]
    shapes = [shape for shape in picture.shapes if shape.node[0] >= tree.start]
    left = min([box.x for box in boxes] + [x for shape in shapes for x, _ in shape.points]) - MARGIN
    top = min([box.y for box in boxes] + [y for shape in shapes for _, y in shape.points]) - MARGIN
    return Picture(
        picture.width - left,
        picture.height - top,
        tuple(replace(box, x=box.x - left, y=box.y - top) for box in boxes),
        tuple(replace(shape, points=tuple((x - left, y - top) for x, y in shape.points)) for shape in shapes),
    )
