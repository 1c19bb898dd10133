"""What is printed: no terminal obeys the names and texts of others, and messages are short."""

import ast
import json
from pathlib import Path

import pytest

import genrst
from genrst.characters import LONGEST_MESSAGE
from genrst.cli.console import inert_lines
from genrst.cli.main import main
from genrst.document import Document
from genrst.formats.files import write, write_documents
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call, on_terminal

# Colours, a title (OSC), a cleared screen, the same by C1, text turned round, lines of its own, half a pair.
HOSTILE = "\x1b[8m\x1b]0;evil\x07\x1b[2J\x9b31m\x9d0;x\x9c\u202eabc\u2066\x7f\r\x85\u2028z\ud800"
EDUS = [f"Moths {HOSTILE}", f"sleep {HOSTILE}", "by day."]
TWO = f"two{HOSTILE[:-1]}"
NAME = f"x{HOSTILE[:-1]}.json"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder, relation in (("gold", HOSTILE), ("one", f"{HOSTILE}1"), (TWO, f"{HOSTILE}2")):
        tree = Unit(relation, "NN", (Leaf(0), Unit(relation, "SN", (Leaf(1), Leaf(2)))))
        write(Document.from_edus(HOSTILE, EDUS, tree), tmp_path / folder / NAME)
    write_documents([Document.from_edus(HOSTILE, EDUS, None)] * 2, tmp_path / "twice.jsonl")
    return tmp_path


COMMANDS = [
    ("info", "gold"),
    ("info", "gold", "--json"),
    ("evaluate", "gold", "one", "--against", TWO, "--relations", "--confusion"),
    ("evaluate", "gold", "one", "--against", TWO, "--relations", "--confusion", "--markdown"),
    ("evaluate", "gold", "one", "--confusion", "--json"),
    *[("export", "gold", "--what", what) for what in ("summary", "chunks", "units", "dependencies", "profile")],
]
MISTAKES = [
    (NAME,),
    ("info", NAME),
    ("info", "gold", NAME),
    ("convert", f"gold/{NAME}", f"{NAME}.xyz"),
    ("convert", f"gold/{NAME}", f"gold/{NAME}"),
    ("convert", "twice.jsonl", "out", "--to", "dis"),
    ("evaluate", "gold", "twice.jsonl"),
    ("evaluate", "gold", "gold", "--plot", NAME),
    ("info", "x" * 100_000),
    ("evaluate", "gold", "many.jsonl"),
]


@pytest.mark.usefixtures("world")
@pytest.mark.filterwarnings("ignore:.* documents are few")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_results_command_no_terminal(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]):
    outcome = call(capsys, *arguments)
    assert (outcome.status, outcome.messages) == (0, [])
    assert outcome.output == inert_lines(outcome.output)
    assert "evil" in outcome.output
    if "--json" in arguments:
        assert repr(HOSTILE)[1:-1].lower() in str(json.loads(outcome.output)).lower()


@pytest.mark.parametrize("arguments", MISTAKES, ids=lambda arguments: " ".join(arguments)[:40])
def test_messages_are_short_and_command_no_terminal(
    world: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
):
    long = [Document.from_edus("y" * 100_000, EDUS, None), *(Document.from_edus(f"{n}", EDUS, None) for n in range(99))]
    write_documents(long, world / "many.jsonl")
    outcome = call(capsys, *arguments)
    assert outcome.status in (1, 2)
    assert outcome.messages
    assert all(line == inert_lines(line) for line in outcome.messages)
    assert all(len(line) <= LONGEST_MESSAGE + len("genrst: ") for line in outcome.messages)


@pytest.mark.usefixtures("world")
def test_a_file_is_inert_on_a_terminal_and_exact_in_a_pipe(capfdbinary: pytest.CaptureFixture[bytes]):
    text = "evil\x07\x1b[2J\x9b8m"
    write(Document.from_edus("plain", [text, text], Unit("joint", "NN", (Leaf(0), Leaf(1)))), Path("plain.json"))
    printed = on_terminal("convert", "plain.json", "-", "--to", "rsd")
    assert printed == inert_lines(printed)
    assert "evil" in printed
    assert main(["convert", "plain.json", "-", "--to", "rsd"]) == 0
    assert b"evil\x07\x1b[2J" in capfdbinary.readouterr().out


@pytest.mark.usefixtures("world")
def test_a_drawing_keeps_its_own_colours_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    printed = on_terminal("render", f"gold/{NAME}", "-", "--to", "txt")
    assert "\x1b[2m" in printed
    assert "\x1b[8m" not in printed
    assert printed.count("\x1b") == printed.count("\x1b[0m") + printed.count("\x1b[2m") + printed.count("\x1b[1;38;5;")


def test_nothing_is_printed_elsewhere():
    package = Path(genrst.__file__).parent
    calls = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert calls == {"cli/console.py", "io.py"}
