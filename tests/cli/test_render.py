"""`genrst render`: every format, options, folders and pipes, and one line for whatever goes wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from genrst.cli.main import main
from genrst.document import Document, Signal
from genrst.formats.files import write, write_documents
from genrst.rendering.difference import render_difference_html, render_difference_svg
from genrst.rendering.page import render_html
from genrst.rendering.svg import Style, render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call, give_input, names, on_terminal

EDUS = ["Though small,", "bees dance,", "hum,", "and work."]
LIST = Unit("joint-list", "NNN", (Leaf(1), Leaf(2), Leaf(3)))
BEES = Document.from_edus("bees", EDUS, Unit("adversative-concession", "SN", (Leaf(0), LIST)))
PAIR = Unit("joint-list", "NN", (Leaf(2), Leaf(3)))
OTHER = replace(BEES, tree=Unit("adversative-contrast", "NNN", (Leaf(0), Leaf(1), PAIR)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(BEES, tmp_path / "bees.json")
    write(OTHER, tmp_path / "other.json")
    write(Document.from_edus("bees", EDUS), tmp_path / "segmented.json")
    write(
        Document.from_edus("ants", ["Ants", "march."], Unit("joint", "NN", (Leaf(0), Leaf(1)))), tmp_path / "ants.json"
    )
    write_documents([BEES, replace(BEES, id="wasps")], tmp_path / "two.jsonl")
    write_documents([BEES, BEES], tmp_path / "same.jsonl")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_format(folder: Path, capsys: pytest.CaptureFixture[str]):
    expected = {"svg": render_svg(BEES), "html": render_html(BEES), "txt": render_text(BEES)}
    for suffix, content in expected.items():
        outcome = call(capsys, "render", "bees.json", f"drawn.{suffix}")
        assert (outcome.status, outcome.output, outcome.messages) == (0, "", [])
        assert (folder / f"drawn.{suffix}").read_text(encoding="utf-8") == content
        outcome = call(capsys, "render", "bees.json", "-", "--to", suffix)
        assert (outcome.status, outcome.output) == (0, content)
    assert call(capsys, "render", "bees.json", "BEES.SVG").status == 0
    assert (folder / "BEES.SVG").read_text(encoding="utf-8") == expected["svg"]


def test_why(folder: Path, capsys: pytest.CaptureFixture[str]):
    signed = replace(BEES, signals=(Signal((0, 1), "dm", "dm", (1,)),))
    write(signed, folder / "signed.rs4")
    shown = 'adversative-concession ← "Though" 1–4\n'
    assert call(capsys, "render", "signed.rs4", "-", "--to", "txt", "--why").output.startswith(shown)
    assert call(capsys, "render", "signed.rs4", "-", "--to", "txt").output == render_text(BEES)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF-")])
def test_images(folder: Path, capsysbinary: pytest.CaptureFixture[bytes], suffix: str, start: bytes):
    pytest.importorskip("matplotlib")
    assert main(["render", "bees.json", f"bees.{suffix}"]) == 0
    assert (folder / f"bees.{suffix}").read_bytes().startswith(start)
    sure = replace(BEES, tree=Unit("joint", "NNNN", tuple(map(Leaf, range(4))), probability=0.4))
    write(sure, folder / "sure.json")
    assert main(["render", "sure.json", "-", "--to", suffix, "--style", "compact", "--colours", "certainty"]) == 0
    assert capsysbinary.readouterr().out.startswith(start)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("style", ["classic", "compact"])
def test_styles(capsys: pytest.CaptureFixture[str], style: Style):
    for suffix, content in {"svg": render_svg(BEES, style), "html": render_html(BEES, style)}.items():
        outcome = call(capsys, "render", "bees.json", "-", "--to", suffix, "--style", style)
        assert (outcome.status, outcome.output) == (0, content)


def test_colours(folder: Path, capsys: pytest.CaptureFixture[str]):
    tree = Unit("adversative", "SN", (Leaf(0), replace(LIST, probability=0.6)), probability=1.0)
    document = replace(BEES, tree=tree)
    write(document, folder / "sure.json")
    expected = {
        "svg": render_svg(document, colours="certainty"),
        "html": render_html(document, colours="certainty"),
        "txt": render_text(document, colours="certainty"),
    }
    for suffix, content in expected.items():
        outcome = call(capsys, "render", "sure.json", "-", "--to", suffix, "--colours", "certainty")
        assert (outcome.status, outcome.messages, outcome.output) == (0, [], content)
        outcome = call(capsys, "render", "sure.json", "-", "--to", suffix, "--colours", "relation")
        assert outcome.output == call(capsys, "render", "sure.json", "-", "--to", suffix).output
    write(BEES, folder / "in" / "bees.json")
    write(replace(document, id="sure"), folder / "in" / "sure.json")
    outcome = call(capsys, "render", "in", "out", "--to", "svg", "--colours", "certainty")
    assert (outcome.status, len(outcome.messages), names(folder / "out")) == (1, 1, ["sure.svg"])


@pytest.mark.usefixtures("folder")
def test_the_width_of_text(capsys: pytest.CaptureFixture[str]):
    for width in ("40", "60"):
        outcome = call(capsys, "render", "bees.json", "-", "--to", "txt", "--width", width)
        assert outcome.output == render_text(BEES, int(width))


@pytest.mark.usefixtures("folder")
def test_documents_without_a_tree(capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "render", "segmented.json", "-", "--to", "txt")
    assert (outcome.status, outcome.output.splitlines()) == (0, [f"{n} {edu}" for n, edu in enumerate(EDUS, 1)])


def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    give_input(monkeypatch, (folder / "bees.json").read_bytes())
    outcome = call(capsys, "render", "-", "-", "--from", "json", "--to", "svg")
    assert (outcome.status, outcome.output) == (0, render_svg(BEES))


def test_folders(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(BEES, folder / "in" / "insects" / "bees.rs3")
    write(replace(BEES, id="a"), folder / "in" / "a.json")
    (folder / "in" / "broken.json").write_text("{", encoding="utf-8")
    outcome = call(capsys, "render", "in", "out", "--to", "svg")
    assert outcome.status == 1
    assert [line.split(":")[1] for line in outcome.messages] == [" in/broken.json"]
    assert names(folder / "out") == ["a.svg", "insects/bees.svg"]
    assert call(capsys, "render", "two.jsonl", "two/", "--to", "html").status == 0
    assert names(folder / "two") == ["bees.html", "wasps.html"]


@pytest.mark.usefixtures("folder")
def test_differences(capsys: pytest.CaptureFixture[str]):
    pair = "bees.json", "other.json"
    expected = {
        ("--to", "html"): render_difference_html(BEES, OTHER, names=pair),
        ("--to", "svg"): render_difference_svg(BEES, OTHER, names=pair),
        ("--to", "svg", "--labels", "fine"): render_difference_svg(BEES, OTHER, "fine", pair),
        ("--to", "svg", "--style", "compact"): render_difference_svg(BEES, OTHER, names=pair),
    }
    for options, content in expected.items():
        outcome = call(capsys, "render", "bees.json", "-", *options, "--against", "other.json")
        assert (outcome.status, outcome.messages, outcome.output) == (0, [], content)


def test_differences_of_folders_are_paired_by_id(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_documents([replace(OTHER, id="wasps"), OTHER], folder / "predicted.jsonl")
    assert call(capsys, "render", "two.jsonl", "out", "--to", "svg", "--against", "predicted.jsonl").status == 0
    assert names(folder / "out") == ["bees.svg", "wasps.svg"]
    outcome = call(capsys, "render", "two.jsonl", "half", "--to", "svg", "--against", "other.json")
    assert outcome.status == 1
    assert outcome.messages == ["genrst: other.json: no document 'wasps' to compare with"]
    assert names(folder / "half") == ["bees.svg"]


def test_one_document_is_compared_with_one_whatever_their_names(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(replace(OTHER, id="other"), folder / "renamed.json")
    outcome = call(capsys, "render", "bees.json", "out.svg", "--against", "renamed.json")
    assert (outcome.status, outcome.messages) == (0, [])


BREAKAGES = [
    ("render", 2, "the following arguments are required: IN, OUT"),
    ("render missing.json out.svg", 1, "missing.json: No such file or directory"),
    ("render broken.json out.svg", 1, "broken.json:1: invalid JSON"),
    ("render empty.jsonl out.svg", 1, "empty.jsonl: no documents to draw"),
    ("render bees.json out.gif", 2, "OUT must end in one of .svg, .html, .png, .pdf, .txt, got out.gif"),
    ("render bees.json out", 2, "a folder has no suffix, so --to FORMAT is needed"),
    ("render bees.json -", 2, "standard output has no suffix, so --to FORMAT is needed"),
    ("render bees.json - --to rs3", 2, "--to must be one of svg, html, png, pdf, txt, got rs3"),
    ("render bees.json out.svg --to svg", 2, "--to works only with a folder or standard output (-), got out.svg"),
    ("render - out.svg", 2, "standard input has no suffix, so --from FORMAT is needed"),
    ("render bees.json out.svg --from json", 2, "--from works only with standard input (-), got bees.json"),
    ("render bees.json out.txt --style classic", 2, "--style does not apply to .txt"),
    ("render bees.json out.svg --width 60", 2, "--width applies only to .txt, got .svg"),
    ("render bees.json out.svg --labels fine", 2, "--labels works only with --against"),
    (
        "render bees.json out.svg --colours certainty",
        1,
        "bees: the units have no probabilities; parse the document with a chart",
    ),
    ("render segmented.json out.html --colours certainty", 1, "bees: the document must have a tree"),
    (
        "render bees.json out.svg --colours relation --against other.json",
        2,
        "--colours cannot be combined with --against",
    ),
    ("render bees.json out.txt --against other.json", 2, "--against can draw only .svg, .html, .png, .pdf, got .txt"),
    ("render bees.json out.svg --against other.json --style classic", 2, "--against draws only --style compact"),
    ("render bees.json out.svg --against missing.json", 1, "missing.json: No such file or directory"),
    ("render bees.json out.svg --against segmented.json", 1, "bees: the document must have a tree"),
    ("render bees.json out.svg --against ants.json", 1, "bees: gold and predicted text must be the same"),
    ("render bees.json out.svg --against same.jsonl", 1, "same.jsonl: two documents have the same id"),
    ("render bees.json out.svg --against empty.jsonl", 1, "no document 'bees' to compare with"),
    ("render two.jsonl out.svg", 2, "a .svg file holds one document, got 2; write to a folder instead"),
    ("render bees.json bees.json/out.svg", 1, "bees.json/out.svg: cannot be written: "),
]


@pytest.mark.parametrize(("line", "status", "message"), BREAKAGES, ids=[line for line, _, _ in BREAKAGES])
def test_whatever_goes_wrong_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, status: int, message: str
):
    before = contents(folder)
    outcome = call(capsys, *line.split(" "))
    assert outcome.status == status
    assert len(outcome.messages) == 1, outcome.messages
    assert outcome.messages[0].startswith("genrst: ")
    assert message in outcome.messages[0]
    assert outcome.output == ""
    assert contents(folder) == before


def test_a_picture_never_overwrites_its_source(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "bees.txt").write_text("Bees dance,\nhum.\n", encoding="utf-8")
    before = contents(folder)
    outcome = call(capsys, "render", "bees.txt", "bees.txt")
    assert (outcome.status, outcome.messages) == (2, ["genrst: bees.txt: the output must not overwrite an input"])
    assert contents(folder) == before


@pytest.mark.usefixtures("folder")
def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("NO_COLOR", raising=False)
    command = ["render", "bees.json", "-", "--to", "txt"]
    assert on_terminal(*command, columns=50) == render_text(BEES, 50, colour=True)
    assert on_terminal(*command, "--width", "60", columns=50) == render_text(BEES, 60, colour=True)
    assert call(capsys, *command).output == render_text(BEES)
    monkeypatch.setenv("NO_COLOR", "1")
    assert on_terminal(*command, columns=50) == render_text(BEES, 50)
