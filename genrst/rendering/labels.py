"""The labels of nodes in pictures: texts of EDUs, ranges of units, relations and tooltips.

As in other RST tools, labels count EDUs from 1; `genrst.trees` counts from 0.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from genrst.characters import printable
from genrst.document import ROLES, Document, Span
from genrst.trees.node import SPAN, Leaf, Tree, Unit, preorder, units

Range: TypeAlias = tuple[int, int]
"""The EDUs of a node, from start to stop (exclusive), counted from 0. They identify the node."""


def range_of(node: Tree) -> Range:
    """Return the range that identifies a node."""
    return node.start, node.stop


def range_label(node: Tree) -> str:
    """Return the label for the EDUs of a node, counted from 1: `3` or `2–5`."""
    return f"{node.stop}" if isinstance(node, Leaf) else f"{node.start + 1}–{node.stop}"


def shared_relation(unit: Unit) -> str:
    """Return the relation between the nuclei of a unit; empty if there is only one nucleus."""
    names = [name for letter, name in zip(unit.nuclearity, unit.relations, strict=True) if letter == "N"]
    return next((name for name in names if name != SPAN), "") if len(names) > 1 else ""


def nucleus_of(nuclearity: str, satellite: int) -> int:
    """Return the position of a satellite's nucleus: the nearest one, or the left one if it is between two nuclei."""
    left = nuclearity.rfind("N", 0, satellite)
    return left if left >= 0 else nuclearity.index("N")


def nodes_of(trees: Iterable[Tree]) -> Iterator[Tree]:
    """Yield all nodes of trees, parents before children."""
    return (node for tree in trees for node in preorder(tree))


def levels(trees: Sequence[Tree]) -> dict[Range, int]:
    """Return the level of each node: the number of units around it."""
    found = {range_of(tree): 0 for tree in trees}
    for tree in trees:
        for unit in units(tree):
            found.update({range_of(child): found[range_of(unit)] + 1 for child in unit.children})
    return found


def roots(document: Document) -> list[Tree]:
    """Return the tree of a document, or its EDUs if it has no tree."""
    return [Leaf(edu) for edu in range(len(document.edus))] if document.tree is None else [document.tree]


def edu_texts(document: Document) -> list[str]:
    """Return the text of every EDU, stripped of white space, or `EDU 3` if the document has no text."""
    if document.text is None:
        return unknown_texts(len(document.edus))
    return [document.text[edu.start : edu.end].strip() for edu in document.edus]


def unknown_texts(n_edus: int) -> list[str]:
    """Return placeholders for the texts of EDUs."""
    return [f"EDU {number}" for number in range(1, n_edus + 1)]


def headings(document: Document) -> set[int]:
    """Return the EDUs in headings."""
    labels = [paragraph.label for paragraph in document.paragraphs] or [""]
    return {edu for edu, number in enumerate(document.paragraph_of_edus()) if labels[number] == "head"}


def paragraph_starts(document: Document) -> set[int]:
    """Return the EDUs that start a paragraph, except the first EDU."""
    return {edu for edu, (before, now) in enumerate(pairwise(document.paragraph_of_edus()), 1) if before != now}


def titles(document: Document) -> dict[Range, str]:
    """Return a tooltip per node: its EDUs, role, relation and probability, its characters, and the text of an EDU."""
    return tree_titles(roots(document), document.edus, None if document.text is None else edu_texts(document))


def tree_titles(trees: Sequence[Tree], edus: Sequence[Span], texts: Sequence[str] | None) -> dict[Range, str]:
    """Return the tooltips of trees over these EDUs, whose texts may be unknown."""
    roles = {range_of(tree): "" for tree in trees}
    result: dict[Range, str] = {}
    for node in nodes_of(trees):
        if isinstance(node, Unit):
            facts = [f"EDUs {range_label(node)}", f"{node.relation} {node.nuclearity}", roles[range_of(node)]]
            assumed = " (assumed)" if node.is_assumed else ""
            facts += [] if node.probability is None else [f"unit {node.probability:.0%}{assumed}"]
            facts += [] if node.label_probability is None else [f"label {node.label_probability:.0%}"]
            for child, letter, relation in zip(node.children, node.nuclearity, node.relations, strict=True):
                roles[range_of(child)] = ROLES[letter] if relation == SPAN else f"{ROLES[letter]}: {relation}"
        else:
            facts = [f"EDU {range_label(node)}", roles[range_of(node)]]
        title = printable(" · ".join(filter(None, facts)))
        title += f"\ncharacters {edus[node.start].start}–{edus[node.stop - 1].end}"
        if isinstance(node, Leaf) and texts is not None:
            title += f"\n{printable(texts[node.edu])}"
        result[range_of(node)] = title
    return result
