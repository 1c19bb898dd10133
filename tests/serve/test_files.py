"""The files of an annotator: the queue, what is opened, what is saved, and that nothing is ever lost."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from time import sleep
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from genrst.document import Document, Signal
from genrst.errors import CorpusFormatError, GenrstError, InputError, UsageError
from genrst.formats.files import format_documents, read, write
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files, LocalFile
from genrst.serve.app import LIMITS, make_app
from genrst.serve.requests import SaveRequest, read_request
from genrst.serve.worker import Limits
from genrst.trees.constraints import Constraint
from genrst.trees.node import Leaf, Unit, units
from tests.serve.test_requests import ANYTHING, places

pytestmark = pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")

EDUS = ["It rained all day,", "so we stayed in.", "Nobody minded."]
HUMAN = Document.from_edus("rain", EDUS, Unit("elaboration", "NS", (Unit("causal", "SN", (Leaf(0), Leaf(1))), Leaf(2))))
BETTER = replace(HUMAN, tree=Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Leaf(2))))))


def opened(*paths: Path) -> Files:
    files = Files()
    for path in paths:
        files.add(path)
    return files


@contextmanager
def annotating(parser: Parser, *paths: Path, limits: Limits = LIMITS) -> Iterator[TestClient]:
    with TestClient(make_app([parser], limits, files=opened(*paths)), base_url="http://127.0.0.1:8000") as client:
        yield client


def body(document: Document, **others: Any) -> dict[str, Any]:
    return {"document": document_to_dict(document), **others}


def save_bytes(file: LocalFile, data: Any) -> None:
    file.save(read_request(SaveRequest, json.dumps(data).encode()), 100)


def save(client: TestClient, document: Document, number: int = 0, **others: Any) -> dict[str, Any]:
    """Save what was read."""
    assert client.get(f"/v1/files/{number}").status_code == 200
    answer = client.put(f"/v1/files/{number}", json=body(document, **others))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def judged(client: TestClient, n: int) -> list[dict[str, Any]]:
    """The queue, as soon as the parser has judged so many of its files."""
    while sum(one["certainty"] is not None for one in client.get("/v1/files").json()["files"]) < n:
        sleep(0.01)
    return list(client.get("/v1/files").json()["files"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".genrst")


def test_the_least_certain_comes_first(chart: Parser, tmp_path: Path):
    """In the background, the parser gives every file without a tree its place; trees of people are the last."""
    sure = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)), probability=0.99)), probability=0.97)
    write(HUMAN, tmp_path / "a.rs3")
    write(replace(HUMAN, tree=sure), tmp_path / "b.json")
    for name, edus in (("c", EDUS), ("d", EDUS[:2]), ("e", [*EDUS, "It was late."])):
        (tmp_path / f"{name}.edus").write_text("\n".join(edus))
    paths = sorted(tmp_path.iterdir())
    before = opened(*paths).list()["files"]
    assert [one["name"] for one in before] == ["b.json", "c.edus", "d.edus", "e.edus", "a.rs3"]
    assert [one["edus"] for one in before] == [3, 3, 2, 4, 3]
    assert before[0] == {
        **{"number": 1, "name": "b.json", "edus": 3, "has_tree": True},
        **{"certainty": pytest.approx(0.98), "is_saved": False, "drafts": 0},
        "key": opened(tmp_path / "b.json").find("0").key,
    }
    with annotating(chart, *paths) as client:
        found = judged(client, 4)
    assert found[-1]["name"] == "a.rs3"
    certainties = [one["certainty"] for one in found[:4]]
    assert certainties == sorted(certainties)
    for one in found[:4]:
        document = read(tmp_path / one["name"])
        tree = document.tree or chart.parse(document).tree
        assert tree is not None
        assert one["certainty"] == pytest.approx(fmean(unit.probability or 0 for unit in units(tree)), abs=1e-4)
    assert {one["has_tree"] for one in found if one["name"].endswith(".edus")} == {False}


def test_a_file_is_opened_as_it_is_or_parsed(chart: Parser, tmp_path: Path):
    write(HUMAN, tmp_path / "human.rs3")
    write(replace(HUMAN, tree=None), tmp_path / "bare.json")
    (tmp_path / "text.txt").write_text(" ".join(EDUS))
    with annotating(chart, *(tmp_path / name for name in ("human.rs3", "bare.json", "text.txt"))) as client:
        human, bare, text = (client.get(f"/v1/files/{number}").json() for number in range(3))
    assert human["name"] == "human.rs3"
    assert document_from_dict(human["document"]) == read(tmp_path / "human.rs3")
    assert document_from_dict(bare["document"]).tree == chart.parse(HUMAN).tree
    parsed = document_from_dict(text["document"])
    assert (parsed.id, parsed.text, parsed.tree is None) == ("text", " ".join(EDUS), False)
    assert names(tmp_path) == ["bare.json", "human.rs3", "text.txt"], "nothing was written"


def test_oddities_are_told(chart: Parser, tmp_path: Path):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({**document_to_dict(HUMAN), "colour": "red"}))
    with annotating(chart, path) as client:
        assert "the unknown key " in client.get("/v1/files/0").json()["warnings"][0]


@pytest.mark.parametrize("suffix", [".rs3", ".rs4", ".dis", ".json", ".jsonl", ".RS3"])
def test_a_file_is_saved_in_its_own_format_and_its_first_content_kept(chart: Parser, tmp_path: Path, suffix: str):
    path, name = tmp_path / f"rain{suffix}", f"rain{suffix}"
    path.write_text(format_documents([HUMAN], suffix))
    path.chmod(0o600)
    before = path.read_bytes()
    with annotating(chart, path) as client:
        first = save(client, BETTER)
        assert (first["name"], first["backup"], first["warnings"]) == (name, f"{name}.bak", [])
        assert read(path).tree == BETTER.tree
        assert path.read_text() == format_documents([BETTER], suffix)
        assert client.get("/v1/files").json()["files"][0]["is_saved"] is True
        second = client.put("/v1/files/0", json=body(HUMAN)).json()  # without reading: what was saved is known
        assert second["backup"] is None
    with annotating(chart, path) as later:
        assert later.get("/v1/files").json()["files"][0]["is_saved"] is True
        assert save(later, BETTER)["backup"] is None
    assert (tmp_path / f"{name}.bak").read_bytes() == before
    assert names(tmp_path) == sorted([name, f"{name}.bak"])
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir() if one.is_file()} == {0o600}


def test_texts_and_edus_are_saved_beside_and_opened_so_the_next_time(chart: Parser, tmp_path: Path):
    contents = {"news.txt": " ".join(EDUS), "rain.edus": "\n".join(EDUS)}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    frozen = replace(BETTER, constraints=(Constraint(1, 3),))
    with annotating(chart, tmp_path / "news.txt", tmp_path / "rain.edus") as client:
        for number, name in enumerate(["news.json", "rain.json"]):
            saved = save(client, frozen, number)
            assert (saved["name"], saved["backup"], saved["warnings"]) == (name, None, [])
            assert save(client, frozen, number)["backup"] is None, "it is our own"
    assert names(tmp_path) == ["news.json", "news.txt", "rain.edus", "rain.json"]
    for name, content in contents.items():
        assert (tmp_path / name).read_text() == content
    with annotating(chart, *map(tmp_path.joinpath, names(tmp_path))) as again:
        found = again.get("/v1/files").json()["files"]
        assert [(one["name"], one["is_saved"]) for one in found] == [("news.json", True), ("rain.json", True)]
        assert document_from_dict(again.get("/v1/files/0").json()["document"]) == frozen


def test_what_a_format_cannot_hold_is_told_or_refused(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.dis"
    write(HUMAN, path)
    rich = replace(BETTER, signals=(Signal((0, 1), "dm", "dm"),), constraints=(Constraint(1, 3),))
    with annotating(chart, path) as client:
        assert save(client, rich)["warnings"] == [
            "rain: .dis files cannot hold signals or secondary edges; 1 is left out",
            "rain: .dis files cannot hold constraints; 1 is left out",
        ]
        saved = path.read_bytes()
        refused = client.put("/v1/files/0", json=body(replace(BETTER, text=(BETTER.text or "").replace("so", "s\0"))))
        assert (refused.status_code, "files cannot hold the character U+" in refused.json()["error"]) == (422, True)
    assert path.read_bytes() == saved


def test_a_tree_that_a_format_cannot_express_is_told(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    mixed = replace(HUMAN, tree=Unit.from_relations(["joint", "joint", "causal"], "NNS", (Leaf(0), Leaf(1), Leaf(2))))
    with annotating(chart, path) as client:
        (warning,) = save(client, mixed)["warnings"]
        assert "saved as nested units" in warning
        assert save(client, BETTER)["warnings"] == []


def test_what_another_program_wrote_is_not_overwritten_unasked(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    with annotating(chart, path) as client:

        def refusal(**others: Any) -> str:
            answer = client.put("/v1/files/0", json=body(BETTER, **others))
            assert answer.status_code == 409
            return str(answer.json()["error"]).removeprefix("rain.rs3: not saved: ")

        assert refusal() == "the file has not been opened yet; use force to save anyway"
        version = client.get("/v1/files/0").json()["version"]
        path.write_text(path.read_text() + "\n")
        theirs = path.read_bytes()
        assert refusal() == refusal(version=version) == "another program has changed the file; use force to save anyway"
        assert (path.read_bytes(), names(tmp_path)) == (theirs, ["rain.rs3"])
        forced = client.put("/v1/files/0", json=body(BETTER, force=True)).json()
        assert (forced["backup"], (tmp_path / "rain.rs3.bak").read_bytes()) == ("rain.rs3.bak", theirs)
        assert refusal(version=version).startswith("another program"), "another window has an older version"
        assert client.put("/v1/files/0", json=body(HUMAN, version=forced["version"])).status_code == 200
        path.write_text("somebody else's")
        forced = client.put("/v1/files/0", json=body(BETTER, force=True)).json()
        assert (forced["backup"], (tmp_path / "rain.rs3.bak-1").read_text()) == ("rain.rs3.bak-1", "somebody else's")
        aside = client.put("/v1/files/0", json=body(HUMAN, aside=True)).json()
        assert (aside["copy"], read(tmp_path / "rain.conflict-1.json").tree) == ("rain.conflict-1.json", HUMAN.tree)
        assert client.put("/v1/files/0", json=body(HUMAN, aside=True)).json()["copy"] == "rain.conflict-2.json"
        assert read(path).tree == BETTER.tree, "what is put aside leaves the file alone"
        path.unlink()
        assert refusal().startswith("the file was deleted")
        assert client.get("/v1/files/0").status_code == 404
        assert client.get("/v1/files/0").json() == {"error": f"{path}: No such file or directory"}
        assert client.get("/v1/files").status_code == 200
        assert client.put("/v1/files/0", json=body(BETTER, force=True)).status_code == 200
    assert read(path).tree == BETTER.tree


def race(path: Path, version: str, start: Any, n_accepted: Any) -> None:
    """Save as another `genrst annotate` does it, at the same moment as others."""
    file = opened(path).find("0")
    start.wait()
    with suppress(HTTPException):
        save_bytes(file, body(BETTER, version=version))
        with n_accepted.get_lock():
            n_accepted.value += 1


def test_of_simultaneous_saves_from_one_version_one_is_accepted(tmp_path: Path):
    path = tmp_path / "rain.rs3"
    fork = get_context("fork")
    for _ in range(8):
        write(HUMAN, path)
        version = opened(path).find("0").read(100).version
        start, n_accepted = fork.Barrier(3), fork.Value("i", 0)
        racers = [fork.Process(target=race, args=(path, version, start, n_accepted)) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert n_accepted.value == 1
        assert read(path).tree == BETTER.tree


def test_finished_files_come_last(chart: Parser, tmp_path: Path):
    for name in ("a", "b"):
        write(HUMAN, tmp_path / f"{name}.rs3")
    with annotating(chart, *sorted(tmp_path.iterdir())) as client:
        save(client, BETTER)
        assert [one["name"] for one in client.get("/v1/files").json()["files"]] == ["b.rs3", "a.rs3"]


def test_a_text_that_changed_is_parsed_again(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.edus"
    path.write_text("\n".join(EDUS))
    with annotating(chart, path) as client:
        assert len(client.get("/v1/files/0").json()["document"]["edus"]) == 3
        path.write_text("\n".join(EDUS[:2]))
        assert client.put("/v1/files/0", json=body(BETTER)).status_code == 409
        assert len(client.get("/v1/files/0").json()["document"]["edus"]) == 2
        (tmp_path / "rain.json").write_text("somebody else's")
        assert client.put("/v1/files/0", json=body(BETTER)).status_code == 409


def refuse_to_sync(_file: int) -> None:
    raise OSError(28, "No space left on device")


open_file = Path.open


def refuse_to_open(path: Path, mode: str = "r", *arguments: Any) -> Any:
    if "x" in mode:
        raise OSError(30, "Read-only file system")
    return open_file(path, mode, *arguments)


@pytest.mark.parametrize(
    ("place", "name", "refuse", "message"),
    [
        (os, "fsync", refuse_to_sync, "No space left on device"),
        (Path, "open", refuse_to_open, "Read-only file system"),
        (os, "access", lambda *_: False, "Permission denied"),
    ],
)
@pytest.mark.parametrize("has_backup", [False, True])
def test_a_save_that_fails_leaves_the_old_file_whole(
    chart: Parser, tmp_path: Path, monkeypatch: Any, place: Any, name: str, refuse: Any, message: str, has_backup: bool
):
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    if has_backup:
        (tmp_path / "rain.rs3.bak").write_text("the first")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with annotating(chart, path) as client:
        client.get("/v1/files/0")
        with monkeypatch.context() as patch:
            patch.setattr(place, name, refuse)
            answer = client.put("/v1/files/0", json=body(BETTER))
        assert answer.status_code == 507
        assert answer.json()["error"].endswith(f": cannot be written: {message}")
        assert {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before
        assert client.put("/v1/files/0", json=body(BETTER)).status_code == 200, "and the next one succeeds"
    assert read(path).tree == BETTER.tree


@pytest.mark.parametrize(("place", "name"), [(os, "fsync"), (Path, "replace")])
@pytest.mark.parametrize("n_survived", [0, 1])
def test_a_save_that_is_killed_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: Any, place: Any, name: str, n_survived: int
):
    """While the backup or the file is written, or right before it has its name."""
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    before = path.read_bytes()
    file = opened(path).find("0")
    file.version = file.read(100).version
    original, calls = getattr(place, name), []

    def die(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > n_survived:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    monkeypatch.setattr(place, name, die)
    child = os.fork()
    if child == 0:
        save_bytes(file, body(BETTER))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    monkeypatch.undo()
    assert path.read_bytes() == before
    backup = tmp_path / "rain.rs3.bak"
    assert backup.exists() == (n_survived == 1)
    again = opened(path).find("0")
    again.version = again.read(100).version
    save_bytes(again, body(BETTER))
    assert (read(path).tree, backup.read_bytes()) == (BETTER.tree, before)


def test_links_stay_links(chart: Parser, tmp_path: Path):
    for folder in ("work", "archive"):
        (tmp_path / folder).mkdir()
    work, archive = tmp_path / "work", tmp_path / "archive"
    write(HUMAN, archive / "rain.rs3")
    (archive / "text.edus").write_text("\n".join(EDUS))
    (work / "link.rs3").symlink_to(archive / "rain.rs3")
    (work / "text.edus").symlink_to(archive / "text.edus")
    (work / "text.json").symlink_to(tmp_path / "elsewhere.json")
    with annotating(chart, work / "link.rs3", work / "text.edus", archive / "rain.rs3") as client:
        assert {one["name"] for one in client.get("/v1/files").json()["files"]} == {"link.rs3", "text.edus"}
        assert save(client, BETTER, 0)["backup"] == "rain.rs3.bak"
        assert save(client, BETTER, 1)["name"] == "text.json"
    assert (work / "link.rs3").is_symlink()
    assert read(archive / "rain.rs3").tree == read(work / "text.json").tree == BETTER.tree
    assert names(archive) == ["rain.rs3", "rain.rs3.bak", "text.edus"]
    assert not (tmp_path / "elsewhere.json").exists(), "a link that leads nowhere is replaced"


def test_names_with_odd_characters(chart: Parser, tmp_path: Path):
    odd = ["naïve “quote” <b>.edus", "two\nlines \x1b[31m.edus", os.fsdecode(b"latin-\xe9.edus"), "%2e%2e.edus"]
    for name in odd:
        (tmp_path / name).write_text("\n".join(EDUS))
    with annotating(chart, *(tmp_path / name for name in odd)) as client:
        shown = {one["number"]: one["name"] for one in client.get("/v1/files").json()["files"]}
        assert list(map(shown.get, range(4))) == [
            *("naïve “quote” <b>.edus", "two lines ␛[31m.edus", "latin-\\udce9.edus", "%2e%2e.edus")
        ]
        for number, name in enumerate(odd):
            save(client, BETTER, number)
            assert read((tmp_path / name).with_suffix(".json")).tree == BETTER.tree


def test_files_of_several_folders_have_different_names(tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(HUMAN, tmp_path / folder / "rain.rs3")
    files = opened(tmp_path / "b" / "rain.rs3", tmp_path / "a" / "rain.rs3", tmp_path / "b" / ".." / "a" / "rain.rs3")
    assert [(one["number"], one["name"]) for one in files.list()["files"]] == [(1, "a/rain.rs3"), (0, "b/rain.rs3")]


@pytest.mark.parametrize(
    "number", ["1", "-1", "99999999999999999999", "x", "1.5", "9" * 5000, "..%2f..%2fetc%2fpasswd"]
)
def test_numbers_that_no_file_has(chart: Parser, tmp_path: Path, number: str):
    write(HUMAN, tmp_path / "rain.rs3")
    with annotating(chart, tmp_path / "rain.rs3") as client:
        for answer in (client.get(f"/v1/files/{number}"), client.put(f"/v1/files/{number}", json=body(BETTER))):
            assert answer.status_code in (404, 422)
            assert list(answer.json()) == ["error"]
            assert "\n" not in answer.json()["error"]
    assert read(tmp_path / "rain.rs3").tree == HUMAN.tree


def test_a_file_that_cannot_be_parsed_does_not_hold_up_the_others(chart: Parser, tmp_path: Path):
    (tmp_path / "a.txt").write_text(" \n")
    (tmp_path / "b.edus").write_text("\n".join(EDUS * 4))
    (tmp_path / "c.edus").write_text("\n".join(EDUS))
    with annotating(chart, *sorted(tmp_path.iterdir()), limits=Limits(edus=4)) as client:
        assert judged(client, 1)[0]["name"] == "c.edus"
        assert client.get("/v1/files/0").status_code == 422
        assert client.get("/v1/files/1").json() == {"error": "b: a document must have at most 4 EDUs, got 12"}
        assert client.put("/v1/files/2", json=body(replace(HUMAN, tree=None), force=True)).status_code == 200


def test_saving_is_guarded_and_limited(chart: Parser, tmp_path: Path):
    path = tmp_path / "rain.rs3"
    write(HUMAN, path)
    before = path.read_bytes()
    with annotating(chart, path, limits=Limits(bytes=2000, edus=4)) as client:
        forced = json.dumps(body(BETTER, force=True))
        json_type = {"Content-Type": "application/json"}
        for status, headers in (
            (415, {"Content-Type": "text/plain"}),
            (403, {**json_type, "Origin": "http://evil.example"}),
            (403, {**json_type, "Sec-Fetch-Site": "cross-site"}),
            (421, {**json_type, "Host": "evil.example"}),
        ):
            assert client.put("/v1/files/0", content=forced, headers=headers).status_code == status
        many = Document.from_edus("many", list("abcde"))
        for status, content in (
            (413, json.dumps(body(BETTER, version="x" * 2000, force=True))),
            (422, json.dumps(body(many, force=True))),
            (422, forced[:-2]),
            (422, "{}"),
            (422, forced.replace('"force"', '"path": "/etc/passwd", "force"')),
        ):
            answer = client.put("/v1/files/0", content=content, headers=json_type)
            assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert path.read_bytes() == before


@st.composite
def changed(draw: st.DrawFn) -> Any:
    """A document's JSON in which some places are changed."""
    signals = (Signal((0, 1), "dm", "dm"),)
    data = deepcopy(document_to_dict(replace(draw(st.sampled_from([HUMAN, BETTER])), signals=signals)))
    for _ in range(draw(st.integers(0, 3))):
        container, key = draw(st.sampled_from(list(places(data)) or [({"": 0}, "")]))
        container[key] = draw(ANYTHING)
    return data


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::genrst.errors.CorpusWarning")
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changed(), st.sampled_from([".rs3", ".rs4", ".dis", ".json"]))
def test_whatever_is_saved_can_be_read_again(tmp_path: Path, data: Any, suffix: str):
    path = tmp_path / f"rain{suffix}"
    write(HUMAN, path)
    before = path.read_bytes()
    file = opened(path).find("0")
    try:
        save_bytes(file, {"document": data, "force": True})
    except GenrstError:
        assert path.read_bytes() == before
    else:
        assert read(path).tree == document_from_dict(data).tree


