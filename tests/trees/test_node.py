import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import TreeError
from genrst.trees.node import Leaf, Tree, Unit, attachment_order, fold, postorder, preorder, relabel, units
from tests.strategies import nary_trees

EXAMPLE = Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))


def chain(n_edus: int, relation: str = "list") -> Tree:
    tree: Tree = Leaf(0)
    for edu in range(1, n_edus):
        tree = Unit(relation, "NS", (tree, Leaf(edu)))
    return tree


def nested(tree: Tree) -> object:
    """The tree as nested tuples, by plain recursion: the reference for walks and equality."""
    if isinstance(tree, Leaf):
        return tree.edu
    return (tree.relations, tree.nuclearity, *[nested(child) for child in tree.children])


def test_a_unit_knows_its_edus_and_labels():
    assert (EXAMPLE.start, EXAMPLE.stop) == (0, 3)
    assert EXAMPLE.relations == ("span", "justify")
    assert not EXAMPLE.is_multinuclear
    assert repr(EXAMPLE) == "(justify NS 0 (attribution SN 1 2))"


def test_nuclei_share_their_relation():
    unit = Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
    assert unit.relations == ("list", "list", "list")
    assert unit.is_multinuclear


def test_several_satellites_have_a_relation_each():
    unit = Unit.from_relations(("background", "span", "evidence"), "SNS", (Leaf(0), Leaf(1), Leaf(2)))
    assert unit.relation == "evidence", "the satellite that attaches last names the unit"
    assert unit.relations == ("background", "span", "evidence")


@pytest.mark.parametrize(
    ("nuclearity", "children", "message"),
    [
        ("N", (Leaf(0),), "at least two children, got 1"),
        ("NNN", (Leaf(0), Leaf(1)), "for each of the 2 children"),
        ("SS", (Leaf(0), Leaf(1)), "at least one N, got 'SS'"),
        ("NX", (Leaf(0), Leaf(1)), "got 'NX'"),
        ("NS", (Leaf(0), Leaf(2)), "EDUs 0–0 are followed by 2–2"),
        ("NS", (Leaf(1), Leaf(0)), "adjacent"),
    ],
)
def test_malformed_units_cannot_be_built(nuclearity, children, message):
    with pytest.raises(TreeError, match=message):
        Unit("joint", nuclearity, children)
    with pytest.raises(TreeError, match=message):
        Unit.from_relations(("joint",) * len(children), nuclearity, children)


def test_labels_must_be_one_per_child():
    with pytest.raises(TreeError, match="one entry per child"):
        Unit("joint", "NN", (Leaf(0), Leaf(1)), relations=("joint",))


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_is_from_0_to_1(probability):
    with pytest.raises(TreeError, match="between 0 and 1"):
        Unit("joint", "NN", (Leaf(0), Leaf(1)), probability=probability)


def test_edu_numbers_are_not_negative():
    with pytest.raises(TreeError, match="got -1"):
        Leaf(-1)


@pytest.mark.parametrize(("nuclearity", "order"), [("SNS", [0, 2]), ("SSNSS", [1, 3, 0, 4]), ("NNS", [2]), ("NN", [])])
def test_the_nearest_satellite_attaches_first(nuclearity, order):
    assert attachment_order(nuclearity) == order


@pytest.mark.slow
@given(nary_trees(), nary_trees())
def test_equality_is_that_of_nested_tuples(left, right):
    assert (left == right) == (nested(left) == nested(right))
    assert left == copy.copy(left)
    if left == right:
        assert hash(left) == hash(right)


@given(nary_trees(min_edus=2))
def test_one_other_label_makes_another_tree(tree):
    other = relabel(tree, lambda name: name + "x")
    assert other != tree
    assert relabel(other, lambda name: name.removesuffix("x")) == tree


@given(nary_trees())
def test_walks_agree_with_recursion(tree):
    def before(node: Tree) -> list[Tree]:
        children = node.children if isinstance(node, Unit) else ()
        return [node, *[inner for child in children for inner in before(child)]]

    def after(node: Tree) -> list[Tree]:
        children = node.children if isinstance(node, Unit) else ()
        return [*[inner for child in children for inner in after(child)], node]

    assert list(map(id, preorder(tree))) == list(map(id, before(tree)))
    assert list(map(id, postorder(tree))) == list(map(id, after(tree)))
    assert fold(tree, lambda leaf: 1, lambda unit, counts: sum(counts)) == tree.stop
    assert [node.edu for node in preorder(tree) if isinstance(node, Leaf)] == list(range(tree.stop))


@given(nary_trees(), st.floats(0, 1))
def test_pickling_keeps_everything(tree, probability):
    if isinstance(tree, Unit):
        tree = Unit(tree.relation, tree.nuclearity, tree.children, tree.relations, probability)
    copied = pickle.loads(pickle.dumps(tree))
    assert copied == tree
    assert [unit.probability for unit in units(copied)] == [unit.probability for unit in units(tree)]


def test_trees_are_immutable():
    with pytest.raises(AttributeError):
        EXAMPLE.relation = "cause"  # type: ignore[misc]


def test_deep_trees_need_no_recursion():
    deep, same = chain(5000), chain(5000)
    assert deep == same
    assert deep != chain(5000, "joint")
    assert hash(deep) == hash(same)
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert copy.deepcopy(deep) == deep
    assert repr(deep).startswith("(list NS (list NS ")
    assert sum(1 for _ in units(deep)) == 4999
