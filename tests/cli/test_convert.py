"""`genrst convert`: every option, folders and pipes, and nothing that is lost on the way."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.cli.main import main
from genrst.document import Document, SecondaryEdge, Signal
from genrst.formats.files import format_documents, read, read_documents, write, write_documents
from genrst.trees.binarise import binarise
from genrst.trees.node import Leaf, Unit
from tests.cli.program import WARNING, call, give_input, names

pytestmark = pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")

LIST = Unit("joint-list", "NNN", (Leaf(1), Leaf(2), Leaf(3)))
TREE = Unit("adversative-concession", "SN", (Leaf(0), LIST))
DOCUMENT = Document.from_edus("bees", ["Though small ,", "bees dance ,", "hum ,", "and work ."], TREE, {1})
LAYERED = replace(
    DOCUMENT, signals=(Signal((0, 1), "dm", "dm", (1,)),), secondary_edges=(SecondaryEdge((0, 1), (1, 2), "x"),)
)
ROOTS = "".join(f"<segment {place}>x</segment>" for place in ('id="1" parent="2" relname="r"', 'id="2"', 'id="3"'))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(DOCUMENT, tmp_path / "bees.json")
    return tmp_path


@pytest.mark.parametrize("target", [".dis", ".rs3", ".rs4", ".json", ".jsonl", ".RS3"])
@pytest.mark.parametrize("source", [".dis", ".rs3", ".rs4", ".json", ".jsonl"])
def test_trees_pass_through_every_pair_of_formats(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, target: str
):
    write(DOCUMENT, folder / f"in{source}")
    before = (folder / f"in{source}").read_bytes()
    outcome = call(capsys, "convert", f"in{source}", f"out{target}")
    assert (outcome.status, outcome.output, outcome.messages) == (0, "", [])
    converted = read(folder / f"out{target}")
    assert (converted.tree, converted.edu_texts) == (TREE, DOCUMENT.edu_texts)
    assert (folder / f"in{source}").read_bytes() == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", [".dis", ".rs3", ".rs4", ".json", ".jsonl", ".rsd", ".edus"])
def test_standard_output_is_what_a_file_would_be(capsys: pytest.CaptureFixture[str], suffix: str):
    for option in (suffix, suffix.removeprefix("."), suffix.upper()):
        outcome = call(capsys, "convert", "bees.json", "-", "--to", option)
        assert (outcome.status, outcome.output) == (0, format_documents([DOCUMENT], suffix))


@pytest.mark.parametrize("suffix", ["dis", "rs3", "rs4", "json", "jsonl", "edus", "txt"])
def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, suffix: str):
    written = ".edus" if suffix == "txt" else f".{suffix}"
    give_input(monkeypatch, format_documents([replace(DOCUMENT, id="stdin")], written).encode())
    options = ["--edus"] if suffix == "txt" else []
    outcome = call(capsys, "convert", "-", "out", "--from", suffix, "--to", "json", *options)
    assert (outcome.status, outcome.messages) == (0, [])
    document = read(folder / "out" / "stdin.json")
    assert document.edu_texts == DOCUMENT.edu_texts
    assert document.tree == (None if suffix in ("edus", "txt") else TREE)


def test_standard_input_has_no_text_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    write(DOCUMENT, folder / "bees.dis")
    (folder / "stdin").write_text("something else", encoding="utf-8")
    (folder / "-").mkdir()
    give_input(monkeypatch, (folder / "bees.dis").read_bytes())
    outcome = call(capsys, "convert", "-", "-", "--from", "dis", "--to", "edus")
    assert (outcome.status, outcome.messages) == (0, [])
    assert outcome.output == format_documents([DOCUMENT], ".edus")
    give_input(monkeypatch, (folder / "bees.dis").read_bytes())
    outcome = call(capsys, "convert", "-", "out", "--from", "dis", "--to", "rsd")
    assert (outcome.status, outcome.messages) == (0, [])
    assert "out/stdin.rsd" in names(folder)


def test_binary_and_nary(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert call(capsys, "convert", "bees.json", "binary.json", "--binary").status == 0
    assert read(folder / "binary.json").tree == binarise(TREE)
    assert call(capsys, "convert", "binary.json", "nary.dis", "--nary").status == 0
    assert read(folder / "nary.dis").tree == TREE
    assert read(folder / "bees.json") == DOCUMENT


def test_coarse_labels(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert call(capsys, "convert", "bees.json", "coarse.json", "--labels", "coarse").status == 0
    joint = Unit("joint", "NNN", LIST.children)
    assert read(folder / "coarse.json").tree == Unit("adversative", "SN", (Leaf(0), joint))
    assert call(capsys, "convert", "bees.json", "fine.json", "--labels", "fine").status == 0
    assert read(folder / "fine.json") == DOCUMENT
    write(Document.from_edus("wsj", ["a", "b"], Unit("Attribution-e", "SN", (Leaf(0), Leaf(1)))), folder / "wsj.dis")
    assert call(capsys, "convert", "wsj.dis", "wsj.json", "--labels", "coarse", "--binary").status == 0
    assert read(folder / "wsj.json").tree == Unit("attribution", "SN", (Leaf(0), Leaf(1)))


def test_joined_roots(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "roots.rs3").write_text(f"<rst><header/><body>{ROOTS}</body></rst>", encoding="utf-8")
    assert call(capsys, "convert", "roots.rs3", "roots.dis", "--roots", "error").status == 1
    assert call(capsys, "convert", "roots.rs3", "roots.dis", "--roots", "join").status == 0
    assert repr(read(folder / "roots.dis").tree) == "(virtual-root NN (r SN 0 1) 2)"


def test_documents_without_trees(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "bees.edus").write_text("Bees dance\n\nand hum\n", encoding="utf-8")
    for option in ("--binary", "--nary", "--labels=coarse"):
        assert call(capsys, "convert", "bees.edus", "bees.rs3", option).status == 0
        assert read(folder / "bees.rs3", with_tree=False).edu_texts == ["Bees dance", "and hum"]


def write_tree_of_files(folder: Path) -> None:
    for name in ("corpus/a.rs3", "corpus/sub/b.dis", "corpus/sub/deep/c.json", "corpus/d.RS4"):
        write(replace(DOCUMENT, id=Path(name).stem), folder / name)
    many = [replace(DOCUMENT, id=id) for id in ("x/1", "x 2")]
    write_documents(many, folder / "corpus" / "many.jsonl")
    (folder / "corpus" / "README.txt").write_text("not a tree\n", encoding="utf-8")


def test_a_folder_to_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_tree_of_files(folder)
    before = {path: path.read_bytes() for path in (folder / "corpus").rglob("*") if path.is_file()}
    for target in ("out", "out.d/", f"{folder}/absolute"):
        outcome = call(capsys, "convert", "corpus", target, "--to", "json")
        assert (outcome.status, outcome.errors) == (0, [])
        written = ["a.json", "d.json", "sub/b.json", "sub/deep/c.json", "x 2.json", "x_1.json"]
        assert names(folder / target) == written
        assert [read(folder / target / name).tree for name in written] == [TREE] * 6
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_into_itself(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(DOCUMENT, folder / "corpus" / "a" / "bees.dis")
    assert call(capsys, "convert", "corpus", "corpus", "--to", "rs3").status == 0
    assert names(folder / "corpus") == ["a/bees.dis", "a/bees.rs3"]
    # Now there is the outcome of the first run, which is none of the files to convert until somebody changes it.
    outcome = call(capsys, "convert", "corpus", "corpus", "--to", "rs3", "--binary")
    assert outcome.status == 0
    assert outcome.messages == ["genrst: corpus/: 1 file was left out: a/bees.rs3 (written by an earlier run)"]
    path = folder / "corpus/a/bees.rs3"
    path.write_bytes(before := path.read_bytes() + b"\n")
    outcome = call(capsys, "convert", "corpus", "corpus", "--to", "rs3", "--binary")
    assert outcome.status == 1
    assert "the output must not overwrite an input" in outcome.messages[0]
    assert path.read_bytes() == before


def test_a_folder_to_one_file(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_tree_of_files(folder)
    assert call(capsys, "convert", "corpus", "corpus.jsonl").status == 0
    ids = [document.id for document in read_documents(folder / "corpus.jsonl")]
    assert ids == ["a", "d", "x/1", "x 2", "b", "c"]
    outcome = call(capsys, "convert", "corpus", "-", "--to", "jsonl")
    assert outcome.output == (folder / "corpus.jsonl").read_text(encoding="utf-8")
    # A file inside the folder must not swallow itself in the next run.
    assert call(capsys, "convert", "corpus", "corpus/all.jsonl").status == 0
    before = (folder / "corpus/all.jsonl").read_bytes()
    assert call(capsys, "convert", "corpus", "corpus/all.jsonl").status == 0
    assert (folder / "corpus/all.jsonl").read_bytes() == before


def test_one_bad_file_does_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a.rs3", "c.json", "e.dis"):
        write(replace(DOCUMENT, id=Path(name).stem), folder / "corpus" / name)
    (folder / "corpus/b.json").write_text('{"edus": 7}', encoding="utf-8")
    (folder / "corpus/d.rs3").write_bytes(b"\0")
    for target in (["out", "--to", "dis"], ["out.jsonl"], ["-", "--to", "jsonl"]):
        outcome = call(capsys, "convert", "corpus", *target)
        assert outcome.status == 1
        starts = [message.split(": ")[:2] for message in outcome.messages]
        assert starts == [["genrst", "corpus/b.json"], ["genrst", "corpus/d.rs3"]]
    assert names(folder / "out") == ["a.dis", "c.dis", "e.dis"]
    assert [document.id for document in read_documents(folder / "out.jsonl")] == ["a", "c", "e"]


def test_when_all_files_are_bad(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a.json", "b.json"):
        (folder / "corpus").mkdir(exist_ok=True)
        (folder / "corpus" / name).write_text("{", encoding="utf-8")
    for target in (["out", "--to", "dis"], ["out.jsonl"]):
        outcome = call(capsys, "convert", "corpus", *target)
        assert (outcome.status, len(outcome.messages)) == (1, 2)
    assert not (folder / "out").exists()
    assert not (folder / "out.jsonl").exists()


def test_documents_that_a_format_cannot_hold_do_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]):
    segmented = Document.from_edus("b", ["no tree", "here"])
    write_documents([replace(DOCUMENT, id="a"), segmented, replace(DOCUMENT, id="c")], folder / "some.jsonl")
    outcome = call(capsys, "convert", "some.jsonl", "out", "--to", "dis")
    assert outcome.status == 1
    expected = "genrst: b: the document must have a tree to be written as .dis, but is only segmented"
    assert outcome.messages == [expected]
    assert names(folder / "out") == ["a.dis", "c.dis"]


def test_files_that_would_become_one(folder: Path, capsys: pytest.CaptureFixture[str]):
    write(replace(DOCUMENT, id="a"), folder / "corpus/a.dis")
    write(replace(DOCUMENT, id="a"), folder / "corpus/b.json")
    outcome = call(capsys, "convert", "corpus", "out", "--to", "rs3")
    assert outcome.status == 1
    assert outcome.messages == ["genrst: corpus/a.dis: a and corpus/b.json: a would both become out/a.rs3"]
    write_documents([replace(DOCUMENT, id="x/y"), replace(DOCUMENT, id="x_y")], folder / "two.jsonl")
    outcome = call(capsys, "convert", "two.jsonl", "out2", "--to", "rs3")
    assert outcome.messages == ["genrst: two.jsonl: x/y and two.jsonl: x_y would both become out2/x_y.rs3"]


def test_ids_that_are_no_file_names(folder: Path, capsys: pytest.CaptureFixture[str]):
    ids = ["", "..", "../up", "nul\0", "line\nend", "\ud800", "x" * 240]
    write_documents([replace(DOCUMENT, id=id) for id in ids], folder / "odd.jsonl")
    outcome = call(capsys, "convert", "odd.jsonl", "out", "--to", "json")
    assert (outcome.status, outcome.messages) == (0, [])
    expected = ["...json", ".._up.json", "_.json", "document.json", "line_end.json", "nul_.json", "x" * 240 + ".json"]
    assert names(folder / "out") == sorted(expected)
    assert sorted(read(path).id for path in (folder / "out").glob("*.json")) == sorted(ids)
    write(replace(DOCUMENT, id="x" * 300), folder / "long.json")
    outcome = call(capsys, "convert", "long.json", "out", "--to", "dis")
    assert (outcome.status, outcome.messages[0].split(": ")[-1]) == (1, "File name too long")


def test_characters_that_no_encoding_has(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]):
    write(Document.from_edus("odd", ["a\ud800", "b"], Unit("x", "NN", (Leaf(0), Leaf(1)))), folder / "odd.json")
    assert main(["convert", "odd.json", "-", "--to", "edus"]) == 2
    output, message = capsysbinary.readouterr()
    assert (output, message.count(b"\n")) == (b"", 1)
    assert message.startswith(b"genrst: odd: .edus files cannot hold the character U+")
    assert main(["convert", "odd.json", "-", "--to", "json"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["text"] == "a\ud800 b"


@pytest.mark.parametrize("suffix", [".rs4", ".json", ".jsonl", ".RS4"])
def test_signals_and_secondary_edges_are_kept(folder: Path, capsys: pytest.CaptureFixture[str], suffix: str):
    write(LAYERED, folder / "layers.json")
    outcome = call(capsys, "convert", "layers.json", f"out{suffix}")
    assert (outcome.status, outcome.messages) == (0, [])
    converted = read(folder / f"out{suffix}")
    assert (converted.signals, converted.secondary_edges) == (LAYERED.signals, LAYERED.secondary_edges)


@pytest.mark.parametrize("suffix", [".rs3", ".dis", ".edus"])
def test_what_a_format_loses_is_said(folder: Path, capsys: pytest.CaptureFixture[str], suffix: str):
    write(LAYERED, folder / "bees.json")
    expected = [f"{WARNING}bees: {suffix} files cannot hold signals or secondary edges; 2 are left out"]
    assert call(capsys, "convert", "bees.json", f"out{suffix}").messages == expected
    assert call(capsys, "convert", "bees.json", "-", "--to", suffix).messages == expected
    assert call(capsys, "convert", "bees.json", "out", "--to", suffix).messages == expected


def test_losses_name_the_documents_that_lose(folder: Path, capsys: pytest.CaptureFixture[str]):
    some = [replace(LAYERED if number % 2 else DOCUMENT, id=f"d{number}") for number in range(9)]
    write_documents(some, folder / "some.jsonl")
    outcome = call(capsys, "convert", "some.jsonl", "out", "--to", "rs3")
    assert [message.removeprefix(WARNING).split(":")[0] for message in outcome.messages] == ["d1", "d3", "d5", "d7"]
    assert names(folder / "out") == [f"d{number}.rs3" for number in range(9)]


@pytest.mark.parametrize(
    ("model", "suffix", "options", "n_children"),
    [("en", ".rs3", (), 3), ("en", ".rs3", ("--binary",), 2), ("en", ".json", (), 2), (None, ".rs3", (), 2)],
)
def test_lists_of_parsers_are_single_units(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    model: str | None,
    suffix: str,
    options: tuple[str, ...],
    n_children: int,
):
    """Those of annotators, who can say what they mean, stay as they are."""
    tree = Unit("joint", "NN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    document = replace(Document.from_edus("list", ["a", "b", "c"], tree), model=model)
    write(document, tmp_path / "in.json")
    assert call(capsys, "convert", str(tmp_path / "in.json"), str(tmp_path / f"out{suffix}"), *options).status == 0
    written = read(tmp_path / f"out{suffix}").tree
    assert isinstance(written, Unit)
    assert len(written.children) == n_children
