"""A page to read a tree in: zoomable, foldable, with the text beside it, usable with the keyboard alone."""

from genrst.rendering.folding import folding_layout
from genrst.rendering.labels import titles
from genrst.rendering.layout import Style
from genrst.rendering.pages import Page, fill_page, tree_data
from genrst.rendering.running_text import running_text
from genrst.rendering.svg import draw_svg
from genrst.trees.analysis import Analysis
from genrst.trees.measures import depth
from genrst.trees.node import units

TEXT_WIDTH = 380.0


def render_html(document: Analysis, style: Style = "compact") -> str:
    """Draw the tree of a document as one self-contained HTML file, in the style `compact` or `classic`."""
    folding = folding_layout(document, style, TEXT_WIDTH)
    return fill_page(
        Page(
            title=document.id,
            kind=style,
            facts=f"<span>{_facts(document)}</span>",
            trees=draw_svg(folding.picture, document.id, {}),
            data=[tree_data(document, folding, titles(document))],
            text=f'<div id="text" role="region" aria-label="Text">{running_text(document)}</div>',
        )
    )


def _facts(document: Analysis) -> str:
    edus = _count(len(document.edus), "EDU")
    if document.tree is None:
        return f"{edus} · no tree"
    return f"{edus} · {_count(sum(1 for _ in units(document.tree)), 'unit')} · depth {depth(document.tree)}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
