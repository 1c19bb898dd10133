import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import MissingDependencyError, UsageError
from genrst.outputs.features import profile_rows
from genrst.outputs.tables import (
    SCHEMES,
    Row,
    RowFormat,
    Scheme,
    UnitRow,
    dependency_rows,
    edge_rows,
    signal_rows,
    unit_rows,
    write_rows,
)
from genrst.trees.dependency import ROOT
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
    assert rebuild(unit_rows(document)) == document.tree


@given(wild_documents())
def test_rows_slice_the_text(document: Document):
    assert document.tree is not None
    assert document.text is not None
    rows = unit_rows(document)
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert [(row["first_edu"], row["last_edu"] + 1) for row in rows] == [
        (node.start, node.stop) for node in preorder(document.tree)
    ]
    for row in rows:
        first, last = document.edus[row["first_edu"]], document.edus[row["last_edu"]]
        assert (row["start"], row["end"]) == (first.start, last.end)
        assert document.text[row["start"] : row["end"]] == row["text"]


def test_signals_and_secondary_edges():
    signals = (
        Signal((1, 3), "dm", "dm", (6, 4, 5)),
        Signal((0, 1), "semantic", "antonymy", (1, 4), target=(1, 2)),
        Signal((0, 2), "graphical", "layout"),
    )
    tree = Unit("elaboration", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    document = Document.from_edus("rain", ["It rained,", "and in the end", "it stopped."], tree)
    edges = SecondaryEdge((0, 1), (1, 2), "contrast"), SecondaryEdge((0, 2), (2, 3), "joint")
    document = replace(document, signals=signals, secondary_edges=edges)
    units = unit_rows(document)
    assert [tuple(row.values())[1:] for row in signal_rows(document, units)] == [
        (2, None, "elaboration", "dm", "dm", "in the end", 15, 25),
        (1, 3, "contrast", "semantic", "antonymy", "It … in", 0, 17),
        (None, None, None, "graphical", "layout", None, None, None),
    ]
    assert {row["words"] for row in signal_rows(document, units, with_words=False)} == {None}
    assert [tuple(row.values()) for row in edge_rows(document, units)] == [
        ("rain", 1, 3, "contrast"),
        ("rain", None, 4, "joint"),
    ]


@given(wild_documents())
def test_depth_and_importance(document: Document):
    assert document.tree is not None
    rows = unit_rows(document)
    scores = importance(document.tree)
    for row in rows:
        assert row["importance"] == max(scores[row["first_edu"] : row["last_edu"] + 1])
        if row["parent"] is None:
            assert (row["id"], row["depth"], row["role"], row["relation"]) == (0, 0, "root", None)
        else:
            assert row["depth"] == rows[row["parent"]]["depth"] + 1


def test_an_example():
    rows = unit_rows(ferry())
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
        "label_probability": None,
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
    [row] = unit_rows(one_edu())
    assert (row["role"], row["is_edu"], row["importance"], row["text"]) == ("root", True, 1, "All is well.")


def test_without_text():
    with_text, without = unit_rows(ferry()), unit_rows(textless(ferry()))
    assert without == [{**row, "text": None} for row in with_text]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_deep_trees(kind: str):
    rows = unit_rows(chain(2000, *DEEP[kind]))
    assert len(rows) == 3999
    assert max(row["depth"] for row in rows) == 1999


BOTH = pytest.mark.parametrize("scheme", SCHEMES)


@BOTH
@given(document=wild_documents())
def test_rows_of_dependencies_slice_the_text(document: Document, scheme: Scheme):
    assert document.text is not None
    assert document.tree is not None
    rows = dependency_rows(document, scheme)
    assert [row["edu"] for row in rows] == list(range(len(document.edus)))
    found = [(row["head"], row["relation"]) for row in rows]
    assert found == [(one.head, one.relation) for one in SCHEMES[scheme](document.tree)]
    for row in rows:
        assert document.text[row["start"] : row["end"]] == row["text"] == document.edu_texts[row["edu"]]


def test_an_example_of_dependencies():
    li, hirao = (dependency_rows(ferry(), scheme) for scheme in ("li", "hirao"))
    assert [row["head"] for row in li] == [None, 0, 1, 1, 3, 0, 5, 5]
    assert [row["head"] for row in hirao] == [None, 0, 1, 1, 1, 0, 5, 0]
    assert (li[7]["relation"], hirao[7]["relation"]) == ("disjunction", "circumstance")


@pytest.mark.slow
@BOTH
def test_small_textless_and_deep_documents(scheme: Scheme):
    [row] = dependency_rows(one_edu(), scheme)
    assert (row["head"], row["relation"]) == (None, ROOT)
    rows = dependency_rows(ferry(), scheme)
    assert dependency_rows(textless(ferry()), scheme) == [{**row, "text": None} for row in rows]
    for nuclearity, is_right in DEEP.values():
        assert len(dependency_rows(chain(2000, nuclearity, is_right), scheme)) == 2000


def test_unknown_scheme():
    with pytest.raises(UsageError, match="must be one of li, hirao, got 'morey'"):
        dependency_rows(ferry(), "morey")  # type: ignore[arg-type]


HOSTILE = [
    '=HYPERLINK("http://example.org")',
    "+1-2",
    "-1",
    "@SUM(A1)",
    "\t=1",
    'a "quoted", text',
    "two\nlines",
    "\r\n\r",
    "<script>alert('x')</script> & more",
    "\x00\x07\x1b[31mred\x9b0m",
    "\u2028\u2029\u202e\ufeff",
    "",
    "  spaces  ",
]
SURROGATE = "half \ud83d a pair"


def written(rows: list[Row], format: RowFormat) -> bytes:
    file = io.BytesIO()
    write_rows(rows, file, format)
    return file.getvalue()


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def read_json(content: bytes) -> list[dict[str, Any]]:
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content[:-1].split(b"\n")]


