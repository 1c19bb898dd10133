"""Nothing is replaced but unchanged outputs of the same command, unless --force says so; and inputs never."""

import os
from pathlib import Path

import pytest

from genrst.cli.main import VERBS
from genrst.document import Document
from genrst.formats.files import write
from genrst.formats.folder import NOTES
from genrst.trees.node import Leaf, Unit
from tests.cli.program import Outcome, call, names

TREE = Unit("contrast", "NN", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
EDUS = ["Moths sleep,", "they say,", "by day."]
NOTHING_LOST = "what a user wrote\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("moths", "owls"):
        write(Document.from_edus(name, EDUS, TREE), tmp_path / "corpus" / f"{name}.json")
    return tmp_path


COMMANDS = {
    "convert corpus/moths.json moths.dis": "moths.dis",
    "convert corpus/moths.json moths.JSON": "moths.JSON",
    "convert corpus all.jsonl": "all.jsonl",
    "convert corpus out --to rs3": "out/moths.rs3",
    "render corpus/moths.json moths.html": "moths.html",
    "render corpus out --to txt": "out/owls.txt",
    "export corpus --what units --output units.csv": "units.csv",
    "export corpus --what summary --output corpus/wsj.out --format text": "corpus/wsj.out",
    "evaluate corpus corpus --plot scores.svg": "scores.svg",
    "evaluate corpus corpus --plot-confusion new/confusion.png": "new/confusion.png",
}


def run(capsys: pytest.CaptureFixture[str], line: str) -> Outcome:
    outcome = call(capsys, *line.split())
    assert (outcome.status == 0) == (not outcome.errors or outcome.errors[0].startswith("genrst: wrote")), outcome
    return outcome


@pytest.mark.parametrize(
    "command", [pytest.param(line, marks=[pytest.mark.slow] * line.startswith("evaluate")) for line in COMMANDS]
)
def test_only_our_own_outputs_are_replaced(folder: Path, capsys: pytest.CaptureFixture[str], command: str):
    path = folder / COMMANDS[command]
    path.parent.mkdir(exist_ok=True)
    path.write_text(NOTHING_LOST)
    for _ in range(2):
        outcome = run(capsys, command)
        assert outcome.status in (1, 2)
        assert [line.split(":")[1].strip() for line in outcome.messages] == [COMMANDS[command]]
        assert outcome.messages[0].endswith("; use --force to replace it")
        assert path.read_text() == NOTHING_LOST
    assert run(capsys, f"{command} --force").status == 0
    assert path.read_bytes() != NOTHING_LOST.encode()
    # The same command again, also where its outcome is another one.
    assert run(capsys, command).status == 0
    write(Document.from_edus("moths", ["Bees hum,", *EDUS[1:]], TREE), folder / "corpus/moths.json")
    assert run(capsys, command).status == 0
    # Somebody corrects the outcome.
    with path.open("ab") as file:
        file.write(b" ")
    corrected = path.read_bytes()
    assert run(capsys, command).status in (1, 2)
    assert path.read_bytes() == corrected


def test_a_file_of_another_command_stays(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(capsys, "export corpus --what units --output table.csv").status == 0
    before = (folder / "table.csv").read_bytes()
    outcome = run(capsys, "export corpus --what chunks --output table.csv")
    rule = (
        "not replaced, because it is not an unchanged output of genrst export --what chunks; use --force to replace it"
    )
    assert (outcome.status, outcome.messages) == (2, [f"genrst: table.csv: {rule}"])
    assert (folder / "table.csv").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "convert corpus/moths.json nowhere/moths.dis",
        "render corpus/moths.json nowhere/moths.svg",
        "export corpus --what units --output nowhere/units.csv",
        "evaluate corpus corpus --plot nowhere/scores.svg",
        "parse corpus/moths.json --output nowhere/x.rs3 --model none",
        "segment corpus/moths.json --output nowhere/x.edus --model none",
        "score corpus --output nowhere/x.csv",
    ],
)
def test_a_file_makes_no_folders(folder: Path, capsys: pytest.CaptureFixture[str], command: str):
    outcome = call(capsys, *command.split())
    assert outcome.status == 1
    (line,) = outcome.messages
    assert line.endswith(": cannot be written: the folder nowhere does not exist")
    assert sorted(path.name for path in folder.iterdir()) == ["corpus"]


