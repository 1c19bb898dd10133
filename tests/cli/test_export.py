"""`genrst export`: every export in every format, folders and streams, and one line for whatever goes wrong."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.cli.verbs.export import FORMATS
from genrst.document import Document, Signal
from genrst.formats.files import write, write_documents
from genrst.formats.json_format import write_json
from genrst.outputs.chunks import chunk_rows
from genrst.outputs.features import feature_rows
from genrst.outputs.summary import summary_rows
from genrst.outputs.tables import Row, dependency_rows, unit_rows
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call, give_input, shell
from tests.miniatures import write_gum
from tests.outputs.samples import chain, ferry, one_edu, segmented, textless

HOSTILE = ['=1+1 "x", <script>', "\x1b[31mred\x9b0m\x07", "two\nlines\u202e"]

EXPECTED: dict[str, list[Row]] = {
    "summary": [*summary_rows(ferry())],
    "summary --size 3": [*summary_rows(ferry(), n_edus=3)],
    "summary --size 62.5%": [*summary_rows(ferry(), share=0.625)],
    "chunks": [*chunk_rows(ferry())],
    "chunks --tokens 14": [*chunk_rows(ferry(), 14)],
    "units": [*unit_rows(ferry())],
    "dependencies": [*dependency_rows(ferry(), "li")],
    "dependencies --scheme hirao": [*dependency_rows(ferry(), "hirao")],
    "features": [*feature_rows([ferry()])],
    "profile": [*feature_rows([ferry()])],
    "features --inventory gum": [*feature_rows([ferry()], "gum")],
    "profile --inventory open": [*feature_rows([ferry()], "open")],
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the working one, with some documents."""
    monkeypatch.chdir(tmp_path)
    write(ferry(), tmp_path / "ferry.json")
    write(one_edu(), tmp_path / "corpus" / "one.json")
    write(replace(ferry(), id="other"), tmp_path / "corpus" / "other.json")
    write(segmented(), tmp_path / "segmented.json")
    tree = Unit("jo\x1bint", "NNN", tuple(map(Leaf, range(3))))
    write_documents([Document.from_edus("bad\x1b[1m", HOSTILE, tree), ferry()], tmp_path / "hostile.jsonl")
    write(textless(ferry()), tmp_path / "textless.json")
    return tmp_path


