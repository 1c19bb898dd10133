"""Pairs of two annotators over HTTP: agreement as `genrst evaluate` has it, and results that replace nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from genrst.cli.main import main
from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.files import read, write
from genrst.formats.json_format import document_from_dict
from genrst.io import write_atomically
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files
from genrst.serve.annotation.folder import Folder
from genrst.serve.annotation.pairs import Pairs
from genrst.serve.app import make_app
from genrst.trees.node import Leaf, Unit
from tests.serve.test_files import BETTER, EDUS, HUMAN

pytestmark = pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")

OTHER = replace(HUMAN, tree=Unit("joint", "NN", (Unit("causal", "SN", (Leaf(0), Leaf(1))), Leaf(2))))


def found(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.*"))}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two folders: `rain` differs in two units, `sub/same` in none, `alone` has no partner."""
    for name, left, right in (("rain.rs3", HUMAN, OTHER), ("sub/same.json", HUMAN, HUMAN), ("two.rs3", HUMAN, BETTER)):
        write(replace(left, id=Path(name).stem), tmp_path / "ann" / name)
        write(replace(right, id=Path(name).stem), tmp_path / "bob" / name)
    write(HUMAN, tmp_path / "bob" / "alone.rs3")
    return tmp_path


@contextmanager
def comparing(parser: Parser, corpus: Path, output: str | None = "gold") -> Iterator[TestClient]:
    place = None if output is None else corpus / output
    pairs = Pairs(found(corpus / "ann"), found(corpus / "bob"), place, names=("ann", "bob"))
    app = make_app([parser], files=Files(), folder=Folder(Files(), pairs=pairs))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


def rows(client: TestClient) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in client.get("/v1/folder").json()["files"]}


def decide(client: TestClient, number: int, **sides: str) -> Any:
    """Open a pair, take these sides, and write the result."""
    pair = client.get(f"/v1/pairs/{number}").json()
    document, decisions = pair["result"], pair["decisions"]
    for at, side in sides.items():
        body = {"document": document, "number": int(at[1:]), "side": side, "sources": pair["sources"]}
        document = client.post(f"/v1/pairs/{number}/take", json=body).json()["document"]
        decisions[at[1:]] = side
    body = {"document": document, "decisions": decisions, "version": pair["version"], "sources": pair["sources"]}
    return client.put(f"/v1/pairs/{number}", json=body)


def test_agreement_is_that_of_evaluate(chart: Parser, corpus: Path, capsys: pytest.CaptureFixture[str]):
    (corpus / "bob" / "alone.rs3").unlink()
    with comparing(chart, corpus, None) as client:
        listed = client.get("/v1/folder").json()
    parts = ["", "rain.rs3", "sub/same.json", "two.rs3"]
    for scores, part in zip([listed["agreement"], *listed["files"]], parts, strict=True):
        main(["evaluate", *(str(corpus / side / part) for side in ("ann", "bob")), "--agreement", "--json"])
        expected = json.loads(capsys.readouterr().out)
        assert scores["kappa"] == expected["agreement"]
        assert scores["f1"] == {name: one["f1"] for name, one in expected["parseval"]["micro"].items()}


def test_pairs_are_listed_with_what_is_left(chart: Parser, corpus: Path):
    with comparing(chart, corpus) as client:
        listed = client.get("/v1/folder").json()
        assert listed["alone"] == {"left": [], "right": ["alone"]}
        assert listed["names"] == ["ann", "bob"]
        assert [(one["name"], one["decided"], one["disagreements"], one["state"]) for one in listed["files"]] == [
            ("rain", 0, 1, "open"),
            ("sub/same", 0, 0, "open"),
            ("two", 0, 1, "open"),
        ]
        assert decide(client, 0, _0="right").status_code == decide(client, 1).status_code == 200
        assert {name: one["state"] for name, one in rows(client).items()} == {
            **{"rain": "done", "sub/same": "done", "two": "open"}
        }
        assert read(corpus / "gold" / "rain.rs3").tree == OTHER.tree
        assert read(corpus / "gold" / "sub" / "same.json").tree == HUMAN.tree
        opened = client.get("/v1/pairs/0").json()
        # An annotator goes on: what was opened is out of date; decisions stay where the disagreement is the same.
        write(BETTER, corpus / "bob" / "rain.rs3")
        assert (rows(client)["rain"]["decided"], rows(client)["rain"]["state"]) == (0, "open")
        body = {"document": opened["result"], "number": 0, "side": "left", "sources": opened["sources"]}
        answer = client.post("/v1/pairs/0/take", json=body)
        assert (answer.status_code, "open the pair again" in answer.json()["error"]) == (409, True)
        write(OTHER, corpus / "bob" / "rain.rs3")
        assert rows(client)["rain"]["decided"] == 1
    with comparing(chart, corpus) as client:
        pair = client.get("/v1/pairs/0").json()
        assert pair["decisions"] == {"0": "right"}
        assert document_from_dict(pair["result"]).tree == OTHER.tree


