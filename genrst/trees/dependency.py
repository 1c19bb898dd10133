"""Convert trees to dependencies between EDUs, in the two ways used in the literature.

Li et al. (2014) attach later nuclei to the first one, so that a document has one root. Hirao et al. (2013) attach all
nuclei of a multinuclear unit to the same governor outside it, so that a document can have several roots.
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
    """Return the head EDU, found by descending to the leftmost nucleus (section 3.3.1 of the paper)."""
    while isinstance(tree, Unit):
        tree = tree.children[tree.nuclearity.index("N")]
    return tree.edu


def dependencies_li(tree: Tree) -> list[Dependency]:
    """Return a dependency per EDU: the head of each child depends on the head of its unit's first nucleus."""
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
    """Return a dependency per EDU: each depends on the head of the unit that its nearest satellite ancestor is in."""
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
