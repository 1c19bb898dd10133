"""The page about outputs: every Python example and every command on it gives what it says."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from genrst.cli.guard import NOTES
from tests.cli.program import call

PAGE = Path(__file__).parents[2] / "docs" / "outputs.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder for the examples."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_example(folder: Path, capsys: pytest.CaptureFixture[str]):
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    n_checked = 0
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] == "python":
            n_checked += _run_python(match[2], names, line)
        else:
            n_checked += _run_commands(match[2], capsys)
    assert n_checked == text.count("\n>>> ") + text.count("\n$ ") > 30
    assert {path.name for path in folder.iterdir()} == {
        NOTES,
        "chunks.jsonl",
        "features.csv",
        "ferry.rs3",
        "rows.csv",
        "units.csv",
        "units.jsonl",
    }


def _run_python(code: str, names: dict[str, object], line: int) -> int:
    example = doctest.DocTestParser().get_doctest(code, names, PAGE.name, str(PAGE), line)
    outcome: list[str] = []
    results = doctest.DocTestRunner().run(example, out=outcome.append, clear_globs=False)
    names.update(example.globs)
    assert not results.failed, "".join(outcome)
    return results.attempted


def _run_commands(session: str, capsys: pytest.CaptureFixture[str]) -> int:
    commands = re.findall(r"^\$ genrst (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)
    for command, expected in commands:
        outcome = call(capsys, *shlex.split(command))
        assert (outcome.status, outcome.output.replace("\r\n", "\n"), outcome.messages) == (0, expected, []), command
    return len(commands)
