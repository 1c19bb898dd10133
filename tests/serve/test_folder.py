"""The states of files: kept beside them, by name, and by nothing that another run numbers otherwise."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from genrst.formats.files import write
from genrst.parser.parser import Parser
from genrst.serve.annotation.folder import Folder, read_state, write_state
from genrst.serve.annotation.pairs import Pairs
from genrst.serve.annotation.project import Project, ProjectRelation
from genrst.serve.app import make_app
from tests.serve.test_files import BETTER, HUMAN, body, opened

pytestmark = pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")


@contextmanager
def serving(parser: Parser, *paths: Path, project: Project | None = None) -> Iterator[TestClient]:
    folder = Folder(opened(*paths), project or Project())
    with TestClient(make_app([parser], files=folder.files, folder=folder), base_url="http://127.0.0.1:8000") as client:
        yield client


def states(client: TestClient) -> dict[str, str]:
    return {one["name"]: one["state"] for one in client.get("/v1/folder").json()["files"]}


def mark(client: TestClient, name: str, state: str) -> Any:
    (row,) = (one for one in client.get("/v1/folder").json()["files"] if one["name"] == name)
    return client.put(f"/v1/folder/{row['key']}", json={"state": state})


def test_states_survive_restarts_and_new_files(chart: Parser, tmp_path: Path):
    (tmp_path / "b").mkdir()
    for name in ("m.rs3", "b/m.rs3", "z.rs3"):
        write(HUMAN, tmp_path / name)
    with serving(chart, *(tmp_path / name for name in ("m.rs3", "b/m.rs3", "z.rs3"))) as client:
        assert set(states(client).values()) == {"open"}
        assert mark(client, "m.rs3", "done").json() == {"state": "done"}
        assert mark(client, "b/m.rs3", "flagged").status_code == 200
        assert mark(client, "z.rs3", "done").status_code == 200
        assert mark(client, "z.rs3", "open").status_code == 200
    write(HUMAN, tmp_path / "a.rs3")
    with serving(chart, *sorted(tmp_path.rglob("*.rs3"))) as client:
        assert states(client) == {"a.rs3": "open", "m.rs3": "done", "b/m.rs3": "flagged", "z.rs3": "open"}
    with serving(chart, tmp_path / "b" / "m.rs3") as client:
        assert states(client) == {"m.rs3": "flagged"}, "the part of a corpus has the same states"
    (tmp_path / "b").rename(tmp_path / "c")
    assert read_state(tmp_path / "c" / "m.rs3") == "flagged"


def test_a_text_keeps_its_state_when_it_is_saved(chart: Parser, tmp_path: Path):
    (tmp_path / "rain.edus").write_text("It rained,\nso what.")
    with serving(chart, tmp_path / "rain.edus") as client:
        assert mark(client, "rain.edus", "done").status_code == 200
        client.get("/v1/files/0")
        assert client.put("/v1/files/0", json=body(BETTER)).status_code == 200
        assert states(client) == {"rain.json": "done"}
    with serving(chart, tmp_path / "rain.json") as client:
        assert states(client) == {"rain.json": "done"}


def test_requests_that_make_no_sense(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "a.rs3")
    with serving(chart, tmp_path / "a.rs3") as client:
        for path, content, status in (
            ("/v1/folder/7", {"state": "done"}, 404),
            ("/v1/folder/..%2fa.rs3", {"state": "done"}, 404),
            ("/v1/folder/0", {"state": "finished"}, 422),
            ("/v1/folder/0", {}, 422),
            ("/v1/folder/0", {"state": "done", "path": "/etc"}, 422),
        ):
            assert client.put(path, json=content).status_code == status
        assert states(client) == {"a.rs3": "open"}
    assert not list(tmp_path.rglob("*.state"))


def test_damaged_states_are_open(tmp_path: Path):
    path = tmp_path / "a.rs3"
    write_state(path, "done")
    (place,) = (tmp_path / ".genrst").iterdir()
    for content in (b"", b"finished\n", b"\xff\xfe", b"done\n" * 10):
        place.write_bytes(content)
        assert read_state(path) == "open"
    place.unlink()
    os.mkfifo(place)
    assert read_state(path) == "open"


def test_a_folder_that_cannot_be_written_to(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "a.rs3")
    (tmp_path / ".genrst").write_text("a file in the place of the folder")
    with serving(chart, tmp_path / "a.rs3") as client:
        answer = mark(client, "a.rs3", "done")
        assert answer.status_code == 507
        assert "cannot be written" in answer.json()["error"]
        assert states(client) == {"a.rs3": "open"}


def test_models_have_the_relations_of_the_project(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "a.rs3")
    project = Project(relations=(ProjectRelation("evidence", definition="Why to believe it."),))
    with serving(chart, tmp_path / "a.rs3", project=project) as client:
        (model,) = client.get("/v1/models").json()["models"]
        assert {label["relation"] for label in model["labels"]} == {"evidence"}
        assert client.get("/v1/folder").json()["has_relations"]


def test_endpoints_of_pairs_are_there_only_with_pairs(chart: Parser, tmp_path: Path):
    for side in ("a", "b"):
        write(HUMAN, tmp_path / side / "rain.rs3")
    with serving(chart, tmp_path / "a" / "rain.rs3") as client:
        assert client.get("/v1/pairs/0").status_code == 404
    pairs = Pairs({"rain": tmp_path / "a" / "rain.rs3"}, {"rain": tmp_path / "b" / "rain.rs3"})
    folder = Folder(opened(), pairs=pairs)
    with TestClient(make_app([chart], files=folder.files, folder=folder), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/v1/pairs/0").status_code == 200
        assert "TakeRequest" in client.get("/openapi.json").text