def test_the_others_are_written(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "out").mkdir()
    (folder / "out/moths.dis").write_text(NOTHING_LOST)
    outcome = run(capsys, "convert corpus out --to dis")
    assert (outcome.status, len(outcome.messages)) == (1, 1)
    assert names(folder / "out") == ["moths.dis", "owls.dis"]
    assert (folder / "out/moths.dis").read_text() == NOTHING_LOST


def test_an_input_stays_whatever_is_forced(folder: Path, capsys: pytest.CaptureFixture[str]):
    before = (folder / "corpus/moths.json").read_bytes()
    for line in (
        "convert corpus/moths.json corpus/moths.json --force",
        "convert corpus corpus --to json --force",
        "export corpus --what units --output corpus/moths.json --force",
    ):
        outcome = run(capsys, line)
        assert outcome.messages[0] == "genrst: corpus/moths.json: the output must not overwrite an input"
        assert (folder / "corpus/moths.json").read_bytes() == before


@pytest.mark.parametrize("notes", ["missing", "damaged", "of another name", "a link", "a folder"])
def test_without_notes_nothing_is_replaced(folder: Path, capsys: pytest.CaptureFixture[str], notes: str):
    (folder / "out").mkdir()
    command = "convert corpus/moths.json out/moths.dis"
    assert run(capsys, command).status == 0
    path, before = folder / "out" / NOTES, (folder / "out/moths.dis").read_bytes()
    lines = path.read_text()
    path.unlink()
    (folder / "victim").write_text(NOTHING_LOST)
    match notes:
        case "damaged":
            path.write_bytes(b"\xff\0[[[\n" + lines.encode()[:-9])
        case "of another name":
            path.write_text(lines.replace("moths.dis", "other.dis"))
        case "a link":
            path.symlink_to(folder / "victim")
        case "a folder":
            path.mkdir()
    outcome = run(capsys, command)
    assert outcome.status in (1, 2)
    assert len(outcome.messages) == 1
    assert (folder / "out/moths.dis").read_bytes() == before
    if notes in ("a link", "a folder"):
        assert run(capsys, "convert corpus/moths.json out/other.dis").status == 1
        assert names(folder / "out") == ["moths.dis"]
    assert (folder / "victim").read_text() == NOTHING_LOST


@pytest.mark.parametrize("kind", ["a pipe", "a link", "a link to nothing"])
def test_what_is_no_plain_file_stays(folder: Path, capsys: pytest.CaptureFixture[str], kind: str):
    path = folder / "moths.dis"
    (folder / "victim").write_text(NOTHING_LOST)
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(folder / ("victim" if kind == "a link" else "nowhere"))
    before = path.lstat()
    for line in ("convert corpus/moths.json moths.dis", "convert corpus/moths.json moths.dis --force"):
        outcome = run(capsys, line)
        message = "genrst: moths.dis: cannot be written: it exists and is not a regular file"
        assert (outcome.status, outcome.messages) == (1, [message])
    assert path.lstat() == before
    assert not (folder / "nowhere").exists()
    assert (folder / "victim").read_text() == NOTHING_LOST


def test_a_run_killed_while_writing_starts_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    command = "convert corpus/moths.json moths.dis"
    replace = Path.replace

    def kill(path: Path, target: Path) -> Path:
        replace(path, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", kill)
        assert run(capsys, command).status == 130
    assert (folder / "moths.dis").exists()
    assert run(capsys, command).status == 0


def test_a_file_that_cannot_be_read_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (folder / "moths.dis").write_text(NOTHING_LOST)
    open_file = Path.open

    def refuse(path: Path, *arguments: str, **options: str) -> object:
        if path.name == "moths.dis":
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    outcome = run(capsys, "convert corpus/moths.json moths.dis")
    assert (outcome.status, outcome.messages) == (1, ["genrst: moths.dis: cannot be replaced: Permission denied"])


def test_every_verb_that_writes_has_the_option(capsys: pytest.CaptureFixture[str]):
    # A bulk run goes on in its own folder, and never writes into another. An annotator's files are there to be changed.
    # What is published stays in the commits before.
    for verb in VERBS.keys() - {"annotate", "bulk", "info", "push", "serve"}:
        assert "--force" in call(capsys, verb, "--help").output
