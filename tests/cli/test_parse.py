"""`genrst parse`: every input, format and place to write to."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.files import read, read_documents, write, write_documents
from genrst.outputs.summary import summary_text
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.rendering.page import render_html
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.binarise import flatten
from genrst.trees.node import Leaf, Unit
from tests.cli.program import Outcome, call, give_input, in_ascii, names, on_terminal, shell
from tests.parser.samples import TEXT, write_ensemble, write_parser

EDUS = ["It rained,", "so we stayed in.", "Nobody was hurt."]
GOLD = Unit("gold", "NS", (Leaf(0), Unit("gold", "NN", (Leaf(1), Leaf(2)))))

Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a text, and the same EDUs in several formats."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ferry.txt").write_text(TEXT, encoding="utf-8")
    for suffix in ("dis", "rs3", "rs4", "json", "edus"):
        write(Document.from_edus("rain", EDUS, GOLD), tmp_path / f"rain.{suffix}")
    return tmp_path


@pytest.fixture
def run(tiny: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Parse with the tiny model."""
    del folder
    return lambda *arguments: call(capsys, "parse", "--model", tiny, *arguments)


@pytest.mark.parametrize("verb", [["parse", "ferry.txt", "--output"], ["render", "ferry.txt"]])
def test_a_picture_without_matplotlib_is_refused_before_a_model_is_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: list[str]
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    outcome = call(capsys, *verb, folder / "ferry.png", "--model", "nowhere")
    assert outcome.messages == ["genrst: PNG and PDF pictures need matplotlib: pip install 'genrst[plot]'"]
    assert outcome.status == 1


@pytest.mark.slow
def test_a_tree_for_the_terminal(run: Run, parser: Parser):
    outcome = run("ferry.txt")
    assert (outcome.status, outcome.messages) == (0, [])
    assert outcome.output == render_text(as_lists(parser(TEXT)))


def test_why_needs_a_parser_that_finds_signals(run: Run):
    refused = run("ferry.txt", "--why")
    assert refused.status == 2
    assert refused.messages[-1].startswith("genrst: --why requires a chart parser, ")
    assert run("ferry.txt", "--why", "--format", "dis").messages == [
        "genrst: --why needs a format that can hold signals, got dis"
    ]


def as_lists(document: Document) -> Document:
    """As people see it: chains of one multinuclear relation are single units."""
    assert document.tree is not None
    return replace(document, tree=flatten(document.tree))


def test_an_ensemble(tiny: Path, folder: Path, capsys: pytest.CaptureFixture[str]):
    write_parser(folder / "other", kind="discriminative", has_segmenter=False)
    write_ensemble(folder / "both", {str(tiny): 1, "../other": 0.5}, segmenter=str(tiny / "segmenter"))
    outcome = call(capsys, "parse", "--model", "both", "ferry.txt", "--kbest", "2")
    assert (outcome.status, outcome.messages) == (0, [])
    first, second = map(as_lists, load("both").kbest(TEXT, 2))
    assert outcome.output == f"# ferry, tree 1\n{render_text(first)}\n# ferry, tree 2\n{render_text(second)}"


def test_standard_input(run: Run, parser: Parser, monkeypatch: pytest.MonkeyPatch):
    give_input(monkeypatch, TEXT.encode())
    outcome = run("-", "--format", "jsonl")
    assert json.loads(outcome.output)["id"] == "stdin"
    assert json.loads(outcome.output)["text"] == TEXT
    give_input(monkeypatch, "\n".join(EDUS).encode())
    assert run("-", "--edus").output == render_text(parser.parse_edus(EDUS))


