"""The pages about bulk runs: the commands run, and the queries give what the trees say."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import genrst
from genrst.bulk.inputs import Record
from genrst.bulk.parts import Folder, make_part
from genrst.bulk.work import Rows, error_row
from genrst.document import Document, SecondaryEdge, Signal
from genrst.parser.parser import Parser
from genrst.trees.node import Leaf, Unit
from tests.bulk.samples import run_here, sentence, write_lines
from tests.cli.program import call

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGE = (GUIDES / "bulk.md").read_text(encoding="utf-8")
QUERIES = re.findall(
    r"^```sql\n(.*?)^```$", (GUIDES / "bulk-queries.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)

EDUS = [
    *["The ferry stopped,", "because the harbour is shallow,", "as storms filled it with sand,"],
    *["the mayor said.", "Or ask,", "or wait."],
]

NEWS = """The ferry stopped in May because the harbour is too shallow. "We cannot pay for dredging," the mayor said.

When winter comes, islanders will take the mail boat, but it leaves at six, so nobody will be on time. The harbour was
closed because storms filled it with sand, and because nobody had money, it stayed closed."""


def ferry(id: str) -> Document:
    """Its relations are fine, as those of `en` are, or the classes of these."""
    fine = "causal-cause", "attribution-positive", "joint-disjunction"
    cause, said, joint = fine if id == "a" else ("causal", "attribution", "joint")
    causes = Unit(cause, "NS", (Leaf(0), Unit(cause, "NS", (Leaf(1), Leaf(2)))))
    tree = Unit(joint, "NN", (Unit(said, "NS", (causes, Leaf(3))), Unit(joint, "NN", (Leaf(4), Leaf(5)))))
    signals = (
        *(Signal((1, 3), "dm", "dm", (4,)), Signal((2, 3), "dm", "dm", (9,)), Signal((5, 6), "dm", "dm", (20,))),
        *(Signal((2, 3), "graphical", "comma"), Signal((4, 5), "orphan", "orphan", (18,), target=(0, 1))),
    )
    edge = SecondaryEdge((4, 5), (0, 1), "contrast")
    return replace(Document.from_edus(id, EDUS, tree), signals=signals, secondary_edges=(edge,))


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[Any, ...]]]:
    """What the queries find in two documents and an error, in two parts."""
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    folder = Folder(tmp_path / "trees", "parquet")
    for number, name in enumerate(("a", "b")):
        rows, record = Rows(), Record(number, f"texts/{name}.txt", "", 0, 1)
        rows.add_document(record, ferry(name))
        if number:
            rows.errors.append(error_row(Record(2, "texts/c.txt", "", 0, 1), "c", "input", "no text"))
        folder.write(make_part(number, rows, "parquet"))
    with duckdb.connect() as connection:
        return [connection.execute(query).fetchall() for query in QUERIES]


def test_queries(answers: list[list[tuple[Any, ...]]]):
    _, errors, relations, chains, speakers, profiles, markers = answers
    assert errors == [("input", 1, "no text")]
    fine = [("causal-cause", 2), ("joint-disjunction", 2), ("attribution-positive", 1)]
    coarse = [("causal", 2), ("joint", 2), ("attribution", 1)]
    assert relations == [("a.txt", *row) for row in fine] + [("b.txt", *row) for row in coarse]
    assert chains[0][:2] == (2, "a")
    assert chains[0][2] == " ".join(EDUS[:3])
    assert [row[0] for row in chains] == [2, 2, 1, 1]
    assert speakers == [("the mayor", 2)]
    assert profiles == [(file, *row) for file in ("a.txt", "b.txt") for row in (("NS", 0.6), ("NN", 0.4))]
    assert markers == [
        ("contrast", "or", 2, 0.5),
        *(("causal", "as", 1, 0.5), ("causal", "because", 1, 0.5)),
        *(("causal-cause", "as", 1, 0.5), ("causal-cause", "because", 1, 0.5)),
        *(("joint", "or", 1, 0.25), ("joint-disjunction", "or", 1, 0.25)),
    ]


@pytest.fixture(scope="module")
def shipped() -> Parser:
    return genrst.load()


@pytest.mark.slow
def test_queries_find_what_the_shipped_model_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shipped: Parser
):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(shipped))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "ferry.txt").write_text(NEWS, encoding="utf-8")
    (tmp_path / "texts" / "empty.txt").write_text(" ", encoding="utf-8")
    assert call(capsys, "bulk", "texts", "trees", "--device", "cpu").status == 0
    with duckdb.connect() as connection:
        # What needs --why needs a model that finds signals.
        queries = [query for query in QUERIES if "trees/signals/" not in query]
        _, errors, relations, chains, speakers, profiles = [connection.execute(query).fetchall() for query in queries]
    assert [row[0] for row in errors] == ["parse"]
    assert {"causal-cause", "attribution-positive"} <= {row[1] for row in relations}
    assert chains
    assert "because" in chains[0][2]
    assert ("the mayor", 1) in speakers
    assert {row[1] for row in profiles} == {"NS", "SN", "NN"}


@pytest.mark.slow
def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shipped: Parser):
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(shipped))
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "corpus" / "a.jsonl", 3)
    pyarrow_parquet.write_table(pyarrow.table({"text": [sentence(1)]}), tmp_path / "more.parquet")
    (tmp_path / "texts").mkdir()
    for number in range(3):
        (tmp_path / "texts" / f"{number}.txt").write_text(sentence(number))
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line, n_documents in zip(block.splitlines(), (3, 4, 2), strict=True):
        command = shlex.split(line.removeprefix("$ genrst "))
        outcome = call(capsys, *command, "--device", "cpu")
        assert (outcome.status, outcome.errors) == (0, []), line
        assert outcome.output.startswith(f"{n_documents} documents")
