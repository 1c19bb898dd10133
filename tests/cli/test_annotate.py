"""The verb `annotate`: what it refuses before it loads a model, what it opens, and the page in the browser."""

import os
import secrets
import socket
import webbrowser
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from genrst.cli.main import make_parser
from genrst.cli.verbs import annotate
from genrst.document import Document
from genrst.formats.files import write
from genrst.serve.annotation.drafts import folder_lock
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call

HUMAN = Document.from_edus("rain", ["It rained,", "so we stayed in."], Unit("causal", "SN", (Leaf(0), Leaf(1))))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of an annotator, some of which cannot be read."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "work"
    (folder / "more").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    write(HUMAN, folder / "a.rs3")
    write(HUMAN, folder / "more" / "text.json")
    (folder / "more" / "text.txt").write_text("It rained, so we stayed in.")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "genrst.toml").write_text("[[relations]]\nnme = 'cause'\n")
    (folder / "rain.edus").write_text("It rained,\nso we stayed in.\n")
    line = (folder / "more" / "text.json").read_text().replace("\n", "")
    (folder / "two.jsonl").write_text(f"{line}\n{line}\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("missing.rs3", "missing.rs3: No such file or directory"),
        ("work/a.rs3 work/two.jsonl", "two.jsonl: a file to annotate must hold one document, got 2"),
        ("empty", "empty: no files to annotate in this folder (looked for .dis, .rs3"),
        ("-", "-: a file name must end in one of .dis, .rs3"),
        ("work/a.rs3 --port 70000", "--port must be between 0 and 65535, got 70000"),
        ("work/a.rs3 --max-edus 0", "--max-edus must be greater than 0, got 0"),
        ("work/a.rs3 --host 0.0.0.0", "unrecognized arguments: --host 0.0.0.0"),
        ("work/a.rs3 --model missing", "no model or folder named"),
        ("work --output gold", "--output works only with --against"),
        ("work work/more --against bob", "--against compares with one folder, got 2 files or folders"),
        ("work --against missing", "missing: not a folder; --against compares two folders"),
        ("work --against ./work", "--against must name a different folder, got work"),
        ("work --against empty", "work and empty have no file name in common"),
        ("work --against empty --output work/gold", "--output must be outside the folders of the annotators"),
        ("work --against empty --output empty", "--output must be outside the folders of the annotators"),
        ("work/a.rs3 --project missing.toml", "missing.toml: No such file"),
        ("bad", "bad/genrst.toml: relations[0].nme: unknown key; must be one of name, "),
    ],
)
@pytest.mark.usefixtures("work")
def test_what_is_refused(arguments: str, message: str, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "annotate", *arguments.split())
    assert outcome.status in (1, 2)
    assert message in outcome.messages[0]
    assert len(outcome.messages) == 1


@pytest.mark.usefixtures("work")
def test_a_folder_is_opened_without_what_cannot_be_read(capsys: pytest.CaptureFixture[str]):
    files = annotate.open_files(["work"])
    assert [one["name"] for one in files.list()["files"]] == ["rain.edus", "a.rs3", "more/text.json"]
    assert capsys.readouterr().err.splitlines() == [
        "genrst: work/: 1 file was left out: more/text.txt (a file of the same name in another format is read)",
        "genrst: work/two.jsonl: a file to annotate must hold one document, got 2",
        "genrst: work/more/text.txt: opening text.json, which an earlier run saved beside it",
    ]


def test_two_folders_are_paired_by_name(work: Path, capsys: pytest.CaptureFixture[str]):
    write(HUMAN, work.parent / "bob" / "a.json")
    write(HUMAN, work.parent / "bob" / "other.rs3")
    (work / "genrst.toml").write_text("[[relations]]\nname = 'cause'\n")
    arguments = make_parser().parse_args(["annotate", "work", "--against", "bob", "--output", "gold"])
    folder = annotate.open_folder(arguments)
    assert folder.pairs is not None
    assert (folder.pairs.keys, folder.pairs.names) == (["a"], ("work", "bob"))
    assert [one.name for one in folder.project.relations] == ["cause"]
    assert capsys.readouterr().err.splitlines() == [
        "genrst: 2 files only in work, left out: more/text, two",
        "genrst: 1 file only in bob, left out: other",
    ]


def test_a_folder_of_which_nothing_can_be_read(work: Path, capsys: pytest.CaptureFixture[str]):
    for path in (work / "a.rs3", work / "rain.edus", *(work / "more").iterdir()):
        path.unlink()
    outcome = call(capsys, "annotate", "work")
    assert (outcome.status, outcome.errors[-1]) == (
        2,
        "genrst: no files to annotate: none of them can be read",
    )


@pytest.mark.slow
@pytest.mark.parametrize("has_browser", [True, False])
def test_the_page_is_opened_in_the_browser(
    work: Path, tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, has_browser: bool
):
    pages: list[str] = []
    is_open = Event()
    found: dict[str, Any] = {}

    def open_page(address: str) -> None:
        pages.append(address)
        is_open.set()

    def serve(server: uvicorn.Server, sockets: Any) -> None:
        host, port = sockets[0].getsockname()
        app: Any = server.config.app
        with TestClient(app, base_url=f"http://{host}:{port}") as client:
            assert client.get("/v1/files").status_code == 401
            client.headers["Authorization"] = f"Bearer {keys[0]}"
            found.update(client.get("/v1/files").json(), address=f"http://{host}:{port}/#key={keys[0]}")
            found["document"] = client.get("/v1/files/0").json()["document"]

    monkeypatch.setenv("GENRST_API_KEY", "a key of other services")
    monkeypatch.setattr(webbrowser, "open", open_page)
    keys = ["only-for-this-run"]
    monkeypatch.setattr(secrets, "token_urlsafe", lambda: keys[0])
    monkeypatch.setattr(uvicorn.Server, "run", serve)
    options = [] if has_browser else ["--no-browser"]
    outcome = call(capsys, "annotate", work / "a.rs3", "--model", tiny, "--device", "cpu", *options)
    assert outcome.status == 0
    assert found["address"].startswith("http://127.0.0.1:")
    assert outcome.messages == [f"genrst: serving tiny on {found['address']}"]
    assert (found["files"][0]["name"], found["document"]["tree"]["relation"]) == ("a.rs3", "causal")
    if has_browser:
        assert is_open.wait(10)
    assert pages == ([found["address"]] if has_browser else [])


def test_a_folder_that_another_process_has(work: Path, capsys: pytest.CaptureFixture[str]):
    with folder_lock(work / "more"):
        outcome = call(capsys, "annotate", work)
    rule = f"another genrst annotate has this folder open (process {os.getpid()}); stop it first"
    assert (outcome.status, outcome.errors[-1]) == (1, f"genrst: {work / 'more'}: {rule}")


def test_the_port_is_always_the_same_if_it_is_free(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setattr(annotate, "PORT", port)
        assert annotate.free_port() in (0, *range(port + 1, port + 20))
    assert annotate.free_port() == port
