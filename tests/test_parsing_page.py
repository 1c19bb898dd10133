"""The pages about parsing and likelihood: every example runs, with tiny models in the place of the real ones."""

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

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r'\$ (?:echo "(.*)" \| )?genrst (.*)')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what the examples read."""
    monkeypatch.chdir(tmp_path)
    write_parser(tmp_path / "models" / "en")
    write_parser(tmp_path / "models" / "en-generative", has_segmenter=False)
    write_chart(tmp_path / "chart")
    monkeypatch.setattr("genrst.parser.packages.MODELS", tmp_path / "models")
    (tmp_path / "article.txt").write_text(TEXT, encoding="utf-8")
    rain = Document.from_edus("rain", ["It rained,", "so we stayed in."], Unit("causal", "NS", (Leaf(0), Leaf(1))))
    for name in ("article.rs3", "rain.edus", "corpus/rain.rs3"):
        write(rain, tmp_path / name)
    (tmp_path / "lines.txt").write_text("It rained,\nso we stayed in.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings(r"ignore:\[W095\]")
@pytest.mark.parametrize(
    ("page", "files"),
    [
        ("parsing", {"article.html", "article.tok", "both.jsonl", "predicted", "rain.html", "rain.rs3"}),
        ("likelihood", {"surprisal.svg", "surprisals.csv"}),
    ],
)
def test_every_example(
    page: str, files: set[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer((DOCS / f"{page}.md").read_text(encoding="utf-8")))
    assert len(blocks) > 3
    for match in blocks:
        if match[1] == "python":
            exec(compile(match[2], f"{page}.md", "exec"), names)
            continue
        for line in match[2].splitlines():
            command = COMMAND.fullmatch(line)
            assert command is not None, line
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((command[1] or "").encode())))
            outcome = call(capsys, *shlex.split(command[2]))
            closing = ["1 document parsed"] if "parse corpus/" in line else []
            # What particles were worth is said, too.
            said = [text for text in outcome.messages if not re.search(" wrote | particles were worth ", text)]
            assert (outcome.status, [text.split(": ")[1].split(",")[0] for text in said]) == (0, closing), line
            assert outcome.output or "--output" in line or " render " in line
    assert files <= {path.name for path in folder.iterdir()}
