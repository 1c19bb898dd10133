"""The program as a whole: help, exit statuses, one line for whatever goes wrong, pipes and closed streams."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from genrst.cli.main import VERBS, main
from genrst.cli.verbs import info
from genrst.document import Document
from genrst.formats.files import write, write_documents
from genrst.trees.node import Leaf, Unit
from genrst.version import VERSION
from tests.cli.program import WARNING, call, give_input, in_ascii, on_terminal, shell
from tests.conftest import REPOSITORY
from tests.miniatures import write_gum

TREE = Unit("contrast", "NN", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)))))
EDUS = ["Moths sleep,", "they say,", "by day."]
MOTHS = Document.from_edus("moths", EDUS, TREE)
ROOTS = "".join(f"<segment {place}>x</segment>" for place in ('id="1" parent="2" relname="r"', 'id="2"', 'id="3"'))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the working one, with files of every kind and in every state."""
    monkeypatch.chdir(tmp_path)
    for name in ("moths.json", "moths.rs3", "moths.rsd", "moths.edus", "twins/moths.json", "twins/moths.dis"):
        write(MOTHS, tmp_path / name)
    write_documents([MOTHS, Document.from_edus("owls", EDUS, TREE)], tmp_path / "two.jsonl")
    write_documents([MOTHS, MOTHS], tmp_path / "same.jsonl")
    write_documents([MOTHS, Document.from_edus("owls", EDUS)], tmp_path / "half.jsonl")
    write(Document.from_edus("owls", EDUS, TREE), tmp_path / "owls.json")
    write(Document.from_edus("moths", [*EDUS[:2], "at night."], TREE), tmp_path / "text/moths.json")
    write(Document.from_edus("moths", EDUS), tmp_path / "segmented.json")
    for suffix in ("json", "jsonl", "rs3", "dis", "edus"):
        (tmp_path / f"empty.{suffix}").touch()
        (tmp_path / f"binary.{suffix}").write_bytes(b"\x7fELF\0\1")
        (tmp_path / f"noise.{suffix}").write_bytes(b"\xfe\x80\xff(")
    (tmp_path / "roots.rs3").write_text(f"<rst><header/><body>{ROOTS}</body></rst>", encoding="utf-8")
    (tmp_path / "moths.pdf").write_bytes(b"%PDF")
    (tmp_path / "moths.xyz").touch()
    (tmp_path / "no_trees").mkdir()
    (tmp_path / "no_trees" / "notes.txt").write_text("nothing here\n", encoding="utf-8")
    write_gum(tmp_path / "gum")
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


