"""Tables as data frames, and a tree as a graph."""

import io
from collections.abc import Callable
from typing import Any

import networkx
import pandas
import polars
import pytest
from hypothesis import given, settings

import genrst.integrations.pandas
import genrst.integrations.polars
from genrst.document import Document
from genrst.integrations.networkx import graph
from genrst.outputs.chunks import chunk_rows
from genrst.outputs.features import profile_rows
from genrst.outputs.tables import Row, dependency_rows, unit_rows
from genrst.trees.node import Unit, postorder
from tests.outputs.samples import chain, ferry, one_edu, textless, wild_documents


def pandas_rows(rows: list[Row]) -> list[dict[str, Any]]:
    frame = genrst.integrations.pandas.data_frame(rows)
    return [
        {name: None if cell is None or cell is pandas.NA else cell for name, cell in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def polars_rows(rows: list[Row]) -> list[dict[str, Any]]:
    return genrst.integrations.polars.data_frame(rows).to_dicts()


TABLES: dict[str, Callable[[], list[Row]]] = {
    "units": lambda: list(unit_rows(ferry())),
    "dependencies": lambda: list(dependency_rows(ferry(), "hirao")),
    "profile": lambda: list(profile_rows([ferry(), one_edu(), textless(ferry())])),
    "chunks": lambda: list(chunk_rows(ferry(), 20)),
    "no text": lambda: list(unit_rows(textless(one_edu()))),
    "nothing": list,
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("through", [pandas_rows, polars_rows])
def test_cells_stay_as_they_are(through: Callable[[list[Row]], list[dict[str, Any]]], table: str):
    rows = TABLES[table]()
    assert through(rows) == [dict(row) for row in rows]


def test_types_of_columns():
    """Numbers stay whole where a cell is empty, and mixed ones are not cut off."""
    expected = {"parent": "Int64", "is_edu": "Boolean", "text": "String", "probability": "Float64"}
    rows = unit_rows(ferry())
    frame = genrst.integrations.pandas.data_frame(rows)
    assert {name: str(frame[name].dtype).capitalize() for name in expected} == expected
    columns = genrst.integrations.polars.data_frame(rows).schema
    assert {name: str(columns[name]) for name in expected} == expected
    mixed: list[Row] = [{"share": 0}, {"share": None}, {"share": 0.5}]
    assert str(genrst.integrations.pandas.data_frame(mixed)["share"].dtype) == "Float64"
    assert genrst.integrations.polars.data_frame(mixed)["share"].dtype == polars.Float64


@pytest.mark.parametrize("through", [pandas_rows, polars_rows])
def test_rows_with_other_columns(through: Callable[[list[Row]], list[dict[str, Any]]]):
    """Profiles may have other relations; no column is dropped."""
    assert through([{"a": 1}, {"b": "x"}]) == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_frames_of_nothing():
    assert genrst.integrations.pandas.data_frame(iter(())).shape == (0, 0)
    assert genrst.integrations.polars.data_frame(iter(())).shape == (0, 0)


def test_a_graph():
    found = graph(ferry())
    assert found.graph == {"document": "ferry"}
    root = {name: found.nodes[0][name] for name in ("relation", "nuclearity", "start", "end", "is_edu", "text")}
    assert root == {
        "relation": "circumstance", "nuclearity": "NS", "start": 0, "end": 258, "is_edu": False, "text": ferry().text,
    }  # fmt: skip
    texts = {number: found.nodes[number]["text"] for number in found}
    edges = [(texts[child][:7], about["relation"], about["nuclearity"]) for _, child, about in found.edges(data=True)]
    assert ("because", "reason", "S") in edges
    assert ("or ask ", "disjunction", "N") in edges
    assert "relation" not in found.nodes[max(found)], "an EDU has no relation between parts"


@settings(max_examples=50)
@given(wild_documents())
def test_a_graph_is_the_tree(document: Document):
    assert document.tree is not None
    found = graph(document)
    nodes = list(postorder(document.tree))
    assert len(found) == len(nodes)
    assert networkx.is_arborescence(found)
    assert [number for number, degree in found.in_degree() if degree == 0] == [0]
    parts = {(about["first_edu"], about["last_edu"] + 1): number for number, about in found.nodes(data=True)}
    for node in nodes:
        if isinstance(node, Unit):
            number = parts[node.start, node.stop]
            children = [parts[child.start, child.stop] for child in node.children]
            assert list(found.successors(number)) == children
            assert "".join(found.edges[number, child]["nuclearity"] for child in children) == node.nuclearity
            assert [found.edges[number, child]["relation"] for child in children] == list(node.relations)


@pytest.mark.parametrize("document", [ferry(), textless(ferry()), one_edu()], ids=["text", "no text", "one EDU"])
def test_graphs_can_be_written(document: Document):
    file = io.BytesIO()
    networkx.write_graphml(graph(document), file)
    file.seek(0)
    restored = networkx.read_graphml(file, node_type=int)
    assert dict(restored.nodes(data=True)) == dict(graph(document).nodes(data=True))
    assert {*restored.edges} == {*graph(document).edges}


def test_deep_graphs():
    found = graph(chain(3000, "NS", is_right=True))
    assert (len(found), found.number_of_edges()) == (5999, 5998)
