"""What a chart numbers, and documents as columns of numbers."""

from dataclasses import fields, replace

import numpy as np
import pytest

from genrst.chart.examples import ChartExample, SoftTree, make_example, tree_of
from genrst.chart.labels import Labels
from genrst.document import Document
from genrst.errors import ConfigError
from genrst.text.layout import Kind
from genrst.trees.node import Leaf, Unit
from tests.encoder.tiny_encoders import piece_example

LABELS = Labels((("cause", "NS"), ("cause", "SN"), ("joint", "NN")), (("reason", "cause"), ("result", "cause")))


def same(one: ChartExample, other: ChartExample) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(ChartExample)
        if field.name != "soft"
    )


def same_trees(one: SoftTree | None, other: SoftTree) -> bool:
    names = [field.name for field in fields(SoftTree)]
    return one is not None and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@pytest.mark.parametrize("labels", [LABELS, Labels(LABELS.pairs)])
def test_labels_come_back(labels: Labels):
    assert Labels.from_dict(labels.as_dict()) == labels
    assert len(labels) == 3


def test_labels_have_their_own_finer_relations():
    assert LABELS.fine_of_labels == [[True, True], [True, True], [False, False]]
    assert Labels(LABELS.pairs).fine_of_labels == [[], [], []]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"labels": []},
        {"labels": "NN"},
        {"labels": [["cause"]]},
        {"labels": [["cause", 1]]},
        {"labels": [["cause", "N"]]},
        {"labels": [["cause", "NS"]], "fine": [["list", "joint"]]},
        {"labels": [["cause", "NS"]], "fine": 3},
    ],
)
def test_damaged_labels_are_one_error(data):
    with pytest.raises(ConfigError, match=r"\Asymbols must be labels and finer relations, was: .+\Z"):
        Labels.from_dict(data)


def test_examples_come_back_from_columns():
    plain = replace(piece_example(5, seed=2), fine=np.array([0, -1, 1, -1]))
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


def test_finer_relations_are_those_of_the_corpus():
    """A relation of several nuclei is one unit less than it has nuclei, once it is binary."""
    tree = Unit("Result", "NS", (Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))), Leaf(3)))
    assert fine_of(tree, LABELS).tolist() == [-1, -1, 1]


def test_one_edu_has_no_units():
    assert tree_of([], LABELS) == Leaf(0)
    assert fine_of(Leaf(0), LABELS).tolist() == []
