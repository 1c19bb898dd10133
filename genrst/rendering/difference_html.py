"""A page to compare two trees in: side by side, coloured by what differs, with linked highlighting."""

from typing import Any

from genrst.rendering.difference import Labels, Status, compare
from genrst.rendering.difference_picture import (
    DASHES,
    STATUS_COLOURS,
    ComparedTree,
    Names,
    compared_trees,
    legend,
    scores,
)
from genrst.rendering.folding import FoldingPicture, folding_layout
from genrst.rendering.pages import Page, fill_page, html_text, tree_data
from genrst.rendering.svg import svg_file, svg_groups
from genrst.trees.analysis import Analysis

TEXT_WIDTH = 300.0


def render_difference_html(
    first: Analysis, second: Analysis, labels: Labels = "coarse", names: Names = ("first", "second")
) -> str:
    """Draw two analyses of one text as a self-contained HTML file; both trees are binarised."""
    difference = compare(first, second, labels)
    trees = compared_trees((first, second), difference, names)
    foldings = [folding_layout(tree.subject, "compact", TEXT_WIDTH) for tree in trees]
    keys = "".join(_key(status, meaning) for status, meaning in legend(difference, names))
    return fill_page(
        Page(
            title=first.id,
            kind="difference",
            facts=f'<span>{scores(difference)}</span><span class="keys genrst">{keys}</span>',
            trees="\n".join(map(_figure, trees, foldings, names)),
            data=list(map(_data, trees, foldings)),
        )
    )


def _key(status: Status, meaning: str) -> str:
    colour = f"r{STATUS_COLOURS[status]}" if status in STATUS_COLOURS else ""
    only = " only" if status in ("missing", "extra") else ""
    return f'<span class="key{only}"><i class="{colour}"></i>{html_text(meaning)}</span>'


def _figure(tree: ComparedTree, folding: FoldingPicture, name: str) -> str:
    picture = tree.colour(folding.picture)
    svg = svg_file((picture.width, picture.height), name, svg_groups(picture, {}, STATUS_COLOURS), DASHES)
    return f"<figure><figcaption>{html_text(name)}</figcaption>\n{svg}</figure>"


def _data(tree: ComparedTree, folding: FoldingPicture) -> dict[str, Any]:
    """The records of a tree, with the place of each node in the text that both trees share."""
    data = tree_data(tree.subject, folding, tree.tooltips)
    for record in data["nodes"]:
        record["span"] = tree.side.edus[record["start"]][0], tree.side.edus[record["stop"] - 1][1]
    return data
