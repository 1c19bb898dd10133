"""The noisy channel and shuffled texts, with tiny models on a tiny corpus."""

import json
from collections import Counter
from pathlib import Path

import pytest

import genrst
from experiments.likelihood import effective_samples
from experiments.noisy_channel import run as channel
from experiments.shuffling import run as shuffling
from genrst.document import Document, Span
from genrst.trees.node import Leaf, Unit
from tests.experiments.errors import ends_in_one_line
from tests.parser.samples import write_chart, write_parser
from tests.training.samples import make_document

SAMPLES = channel.Samples(
    "three",
    ("joint NN", "causal NS"),
    (((0, 3, 0), (0, 2, 1)), ((0, 3, 0), (1, 3, 0)), ((0, 3, 1), (1, 3, 0))),
    (-1.0, -2.0, -3.0),
    (-9.0, -8.0, -7.0),
    ((0, 3, 0), (1, 3, 0)),
)


def test_weights_decide_which_samples_count():
    assert channel.choose(SAMPLES, (0.0, 0.0)) == ((0, 3, 0), (1, 3, 0)), "each sample counts the same"
    assert channel.choose(SAMPLES, (100.0, 0.0)) == SAMPLES.units[0]
    assert channel.choose(SAMPLES, (0.0, 100.0)) == SAMPLES.units[2]


def test_units_make_a_tree():
    tree = Unit("joint", "NN", (Unit("causal", "NS", (Leaf(0), Leaf(1))), Leaf(2)))
    assert channel.build(SAMPLES.units[0], SAMPLES.labels) == tree
    assert channel.build((), SAMPLES.labels) == Leaf(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("channel")
    for number in range(3):
        for split in ("dev", "test"):
            genrst.write(make_document(number), folder / "corpus" / split / f"{split}-{number}.json")
    write_chart(folder / "chart")
    write_parser(folder / "model", has_segmenter=False)
    return folder


@pytest.mark.slow
def test_the_noisy_channel(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(channel, "WEIGHTS", (0.0, 0.5))
    words = [str(folder / "corpus"), "--charts", str(folder / "chart"), "--models", str(folder / "model")]
    words += ["--output", str(tmp_path), "--samples", "20", "--documents", "2", "--device", "cpu"]
    channel.main([*words, "--splits", "dev", "test"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["system"] for row in rows[:3]] == ["both", "chart, samples", "chart, exact"]
    assert rows[0]["F"] >= rows[1]["F"], "no weights at all are among those that are tried on dev"
    assert [row["split"] for row in rows] == ["dev"] * 11 + ["test"] * 11
    assert {row["aspect"] for row in rows if "compared" in row} == set("SNRF")
    assert (tmp_path / "weights.svg").is_file()
    channel.main([*words, "--models", str(folder / "model")])
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert again == rows[:11], "samples are kept"
    ends_in_one_line(lambda: channel.main([*words, "--documents", "1"]), "the samples are of other documents", capsys)


def make_numbers() -> Document:
    edus = ["One", "two .", "Three", "four .", "Five .", "Six", "seven ."]
    plain = Document.from_edus("numbers", edus, paragraph_starts=[4])
    sentences = tuple(Span(*plain.offsets(*part)) for part in [(0, 2), (2, 4), (4, 5), (5, 7)])
    return Document("numbers", plain.text, plain.edus, sentences=sentences, paragraphs=plain.paragraphs)


@pytest.mark.parametrize("level", ["edus", "sentences", "paragraphs"])
def test_shuffled_texts_have_the_same_words_in_another_order(level: shuffling.Level):
    original = make_numbers()
    for seed in range(5):
        copy = shuffling.shuffled(original, level, seed)
        assert Counter(copy.edu_texts) == Counter(original.edu_texts)
        assert copy.edu_texts != original.edu_texts
        whole = ["".join(original.edu_texts[edu] for edu in block) for block in shuffling.blocks(original, level)]
        assert all(part in "".join(copy.edu_texts) for part in whole)
        paragraphs = copy.paragraph_of_edus()
        (start,) = [edu for edu in range(1, 7) if paragraphs[edu] != paragraphs[edu - 1]]
        if level == "sentences":
            assert sum(text.endswith(".") for text in copy.edu_texts[:start]) == 2, "two sentences are a paragraph"
        else:
            assert start == {"edus": 4, "paragraphs": 3}[level]


@pytest.mark.slow
def test_shuffling(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = [str(folder / "corpus"), "--models", str(folder / "model"), "--output", str(tmp_path), "--device", "cpu"]
    shuffling.main([*words, "--copies", "3", "--documents", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["level"] for row in rows[:-1]} == {"edus", "sentences"}, "there is one paragraph"
    assert all(0 <= row["original_is_likelier"] <= 1 for row in rows[:-1])
    assert (tmp_path / "shuffling.svg").is_file()


@pytest.mark.slow
def test_effective_samples(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = [str(folder / "corpus"), "--model", str(folder / "model"), "--proposal", str(folder / "chart")]
    effective_samples.main([*words, "--edus", "2", "--temperatures", "1", "--samples", "20", "--device", "cpu"])
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert 1 <= row["effective_samples"] <= 20