def test_a_text_beside_its_edus_is_not_replaced(run: Run, folder: Path, capsys: pytest.CaptureFixture[str], tiny: Path):
    (folder / "w").mkdir()
    (folder / "w/article.txt").write_text(TEXT, encoding="utf-8")
    segment = ("segment", "--model", tiny, "w", "--format", "edus", "--output", "w")
    assert call(capsys, *segment).status == 0
    outcome = run("w", "--output", "w")
    assert (outcome.status, outcome.errors) == (2, ["genrst: w/article.txt: the output must not overwrite an input"])
    # EDUs that somebody has corrected are read instead of the text.
    with (folder / "w/article.edus").open("a", encoding="utf-8") as edus:
        edus.write("\n")
    outcome = run("w", "--output", "w")
    assert outcome.status == 2
    assert outcome.errors[0].startswith(
        "genrst: w/article.txt: not replaced, because it is not an unchanged output of genrst parse"
    )
    assert (folder / "w/article.txt").read_text(encoding="utf-8") == TEXT
    for options in (["--json"], ["--json", "--nary"], ["--format", "dis"]):
        assert run("w/article.txt", "--output", "trees/", *options).messages == []
        assert run("w/article.txt", "--output", "trees/", *options).messages == []
    assert run("w", "--output", "w", "--force").status == 0
    assert (folder / "w/article.txt").read_text(encoding="utf-8") != TEXT


def test_one_bad_id_loses_no_other_document(run: Run, folder: Path):
    documents = [Document.from_edus(id, EDUS, GOLD) for id in ("one", "two", "one", "x" * 300, "three")]
    write_documents(documents, folder / "ids.jsonl")
    outcome = run("ids.jsonl", "--output", "out/", "--format", "rs3")
    assert (outcome.status, len(outcome.messages)) == (1, 2)
    assert names(folder / "out") == ["one.rs3", "three.rs3", "two.rs3"]


@pytest.mark.parametrize("suffix", ["dis", "rs3", "rs4", "json", "edus"])
def test_edus_of_files_are_kept_and_trees_are_not(run: Run, folder: Path, parser: Parser, suffix: str):
    assert run(f"rain.{suffix}", "--output", "out/", "--json").messages == []
    parsed = read(folder / "out" / "rain.json")
    assert parsed.edu_texts == EDUS
    assert parsed.tree == parser.parse_edus(EDUS).tree
    assert parsed.tree != GOLD


def test_lines_as_edus(run: Run, folder: Path):
    for name in ("rain.txt", "rain.text", "RAIN"):
        (folder / name).write_text("It rained,\nso we stayed in.\n\nNobody was hurt.\n", encoding="utf-8")
        outcome = run(name, "--edus", "--format", "edus")
        assert outcome.output == "It rained,\nso we stayed in.\n\nNobody was hurt.\n"
        assert len(run(name, "--format", "edus").output.splitlines()) > 4, "raw text is segmented anew"


@pytest.mark.slow
def test_files_of_unknown_suffixes_are_raw_text(run: Run, folder: Path):
    for name in ("ferry.md", "ferry", "ferry.TXT", "ferry.text", "ferry.2019"):
        (folder / name).write_text(TEXT, encoding="utf-8")
        assert run(name).output == run("ferry.txt").output


@pytest.mark.slow
@pytest.mark.parametrize("format", ["json", "jsonl", "rs3", "rs4", "dis", "rsd", "edus"])
def test_every_format_is_that_of_the_writers(run: Run, folder: Path, parser: Parser, format: str):
    expected = folder / f"expected.{format}"
    document = parser(TEXT, id="ferry")
    write(as_lists(document) if format in ("rs3", "rs4", "dis") else document, expected)
    content = expected.read_text(encoding="utf-8")
    assert run("ferry.txt", "--format", format).output == content
    assert run("ferry.txt", "--output", f"named.{format}").messages == []
    assert (folder / f"named.{format}").read_text(encoding="utf-8") == content
    assert run("ferry.txt", "--format", format, "--output", "other.name").messages == []
    assert (folder / "other.name").read_text(encoding="utf-8") == content
    assert run("ferry.txt", "--format", format, "--output", "out/").messages == []
    assert (folder / "out" / f"ferry.{format}").read_text(encoding="utf-8") == content
    if format == "json":
        assert run("ferry.txt", "--json").output == content