def read_lines(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("what", EXPECTED)
@pytest.mark.parametrize("option", ["--json", "--format json"])
def test_json(world: Path, capsys: pytest.CaptureFixture[str], what: str, option: str):
    outcome = call(capsys, "export", world / "ferry.json", "--what", *what.split(), *option.split())
    assert (outcome.status, outcome.messages) == (0, [])
    assert read_lines(outcome.output) == EXPECTED[what]


@pytest.mark.parametrize("what", EXPECTED)
@pytest.mark.parametrize("suffix", FORMATS)
def test_files(world: Path, capsys: pytest.CaptureFixture[str], what: str, suffix: str):
    """The suffix says the format; nothing is printed."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = world / f"out{suffix}"
    outcome = call(capsys, "export", "ferry.json", "--what", *what.split(), "--output", path)
    assert (outcome.status, outcome.output, outcome.messages) == (0, "", [])
    content = path.read_bytes()
    if suffix == ".parquet":
        from pyarrow import parquet

        assert parquet.read_table(io.BytesIO(content)).to_pylist() == EXPECTED[what]
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in EXPECTED[what]]
        assert [list(row.values()) for row in rows] == cells
    elif suffix != ".txt":
        assert read_lines(content.decode()) == EXPECTED[what]
    else:
        printed = call(capsys, "export", "ferry.json", "--what", *what.split())
        assert content.decode() == printed.output


@pytest.mark.usefixtures("world")
def test_text(capsys: pytest.CaptureFixture[str]):
    def text(*arguments: str) -> str:
        outcome = call(capsys, "export", *arguments)
        assert (outcome.status, outcome.messages) == (0, [])
        return outcome.output

    assert text("ferry.json", "--what", "summary") == "The ferry to Skara stops in May.\n"
    assert text("ferry.json", "--what", "chunks", "--tokens", "14").startswith(
        "[0:32] 1 circumstance:N > reason:N\nThe ferry to Skara stops in May.\n\n[33:114] 2–3 circumstance:N > reason:S"
    )
    header, root, *_ = text("ferry.json", "--what", "units").splitlines()
    assert header.split()[:3] == ["id", "parent", "depth"]
    assert root.split()[:7] == ["0", "0", "root", "False", "1", "8", "0"]
    assert root.endswith("The ferry to Skara stops in May. The harbour is too shallow…")
    assert "\n2    1     reason" in text("ferry.json", "--what", "dependencies")
    profile = text("ferry.json", "--what", "profile").splitlines()
    assert ["n_edus", "8"] in [line.split() for line in profile]
    assert ["promoted_first", "0"] in [line.split() for line in profile]
    assert not any(line.startswith(("count_cause", "n_sentences", "pair_cause")) for line in profile)
    assert ["motif_NN_right_EDU", "0.1429"] in [line.split() for line in profile]


def test_several_documents_have_titles(world: Path, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "export", world / "corpus", "--what", "summary")
    assert outcome.output == "# one\nAll is well.\n\n# other\nThe ferry to Skara stops in May.\n"
    outcome = call(capsys, "export", "corpus", "--what", "units", "--json")
    assert [row["document"] for row in read_lines(outcome.output)] == ["one"] + ["other"] * 15


@pytest.mark.usefixtures("world")
def test_profiles_of_a_folder_have_the_same_columns(capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "export", "corpus", "--what", "profile", "--json")
    one, other = read_lines(outcome.output)
    assert list(one) == list(other)
    assert (one["count_explanation"], other["count_explanation"]) == (0, 2)


@pytest.mark.parametrize("what", ["summary --size 3", "chunks --tokens 1", "units", "dependencies", "profile"])
@pytest.mark.usefixtures("world")
def test_no_text_commands_the_terminal(capsys: pytest.CaptureFixture[str], what: str):
    """Texts, relations and names of documents are shown, not obeyed."""
    outcome = call(capsys, "export", "hostile.jsonl", "--what", *what.split())
    assert outcome.status == 0
    assert "# bad␛[1m" in outcome.output
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(outcome.output)
    data = call(capsys, "export", "hostile.jsonl", "--what", *what.split(), "--json")
    assert not {"\x1b", "\x9b", "\x07"} & set(data.output)


def test_data_hold_the_text_as_it_is(world: Path, capsys: pytest.CaptureFixture[str]):
    rows = read_lines(call(capsys, "export", "hostile.jsonl", "--what", "dependencies", "--json").output)
    assert [row["text"] for row in rows[:3]] == HOSTILE
    call(capsys, "export", "hostile.jsonl", "--what", "dependencies", "--output", "out.csv")
    table = csv.DictReader(io.StringIO((world / "out.csv").read_bytes().decode(), newline=""))
    assert [row["text"] for row in table][:3] == HOSTILE


@pytest.mark.parametrize("what", ["summary", "chunks", "units", "dependencies", "profile"])
@pytest.mark.usefixtures("world")
def test_documents_without_text(capsys: pytest.CaptureFixture[str], what: str):
    for format in ("text", "json", "csv"):
        outcome = call(capsys, "export", "textless.json", "--what", what, "--format", format)
        assert (outcome.status, outcome.messages) == (0, [])
        assert "ferry to Skara" not in outcome.output
        assert outcome.output


@pytest.mark.slow
def test_deep_trees(world: Path, capsys: pytest.CaptureFixture[str]):
    write(chain(1500, "NS", True), world / "deep.json")
    for what in ("summary", "chunks", "units", "dependencies", "profile"):
        outcome = call(capsys, "export", "deep.json", "--what", what, "--output", f"{what}.txt")
        assert (outcome.status, outcome.messages) == (0, [])


def test_sentences_come_from_a_corpus(world: Path, capsys: pytest.CaptureFixture[str]):
    write_gum(world / "gum")
    outcome = call(capsys, "export", "gum", "--split", "dev", "--what", "profile", "--json")
    [row] = read_lines(outcome.output)
    assert (row["n_sentences"], row["edus_per_sentence"]) == (2, 1.5)


@pytest.mark.usefixtures("world")
def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    give_input(monkeypatch, write_json(ferry()).encode())
    outcome = call(capsys, "export", "-", "--from", "json", "--what", "units", "--json")
    assert read_lines(outcome.output) == EXPECTED["units"]
    assert call(capsys, "export", "ferry.json", "--what", "units", "--json", "--output", "-").output == outcome.output


def test_one_bad_document_does_not_stop_the_others(world: Path, capsys: pytest.CaptureFixture[str]):
    (world / "corpus" / "empty.json").touch()
    write(replace(segmented(), id="bare"), world / "corpus" / "bare.json")
    outcome = call(capsys, "export", "corpus", "--what", "summary", "--json")
    assert outcome.status == 1
    assert {row["document"] for row in read_lines(outcome.output)} == {"one", "other"}
    assert outcome.messages[0] == "genrst: bare: the document must have a tree, but is only segmented"
    assert outcome.messages[1].startswith("genrst: corpus/empty.json:1: invalid JSON")
    assert len(outcome.messages) == 2


@pytest.mark.slow
def test_streams(world: Path):
    cases = {
        "genrst export ferry.json --what units --format csv | head -1 | cut -c 1-11": (0, "document,id\n", ""),
        "genrst export ferry.json --what units --json | true": (0, "", ""),
        "genrst export ferry.json --what units >&-": (1, "", "genrst: standard output is closed\n"),
        "genrst export - --from json --what units <&-": (1, "", "genrst: standard input is closed\n"),
    }
    results = {command: shell(command, world) for command in cases}
    assert {name: (result.returncode, result.stdout, result.stderr) for name, result in results.items()} == cases


BREAKAGES = [
    ("ferry.json", 2, "the following arguments are required: --what"),
    ("ferry.json --what poem", 2, "argument --what: invalid choice: 'poem'"),
    ("ferry.json --what units --format xlsx", 2, "argument --format: invalid choice: 'xlsx'"),
    ("ferry.json --what units --format csv --json", 2, "argument --json: not allowed with argument --format"),
    (
        "ferry.json --what units --format parquet",
        2,
        "--format parquet cannot be written to standard output; use --output PATH",
    ),
    ("ferry.json --what units --output out.xlsx", 2, "--output must end in one of .txt, .csv, .json, .jsonl, .parquet"),
    ("ferry.json --what units --output ferry.json", 2, "ferry.json: the output must not overwrite an input"),
    ("corpus --what units --output corpus/one.json", 2, "corpus/one.json: the output must not overwrite an input"),
    ("ferry.json --what units --output ferry.json/x.csv", 1, "ferry.json/x.csv: cannot be written"),
    ("ferry.json --what units --size 5", 2, "--size works only with --what summary, got units"),
    ("ferry.json --what summary --tokens 5", 2, "--tokens works only with --what chunks, got summary"),
    ("ferry.json --what units --scheme li", 2, "--scheme works only with --what dependencies, got units"),
    ("ferry.json --what units --inventory gum", 2, "--inventory works only with --what features, got units"),
    ("ferry.json --what units --uncertainty en", 2, "--uncertainty works only with --what features, got units"),
    ("ferry.json --what features --uncertainty nothing", 1, "no model or folder named 'nothing'"),
    ("ferry.json --what summary --size some", 2, "--size must be a share of the words (20%), a number of words (100w)"),
    ("ferry.json --what summary --size -5", 2, "or of EDUs (5), got -5"),
    (f"ferry.json --what summary --size {'9' * 5000}", 2, "--size must be a share"),
    ("ferry.json --what summary --size 0", 2, "or of EDUs (5), got 0"),
    ("ferry.json --what summary --size 0%", 2, "or of EDUs (5), got 0%"),
    ("ferry.json --what summary --size 120%", 2, "or of EDUs (5), got 120%"),
    ("ferry.json --what chunks --tokens 0", 2, "the number of tokens per chunk must be 1 or more, got 0"),
    ("ferry.json --what chunks --tokens many", 2, "argument --tokens: invalid int value: 'many'"),
    ("- --what units", 2, "standard input has no suffix, so --from FORMAT is needed"),
    ("ferry.json --what units --from rs3", 2, "--from works only with standard input (-), got ferry.json"),
    ("- --what units --from xyz", 2, "docx, pdf, eml, got xyz"),
    ("missing.json --what units", 1, "missing.json: no such file or folder"),
    ("segmented.json --what units", 1, "ferry: the document must have a tree, but is only segmented"),
    ("segmented.json --what units --output out.csv", 1, "ferry: the document must have a tree, but is only segmented"),
    ("empty.jsonl --what units", 1, "empty.jsonl: no documents to export"),
]


@pytest.mark.parametrize(("line", "status", "message"), BREAKAGES, ids=[line[:60] for line, _, _ in BREAKAGES])
def test_whatever_goes_wrong_is_one_line(
    world: Path, capsys: pytest.CaptureFixture[str], line: str, status: int, message: str
):
    (world / "empty.jsonl").touch()
    before = {path: path.read_bytes() for path in world.rglob("*") if path.is_file()}
    outcome = call(capsys, "export", *line.split())
    assert (outcome.status, outcome.output, len(outcome.messages)) == (status, "", 1), outcome.messages
    assert message in outcome.messages[0]
    assert {path: path.read_bytes() for path in world.rglob("*") if path.is_file()} == before


def test_an_index_of_markers(world: Path, capsys: pytest.CaptureFixture[str]):
    document = replace(ferry(), signals=(Signal((2, 3), "dm", "dm", (1,)),))
    for name in ("a", "b"):
        write(replace(document, id=name), world / "marked" / f"{name}.json")
    outcome = call(capsys, "export", "marked", "--what", "markers", "--format", "csv")
    assert outcome.status == 0
    (row,) = csv.DictReader(io.StringIO(outcome.output))
    word = (document.text or "").split()[0].lower()
    assert (row["marker"], row["type"], row["count"]) == (word, "dm", "2")
    write(ferry(), world / "plain.json")
    outcome = call(capsys, "export", "plain.json", "--what", "markers")
    assert outcome.status == 1
    assert outcome.errors == [
        f"genrst: {ferry().id}: no signals to export as markers; parse with --why to find signals"
    ]
