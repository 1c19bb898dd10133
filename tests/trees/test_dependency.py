import pytest
from hypothesis import given

from genrst.trees.dependency import Dependency, dependencies_hirao, dependencies_li, head_edu
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import nary_trees
from tests.trees.test_node import EXAMPLE, chain

LIST = Unit("cause", "NS", (Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))), Leaf(3)))


def paths(tree: Tree) -> list[list[tuple[Unit, int]]]:
    """For each EDU its ancestors from the root down, as (unit, position of the child), by recursion."""
    if isinstance(tree, Leaf):
        return [[]]
    return [[(tree, position), *path] for position, child in enumerate(tree.children) for path in paths(child)]


def test_the_paper_s_example():
    expected = [Dependency(None, "root"), Dependency(2, "attribution"), Dependency(0, "justify")]
    assert dependencies_li(EXAMPLE) == expected
    assert dependencies_hirao(EXAMPLE) == expected


def test_later_nuclei_depend_on_the_first_or_share_its_governor():
    assert [edge.head for edge in dependencies_li(LIST)] == [None, 0, 0, 0]
    assert [edge.relation for edge in dependencies_li(LIST)] == ["root", "list", "list", "cause"]
    assert [edge.head for edge in dependencies_hirao(LIST)] == [None, None, None, 0]


@given(nary_trees())
def test_li_by_definition(tree):
    """The topmost unit of which an EDU is not the head gives its governor."""
    for edu, path in enumerate(paths(tree)):
        foreign = [(unit, position) for unit, position in path if head_edu(unit) != edu]
        expected = Dependency(None, "root")
        if foreign:
            unit, position = foreign[-1]
            expected = Dependency(head_edu(unit), unit.relations[position])
        assert dependencies_li(tree)[edu] == expected


@given(nary_trees())
def test_hirao_by_definition(tree):
    """The nearest satellite above an EDU gives its governor."""
    for edu, path in enumerate(paths(tree)):
        above = [(unit, position) for unit, position in path if unit.nuclearity[position] == "S"]
        expected = Dependency(None, "root")
        if above:
            unit, position = above[-1]
            expected = Dependency(head_edu(unit), unit.relations[position])
        assert dependencies_hirao(tree)[edu] == expected


@pytest.mark.slow
@given(nary_trees())
def test_li_has_one_root_and_no_cycle(tree):
    heads = [edge.head for edge in dependencies_li(tree)]
    assert heads.count(None) == 1
    for start in range(len(heads)):
        seen, edu = set(), start
        while (head := heads[edu]) is not None:
            assert edu not in seen
            seen.add(edu)
            edu = head


@pytest.mark.slow
def test_deep_trees():
    assert dependencies_li(chain(3000))[-1].head == 0
    assert dependencies_hirao(chain(3000))[-1].head == 0