def test_endpoints_are_there_only_with_files(client: TestClient, chart: Parser, tmp_path: Path):
    assert client.get("/v1/files").status_code == 404
    plain = client.get("/openapi.json").json()
    assert "SaveRequest" not in plain["components"]["schemas"]
    write(HUMAN, tmp_path / "rain.rs3")
    with annotating(chart, tmp_path / "rain.rs3") as annotator:
        full = annotator.get("/openapi.json").json()
        assert "/v1/files/{number}" in annotator.get("/docs").text
        assert annotator.post("/v1/parse", json={"edus": EDUS}).status_code == 200
    new = {path: set(full["paths"][path]) for path in full["paths"].keys() - plain["paths"].keys()}
    assert new == {
        **{"/v1/files": {"get"}, "/v1/files/{number}": {"get", "put"}},
        **{"/v1/folder": {"get"}, "/v1/folder/{number}": {"put"}},
        "/v1/files/{number}/drafts/{id}": {"put", "delete"},
    }
    assert "SaveRequest" in full["components"]["schemas"]
    (parameter,) = full["paths"]["/v1/files/{number}"]["put"]["parameters"]
    assert parameter["schema"]["type"] == "integer"


def make_odd(folder: Path) -> None:
    write(HUMAN, folder / "rain.json")
    line = json.dumps(document_to_dict(HUMAN))
    (folder / "two.jsonl").write_text(f"{line}\n{line}\n")
    (folder / "two.json").write_text(f"[{line}, {line}]")
    (folder / "broken.rs3").write_text("<rst>")
    (folder / "binary.txt").write_bytes(b"\0\1")
    (folder / "picture.png").touch()
    (folder / "folder.rs3").mkdir()
    os.mkfifo(folder / "pipe.rs3")
    for name in ("same.txt", "same.edus"):
        (folder / name).write_text("\n".join(EDUS))


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        ("two.jsonl", CorpusFormatError, "two.jsonl: a file to annotate must hold one document, got 2"),
        ("two.json", CorpusFormatError, "got 2"),
        ("broken.rs3", CorpusFormatError, "broken.rs3"),
        ("binary.txt", CorpusFormatError, "got binary data"),
        ("picture.png", UsageError, "a file name must end in one of .dis, .rs3"),
        ("folder.rs3", InputError, "not a regular file"),
        ("pipe.rs3", InputError, "not a regular file"),
        ("missing.rs3", InputError, "No such file or directory"),
        ("same.txt same.edus", UsageError, "would both be saved as same.json"),
    ],
)
def test_what_cannot_be_annotated(tmp_path: Path, names: str, kind: type[GenrstError], message: str):
    make_odd(tmp_path)
    with pytest.raises(kind) as error:
        opened(tmp_path / "rain.json", *map(tmp_path.joinpath, names.split()))
    assert message in str(error.value)