def test_a_pair_that_cannot_be_compared_does_not_hold_up_the_others(chart: Parser, corpus: Path):
    (corpus / "bob" / "two.rs3").write_text("<rst")
    write(
        Document.from_edus("same", ["Other text,", "all of it."], Unit("joint", "NN", (Leaf(0), Leaf(1)))),
        corpus / "bob" / "sub" / "same.json",
    )
    with comparing(chart, corpus) as client:
        listed = rows(client)
        assert "the XML is not well-formed" in listed["two"]["error"]
        assert "text must be the same" in listed["sub/same"]["error"]
        assert listed["rain"]["error"] is None
        assert client.get("/v1/pairs/2").status_code == 422
        for number in ("7", "-1", "x", "9" * 5000):
            assert client.get(f"/v1/pairs/{number}").status_code == 404


def test_results_replace_only_results(chart: Parser, corpus: Path):
    sources = {path: path.read_bytes() for path in sorted(corpus.rglob("*.*")) if path.is_file()}
    write(BETTER, corpus / "gold" / "rain.rs3")
    foreign = (corpus / "gold" / "rain.rs3").read_bytes()
    with comparing(chart, corpus) as client:
        assert "not written by genrst annotate" in rows(client)["rain"]["error"]
        assert client.get("/v1/pairs/0").status_code == 409
        pair = client.get("/v1/pairs/2").json()
        body = {"document": pair["result"], "decisions": {}, "version": None, "sources": pair["sources"]}
        sources_of_rain = Pairs(found(corpus / "ann"), found(corpus / "bob"))._read(0, 100).version
        assert client.put("/v1/pairs/0", json={**body, "sources": sources_of_rain}).status_code == 409
        assert (corpus / "gold" / "rain.rs3").read_bytes() == foreign
        # Two pages with the same version: the second is refused.
        assert client.put("/v1/pairs/2", json=body).status_code == 200
        again = client.put("/v1/pairs/2", json=body)
        assert again.status_code == 409
        assert "open the pair again" in again.json()["error"]
        # A link to a file of an annotator is never followed.
        (corpus / "gold" / "two.rs3").unlink()
        (corpus / "gold" / "two.rs3").symlink_to(corpus / "ann" / "two.rs3")
        assert client.put("/v1/pairs/2", json=body).status_code == 422
    assert {path: path.read_bytes() for path in sources} == sources


def test_a_crash_between_the_record_and_the_result(chart: Parser, corpus: Path, monkeypatch: pytest.MonkeyPatch):
    """The record is written first, and knows both versions; so nothing is taken for a file of somebody else."""
    with comparing(chart, corpus) as client:
        assert decide(client, 0, _0="left").status_code == 200

        def crash(path: Path, content: str | bytes) -> None:
            if path.suffix == ".rs3":
                raise MemoryError
            write_atomically(path, content)

        monkeypatch.setattr("genrst.serve.annotation.pairs.write_atomically", crash)
        assert decide(client, 0, _0="right").status_code == 500
    monkeypatch.undo()
    with comparing(chart, corpus) as client:
        assert rows(client)["rain"]["error"] is None
        assert decide(client, 0, _0="right").status_code == 200
    assert read(corpus / "gold" / "rain.rs3").tree == OTHER.tree


def test_requests_that_make_no_sense(chart: Parser, corpus: Path):
    with comparing(chart, corpus) as client:
        pair = client.get("/v1/pairs/0").json()
        result, good = pair["result"], {"document": pair["result"], "side": "right", "sources": pair["sources"]}
        for body in (
            {"number": 1},
            {"number": -1},
            {"number": 0, "side": "both"},
            {"number": 0, "document": {}},
            {"number": 0, "document": {**result, "tree": None}},
        ):
            answer = client.post("/v1/pairs/0/take", json={**good, **body})
            assert (answer.status_code, list(answer.json())) == (422, ["error"])
        (corpus / "gold" / ".genrst").mkdir(parents=True)
        (corpus / "gold" / ".genrst" / "rain.rs3.decisions").write_text("{")
        assert "damaged; delete" in rows(client)["rain"]["error"]
    with comparing(chart, corpus, None) as client:
        body = {"document": result, "decisions": {}, "sources": pair["sources"]}
        assert "--output FOLDER" in client.put("/v1/pairs/0", json=body).json()["error"]
        assert "decided" not in rows(client)["rain"]


def test_folders_without_a_common_name(corpus: Path):
    with pytest.raises(UsageError, match="have no file name in common"):
        Pairs(found(corpus / "ann"), {"x": corpus / "bob" / "alone.rs3"})
    with pytest.raises(UsageError, match="--output must not be a folder of the annotators"):
        Pairs(found(corpus / "ann"), found(corpus / "bob"), corpus / "ann")


def test_other_edus_can_be_decided(chart: Parser, tmp_path: Path):
    joined = [" ".join(EDUS[:2]), EDUS[2]]
    write(HUMAN, tmp_path / "ann" / "rain.rs3")
    write(Document.from_edus("rain", joined, Unit("joint", "NN", (Leaf(0), Leaf(1)))), tmp_path / "bob" / "rain.rs3")
    with comparing(chart, tmp_path) as client:
        pair = client.get("/v1/pairs/0").json()
        assert [(one["left"], one["right"]) for one in pair["disagreements"]] == [
            ("elaboration NS", "joint NN"),
            ("causal SN", "one EDU"),
        ]
        assert decide(client, 0, _1="right").status_code == 200
    assert read(tmp_path / "gold" / "rain.rs3").edu_texts == joined
