"""Every block of code in the README and the docs is run, with the models that users have.

A block that cannot be says why on the line before it, `<!-- not run: needs a corpus -->`; then its commands are only
read. Blocks of other languages than those of `RUN` are there to look at.
"""

import doctest
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

import genrst
import genrst.integrations.spacy
from docs.notebook import TUTORIAL, read_cells, run_cells
from genrst.cli.main import make_parser
from genrst.document import Document
from genrst.formats.files import write
from genrst.formats.json_format import document_from_dict
from genrst.parser.folders import MODELS
from genrst.trees.node import Leaf, Unit
from tests.bulk.samples import run_here
from tests.cli.program import call, names
from tests.miniatures import write_gum
from tests.parser.samples import TEXT

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WEAKNESSES = ROOT / "docs" / "results" / "weaknesses.md"
HAS_OWN_TEST = ROOT / "docs" / "guides" / "bulk.md"
"""Its commands and queries are run by `tests/bulk/test_page.py`."""
WITH_COMMANDS = [page for page in PAGES if page not in (WEAKNESSES, HAS_OWN_TEST)]
RUN, SHOWN = {"bash", "console", "python", "json"}, {"sql", "text"}
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r'(?:echo "(?P<input>.*)" \| )?genrst (?P<words>.*?)(?: < (?P<file>\S+))?')
REPORT = re.compile(
    r" wrote |: 1 document parsed| particles have an effective sample size of | is the minimum-risk tree"
)
MADE = {
    "README": {"bridge.rs3"},
    "evaluate": {"levels.svg"},
    "formats": {"article.dis", "converted", "corpus.jsonl"},
    "likelihood": {"surprisal.svg", "surprisals.csv"},
    "analyse": {"features.csv", "ferry.rs3", "one.csv", "rows.csv", "units.csv", "units.jsonl"},
    "edus-and-constraints": {"article.tok", "predicted", "rain.html", "samples.jsonl"},
    "index": {"bridge.rs3"},
    "parse": {"article.html", "article.png", "both.jsonl", "rain.rs3"},
    "pictures": {"article.html", "article.png", "article.svg", "difference.html", "pictures"},
}
"""What the examples of a page leave behind, among other files."""


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def commands(code: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, without comments, and what each prints, if a session shows it."""
    if not code.startswith("$ "):
        whole = code.replace("\\\n", " ")
        yield from ((line, "") for raw in whole.splitlines() if (line := re.sub(r"(^|\s+)# .*", "", raw)))
        return
    yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page: Path):
    text = page.read_text(encoding="utf-8")
    found = blocks(page)
    assert len(re.findall("^```", text, re.MULTILINE)) == 2 * len(found)
    assert len(re.findall("^<!-- not run", text, re.MULTILINE)) == sum(block["reason"] is not None for block in found)
    assert {block["language"] for block in found} <= RUN | SHOWN, "each has one of these languages"
    rest = BLOCK.sub("", text)
    assert not re.search(r"^ {4}(\$|>>>|genrst|make|pip|python) ", rest, re.MULTILINE), "code has fences"


def test_commands_that_are_not_run_have_known_arguments():
    targets = set()
    for block in (block for page in PAGES for block in blocks(page) if block["reason"]):
        for command, _ in commands(block["code"]):
            program, *words = shlex.split(command)
            if program == "make":
                targets.add(words[0])
            elif program == "genrst":
                assert isinstance(make_parser().parse_args(words), Namespace), command
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, check=True)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "models").mkdir()
    for model in ("en", "en-generative"):
        (folder / "models" / model).symlink_to(MODELS / model)
    (folder / "article.txt").write_text(TEXT, encoding="utf-8")
    tree = Unit("causal", "NS", (Leaf(0), Leaf(1)), probability=0.8)
    rain = Document.from_edus("rain", ["It rained,", "so we stayed in."], tree)
    for name in (
        "article.rs3",
        "article.rs4",
        "gold.rs3",
        "article.json",
        "predicted.json",
        "rain.edus",
        "corpus/rain.rs3",
    ):
        write(rain, folder / name)
    for name in ("gold", "parsed", "other", "ann", "bob"):
        write(rain, folder / name / "rain.json")
    (folder / "page.html").write_text(f"<html><body><h1>Rain</h1><p>{TEXT}</p></body></html>", encoding="utf-8")
    (folder / "lines.txt").write_text("It rained,\nso we stayed in.\n", encoding="utf-8")
    shutil.copytree(ROOT / "examples", folder / "examples")
    write_gum(folder / "GUM")
    for document in genrst.load_corpus(folder / "GUM", split="test"):
        write(document, folder / "parses" / f"{document.id}.json")
    return folder


@pytest.fixture
def folder(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parser: genrst.Parser) -> Path:
    """A copy of it, to work in."""
    # Processes of their own would load PyTorch again.
    monkeypatch.setattr("genrst.bulk.run.run_units", run_here(parser))
    folder = tmp_path / "here"
    shutil.copytree(workspace, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("genrst.parser.folders.MODELS", folder / "models")
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings(
    r"ignore:\[W095\]", "ignore:.* documents are few for a test", "ignore:the proposal never draws"
)
@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if blocks(page)], ids=lambda page: page.stem)
def test_every_example(page: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    known: dict[str, object] = {}
    for block in blocks(page):
        if block["reason"] or block["language"] in SHOWN:
            continue
        if block["language"] == "python":
            run_python(block["code"], known, page)
        elif block["language"] == "json":
            check_json(json.loads(block["code"]))
        else:
            for command, expected in commands(block["code"]):
                run_command(command, expected, capsys, monkeypatch)
    assert MADE.get(page.stem, set()) <= {name.split("/")[0] for name in names(folder)}


def run_python(code: str, known: dict[str, object], page: Path) -> None:
    if not code.startswith(">>> "):
        exec(compile(code, page.name, "exec"), known)
        return
    example = doctest.DocTestParser().get_doctest(code, known, page.name, str(page), 0)
    outcome: list[str] = []
    results = doctest.DocTestRunner().run(example, out=outcome.append, clear_globs=False)
    known.update(example.globs)
    assert not results.failed, "".join(outcome)
    assert results.attempted


def check_json(data: dict[str, object]) -> None:
    """Documents are read; others of our files have tests of their own."""
    if "edus" in data:
        assert document_from_dict(data).edus


def run_command(line: str, expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = COMMAND.fullmatch(line)
    assert command is not None, line
    given = Path(command["file"]).read_bytes() if command["file"] else (command["input"] or "").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    outcome = call(capsys, *shlex.split(command["words"]))
    said = [text for text in outcome.messages if not REPORT.search(text)]
    assert (outcome.status, said) == (0, []), line
    if expected:
        assert outcome.output.replace("\r\n", "\n") == expected, line


@pytest.mark.slow
def test_what_the_shipped_model_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The tutorial, and the page on weaknesses."""
    monkeypatch.chdir(tmp_path)
    shipped = genrst.load()
    monkeypatch.setattr("genrst.parser.loading.load", lambda: shipped)
    known: dict[str, object] = {}
    for block in blocks(WEAKNESSES):
        run_python(block["code"], known, WEAKNESSES)
    cells = read_cells(TUTORIAL)
    assert sum(cell.is_code for cell in cells) > 5
    assert list(run_cells(cells)) == cells
