"""`genrst info`: every corpus and option, as a table and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from genrst.corpora.corpus import load_corpus
from genrst.corpora.statistics import count
from genrst.document import Document
from genrst.formats.files import write, write_documents
from genrst.trees.node import Leaf, Unit
from tests.cli.program import Outcome, call
from tests.miniatures import write_amalgum, write_gum, write_rstdt

ROOTS = "".join(f"<segment {place}>x</segment>" for place in ('id="1" parent="2" relname="r"', 'id="2"', 'id="3"'))


def numbers(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.status, outcome.messages) == (0, [])
    result: dict[str, Any] = json.loads(outcome.output)
    return result


def test_a_table_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tree = Unit("attribution", "SN", (Leaf(0), Unit("list", "NNN", (Leaf(1), Leaf(2), Leaf(3)))))
    write(Document.from_edus("ants", ["a", "b", "c", "d"], tree), tmp_path / "ants.json")
    outcome = call(capsys, "info", tmp_path / "ants.json")
    assert (outcome.status, outcome.messages) == (0, [])
    rows = [line.split() for line in outcome.output.splitlines()]
    assert rows == [
        ["files,", "all", "documents"],
        [],
        ["documents", "1"],
        ["trees", "1"],
        ["edus", "4"],
        [],
        ["min", "median", "mean", "max"],
        ["edus", "per", "document", "4", "4", "4", "4"],
        ["depth", "3", "3", "3", "3"],
        ["stack", "depth", "4", "4", "4", "4"],
        ["left", "branching", "0.00", "0.00", "0.00", "0.00"],
        ["skew", "1.00", "1.00", "1.00", "1.00"],
        [],
        ["relation", "(binary)", "NS", "SN", "NN", "share"],
        ["list", "0", "0", "2", "66.7%"],
        ["attribution", "0", "1", "0", "33.3%"],
    ]
    widths = {len(line) for line in outcome.output.splitlines()[2:5]}
    assert widths == {32}


def test_json_is_the_statistics_of_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, writer in (("gum", write_gum), ("rstdt", write_rstdt), ("amalgum", write_amalgum)):
        folder = writer(tmp_path / name)
        for split in (None, "train"):
            options = ["--split", split] if split else []
            result = numbers(call(capsys, "info", folder, "--json", *options))
            expected = {"corpus": name, "split": split, **count(load_corpus(folder, split=split)).as_dict()}
            assert result == json.loads(json.dumps(expected))


def test_options_that_choose_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_gum(tmp_path / "gum")

    def n_documents(*options: str) -> int:
        result = numbers(call(capsys, "info", folder, "--json", *options))["documents"]
        return int(result)

    assert n_documents() == 4
    assert n_documents("--with-textless") == 5
    assert n_documents("--split", "test") == 2
    assert n_documents("--split", "test", "--gum-version", "9.1") == 1
    assert n_documents("--corpus", "gum") == 4
    # As plain files, the same folder has a tree for each of its documents.
    assert n_documents("--corpus", "files") == 5


def test_titles_name_corpus_and_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_gum(tmp_path / "gum")
    assert call(capsys, "info", folder, "--split", "dev").output.startswith("gum, dev\n")
    assert call(capsys, "info", folder).output.startswith("gum, all documents\n")


def test_joined_roots(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "roots.rs3"
    path.write_text(f"<rst><header/><body>{ROOTS}</body></rst>", encoding="utf-8")
    assert call(capsys, "info", path).status == 1
    result = numbers(call(capsys, "info", path, "--roots", "join", "--json"))
    assert result["relations"] == {"r": {"SN": 1}, "virtual-root": {"NN": 1}}


def test_nothing_and_segmented_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_documents([], tmp_path / "none.jsonl")
    outcome = call(capsys, "info", tmp_path / "none.jsonl")
    assert outcome.status == 0
    assert ["documents", "0"] in [line.split() for line in outcome.output.splitlines()]
    (tmp_path / "ants.edus").write_text("Ants\nwalk\n", encoding="utf-8")
    result = numbers(call(capsys, "info", tmp_path / "ants.edus", "--json"))
    assert (result["documents"], result["trees"], result["edus"], result["depth"]) == (1, 0, 2, None)


def test_names_that_no_encoding_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(Document.from_edus("x", ["a", "b"], Unit("lone \ud800", "NN", (Leaf(0), Leaf(1)))), tmp_path / "x.json")
    assert "lone \\ud800" in call(capsys, "info", tmp_path / "x.json").output
    assert "lone \ud800" in numbers(call(capsys, "info", tmp_path / "x.json", "--json"))["relations"]
