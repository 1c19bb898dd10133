"""How central each EDU is, from nuclearity alone (Marcu 2000; Ono et al. 1994).

The promotion set of a unit is the union of those of its nuclei: the EDUs that stand for it when the rest is left out.
"""

from genrst.trees.measures import depth
from genrst.trees.node import Leaf, Tree, Unit, fold, preorder


def promotion_sets(tree: Tree) -> dict[tuple[int, int], frozenset[int]]:
    """The promotion set of every node, by its range of EDUs (start, stop)."""
    sets: dict[tuple[int, int], frozenset[int]] = {}

    def promote(node: Tree, parts: list[frozenset[int]]) -> frozenset[int]:
        if isinstance(node, Leaf):
            promoted = frozenset([node.edu])
        else:
            nuclei = (part for letter, part in zip(node.nuclearity, parts, strict=True) if letter == "N")
            promoted = frozenset().union(*nuclei)
        sets[node.start, node.stop] = promoted
        return promoted

    fold(tree, lambda leaf: promote(leaf, []), promote)
    return sets


def importance(tree: Tree) -> list[int]:
    """A score per EDU: the depth of the tree below the highest unit that promotes it.

    The EDUs that the whole document promotes score highest (its depth + 1), a satellite at the bottom lowest.
    """
    sets = promotion_sets(tree)
    height = depth(tree) + 1
    scores = [0] * (tree.stop - tree.start)
    levels = {(tree.start, tree.stop): 0}
    for node in preorder(tree):
        level = levels.pop((node.start, node.stop))
        for edu in sets[node.start, node.stop]:
            scores[edu - tree.start] = max(scores[edu - tree.start], height - level)
        if isinstance(node, Unit):
            levels.update({(child.start, child.stop): level + 1 for child in node.children})
    return scores
