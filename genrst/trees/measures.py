"""Measures of a tree: its shape (section 4.1 of the paper), and the importance of each EDU.

Importance follows from nuclearity alone (Marcu 2000; Ono et al. 1994). The promotion set of a unit holds its most
important EDUs: it is the union of the promotion sets of its nuclei.
"""

from genrst.trees.node import Leaf, Tree, Unit, fold, preorder, units


def depth(tree: Tree) -> int:
    """Return the number of units on the longest path from the root to a leaf; 0 for a lone leaf."""
    return fold(tree, lambda leaf: 0, lambda unit, depths: 1 + max(depths))


def left_branching(tree: Tree) -> float:
    """P_L of Sampson (1997): the share of units whose left child is a unit.

    It is 0 for a right-branching tree or a lone leaf, and (m − 2)/(m − 1) for a left-branching tree over m EDUs.
    """
    is_left = [isinstance(unit.children[0], Unit) for unit in units(tree)]
    return sum(is_left) / len(is_left) if is_left else 0.0


def skew(tree: Tree) -> float:
    """Which way a binary tree leans: −1 fully left-branching, 0 balanced, +1 fully right-branching.

    This is the signed form of Colless' index: the EDUs under the right child minus those under the left one, summed
    over all units, divided by that sum for a right-branching chain. In an n-ary unit, the first child is compared with
    the rest.
    """
    size = tree.stop - tree.start
    if size < 3:
        return 0.0
    imbalance = sum(unit.stop + unit.start - 2 * unit.children[0].stop for unit in units(tree))
    return imbalance / ((size - 1) * (size - 2) / 2)


def stack_depth(tree: Tree) -> int:
    """Return the largest stack that a bottom-up parser needs to build the tree."""

    def needed(_unit: Unit, sizes: list[int]) -> int:
        return max(below + size for below, size in enumerate(sizes))

    return fold(tree, lambda leaf: 1, needed)


def promotion_sets(tree: Tree) -> dict[tuple[int, int], frozenset[int]]:
    """Return the promotion set of every node, by its range of EDUs (start, stop)."""
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
    """Return a score per EDU: the depth of the tree below the highest unit that promotes it.

    The EDUs in the promotion set of the root score highest (the depth of the tree + 1), a satellite at the bottom
    scores lowest.
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