def test_pictures(run: Run, folder: Path, parser: Parser):
    text = TEXT.split("\n\n")[1]
    (folder / "ferry.txt").write_text(text, encoding="utf-8")
    binary = parser(text, id="ferry")
    document = as_lists(binary)
    assert document.tree != binary.tree, "there is a list"
    assert run("ferry.txt", "--format", "svg", "--binary").output == render_svg(binary)
    assert run("ferry.txt", "--format", "svg").output == render_svg(document)
    assert run("ferry.txt", "--output", "ferry.html").status == 0
    assert (folder / "ferry.html").read_text(encoding="utf-8") == render_html(document)
    assert run("ferry.txt", "--output", "ferry.png").messages == []
    assert (folder / "ferry.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_several_inputs_on_the_terminal(run: Run):
    trees = [run(name).output for name in ("ferry.txt", "rain.rs3")]
    outcome = run("ferry.txt", "rain.rs3")
    assert (outcome.status, outcome.output) == (0, f"# ferry\n{trees[0]}\n# rain\n{trees[1]}")
    edus = run("ferry.txt", "rain.rs3", "--format", "edus").output
    assert "# ferry\n" in edus
    assert edus.endswith("\n\n# rain\n" + "\n".join(EDUS) + "\n")
    lines = run("ferry.txt", "rain.rs3", "--format", "jsonl").output.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["ferry", "rain"]
    listed = json.loads(run("ferry.txt", "rain.rs3", "--json").output)
    assert listed == [json.loads(line) for line in lines]


@pytest.mark.slow
def test_several_inputs_in_one_file(run: Run, folder: Path):
    for suffix in ("json", "jsonl"):
        assert run("ferry.txt", "rain.rs3", "--output", f"all.{suffix}").messages == []
        assert [document.id for document in read_documents(folder / f"all.{suffix}")] == ["ferry", "rain"]
    assert run("ferry.txt", "rain.rs3", "--format", "rs3", "--output", "all").status == 0
    assert names(folder / "all") == ["ferry.rs3", "rain.rs3"]


def test_a_file_of_several_documents(run: Run, folder: Path):
    write_documents([Document.from_edus(id, EDUS) for id in ("a", "b/c")], folder / "two.jsonl")
    assert run("two.jsonl", "--format", "rs3", "--output", "out/").messages == []
    assert names(folder / "out") == ["a.rs3", "b_c.rs3"]
    assert run("two.jsonl", "--format", "json", "--output", "list/").messages == []
    assert [document.id for document in read_documents(folder / "list")] == ["a", "b/c"]
    assert run("two.jsonl").output.count("# ") == 2
    outcome = run("two.jsonl", "--format", "rs3")
    assert (outcome.status, outcome.output) == (1, "")
    assert outcome.messages == ["genrst: a .rs3 file holds one document, got 2; write to a folder instead"]


def test_a_folder(run: Run, folder: Path):
    """Of files with one stem, that with the most knowledge is read."""
    (folder / "texts" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.md", "deep/c.TXT", "deep/d.edus", "deep/d.txt"):
        (folder / "texts" / name).write_text("It rained, so we\nstayed in.", encoding="utf-8")
    (folder / "texts" / "picture.png").write_bytes(b"\x89PNG")
    write(Document.from_edus("b", EDUS), folder / "texts" / "b.rs3")
    outcome = run("texts", "--format", "json", "--output", "trees")
    assert (outcome.status, len(outcome.errors)) == (0, 1)
    n_edus = sum(len(document.edus) for document in read_documents(folder / "trees"))
    assert re.fullmatch(rf"genrst: 4 documents parsed, {n_edus} EDUs, [0-9.]+ s", outcome.errors[0])
    assert names(folder / "trees") == ["a.json", "b.json", "deep/c.json", "deep/d.json"]
    assert read(folder / "trees" / "b.json").edu_texts == EDUS
    assert read(folder / "trees" / "deep" / "d.json").edu_texts == ["It rained, so we", "stayed in."]
    assert run("texts/deep", "--format", "edus", "--output", "one.d").status == 0
    (folder / "texts" / "deep" / "d.txt").unlink()
    (folder / "texts" / "deep" / "d.edus").unlink()
    assert run("texts/deep", "--format", "json", "--output", "one").status == 0
    assert names(folder / "one") == ["c.json"], "also of a folder with one file comes a folder"
    (folder / "none").mkdir()
    outcome = run("none", "ferry.txt", "--format", "edus")
    assert outcome.status == 1
    assert outcome.messages[0].startswith("genrst: none: no files to parse in this folder (looked for .dis, ")
    assert outcome.output.startswith("# ferry\n")


def test_a_corpus_parsed_and_scored(run: Run, folder: Path, capsys: pytest.CaptureFixture[str]):
    for id in ("x", "y"):
        write(Document.from_edus(id, EDUS, GOLD), folder / "gold" / f"{id}.rs3")
    assert run("gold", "--format", "json", "--output", "predicted/").status == 0
    outcome = call(capsys, "evaluate", "gold", "predicted", "--json")
    assert json.loads(outcome.output)["segmentation"]["f1"] == 1


def test_k_best_trees(run: Run, parser: Parser):
    expected = [replace(document, id="rain") for document in parser.kbest(EDUS, 3)]
    listed = json.loads(run("rain.edus", "--kbest", "3", "--json").output)
    assert [one["log_probability"] for one in listed] == [document.log_probability for document in expected]
    lines = run("rain.edus", "--kbest", "3", "--format", "jsonl").output.splitlines()
    assert [json.loads(line) for line in lines] == listed
    blocks = [
        f"# rain, tree {rank}, log p {document.log_probability:.2f} given 3 EDUs\n{render_text(document)}"
        for rank, document in enumerate(expected, start=1)
    ]
    assert run("rain.edus", "--kbest", "3").output == "\n".join(blocks)
    assert run("rain.edus", "--kbest", "3", "--output", "x.txt").status == 0
    assert Path("x.txt").read_text(encoding="utf-8") == "\n".join(blocks)
    weightless = run("rain.edus", "--kbest", "2", "--word-weight", "0").output
    assert weightless.splitlines()[0] == "# rain, tree 1", "words were not scored"


@pytest.mark.slow
def test_options_reach_the_parser(run: Run, tiny: Path):
    for options in ({"search": "word"}, {"search": "greedy"}, {"beam": 1}, {"word_weight": 1.0, "search": "action"}):
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        expected = as_lists(load(tiny, **options)(TEXT, id="ferry"))
        assert run("ferry.txt", *words).output == render_text(expected)
    assert run("ferry.txt", "--device", "cpu").output == run("ferry.txt").output
    for n_trees in ("1", "2"):
        outcome = run("ferry.txt", "rain.rs3", "--pipeline", "no_such_pipeline", "--kbest", n_trees)
        assert outcome.status == 1
        assert len(outcome.messages) == 1, "no file is to blame"
        assert "no_such_pipeline" in outcome.messages[0]


def test_n_ary_trees(run: Run, parser: Parser, folder: Path):
    trees = [document.tree for document in parser.kbest(EDUS, 50) if document.tree]
    assert run("rain.edus", "--kbest", "50", "--nary", "--output", "flat.jsonl").status == 0
    flat = [flatten(tree) for tree in trees]
    assert [document.tree for document in read_documents(folder / "flat.jsonl")] == flat
    assert flat != trees


@pytest.mark.slow
def test_summaries(run: Run, parser: Parser):
    document = parser(TEXT)
    assert run("ferry.txt", "--summary", "2").output == summary_text(document, n_edus=2).replace("\n", " ") + "\n"
    short = summary_text(document, share=0.2).replace("\n", " ")
    assert run("ferry.txt", "--summary", "20%").output == f"{short}\n"
    assert run("ferry.txt", "rain.edus", "--summary", "20%").output.startswith(f"# ferry\n{short}\n\n# rain\n")


def test_one_bad_file_does_not_stop_the_others(run: Run, folder: Path):
    (folder / "empty.txt").touch()
    (folder / "broken.rs3").write_text("<rst", encoding="utf-8")
    outcome = run("empty.txt", "missing.txt", "rain.rs3", "broken.rs3", "ferry.txt", "--json", "--output", "out/")
    assert outcome.status == 1
    # What cannot be read is said before what cannot be parsed, since documents are parsed in batches.
    assert sorted(message.split(": ")[1] for message in outcome.messages) == [
        "broken.rs3:1",
        "empty.txt",
        "missing.txt",
    ]
    assert "genrst: empty.txt: a text must have at least one word, got ''" in outcome.messages
    assert names(folder / "out") == ["ferry.json", "rain.json"]
    kbest = run("empty.txt", "rain.rs3", "--kbest", "2", "--format", "jsonl")
    assert (kbest.status, len(kbest.output.splitlines()), len(kbest.messages)) == (1, 2, 1)


WRONG = [
    ("--output ferry.txt", 2, "ferry.txt: the output must not overwrite an input"),
    ("--output x.gif", 2, "--output must be a folder or end in one of .txt, .json, .jsonl, "),
    ("--output . --format tree", 2, "ferry.txt: the output must not overwrite an input"),
    ("rain.rs3 --format rs3", 2, "a .rs3 file holds one document, got 2; write to a folder instead"),
    ("rain.rs3 rain.dis --json --output x/", 2, "rain.rs3 and rain.dis would both become x/rain.json"),
    ("--kbest 0", 2, "--kbest must be at least 1 and needs the format tree, json or jsonl, got 0 with tree"),
    (
        "--kbest 2 --format rs3",
        2,
        "--kbest must be at least 1 and needs the format tree, json or jsonl, got 2 with rs3",
    ),
    ("--kbest 2 --search greedy", 2, "the number of trees must be at least 1, and exactly 1 for greedy search, got 2"),
    ("--summary 0", 2, "or of EDUs (5), got 0"),
    ("--summary 101%", 2, "or of EDUs (5), got 101%"),
    (
        "--summary 5 --json",
        2,
        "--summary prints text only, got format json; use genrst export --what summary for tables",
    ),
    ("--word-weight -1", 2, "word_weight: the value must be finite and 0 or more, got -1.0"),
    ("--json --output out.rs3", 2, "--output has the suffix of another format than --format json, got out.rs3"),
    ("--json --format rs3", 2, "not allowed with argument"),
    ("- -", 2, "standard input (-) can be read only once, got 2 times"),
    ("--model nowhere", 1, "no model or folder named 'nowhere'"),
    (
        "--model .",
        1,
        ".: config.json is missing; a model folder must hold config.json, symbols.json and weights.safetensors",
    ),
    ("--output rain.rs3/x.json", 1, "rain.rs3/x.json: cannot be written: "),
]


@pytest.mark.parametrize(("options", "status", "message"), WRONG, ids=[options for options, _, _ in WRONG])
def test_whatever_goes_wrong_is_one_line(run: Run, folder: Path, options: str, status: int, message: str):
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    outcome = run("ferry.txt", *options.split(" "))
    assert (outcome.status, outcome.output) == (status, "")
    assert len(outcome.messages) == 1
    assert message in outcome.messages[0]
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before


def test_warnings_are_one_line(run: Run):
    Path("шум.txt").write_text("Гавань закрыта.", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.filters", [])
        outcome = run("ferry.txt", "шум.txt")
    assert outcome.status == 0
    assert outcome.messages == ["genrst: warning: шум: the text does not look like English; its tree is unreliable"]


@pytest.mark.slow
def test_a_pipe(tiny: Path, folder: Path):
    assert shell(f"genrst parse --model {tiny} ferry.txt --json | head -c 5", folder).stdout == '{"id"'


def test_standard_input_that_is_closed(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    outcome = run("-")
    assert (outcome.status, outcome.messages) == (1, ["genrst: standard input is closed"])


@pytest.mark.usefixtures("folder")
def test_output_in_a_poor_encoding(tiny: Path):
    assert "\\u2514\\u2500" in in_ascii("parse", "--model", tiny, "rain.edus")


@pytest.mark.usefixtures("folder")
def test_a_terminal_gets_colours_and_no_bar(tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = on_terminal("parse", "rain.edus", "--model", tiny, streams=("stdout", "stderr"))
    assert "\x1b[" in shown
    assert "so we stayed in." in shown
    assert "parsing" not in shown
