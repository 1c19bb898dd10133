"""`genrst segment`: EDUs a line, as JSON, as tokens."""

import json
from pathlib import Path

import pytest

from genrst.cli.verbs.segment import write_tok
from genrst.corpora.conllu import read_disrpt
from genrst.document import Document
from genrst.formats.files import read, write
from genrst.formats.json_format import document_to_dict
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from tests.cli.program import call, give_input
from tests.parser.samples import TEXT, write_chart


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ferry.txt").write_text(TEXT, encoding="utf-8")
    write(Document.from_edus("rain", ["It rained, so", "we stayed in."]), tmp_path / "rain.json")
    return tmp_path


@pytest.mark.slow
def test_an_edu_a_line(folder: Path, tiny: Path, parser: Parser, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "segment", "ferry.txt", "--model", tiny)
    assert (outcome.status, outcome.messages) == (0, [])
    paragraphs = [block.split("\n") for block in outcome.output.strip().split("\n\n")]
    assert len(paragraphs) == 3
    assert [edu for block in paragraphs for edu in block] == [
        " ".join(edu.split()) for edu in parser.segment(TEXT).edu_texts
    ]
    call(capsys, "segment", "ferry.txt", "--model", tiny, "--output", "out/")
    assert read(folder / "out" / "ferry.edus").edu_texts == [edu for block in paragraphs for edu in block]


def test_standard_input(tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    give_input(monkeypatch, b"Nobody.")
    assert call(capsys, "segment", "-", "--model", tiny).output.replace("\n", "") == "Nobody."


@pytest.mark.usefixtures("folder")
def test_json(tiny: Path, parser: Parser, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "segment", "ferry.txt", "--model", tiny, "--json")
    expected = document_to_dict(parser.segment(TEXT, id="ferry"))
    assert json.loads(outcome.output) == json.loads(json.dumps(expected))
    call(capsys, "segment", "ferry.txt", "rain.json", "--model", tiny, "--output", "both.json")
    both = json.loads(Path("both.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in both] == ["ferry", "rain"]


@pytest.mark.usefixtures("folder")
def test_tokens(tiny: Path, parser: Parser, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "segment", "ferry.txt", "rain.json", "--model", tiny, "--format", "tok")
    blocks = outcome.output.split("\n\n")
    assert blocks[2] == ""
    for block, id, text in zip(blocks, ("ferry", "rain"), (TEXT, "It rained, so we stayed in."), strict=False):
        first, *lines = block.split("\n")
        assert first == f"# newdoc id = {id}"
        rows = [line.split("\t") for line in lines]
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
        assert "".join(row[1] for row in rows) == "".join(text.split())
        assert all(row[2:9] == ["_"] * 7 for row in rows)
        edus: list[str] = []
        for row in rows:
            edus += [""] * (row[9] == "Seg=B-seg")
            assert row[9] in ("Seg=B-seg", "Seg=O")
            edus[-1] += row[1]
        assert edus == ["".join(edu.split()) for edu in parser.segment(text).edu_texts]


def test_tokens_without_spacy(folder: Path, capsys: pytest.CaptureFixture[str]):
    """A chart finds EDUs without tokens; what it writes reads back as the same EDUs."""
    chart = write_chart(folder / "chart")
    outcome = call(capsys, "segment", "ferry.txt", "--model", chart, "--output", "ferry.tok")
    assert (outcome.status, outcome.messages) == (0, [])
    (read_back,) = read_disrpt(folder / "ferry.tok")
    expected = load(chart).segment(TEXT).edu_texts
    assert ["".join(edu.split()) for edu in read_back.edu_texts] == ["".join(edu.split()) for edu in expected]
    assert len(expected) > 3


def test_words_and_signs_are_tokens():
    edus = ["It wasn't 3.5 miles,", "“they’ve” said; so-so.", "Ann's (le", "ft)."]
    rows = [line.split("\t") for line in write_tok(Document.from_edus("odd", edus)).splitlines()[1:-1]]
    words = "It* was n't 3.5 miles , “* they ’ve ” said ; so-so . Ann* 's ( le ft* ) ."
    assert [row[1] + "*" * (row[9] == "Seg=B-seg") for row in rows] == words.split()


def test_files_are_segmented_anew(folder: Path, tiny: Path, parser: Parser, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "segment", "rain.json", "--model", tiny)
    assert outcome.output.replace("\n\n", "\n").splitlines() == parser.segment("It rained, so we stayed in.").edu_texts
    (folder / "bare.json").write_text('{"id": "bare", "edus": [{"start": 0, "end": 3}]}', encoding="utf-8")
    outcome = call(capsys, "segment", "bare.json", "rain.json", "--model", tiny, "--output", "out/")
    assert outcome.status == 1
    assert outcome.messages == ["genrst: bare.json: the document has no text to segment"]
    assert (folder / "out" / "rain.edus").is_file()


@pytest.mark.usefixtures("folder")
def test_several_texts_have_titles(tiny: Path, capsys: pytest.CaptureFixture[str]):
    output = call(capsys, "segment", "ferry.txt", "rain.json", "--model", tiny).output
    assert output.startswith("# ferry\n")
    assert "\n\n# rain\n" in output
    outcome = call(capsys, "segment", "ferry.txt", "--model", tiny, "--output", "ferry.txt")
    assert (outcome.status, outcome.messages) == (2, ["genrst: ferry.txt: the output must not overwrite an input"])


@pytest.mark.usefixtures("folder")
def test_whatever_goes_wrong_is_one_line(tiny: Path, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "segment", "ferry.txt", "rain.json", "--model", tiny, "--pipeline", "no_such_pipeline")
    assert (outcome.status, len(outcome.messages)) == (1, 1), "no file is to blame"
    outcome = call(capsys, "segment", "ferry.txt", "--model", tiny, "--output", "ferry.rs3")
    message = (
        "--output must be a folder or end in one of .edus, .txt, .json, .tok, or --format must be given, got ferry.rs3"
    )
    assert (outcome.status, outcome.messages) == (2, [f"genrst: {message}"])
    assert call(capsys, "segment", "ferry.txt", "--model", tiny, "--output", "lines.txt").messages == []