BREAKAGES = [
    # The program itself.
    ("--verbose", 2, "the following arguments are required: VERB (see genrst --help)"),
    ("fly", 2, "argument VERB: invalid choice: 'fly'"),
    ("prase moths.txt", 2, "did you mean parse? (see genrst --help)"),
    ("info moths.json --slpit=dev", 2, "unrecognized arguments: --slpit=dev; did you mean --split? (see genrst info"),
    ("convert moths.json out.rs3 --labels corse", 2, "did you mean coarse?"),
    ("convert", 2, "the following arguments are required: IN, OUT (see genrst convert --help)"),
    ("info moths.json --bogus", 2, "unrecognized arguments: --bogus"),
    ("info moths.json two\nlines", 2, "unrecognized arguments: two lines"),
    # Files that are not there, empty, no text, or of no known kind.
    ("convert missing.json out.rs3", 1, "missing.json: No such file or directory"),
    ("convert moths.json/x.json out.rs3", 1, "moths.json/x.json: Not a directory"),
    ("convert empty.json out.rs3", 1, "empty.json:1: invalid JSON: "),
    ("convert empty.jsonl out.jsonl", 1, "empty.jsonl: no documents to convert"),
    ("convert empty.rs3 out.json", 1, "empty.rs3:1: the XML is not well-formed"),
    ("convert binary.json out.rs3", 1, "binary.json: the file must be text, got binary data"),
    ("convert noise.json out.rs3", 1, "noise.json:1: invalid JSON"),
    ("convert no_trees out.jsonl", 1, "no_trees: the folder has no files with trees"),
    ("convert moths.xyz out.json", 2, "a file name must end in one of .dis, "),
    ("convert moths.rsd out.json", 2, "moths.rsd: .rsd files can be written, but not read"),
    ("convert roots.rs3 out.json", 1, "roots.rs3:1: a tree must have one root, got 2 unattached units"),
    # Formats that are not known or not said.
    ("convert moths.json out.pdf", 2, "a file name must end in one of .dis, "),
    ("convert moths.json out.txt", 2, ".txt files can be read, but not written"),
    ("convert moths.json out", 2, "a folder has no suffix, so --to FORMAT is needed"),
    ("convert moths.json -", 2, "standard output has no suffix, so --to FORMAT is needed"),
    ("convert - out.json", 2, "standard input has no suffix, so --from FORMAT is needed"),
    ("convert moths.json out --to xyz", 2, "--to must be one of dis, rs3, rs4, json, jsonl, rsd, edus, txt, got xyz"),
    ("convert - out.json --from xyz", 2, "--from must be one of dis, "),
    ("convert - out.json --from rsd", 2, ": .rsd files can be written, but not read"),
    ("convert - out.json --from json", 1, "stdin.json:1: invalid JSON"),
    ("convert moths.json out.rs3 --from rs3", 2, "--from works only with standard input (-), got moths.json"),
    ("convert moths.json out.rs3 --to dis", 2, "--to works only with a folder or standard output (-), got out.rs3"),
    ("convert moths.json out.rs3 --binary --nary", 2, "argument --nary: not allowed with argument --binary"),
    # Files that would overwrite their source, and places where nothing can be written.
    ("convert moths.json moths.json", 2, "moths.json: the output must not overwrite an input"),
    (
        "convert moths.json twins/../moths.json --binary",
        2,
        "twins/../moths.json: the output must not overwrite an input",
    ),
    ("convert moths.json . --to json", 1, "moths.json: the output must not overwrite an input"),
    ("convert twins/moths.dis twins --to dis", 1, "twins/moths.dis: the output must not overwrite an input"),
    ("convert twins twins/moths.json", 2, "twins/moths.json: the output must not overwrite an input"),
    ("convert two.jsonl out.json", 2, "a .json file holds one document, got 2; write to a folder instead"),
    ("convert moths.json moths.pdf/out.dis", 1, "moths.pdf/out.dis: cannot be written: "),
    ("convert moths.json moths.pdf/out --to dis", 1, "moths.pdf/out/moths.dis: cannot be written: "),
    ("convert moths.edus out.dis", 2, "moths: the document must have a tree to be written as .dis"),
    ("convert moths.edus out --to rsd", 1, "moths: the document must have a tree to be written as .rsd"),
    # Documents that cannot be scored.
    ("evaluate missing moths.json", 1, "missing: no such file or folder"),
    ("evaluate moths.json missing", 1, "missing: no such file or folder"),
    ("evaluate moths.json moths.json --against missing", 1, "missing: no such file or folder"),
    ("evaluate moths.json binary.jsonl", 1, "binary.jsonl: the file must be text, got binary data"),
    ("evaluate moths.json empty.json", 1, "empty.json:1: invalid JSON"),
    ("evaluate empty.jsonl empty.jsonl", 1, "there are no documents to score"),
    ("evaluate two.jsonl moths.json", 1, "the same ids, each once: only in gold owls"),
    ("evaluate moths.json same.jsonl", 1, "the same ids, each once: twice in predicted moths"),
    (
        "evaluate moths.json text/moths.json",
        1,
        "moths: gold and predicted text must be the same except for white space",
    ),
    ("evaluate two.jsonl half.jsonl", 1, "owls: the document must have a tree, but is only segmented in predicted"),
    ("evaluate half.jsonl two.jsonl", 1, "owls: the document must have a tree, but is only segmented in gold"),
    ("evaluate moths.json moths.json --against moths.json", 2, "--against must differ from PRED"),
    ("evaluate moths.json segmented.json --relations", 2, "--relations needs trees, but segmented.json has only EDUs"),
    ("evaluate moths.json segmented.json --plot-confusion x.png", 2, "--plot-confusion needs trees"),
    ("evaluate moths.json moths.json --json --markdown", 2, "argument --markdown: not allowed with argument --json"),
    ("evaluate moths.json moths.json --plot x.gif", 2, "a plot file must end in one of .pdf, .png, .svg, got x.gif"),
    # Corpora that are not there or not like this.
    ("parse missing.txt --model nowhere", 1, "missing.txt: No such file or directory"),
    ("info missing", 1, "missing: no such file, folder or model (installed: en, en-generative)"),
    (
        "info no_trees/notes.txt",
        2,
        "no_trees/notes.txt: a raw text has no EDUs yet; run genrst parse",
    ),
    ("evaluate moths.json no_trees/notes.txt", 2, "notes.txt: a raw text has no EDUs yet"),
    ("info moths.json --split dev", 1, "moths.json/dev: no such folder; a split of a plain folder is a subfolder"),
    ("info gum --split tune", 2, "a split of gum must be one of train, dev, test, got 'tune'"),
    ("info gum --gum-version 7", 2, "a version of gum must be one of 11.1, 9.1, got '7'"),
    ("info gum --corpus rstdt", 1, "gum: not a folder of rstdt; it must have TRAINING and TEST"),
    ("info gum --corpus ptb", 2, "a corpus must be one of gum, rstdt, amalgum, pcc, "),
    (f"info {'x' * 5000}", 1, "File name too long"),
]


@pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")
@pytest.mark.parametrize(("line", "status", "message"), BREAKAGES, ids=[line[:60] for line, _, _ in BREAKAGES])
def test_whatever_goes_wrong_is_one_line(
    world: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    status: int,
    message: str,
):
    give_input(monkeypatch, b"")
    before = contents(world)
    outcome = call(capsys, *line.split(" "))
    assert outcome.status == status
    assert len(outcome.errors) == 1, outcome.messages
    assert outcome.errors[0].startswith("genrst: ")
    assert message in outcome.errors[0]
    assert all(message.startswith("genrst: ") for message in outcome.messages)
    assert outcome.output == ""
    assert contents(world) == before


def test_a_picture_that_cannot_be_written(world: Path, capsys: pytest.CaptureFixture[str]):
    (world / "folder.png").mkdir()
    for option in ("--plot", "--plot-confusion"):
        for path in ("moths.pdf/x.svg", "folder.png"):
            outcome = call(capsys, "evaluate", "moths.json", "moths.rs3", option, path)
            assert outcome.status == 1
            assert [line.split(": ")[:3] for line in outcome.messages] == [["genrst", path, "cannot be written"]]
            assert outcome.output == "", "nothing was scored in vain"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--version"], *[[verb, "--help"] for verb in VERBS]])
def test_help_and_version(capsys: pytest.CaptureFixture[str], arguments: list[str]):
    outcome = call(capsys, *arguments)
    assert (outcome.status, outcome.messages) == (0, [])
    if arguments == ["--version"]:
        assert outcome.output == f"genrst {VERSION}\n"
    else:
        assert outcome.output.startswith("usage: genrst")


