"""`genrst score`: three formats and a picture, of all kinds of models, and options that do not fit."""

import csv
import io
import json
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.files import write
from genrst.parser.loading import load
from genrst.trees.node import Leaf, Unit
from tests.cli.program import call
from tests.parser.samples import write_chart, write_parser

RAIN = Document.from_edus("rain", ["It rained ,", "it stopped ."], Unit("causal", "NS", (Leaf(0), Leaf(1))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("score")
    write_parser(folder / "model", has_segmenter=False)
    write_chart(folder / "chart")
    write(RAIN, folder / "rain.json")
    return folder


def test_the_parts_are_the_whole(folder: Path, capsys: pytest.CaptureFixture[str]):
    words: list[str | Path] = ["score", folder / "rain.json", "--model", folder / "model"]
    found = call(capsys, *words, "--json")
    row = json.loads(found.output)
    assert (found.status, row["document"], row["model"], len(row["edus"])) == (0, "rain", "tiny", 2)
    table = list(csv.DictReader(io.StringIO(call(capsys, *words, "--format", "csv").output)))
    assert sum(float(line["nats"]) for line in table) == pytest.approx(-row["log_p_joint"], abs=1e-4)
    assert [line["word"] for line in table if line["edu"] == "0"] == ["", "It", "rained", ",", "<eos>"]
    text = call(capsys, *words).output
    assert f"log p(words, tree)  {row['log_p_joint']:.2f}\n" in text
    assert "it stopped ." in text


def test_samples(folder: Path, capsys: pytest.CaptureFixture[str]):
    words: list[str | Path] = [
        "score",
        folder / "rain.json",
        "--model",
        folder / "model",
        "--proposal",
        folder / "chart",
    ]
    row = json.loads(call(capsys, *words, "--samples", "50", "--seed", "3", "--json").output)
    assert (row["samples"], row["seed"], row["proposal"]) == (50, 3, "chart")
    assert row["log_p_text"] > row["log_p_joint"]
    assert row["log_p_tree"] == pytest.approx(row["log_p_joint"] - row["log_p_text"])
    assert row["units"] == [{"edus": [0, 2], "probability": pytest.approx(1)}]
    assert "(100 samples, effective size" in call(capsys, *words).output


def test_a_chart_knows_the_tree(folder: Path, capsys: pytest.CaptureFixture[str]):
    words: list[str | Path] = ["score", folder / "rain.json", "--model", folder / "chart"]
    row = json.loads(call(capsys, *words, "--json").output)
    assert row["log_p_tree"] < 0
    assert call(capsys, *words).output == f"# rain\nlog p(tree | words) {row['log_p_tree']:.2f}\n"


def test_models_say_how_sure_they_are(folder: Path, capsys: pytest.CaptureFixture[str]):
    """For `genrst export --what features`: a chart of trees, a generative model of words."""
    features: list[str | Path] = ["export", folder / "rain.json", "--what", "features", "--json"]
    assert json.loads(call(capsys, *features).output)["entropy"] is None
    asked = json.loads(call(capsys, *features, "--uncertainty", folder / "chart", folder / "model").output)
    table = call(capsys, "score", folder / "rain.json", "--model", folder / "model", "--format", "csv").output
    words = [float(row["nats"]) for row in csv.DictReader(io.StringIO(table)) if row["part"] == "word"]
    assert asked["surprisal"] == pytest.approx(sum(words) / 2)
    entropy = load(folder / "chart", device="cpu").distribution(RAIN).entropy
    assert asked["entropy"] == pytest.approx(entropy / 2)
    assert json.loads(call(capsys, *features, "--uncertainty", folder / "chart").output)["surprisal"] is None


@pytest.mark.slow
def test_a_picture_and_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words: list[str | Path] = ["score", folder / "rain.json", "--model", folder / "model", "--plot", tmp_path / "a.svg"]
    assert call(capsys, *words, "--output", tmp_path / "a.csv").status == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "a.csv").read_text().startswith("document,edu,part,word,nats")
    assert call(capsys, *words, "--output", tmp_path / "a.csv").status == 0, "its own files may be replaced"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--samples", "5"], "--samples must be at least 2 and works only with --proposal, got 5"),
        (
            ["--proposal", "chart", "--samples", "1"],
            "--samples must be at least 2 and works only with --proposal, got 1",
        ),
        (["--proposal", "model"], "--proposal must be a chart parser, got model"),
        (["--model", "chart", "--plot", "a.svg"], "--plot does not work with a chart parser"),
        (["--model", "chart", "--proposal", "chart"], "--proposal does not work with a chart parser"),
        (["--model", "chart", "--format", "csv"], "the format csv does not work with a chart parser"),
        (["--plot", "a.gif"], "a plot file must end in one of .pdf, .png, .svg, got a.gif"),
        (["--output", "a.gif"], "--output must end in one of .txt, .csv, .json, .jsonl, or --format must be given"),
    ],
)
def test_options_must_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
):
    monkeypatch.chdir(folder)
    found = call(capsys, "score", "rain.json", "--model", "model", *words)
    assert (found.status, len(found.messages)) == (2, 1)
    assert line in found.messages[0]


def test_a_document_without_a_tree_does_not_stop_the_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write(RAIN, tmp_path / "in" / "rain.json")
    write(Document.from_edus("bare", ["It rained ."]), tmp_path / "in" / "bare.json")
    found = call(capsys, "score", tmp_path / "in", "--model", folder / "model", "--json")
    assert found.status == 1
    assert json.loads(found.output)["document"] == "rain"
    assert "the document must have a tree, but is only segmented" in found.messages[0]
