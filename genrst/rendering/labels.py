"""What a picture writes on a node: the text of an EDU, the range of a unit, its relation, a tooltip.

EDUs are counted from 1 in everything that people read, as RST tools do; `genrst.trees` counts from 0.
"""

from typing import TypeAlias

from genrst.document import Document
from genrst.rendering.measure import printable
from genrst.trees.node import SPAN, Leaf, Tree, Unit, preorder, units

Range: TypeAlias = tuple[int, int]
"""The identity of a node: its EDUs, from start to stop (exclusive), counted from 0."""

_ROLES = {"N": "nucleus", "S": "satellite"}


def range_of(node: Tree) -> Range:
    """The identity of a node in a picture."""
    return node.start, node.stop


def roots(document: Document) -> list[Tree]:
    """The tree of a document, or its EDUs when it has none."""
    return [Leaf(edu) for edu in range(len(document.edus))] if document.tree is None else [document.tree]


def edu_texts(document: Document) -> list[str]:
    """The text of every EDU, without white space around it; `EDU 3` where the document has no text."""
    if document.text is None:
        return [f"EDU {number}" for number in range(1, len(document.edus) + 1)]
    return [document.text[edu.start : edu.end].strip() for edu in document.edus]


def range_label(node: Tree) -> str:
    """The EDUs of a node as people count them: `3` or `2–5`."""
    return f"{node.stop}" if isinstance(node, Leaf) else f"{node.start + 1}–{node.stop}"


def shared_relation(unit: Unit) -> str:
    """The relation between the nuclei of a unit; empty if there is only one."""
    names = [name for letter, name in zip(unit.nuclearity, unit.relations, strict=True) if letter == "N"]
    return next((name for name in names if name != SPAN), "") if len(names) > 1 else ""


def nucleus_of(nuclearity: str, satellite: int) -> int:
    """The position of the nucleus at which a satellite's arrow ends: the nearest, on its left if it is in between."""
    left = nuclearity.rfind("N", 0, satellite)
    return left if left >= 0 else nuclearity.index("N")


def levels(trees: list[Tree]) -> dict[Range, int]:
    """How many units each node is inside of."""
    found = {range_of(tree): 0 for tree in trees}
    for tree in trees:
        for unit in units(tree):
            found.update({range_of(child): found[range_of(unit)] + 1 for child in unit.children})
    return found


def titles(document: Document) -> dict[Range, str]:
    """A tooltip per node: its EDUs, role, relation and probability; its characters; the text of an EDU."""
    texts = edu_texts(document)
    roles = {range_of(root): "" for root in roots(document)}
    result: dict[Range, str] = {}
    for root in roots(document):
        for node in preorder(root):
            facts = [_name(node), roles[range_of(node)]]
            if isinstance(node, Unit):
                facts[1:1] = [f"{node.relation} {node.nuclearity}"]
                facts += [] if node.probability is None else [f"p = {node.probability:.3f}"]
                roles.update(_roles(node))
            title = printable(" · ".join(filter(None, facts)))
            title += f"\ncharacters {document.edus[node.start].start}–{document.edus[node.stop - 1].end}"
            if isinstance(node, Leaf) and document.text is not None:
                title += f"\n{printable(texts[node.edu])}"
            result[range_of(node)] = title
    return result


def _name(node: Tree) -> str:
    return f"EDU {node.stop}" if isinstance(node, Leaf) else f"EDUs {range_label(node)}"


def _roles(unit: Unit) -> dict[Range, str]:
    triples = zip(unit.children, unit.nuclearity, unit.relations, strict=True)
    return {
        range_of(child): _ROLES[letter] if relation == SPAN else f"{_ROLES[letter]}: {relation}"
        for child, letter, relation in triples
    }
