"""The page about parsing: every example runs, with a tiny model in the place of the real one."""

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

import genrst.integrations.spacy  # noqa: F401 - as an installed package, spaCy would find it by itself
from genrst.document import Document
from genrst.formats.files import write
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call
from tests.parser.samples import TEXT, write_chart, write_parser

PAGE = Path(__file__).parents[1] / "docs" / "parsing.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r'\$ (?:echo "(.*)" \| )?genrst (.*)')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what the examples read."""
    monkeypatch.chdir(tmp_path)
    write_parser(tmp_path / "models" / "en")
    write_chart(tmp_path / "chart")
    monkeypatch.setattr("genrst.parser.packages.MODELS", tmp_path / "models")
    (tmp_path / "article.txt").write_text(TEXT, encoding="utf-8")
    rain = Document.from_edus("rain", ["It rained,", "so we stayed in."], Unit("causal", "NS", (Leaf(0), Leaf(1))))
    for name in ("article.rs3", "rain.edus", "corpus/rain.rs3"):
        write(rain, tmp_path / name)
    (tmp_path / "lines.txt").write_text("It rained,\nso we stayed in.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_every_example(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(blocks) > 10
    for match in blocks:
        if match[1] == "python":
            exec(compile(match[2], PAGE.name, "exec"), names)
            continue
        for line in match[2].splitlines():
            command = COMMAND.fullmatch(line)
            assert command is not None, line
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((command[1] or "").encode())))
            outcome = call(capsys, *shlex.split(command[2]))
            # What particles were worth is said, and all else is silent.
            messages = [message for message in outcome.messages if " particles were worth " not in message]
            assert (outcome.status, messages) == (0, []), line
            assert outcome.output or "--output" in line
    made = {path.name for path in folder.iterdir()}
    assert {"article.html", "article.tok", "both.jsonl", "predicted", "rain.html", "rain.rs3"} <= made
