"""Discourse dependencies (`.rsd`): the tab-separated table of rst2dep and GUM, one EDU per line. Written, not read.

    1   Although it rained ,    0   _   _   _   2   concession_r   _   _
    2   we went out             0   _   _   _   0   ROOT           _   _
    3   and got wet .           1   _   _   _   2   sequence_m     _   _

The columns in use are the number of the EDU (from 1), its text, the height at which it attaches, the number of its head
(0 for the root) and its relation, with `_r` if it heads a satellite and `_m` if it heads a further nucleus. The height
is the number of units that its head heads below the one where it attaches; with it the tree can be rebuilt.
"""

from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.plain import collapse_spaces
from genrst.trees.dependency import dependencies_li
from genrst.trees.node import Tree, Unit, fold

_ROOT = "ROOT"
_EMPTY = "_"


def write_rsd(document: Document) -> str:
    """The text of an `.rsd` file."""
    if document.tree is None:
        raise UsageError(f"{document.id}: a document must have a tree to be written as .rsd, was: segmented only")
    heights, suffixes = _attachments(document.tree)
    lines = []
    for number, (text, dependency) in enumerate(zip(document.edu_texts, dependencies_li(document.tree), strict=True)):
        head, relation = 0, _ROOT
        if dependency.head is not None:
            head, relation = dependency.head + 1, f"{_cell(dependency.relation)}{suffixes[number]}"
        cells = [number + 1, _cell(text), heights[number], *[_EMPTY] * 3, head, relation, _EMPTY, _EMPTY]
        lines.append("\t".join(map(str, cells)) + "\n")
    return "".join(lines)


def _attachments(tree: Tree) -> tuple[list[int], list[str]]:
    """For every EDU, the height at which it attaches to its head, and whether as a satellite or as a nucleus."""
    heights = [0] * tree.stop
    suffixes = [""] * tree.stop

    def attach(unit: Unit, heads: list[tuple[int, int]]) -> tuple[int, int]:
        governor, height = heads[unit.nuclearity.index("N")]
        for letter, (head, _) in zip(unit.nuclearity, heads, strict=True):
            if head != governor:
                heights[head] = height
                suffixes[head] = "_m" if letter == "N" else "_r"
        return governor, height + 1

    fold(tree, lambda leaf: (leaf.edu, 0), attach)
    return heights, suffixes


def _cell(text: str) -> str:
    return collapse_spaces(text) or _EMPTY
