"""The table of units: a row per node of a tree, from the root down and from left to right."""

from typing import NamedTuple, TypedDict

from genrst.outputs.slices import offsets_of, text_of, tree_of
from genrst.trees.analysis import Analysis
from genrst.trees.importance import importance
from genrst.trees.node import Leaf, Tree, Unit, fold

ROOT = "root"
"""The role of the node that has no parent."""


class UnitRow(TypedDict):
    """A unit or an EDU.

    `id` counts the rows of a document from 0; `start` and `end` are characters of the text, EDUs count from 0.
    `relation` is the label that RST files give a node: a satellite's relation to its nucleus, the shared relation of
    several nuclei, or `span` for the one nucleus among satellites. `importance` is that of the most important EDU
    inside; `probability` is known for units that a parser made.
    """

    document: str
    id: int
    parent: int | None
    depth: int
    role: str
    relation: str | None
    is_edu: bool
    first_edu: int
    last_edu: int
    start: int
    end: int
    importance: int
    probability: float | None
    text: str | None


class _Place(NamedTuple):
    """Where a node stands in the tree."""

    parent: int | None = None
    depth: int = 0
    role: str = ROOT
    relation: str | None = None


def units_table(document: Analysis) -> list[UnitRow]:
    """A row per unit and EDU, each before those inside it."""
    tree = tree_of(document)
    scores = _scores(tree)
    rows: list[UnitRow] = []
    pending: list[tuple[Tree, _Place]] = [(tree, _Place())]
    while pending:
        node, place = pending.pop()
        if isinstance(node, Unit):
            places = [
                _Place(len(rows), place.depth + 1, role, relation)
                for role, relation in zip(node.nuclearity, node.relations, strict=True)
            ]
            pending.extend(reversed(list(zip(node.children, places, strict=True))))
        rows.append(_row(document, len(rows), node, place, scores[node.start, node.stop]))
    return rows


def _scores(tree: Tree) -> dict[tuple[int, int], int]:
    """The importance of every node, by its EDUs."""
    edus = importance(tree)
    scores: dict[tuple[int, int], int] = {}

    def score(node: Tree, parts: list[int]) -> int:
        return scores.setdefault((node.start, node.stop), max(parts))

    fold(tree, lambda leaf: score(leaf, [edus[leaf.edu]]), score)
    return scores


def _row(document: Analysis, number: int, node: Tree, place: _Place, score: int) -> UnitRow:
    start, end = offsets_of(document, node.start, node.stop)
    return UnitRow(
        document=document.id,
        id=number,
        parent=place.parent,
        depth=place.depth,
        role=place.role,
        relation=place.relation,
        is_edu=isinstance(node, Leaf),
        first_edu=node.start,
        last_edu=node.stop - 1,
        start=start,
        end=end,
        importance=score,
        probability=node.probability if isinstance(node, Unit) else None,
        text=text_of(document, node.start, node.stop),
    )
