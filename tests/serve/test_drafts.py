"""Unsaved work that is kept beside the files, and the lock on a folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from genrst.errors import InputError
from genrst.formats.files import read, write
from genrst.formats.json_format import document_to_dict
from genrst.parser.parser import Parser
from genrst.serve.annotation.drafts import folder_lock
from tests.serve.test_files import BETTER, HUMAN, annotating


def draft(time: int = 1, version: str | None = None, **others: Any) -> dict[str, Any]:
    return {"document": document_to_dict(BETTER), "version": version, "time": time, **others}


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".genrst/drafts/*"))


def test_drafts_survive_the_service_and_new_files(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    with annotating(chart, path) as client:
        opened = client.get("/v1/files/0").json()
        assert opened["drafts"] == []
        for time in (1, 2):
            place = f"/v1/files/{opened['key']}/drafts/7"
            assert client.put(place, json=draft(time, opened["version"])).status_code == 200
        assert client.put("/v1/files/0/drafts/8", json=draft(3)).status_code == 200
    assert read(path).tree == HUMAN.tree
    write(HUMAN, tmp_path / "a.rs3")
    with annotating(chart, tmp_path / "a.rs3", path) as client:
        first, second = sorted(client.get("/v1/files").json()["files"], key=lambda one: one["number"])
        assert (first["drafts"], second["drafts"]) == (0, 2)
        found = client.get(f"/v1/files/{opened['key']}").json()["drafts"]
        assert [(one["id"], one["time"], one["version"]) for one in found] == [
            *(("8", 3, None), ("7", 2, opened["version"]))
        ]
        assert all(one["document"] == document_to_dict(BETTER) for one in found)
        assert client.get("/v1/files/0").json()["drafts"] == [], "a draft belongs to one file"
        for id in ("8", "7", "7"):
            answer = client.request("DELETE", f"/v1/files/{opened['key']}/drafts/{id}", json={})
            assert answer.status_code == 200
    assert kept(tmp_path) == []


def test_drafts_are_as_private_as_their_file(chart: Parser, tmp_path: Path):
    (tmp_path / "secret.txt").write_text("It rained, so we stayed in.")
    (tmp_path / "secret.txt").chmod(0o600)
    with annotating(chart, tmp_path / "secret.txt") as client:
        assert client.put("/v1/files/0/drafts/7", json=draft()).status_code == 200
    (path,) = tmp_path.glob(".genrst/drafts/*")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_draft_is_of_one_version_of_the_file(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "rain.rs3")
    with annotating(chart, tmp_path / "rain.rs3") as client:
        for version in ("one", "two"):
            client.put("/v1/files/0/drafts/7", json=draft(version=version))
        (found,) = client.get("/v1/files/0").json()["drafts"]
    assert found["version"] == "two"
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize(
    ("id", "data"),
    [
        ("..%2f7", draft()),
        ("x", draft()),
        ("9" * 99, draft()),
        ("7", {"document": {}}),
        ("7", draft(path="/etc/passwd")),
        ("7", []),
    ],
)
def test_what_is_no_draft(chart: Parser, tmp_path: Path, id: str, data: Any):
    write(HUMAN, tmp_path / "rain.rs3")
    with annotating(chart, tmp_path / "rain.rs3") as client:
        answer = client.put(f"/v1/files/0/drafts/{id}", json=data)
        assert answer.status_code in (404, 422)
        assert list(answer.json()) == ["error"]
    assert kept(tmp_path) == []


def test_a_damaged_draft_is_left_out_and_kept(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "rain.rs3")
    with annotating(chart, tmp_path / "rain.rs3") as client:
        for id in ("7", "8", "9"):
            client.put(f"/v1/files/0/drafts/{id}", json=draft(version=id))
        half, other, _ = sorted(tmp_path.glob(".genrst/drafts/*"), key=lambda path: path.name.split(".")[-2])
        half.write_bytes(half.read_bytes()[:99])
        other.write_text(json.dumps({**draft(), "document": {"id": "no tree"}}))
        assert [one["id"] for one in client.get("/v1/files/0").json()["drafts"]] == ["9"]
    assert len(kept(tmp_path)) == 3


def test_a_folder_that_cannot_be_written(chart: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(HUMAN, tmp_path / "rain.rs3")
    monkeypatch.setattr(os, "fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with annotating(chart, tmp_path / "rain.rs3") as client:
        answer = client.put("/v1/files/0/drafts/7", json=draft())
    assert (answer.status_code, "No space left on device" in answer.json()["error"]) == (507, True)


def test_one_process_at_a_time_has_a_folder(tmp_path: Path):
    with folder_lock(tmp_path):
        program = (
            "from pathlib import Path\nfrom genrst.errors import GenrstError\n"
            "from genrst.serve.annotation.drafts import folder_lock\n"
            f"try:\n    with folder_lock(Path({str(tmp_path)!r})): print('open')\n"
            "except GenrstError as error: print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        rule = f"another genrst annotate has this folder open (process {os.getpid()}); stop it first"
        assert found.strip() == f"{tmp_path}: {rule}"
        with pytest.raises(InputError, match="another genrst annotate"), folder_lock(tmp_path):
            pass
    with folder_lock(tmp_path):
        pass  # it is free again
