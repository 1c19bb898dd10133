import pytest
from hypothesis import given

from genrst.document import Document
from genrst.outputs.tables import UnitRow, units_table
from genrst.trees.measures import importance
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.outputs.samples import DEEP, chain, ferry, one_edu, textless, wild_documents


def rebuild(rows: list[UnitRow], number: int = 0) -> Tree:
    """The tree that a table describes, by recursion."""
    row = rows[number]
    if row["is_edu"]:
        return Leaf(row["first_edu"])
    children = [child for child in rows if child["parent"] == number]
    relations = [str(child["relation"]) for child in children]
    return Unit.from_relations(
        relations, "".join(child["role"] for child in children), [rebuild(rows, child["id"]) for child in children]
    )


@given(wild_documents())
def test_the_table_holds_the_whole_tree(document: Document):
    assert rebuild(units_table(document)) == document.tree


@given(wild_documents())
def test_rows_slice_the_text(document: Document):
    assert document.tree is not None
    assert document.text is not None
    rows = units_table(document)
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert [(row["first_edu"], row["last_edu"] + 1) for row in rows] == [
        (node.start, node.stop) for node in preorder(document.tree)
    ]
    for row in rows:
        first, last = document.edus[row["first_edu"]], document.edus[row["last_edu"]]
        assert (row["start"], row["end"]) == (first.start, last.end)
        assert document.text[row["start"] : row["end"]] == row["text"]


@given(wild_documents())
def test_depth_and_importance(document: Document):
    assert document.tree is not None
    rows = units_table(document)
    scores = importance(document.tree)
    for row in rows:
        assert row["importance"] == max(scores[row["first_edu"] : row["last_edu"] + 1])
        if row["parent"] is None:
            assert (row["id"], row["depth"], row["role"], row["relation"]) == (0, 0, "root", None)
        else:
            assert row["depth"] == rows[row["parent"]]["depth"] + 1


def test_an_example():
    rows = units_table(ferry())
    assert rows[4] == {
        "document": "ferry",
        "id": 4,
        "parent": 3,
        "depth": 3,
        "role": "N",
        "relation": "span",
        "is_edu": False,
        "first_edu": 1,
        "last_edu": 2,
        "start": 33,
        "end": 114,
        "importance": 3,
        "probability": 0.75,
        "text": "The harbour is too shallow now, because last winter's storms filled it with sand.",
    }
    assert [row["relation"] for row in rows if row["role"] == "S"] == [
        "reason",
        "reason",
        "elaboration-additional",
        "circumstance",
        "elaboration-object-attribute",
    ]


def test_one_edu():
    [row] = units_table(one_edu())
    assert (row["role"], row["is_edu"], row["importance"], row["text"]) == ("root", True, 1, "All is well.")


def test_without_text():
    with_text, without = units_table(ferry()), units_table(textless(ferry()))
    assert without == [{**row, "text": None} for row in with_text]


@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    rows = units_table(chain(2000, *DEEP[kind]))
    assert len(rows) == 3999
    assert max(row["depth"] for row in rows) == 1999