def read_parquet(content: bytes) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(io.BytesIO(content)).to_pylist()
    return rows


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_texts_come_back_as_they_were(texts: list[str]):
    rows: list[Row] = [{"number": number, "text": text} for number, text in enumerate(texts)]
    assert [row["text"] for row in read_csv(written(rows, "csv"))] == texts
    assert read_json(written(rows, "json")) == rows


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(text: str):
    rows: list[Row] = [{"text": text, "other": 1}]
    assert read_csv(written(rows, "csv"))[0]["text"] == text
    content = written(rows, "json")
    assert read_json(content) == rows
    assert not set(content) & {0x00, 0x07, 0x1B, 0x7F}
    assert not {"\x9b", "\u2028", "\u2029"} & set(content.decode())
    assert read_parquet(written(rows, "parquet")) == rows


def test_half_a_surrogate_pair():
    """UTF-8 has no form for it; JSON escapes it, the others replace it by one character, so that offsets hold."""
    rows: list[Row] = [{"text": SURROGATE}]
    replaced = SURROGATE.replace("\ud83d", "\ufffd")
    assert read_json(written(rows, "json")) == rows
    assert read_csv(written(rows, "csv"))[0]["text"] == replaced
    assert read_parquet(written(rows, "parquet")) == [{"text": replaced}]


@given(wild_documents())
def test_json_holds_the_table_of_any_document(document):
    rows = unit_rows(document)
    assert read_json(written([*rows], "json")) == rows


def test_csv_is_as_in_rfc_4180():
    rows: list[Row] = [{"a": 1, "b": 'x "y"'}, {"a": None, "b": "1,5"}, {"a": 0.5, "b": True}]
    assert written(rows, "csv") == b'a,b\r\n1,"x ""y"""\r\n,"1,5"\r\n0.5,True\r\n'


def test_parquet_keeps_types():
    rows = unit_rows(ferry())
    assert read_parquet(written([*rows], "parquet")) == rows


@pytest.mark.parametrize("document", [ferry(), textless(ferry()), one_edu(), textless(one_edu())], ids=str)
def test_parquet_files_of_all_documents_fit_together(document):
    """Columns have the same types, also where all cells are empty."""
    parquet = pytest.importorskip("pyarrow.parquet")
    for make in (unit_rows, lambda document: profile_rows([document, ferry()])):
        schemas = [
            parquet.read_schema(io.BytesIO(written([*make(each)], "parquet"))).remove_metadata()
            for each in (document, ferry())
        ]
        assert [str(field.type) for field in schemas[0] if field.name in schemas[1].names] == [
            str(field.type) for field in schemas[1] if field.name in schemas[0].names
        ]


def test_columns_must_be_the_same():
    for format in ("csv", "json"):
        with pytest.raises(UsageError, match=r"all rows must have the same columns \(a\), got b"):
            written([{"a": 1}, {"b": 1}], format)


def test_no_rows():
    assert written([], "csv") == written([], "json") == b""
    assert read_parquet(written([], "parquet")) == []


def test_unknown_format():
    with pytest.raises(UsageError, match="must be one of csv, json, parquet, got 'xlsx'"):
        written([], "xlsx")  # type: ignore[arg-type]


def test_a_missing_pyarrow_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"^Parquet files need pyarrow: pip install 'genrst\[parquet\]'$"):
        written([{"a": 1}], "parquet")


def test_pyarrow_is_loaded_only_when_needed():
    program = (
        "import io, sys\n"
        "from genrst.outputs import chunks, features, summary, tables\n"
        "tables.write_rows([{'a': 1}], io.BytesIO(), 'csv')\n"
        "print({'pyarrow', 'numpy', 'pandas', 'genrst.corpora'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
