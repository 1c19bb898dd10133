"""Statistics: hand-checked counts, and sums that fit together."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.corpora.statistics import count
from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.trees.node import Leaf, Unit
from tests.strategies import documents


def test_counts_by_hand():
    tree = Unit("attribution", "SN", (Leaf(0), Unit("list", "NNN", (Leaf(1), Leaf(2), Leaf(3)))))
    first = replace(
        Document.from_edus("a", ["a", "bc", "d", "e"], tree, {2}),
        tokens=(Token(0, 1, 0), Token(2, 4, 1)),
        sentences=(Span(0, 9),),
        signals=(Signal((0, 1), "dm", "dm"),),
        secondary_edges=(SecondaryEdge((0, 1), (1, 2), "x"),) * 2,
    )
    left = Unit("list", "NN", (Unit("cause", "NS", (Leaf(0), Leaf(1))), Leaf(2)))
    second = Document("b", None, (Span(0, 1), Span(2, 3), Span(4, 5)), left)
    third = Document.from_edus("c", ["segmented", "only"])
    numbers = count([first, second, third]).as_dict()
    assert numbers == {
        "documents": 3,
        "trees": 2,
        "edus": 9,
        "edus_per_document": {"min": 2, "median": 3, "mean": 3, "max": 4},
        "tokens": 2,
        "sentences": 1,
        "paragraphs": 2,
        "characters": len("a bc\n\nd e") + len("segmented only"),
        "signals": 1,
        "secondary_edges": 2,
        # The binary trees are 0 (1 (2 3)) and (0 1) 2.
        "depth": {"min": 2, "median": 2.5, "mean": 2.5, "max": 3},
        "stack_depth": {"min": 2, "median": 3.0, "mean": 3, "max": 4},
        "left_branching": {"min": 0.0, "median": 0.25, "mean": 0.25, "max": 0.5},
        "skew": {"min": -1.0, "median": 0.0, "mean": 0.0, "max": 1.0},
        "children_per_unit": {"2": 3, "3": 1},
        "relations": {"list": {"NN": 3}, "attribution": {"SN": 1}, "cause": {"NS": 1}},
    }


def test_nothing():
    numbers = count([]).as_dict()
    assert (numbers["documents"], numbers["depth"], numbers["relations"]) == (0, None, {})


def test_one_edu():
    numbers = count([Document.from_edus("a", ["a"], Leaf(0))]).as_dict()
    assert (numbers["trees"], numbers["depth"]["max"], numbers["skew"]["max"], numbers["relations"]) == (1, 0, 0, {})


@pytest.mark.slow
@given(st.lists(documents(), min_size=1, max_size=4))
def test_sums_fit_together(documents: list[Document]):
    numbers = count(documents).as_dict()
    n_edus = sum(len(document.edus) for document in documents)
    assert numbers["edus"] == n_edus
    # A binary tree over m EDUs has m − 1 units.
    assert sum(sum(cells.values()) for cells in numbers["relations"].values()) == n_edus - len(documents)
    assert sum((int(width) - 1) * n for width, n in numbers["children_per_unit"].items()) == n_edus - len(documents)
    totals = [sum(cells.values()) for cells in numbers["relations"].values()]
    assert totals == sorted(totals, reverse=True)
    assert json.loads(json.dumps(numbers)) == numbers