def test_an_interruption_is_one_line(world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def interrupt(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "run", interrupt)
    outcome = call(capsys, "info", world)
    assert (outcome.status, outcome.output, outcome.messages) == (130, "", ["genrst: interrupted"])


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            raise KeyboardInterrupt

module, function, moment, *sys.argv[1:] = sys.argv[1:]
sys.meta_path.insert(0, Interrupt())
program = getattr(__import__(module, fromlist=[function]), function)
sys.exit(program())
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["genrst.document", "argparse", "genrst.cli.verbs.info", "genrst.parser.folders"])
def test_an_interruption_in_the_first_moments_is_one_line(moment: str):
    """As Ctrl-C while a module is imported."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entry = project["scripts"]["genrst"].split(":")
    command = [sys.executable, "-c", INTERRUPTED, *entry, moment, "info", "en"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "genrst: interrupted\n")


def test_help_is_light():
    """No help loads numpy, torch, spaCy or matplotlib."""
    program = (
        "import sys, io, contextlib\n"
        "from genrst.cli.main import main, VERBS\n"
        "for arguments in [['--help'], *([verb, '--help'] for verb in VERBS)]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main(arguments)\n"
        "print({'numpy', 'torch', 'spacy', 'matplotlib'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"


@pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")
def test_warnings_are_one_line_each(world: Path, capsys: pytest.CaptureFixture[str]):
    (world / "odd").mkdir()
    segments = '<segment id="1" parent="2" relname="x">a & b</segment><segment id="2"/>'
    for name in ("a", "b"):
        text = f"<rst><header/><body>{segments}</body></rst>"
        (world / "odd" / f"{name}\n.rs3").write_text(text, encoding="utf-8")
    outcome = call(capsys, "info", "odd")
    assert outcome.status == 0
    assert len(outcome.messages) == 4
    assert all(line.startswith(f"{WARNING}odd/") for line in outcome.messages)
    # The next run says it all again.
    assert call(capsys, "info", "odd").messages == outcome.messages


@pytest.mark.slow
def test_pipes_and_closed_streams(world: Path):
    big = [Document.from_edus(f"moths-{number}", EDUS * 30) for number in range(30)]
    write_documents(big, world / "big.jsonl")
    cases = {
        "genrst convert big.jsonl - --to jsonl | head -1 | wc -l": (0, "1\n", ""),
        "genrst info moths.json | true": (0, "", ""),
        "genrst convert - - --from json --to edus <&-": (1, "", "genrst: standard input is closed\n"),
        "genrst info moths.json >&-": (1, "", "genrst: standard output is closed\n"),
        "genrst convert moths.json - --to dis >&-": (1, "", "genrst: standard output is closed\n"),
        "genrst convert moths.json out.dis >&- && test -s out.dis": (0, "", ""),
        "genrst evaluate moths.json moths.rs3 2>&- | head -1 | cut -c 1-12": (0, "documents: 1\n", ""),
        "genrst info missing 2>&-": (1, "", ""),
        "genrst convert big.jsonl - --to jsonl >/dev/full": (
            1,
            "",
            "genrst: standard input or output: No space left on device\n",
        ),
    }
    results = {command: shell(command, world) for command in cases}
    found = {command: (result.returncode, result.stdout, result.stderr) for command, result in results.items()}
    assert found == cases


def test_output_in_poor_encodings(world: Path):
    write(Document.from_edus("ü", ["ein", "Käfer"], Unit("Lösung", "NN", (Leaf(0), Leaf(1)))), world / "käfer.json")
    assert "L\\xf6sung" in in_ascii("info", "käfer.json")
    # Files are UTF-8, wherever they go.
    assert in_ascii("convert", "käfer.json", "-", "--to", "edus") == "ein\nKäfer\n"


@pytest.mark.usefixtures("world")
def test_no_progress_bar_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    for command in ("convert two.jsonl out --to json", "info out", "evaluate out out"):
        outcome = call(capsys, *command.split())
        assert (outcome.status, outcome.messages) == (0, [])


@pytest.mark.usefixtures("world")
def test_a_progress_bar_on_a_terminal(capsys: pytest.CaptureFixture[str]):
    assert "reading:" in on_terminal("info", "moths.json", streams=("stderr",))
    output = capsys.readouterr().out
    assert "documents" in output
    assert "reading:" not in output


@pytest.mark.parametrize(("library", "extra"), [("torch", "torch"), ("spacy", "spacy"), ("pyarrow", "parquet")])
@pytest.mark.usefixtures("world")
def test_a_missing_library_is_one_line_with_the_command(library, extra, monkeypatch, capsys):
    def fail(_arguments: object) -> int:
        raise ModuleNotFoundError(f"No module named {library!r}", name=library)

    monkeypatch.setattr(info, "run", fail)
    assert main(["info", "moths.json"]) == 1
    assert capsys.readouterr().err == f"genrst: {library} is not installed: pip install 'genrst[{extra}]'\n"


@pytest.mark.slow
def test_the_package_is_the_program():
    command = [sys.executable, "-m", "genrst", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == f"genrst {VERSION}\n"
