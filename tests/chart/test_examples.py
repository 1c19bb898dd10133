"""What a chart numbers, and documents as columns of numbers."""

from dataclasses import fields, replace

import numpy as np
import pytest

from genrst.chart.examples import ChartExample, SoftTree, make_example, tree_of, units_of
from genrst.chart.labels import Labels
from genrst.document import Document
from genrst.errors import UnknownLabelError
from genrst.text.layout import Kind
from genrst.trees.node import Leaf, Unit
from tests.encoder.tiny_encoders import piece_example

LABELS = Labels(
    (("reason", "NS"), ("reason", "SN"), ("result", "NS"), ("result", "SN"), ("list", "NN")),
    (("reason", "cause"), ("result", "cause")),
)


def same(one: ChartExample, other: ChartExample) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(ChartExample)
        if field.name != "soft"
    )


def same_trees(one: SoftTree | None, other: SoftTree) -> bool:
    names = [field.name for field in fields(SoftTree)]
    return one is not None and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_examples_come_back_from_columns():
    plain = piece_example(5, seed=2)
    assert same(ChartExample.from_columns(plain.id, plain.as_columns()), plain)
    assert plain.n_edus == 5
    soft = SoftTree(
        np.array([[0, 1, 2], [2, 3, 5]]),
        np.array([0.5, 1.0], dtype=np.float32),
        np.array([[0, 2], [1, 0]]),
        np.array([[0.75, 0.25], [1.0, 0.0]], dtype=np.float32),
    )
    starts = np.full((len(plain.pieces), 2), 0.25, dtype=np.float32)
    taught = replace(plain, soft=soft, starts=starts)
    flat = {name: column.ravel() for name, column in taught.as_columns().items()}
    for columns in (taught.as_columns(), flat):
        found = ChartExample.from_columns(taught.id, columns)
        assert same(found, taught)
        assert same_trees(found.soft, soft)


def test_a_document_as_numbers():
    document = Document.from_edus("a", ["It rained", "and rained .", "It stopped ."], paragraph_starts=[2])
    example = make_example(document, np.arange(6), np.array([2, 3, 1]))
    assert (example.id, example.n_edus) == ("a", 3)
    assert list(example.paragraphs) == [0, 0, 1]
    assert [example.kinds[0], example.kinds[2]] == [Kind.PARAGRAPH, Kind.PARAGRAPH]
    assert len(example.units) == 0


def test_one_edu_has_no_units():
    assert tree_of([], LABELS) == Leaf(0)
    assert units_of(Leaf(0), LABELS, "a").tolist() == []


def test_units_are_as_fine_as_the_corpus():
    """A relation that is only known by its class is numbered after all labels; one of several nuclei is binary."""
    tree = Unit("Cause", "NS", (Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))), Leaf(3)))
    units = units_of(tree, LABELS, "a").tolist()
    assert units == [[1, 2, 3, 4], [0, 1, 3, 4], [0, 3, 4, 5]]
    assert tree_of(units, LABELS).relation == "cause"  # type: ignore[union-attr]
    with pytest.raises(UnknownLabelError):
        units_of(Unit("reason", "NN", (Leaf(0), Leaf(1))), LABELS, "a")
