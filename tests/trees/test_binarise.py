import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from genrst.trees.binarise import binarise, flatten, prepare_tree
from genrst.trees.node import Leaf, Tree, Unit, units
from genrst.trees.relations import load_inventory
from tests.strategies import binary_trees, nary_trees
from tests.trees.test_node import chain

FIXTURES = json.loads((Path(__file__).parent.parent / "data" / "binarise.json").read_text())


def from_kids(data: dict[str, Any]) -> Tree:
    if "edu" in data:
        return Leaf(data["edu"] - 1)
    kids = data["kids"]
    return Unit.from_relations(
        [kid["rel"] for kid in kids], "".join(kid["nuc"] for kid in kids), [from_kids(kid["tree"]) for kid in kids]
    )


def from_binary(data: dict[str, Any]) -> Tree:
    if "edu" in data:
        return Leaf(data["edu"] - 1)
    return Unit(data["rel"], data["nuc"], (from_binary(data["left"]), from_binary(data["right"])))


def leaves(n: int) -> tuple[Leaf, ...]:
    return tuple(map(Leaf, range(n)))


def test_published_cases():
    assert len(FIXTURES) == 6
    for case in FIXTURES:
        assert binarise(from_kids(case["nary"])) == from_binary(case["binary"])


def test_nuclei_branch_right_and_keep_the_relation():
    assert repr(binarise(Unit("list", "NNNN", leaves(4)))) == "(list NN 0 (list NN 1 (list NN 2 3)))"


def test_satellites_attach_nearest_first_left_before_right():
    relations = ("a", "b", "span", "c", "d")
    tree = binarise(Unit.from_relations(relations, "SSNSS", leaves(5)))
    assert repr(tree) == "(d NS (a SN 0 (c NS (b SN 1 2) 3)) 4)"


def test_nuclei_are_joined_before_satellites():
    tree = binarise(Unit.from_relations(("a", "list", "list", "b"), "SNNS", leaves(4)))
    assert repr(tree) == "(b NS (a SN 0 (list NN 1 2)) 3)"


def test_a_satellite_between_nuclei_belongs_to_the_left_one():
    tree = binarise(Unit.from_relations(("list", "example", "list"), "NSN", leaves(3)))
    assert repr(tree) == "(list NN (example NS 0 1) 2)"


@given(nary_trees())
def test_binary_trees_have_one_unit_less_than_edus(tree):
    binary = binarise(tree)
    assert all(len(unit.children) == 2 for unit in units(binary))
    assert sum(1 for _ in units(binary)) == tree.stop - 1
    assert (binary.start, binary.stop) == (tree.start, tree.stop)


@given(binary_trees())
def test_binarising_a_binary_tree_changes_nothing(tree):
    assert binarise(tree) == tree


@given(nary_trees())
def test_every_span_of_the_tree_survives(tree):
    spans = {(unit.start, unit.stop) for unit in units(tree)}
    assert spans <= {(unit.start, unit.stop) for unit in units(binarise(tree))}


@given(nary_trees())
def test_flattening_is_stable_and_undone_by_binarising(tree):
    binary = binarise(tree)
    flat = flatten(binary)
    assert flatten(flat) == flat
    assert binarise(flat) == binary


def test_flattening_restores_wide_units():
    wide = Unit("list", "NNN", (Leaf(0), Unit("cause", "NS", (Leaf(1), Leaf(2))), Leaf(3)))
    assert flatten(binarise(wide)) == wide


def test_only_right_branching_chains_of_one_relation_merge():
    left = Unit("list", "NN", (Unit("list", "NN", leaves(2)), Leaf(2)))
    other = Unit("list", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    assert flatten(left) == left
    assert flatten(other) == other


@pytest.mark.slow
def test_deep_trees():
    assert binarise(chain(1500)) == chain(1500)
    wide = Unit("list", "N" * 1500, leaves(1500))
    assert flatten(binarise(wide)) == wide


def test_prepared_trees_are_coarse_and_binary():
    tree = Unit("joint-list", "NNN", leaves(3))
    binary = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    assert prepare_tree(tree, load_inventory("gum")) == binary
