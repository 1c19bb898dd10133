"""Constraints as JSON, and those that keep a tree as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.errors import UsageError
from genrst.trees.constraints import Constraint, constraint_from_dict, frozen
from genrst.trees.node import Leaf, Unit


@st.composite
def constraints(draw: st.DrawFn, n_edus: int) -> Constraint:
    start, length = draw(st.tuples(st.integers(0, n_edus - 1), st.integers(1, n_edus)))
    if draw(st.booleans()):
        return Constraint(start, start + length, is_unit=False)
    relation = draw(st.sampled_from([None, "cause", "joint"]))
    return Constraint(start, start + length, True, relation, draw(st.sampled_from([None, "NN", "NS", "SN"])))


@given(st.integers(1, 9), st.data())
def test_json_there_and_back(n_edus, data):
    constraint = data.draw(constraints(n_edus))
    assert constraint_from_dict(constraint.as_dict()) == constraint


def test_json_as_documented():
    assert constraint_from_dict({"edus": [1, 4], "relation": "contingency", "nuclearity": "SN"}) == Constraint(
        1, 4, True, "contingency", "SN"
    )
    assert constraint_from_dict({"edus": [0, 2], "is_unit": False}) == Constraint(0, 2, is_unit=False)
    assert Constraint(0, 2, is_unit=False).as_dict() == {"edus": [0, 2], "is_unit": False}
    assert Constraint(0, 2).as_dict() == {"edus": [0, 2]}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ([1, 4], "a constraint must be an object with the key edus, got [1, 4]"),
        ({}, "edus must be two numbers, [start, stop], got null"),
        ({"edus": 3}, "edus must be two numbers, [start, stop], got 3"),
        ({"edus": [1]}, "edus must be two numbers, [start, stop], got [1]"),
        ({"edus": [1, 2.0]}, "edus must be two numbers, [start, stop], got [1, 2.0]"),
        ({"edus": [False, True]}, "edus must be two numbers, [start, stop], got [false, true]"),
        ({"edus": [4, 4]}, "edus must be [start, stop] with 0 <= start < stop, got [4, 4]"),
        ({"edus": [-1, 4]}, "edus must be [start, stop] with 0 <= start < stop, got [-1, 4]"),
        (
            {"edus": [1, 4], "label": "x"},
            'a key of a constraint must be one of edus, is_unit, relation, nuclearity, got "label"',
        ),
        ({"edus": [1, 4], "is_unit": 0}, "is_unit must be true or false, got 0"),
        ({"edus": [1, 4], "relation": ["x"]}, 'relation must be a string, got ["x"]'),
        ({"edus": [1, 4], "nuclearity": None}, "nuclearity must be a string, got null"),
        ({"edus": [1, 4], "nuclearity": "SS"}, "nuclearity must be one of NN, NS, SN, got SS"),
        (
            {"edus": [1, 4], "is_unit": False, "relation": "x"},
            "a constraint with is_unit false must not have a label, "
            'got {"edus": [1, 4], "is_unit": false, "relation": "x"}',
        ),
    ],
)
def test_wrong_json_is_one_line(data, line):
    with pytest.raises(UsageError) as caught:
        constraint_from_dict(data)
    assert str(caught.value) == line


def test_a_frozen_tree_is_all_its_units():
    part = Unit("cause", "SN", (Unit("joint", "NN", (Leaf(1), Leaf(2))), Leaf(3)))
    assert frozen(part) == [Constraint(1, 4, True, "cause", "SN"), Constraint(1, 3, True, "joint", "NN")]
    assert frozen(Leaf(3)) == []
