"""Levels against recursion: values are strings, so that an error in the order shows which unit went where."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genrst.encoder.tokenizer import IntArray
from genrst.rnng.schedule import Units, build_units, schedule_stacks, schedule_trees
from genrst.rnng.transitions.actions import ActionSet, Reduce, actions_of
from genrst.trees.dependency import head_edu
from genrst.trees.measures import depth, stack_depth
from genrst.trees.node import Leaf, Tree, fold, postorder
from tests.strategies import RELATIONS, binary_trees

ACTIONS = ActionSet(tuple(Reduce(relation, nuclearity) for relation in RELATIONS for nuclearity in ("NN", "NS", "SN")))
NUMBERS = ACTIONS.numbers()
NUCLEUS_IS_RIGHT = (False, *(label.nuclearity == "SN" for label in ACTIONS.labels))

NAMED_TREES = st.lists(binary_trees(), min_size=1, max_size=4).map(lambda trees: list(zip("abcd", trees, strict=False)))


def units_of(tree: Tree) -> Units:
    return build_units([NUMBERS[action] for action in actions_of(tree)], NUCLEUS_IS_RIGHT)


def spell(tree: Tree, name: str) -> str:
    return fold(tree, lambda leaf: f"{name}{leaf.edu}", lambda unit, parts: f"({parts[0]} {parts[1]})")


def stacks_before(tree: Tree, name: str) -> list[list[str]]:
    """The stack before every step, from its bottom to its top, by doing the steps one after the other."""
    stack: list[str] = []
    found = []
    for node in postorder(tree):
        found.append(list(stack))
        if not isinstance(node, Leaf):
            del stack[-2:]
        stack.append(spell(node, name))
    return found


def join(parts: list[Units], name: str) -> IntArray:
    """The steps of several documents, numbered through."""
    arrays = zip((getattr(one, name) for one in parts), first_steps(parts).tolist(), strict=True)
    return np.concatenate([np.where(array < 0, -1, array + first) for array, first in arrays])


def first_steps(parts: list[Units]) -> IntArray:
    return np.cumsum([0, *map(len, parts)])[:-1]


@given(NAMED_TREES)
def test_levels_compose_what_recursion_does(trees):
    parts = [units_of(tree) for _, tree in trees]
    heights = np.concatenate([one.height for one in parts])
    schedule = schedule_trees(join(parts, "left"), join(parts, "right"), heights)

    leaves = [f"{name}{edu}" for name, tree in trees for edu in range(tree.stop)]
    waiting, composed = leaves, []
    for level in schedule.levels:
        new = [f"({waiting[one]} {waiting[other]})" for one, other in zip(level.left, level.right, strict=True)]
        waiting = [waiting[row] for row in level.keep] + new
        composed += new

    expected = [spell(node, name) for name, tree in trees for node in postorder(tree)]
    assert [(leaves + composed)[row] for row in schedule.rows] == expected
    assert [expected[unit] for unit in schedule.composed] == composed
    assert set(waiting) == {spell(tree, name) for name, tree in trees}
    assert len(schedule.levels) == max(depth(tree) for _, tree in trees), "no more levels than the highest tree has"


@given(NAMED_TREES)
def test_levels_push_what_single_steps_do(trees):
    parts = [units_of(tree) for _, tree in trees]
    depths = np.concatenate([one.depth for one in parts])
    schedule = schedule_stacks(join(parts, "below"), depths, first_steps(parts))

    units = [spell(node, name) for name, tree in trees for node in postorder(tree)]
    level: list[list[str]] = [[]]
    done = list(level)
    for pushes in schedule.levels:
        level = [[*level[row], units[unit]] for unit, row in zip(pushes.units, pushes.below, strict=True)]
        done += level

    expected = [stack for name, tree in trees for stack in stacks_before(tree, name)]
    assert [done[row] for row in schedule.rows] == expected
    assert len(schedule.levels) == max(stack_depth(tree) for _, tree in trees)


@given(binary_trees())
def test_spans_heights_and_nuclear_edus_are_those_of_the_tree(tree):
    units = units_of(tree)
    nodes = list(postorder(tree))
    assert len(units) == len(nodes)
    assert units.start.tolist() == [node.start for node in nodes]
    assert units.stop.tolist() == [node.stop for node in nodes]
    assert units.nuclear.tolist() == [head_edu(node) for node in nodes]
    assert units.height.tolist() == [depth(node) for node in nodes]


@given(binary_trees())
def test_what_is_below_ends_where_the_unit_starts(tree):
    units = units_of(tree)
    for step, below in enumerate(units.below.tolist()):
        if below < 0:
            assert units.depth[step] == 1
            assert units.start[step] == 0
        else:
            assert units.stop[below] == units.start[step]
            assert units.depth[below] == units.depth[step] - 1


def test_deep_trees():
    """A chain of 3,000 EDUs to either side: as many levels as it must have, and no recursion."""
    n_edus = 3000
    right = build_units([0] * n_edus + [1] * (n_edus - 1), (False, True))
    left = build_units([0, *[0, 1] * (n_edus - 1)], (False, False))
    assert right.depth.max() == n_edus
    assert right.nuclear[-1] == n_edus - 1
    assert left.depth.max() == 2
    assert left.nuclear[-1] == 0
    for one in (left, right):
        levels = schedule_trees(one.left, one.right, one.height).levels
        assert len(levels) == n_edus - 1
        sizes = [len(level.keep) + len(level.left) for level in levels]
        assert all(before > after for before, after in pairwise(sizes)), "units wait only for their parents"
