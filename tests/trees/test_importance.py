from hypothesis import given

from genrst.trees.measures import depth, importance, promotion_sets
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.strategies import nary_trees
from tests.trees.test_node import EXAMPLE, chain


def promoted(tree: Tree) -> set[int]:
    if isinstance(tree, Leaf):
        return {tree.edu}
    nuclei = [child for letter, child in zip(tree.nuclearity, tree.children, strict=True) if letter == "N"]
    return set().union(*map(promoted, nuclei))


def levels(tree: Tree, level: int = 0) -> list[tuple[Tree, int]]:
    children = tree.children if isinstance(tree, Unit) else ()
    return [(tree, level), *[pair for child in children for pair in levels(child, level + 1)]]


def test_the_paper_s_example():
    assert promotion_sets(EXAMPLE)[0, 3] == {0}
    assert promotion_sets(EXAMPLE)[1, 3] == {2}
    assert importance(EXAMPLE) == [3, 1, 2]


@given(nary_trees())
def test_promotion_by_recursion(tree):
    sets = promotion_sets(tree)
    assert sets == {(node.start, node.stop): promoted(node) for node in preorder(tree)}


@given(nary_trees())
def test_importance_by_definition(tree):
    """Depth of the tree plus one, less the level of the highest node that promotes the EDU (Ono; Marcu)."""
    expected = [
        depth(tree) + 1 - min(level for node, level in levels(tree) if edu in promoted(node))
        for edu in range(tree.stop)
    ]
    assert importance(tree) == expected


def test_deep_trees():
    assert importance(chain(2500))[0] == 2500
