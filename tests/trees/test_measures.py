from fractions import Fraction

import pytest
from hypothesis import given

from genrst.trees.measures import depth, importance, left_branching, promotion_sets, skew, stack_depth
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.strategies import binary_trees, nary_trees
from tests.trees.test_node import EXAMPLE, chain


def right_chain(n_edus: int) -> Tree:
    tree: Tree = Leaf(n_edus - 1)
    for edu in reversed(range(n_edus - 1)):
        tree = Unit("list", "NN", (Leaf(edu), tree))
    return tree


def mirror(tree: Tree, stop: int) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf(stop - 1 - tree.edu)
    return Unit(tree.relation, tree.nuclearity, tuple(mirror(child, stop) for child in reversed(tree.children)))


def test_lone_leaf():
    assert (depth(Leaf(0)), left_branching(Leaf(0)), skew(Leaf(0)), stack_depth(Leaf(0))) == (0, 0.0, 0.0, 1)


@pytest.mark.parametrize("n_edus", [2, 3, 10, 2500])
def test_chains(n_edus):
    left, right = chain(n_edus), right_chain(n_edus)
    assert depth(left) == depth(right) == n_edus - 1
    assert left_branching(left) == float(Fraction(n_edus - 2, n_edus - 1)), "the paper's limit, section 4.1"
    assert left_branching(right) == 0
    assert (stack_depth(left), stack_depth(right)) == (2, n_edus)
    if n_edus > 2:
        assert (skew(left), skew(right)) == (-1, 1)


def test_balanced_tree_has_no_skew():
    pairs = [Unit("joint", "NN", (Leaf(edu), Leaf(edu + 1))) for edu in (0, 2)]
    assert skew(Unit("joint", "NN", tuple(pairs))) == 0


@given(binary_trees())
def test_mirroring_negates_skew_and_keeps_depth(tree):
    mirrored = mirror(tree, tree.stop)
    assert skew(mirrored) == pytest.approx(-skew(tree))
    assert depth(mirrored) == depth(tree)


@given(binary_trees())
def test_stack_depth_by_running_a_bottom_up_parser(tree):
    largest = size = 0

    def visit(node: Tree) -> None:
        nonlocal largest, size
        if isinstance(node, Unit):
            for child in node.children:
                visit(child)
            size -= 1
        else:
            size += 1
            largest = max(largest, size)

    visit(tree)
    assert stack_depth(tree) == largest


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


def test_importance_in_deep_trees():
    assert importance(chain(2500))[0] == 2500
