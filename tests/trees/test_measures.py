from fractions import Fraction

import pytest
from hypothesis import given

from genrst.trees.measures import depth, left_branching, skew, stack_depth
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import binary_trees
from tests.trees.test_node import chain


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
