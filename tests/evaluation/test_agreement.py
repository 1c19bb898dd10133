"""Kappa, against its definition in shares, and where it is not defined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document
from genrst.evaluation.counts import cohen_kappa
from genrst.evaluation.report import evaluate
from genrst.trees.node import Leaf, Unit

LABELS = st.sampled_from("abc")


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30))
def test_kappa_is_agreement_beyond_chance(pairs: list[tuple[str, str]]):
    found = cohen_kappa(pairs)
    expected = sum(
        sum(left == label for left, _ in pairs) / len(pairs) * sum(right == label for _, right in pairs) / len(pairs)
        for label in "abc"
    )
    assert found.observed == pytest.approx(sum(left == right for left, right in pairs) / len(pairs))
    if found.kappa is None:
        assert expected == pytest.approx(1)
    else:
        assert found.kappa == pytest.approx((found.observed - expected) / (1 - expected))


def test_nothing_shared():
    assert cohen_kappa([]).as_dict() == {"shared": 0, "observed": 0.0, "kappa": None}


def test_only_shared_units_count():
    left = Unit("cause", "NS", (Unit("list", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    right = Unit("cause", "SN", (Leaf(0), Unit("list", "NN", (Leaf(1), Leaf(2)))))
    gold, predicted = (Document.from_edus("text", ["a", "b", "c"], tree) for tree in (left, right))
    found = evaluate([gold], [predicted]).agreement()
    assert {name: (one.n_shared, one.observed) for name, one in found.items()} == {
        "nuclearity": (1, 0.0),
        "relation": (1, 1.0),
    }
