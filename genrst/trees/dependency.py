"""Dependencies between EDUs, read off a tree in two ways that the literature uses.

Li et al. (2014) attach every later nucleus to the first one, so a document has one root. Hirao et al. (2013) let all
nuclei of a multinuclear unit share the governor outside it, so a document may have several roots.
"""

from dataclasses import dataclass

from genrst.trees.node import Tree, Unit, fold

ROOT = "root"


@dataclass(frozen=True, slots=True)
class Dependency:
    """The governor of an EDU: the number of another EDU, or None for a root."""

    head: int | None
    relation: str


def head_edu(tree: Tree) -> int:
    """The most nuclear EDU: down the leftmost nucleus to a leaf (section 3.3.1 of the paper)."""
    while isinstance(tree, Unit):
        tree = tree.children[tree.nuclearity.index("N")]
    return tree.edu


def dependencies_li(tree: Tree) -> list[Dependency]:
    """A dependency per EDU: the head of each child depends on the head of its unit's first nucleus."""
    heads = [Dependency(None, ROOT)] * (tree.stop - tree.start)

    def attach(unit: Unit, child_heads: list[int]) -> int:
        governor = child_heads[unit.nuclearity.index("N")]
        for relation, head in zip(unit.relations, child_heads, strict=True):
            if head != governor:
                heads[head - tree.start] = Dependency(governor, relation)
        return governor

    fold(tree, lambda leaf: leaf.edu, attach)
    return heads


def dependencies_hirao(tree: Tree) -> list[Dependency]:
    """A dependency per EDU: it depends on the head of the unit in which its nearest satellite ancestor stands."""
    heads: list[Dependency] = []
    pending = [(tree, Dependency(None, ROOT))]
    while pending:
        node, governor = pending.pop()
        if not isinstance(node, Unit):
            heads.append(governor)
            continue
        nucleus = None if node.is_multinuclear else head_edu(node)
        for letter, relation, child in reversed(list(zip(node.nuclearity, node.relations, node.children, strict=True))):
            pending.append((child, Dependency(nucleus, relation) if letter == "S" else governor))
    return heads
