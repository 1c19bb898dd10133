import dataclasses
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from genrst.config import read_tables, resolve
from genrst.errors import ConfigError, TrainingError
from genrst.segmenter.segment import Segmenter, load_segmenter, make_network, save_segmenter
from genrst.segmenter.segmenter_config import SegmenterRunConfig, SegmenterTrainingConfig
from genrst.segmenter.training import SegmenterRecord, SegmenterRun, SegmenterTrainer, count_starts
from genrst.storage import WEIGHTS
from tests.segmenter.samples import SMALL, make_text, prepare_texts

torch.set_num_threads(1)
PREPARED = prepare_texts()
QUICK = SegmenterTrainingConfig(epochs=3, silver_epochs=2, batch_windows=4, learning_rate=1e-2, warmup_steps=2)


def make_run(folder: Path, seed: int = 1, **training) -> SegmenterRun:
    config = SegmenterRunConfig(segmenter=SMALL, training=replace(QUICK, **training))
    return SegmenterRun(config, seed, folder, torch.device("cpu"))


def timeless(records: list[SegmenterRecord]) -> list[SegmenterRecord]:
    return [replace(record, seconds=0.0) for record in records]


@pytest.mark.slow
def test_a_rule_of_a_made_up_language_is_learnt(tmp_path: Path):
    run = make_run(tmp_path, epochs=40, word_dropout=0.05, symbol_dropout=0.05, averaging=0.9)
    records = list(run.records(PREPARED))
    assert records[-1].train_loss < records[0].train_loss / 2
    assert max(record.dev_scores["mean"] for record in records) > 97
    segmenter = load_segmenter(tmp_path / "model")
    texts = [make_text(seed) for seed in range(500, 510)]
    found = segmenter.segment([replace(text, edus=(replace(text.edus[0], end=text.edus[-1].end),)) for text in texts])
    right = sum(len(set(one.edus) & set(other.edus)) for one, other in zip(found, texts, strict=True))
    assert right > 0.9 * sum(len(text.edus) for text in texts)


@pytest.mark.slow
def test_the_folder_of_a_run(tmp_path: Path):
    run = make_run(tmp_path / "run")
    assert not run.exists
    records = list(run.records(PREPARED))
    assert run.exists
    assert sorted(path.name for path in run.folder.iterdir()) == ["config.toml", "log.jsonl", "model"]
    assert resolve(SegmenterRunConfig, read_tables(run.folder / "config.toml"), Path()) == run.config
    lines = (run.folder / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [dataclasses.asdict(record) for record in records]
    assert [record.epoch for record in records] == [1, 2, 3], "there are no silver documents, so no epochs with them"
    best = max(records, key=lambda record: record.dev_scores["mean"])
    network = load_segmenter(run.folder / "model").network
    for name, examples in (("sentences", PREPARED.sets["dev"]), ("raw", PREPARED.sets["dev_raw"])):
        assert 100 * count_starts(network, examples).f1 == pytest.approx(best.dev_scores[name], abs=0.5)


@pytest.mark.slow
def test_runs_repeat_themselves_and_seeds_differ(tmp_path: Path):
    first, again, other = (
        timeless(list(make_run(tmp_path / name, seed).records(PREPARED)))
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )
    assert first == again
    assert (tmp_path / "first" / "model" / WEIGHTS).read_bytes() == (
        tmp_path / "again" / "model" / WEIGHTS
    ).read_bytes()
    assert first != other


@pytest.mark.slow
def test_silver_documents_come_first(tmp_path: Path):
    prepared = prepare_texts(n_train=4, n_silver=20)
    records = list(make_run(tmp_path).records(prepared))
    steps = np.diff([0, *(record.step for record in records)]).tolist()
    assert steps[0] == steps[1] > 3 * steps[2]
    assert steps[2] == steps[3] == steps[4]


def test_teachers_replace_silver_edus(tmp_path: Path):
    """A student of two teachers learns their mean."""
    prepared = prepare_texts(n_train=1, n_silver=6)
    teachers = []
    for bias in (4.0, 0.0):
        network = make_network(SMALL, prepared.symbols)
        torch.nn.init.zeros_(network.output.weight)
        torch.nn.init.constant_(network.output.bias, bias)
        teachers.append(Segmenter(network.eval(), prepared.symbols))
    trainer = SegmenterTrainer(make_network(SMALL, prepared.symbols), prepared, QUICK, 1, teachers)
    assert trainer._silver is not None
    expected = (torch.tensor(4.0).sigmoid() + 0.5) / 2
    torch.testing.assert_close(trainer._silver.targets, torch.full((180,), float(expected)))
    assert set(trainer._gold.targets.tolist()) == {0.0, 1.0}

    save_segmenter(teachers[0], tmp_path / "teacher")
    run = make_run(tmp_path / "run", teachers=(str(tmp_path / "teacher"),))
    assert len(list(run.records(prepared))) == 5
    with pytest.raises(ConfigError, match="teacher must have the symbols of the prepared features"):
        next(make_run(tmp_path / "other", teachers=(str(tmp_path / "teacher"),)).records(PREPARED))


def test_a_loss_that_is_no_number_ends_training(tmp_path: Path):
    run = make_run(tmp_path, learning_rate=1e29, warmup_steps=0)
    with pytest.raises(TrainingError, match="the loss must be a number"):
        list(run.records(PREPARED))


@pytest.mark.slow
def test_a_run_that_is_stopped_leaves_whole_files(tmp_path: Path):
    records = list(islice(make_run(tmp_path).records(PREPARED), 2))
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == len(records)
    assert load_segmenter(tmp_path / "model").symbols == PREPARED.symbols


def test_words_start_from_their_vectors(tmp_path: Path):
    n_words = len(PREPARED.symbols.vocabularies[0])
    vectors = np.random.default_rng(1).normal(size=(n_words, 10)).astype(np.float32)
    vectors[::2] = 0
    run = make_run(tmp_path)
    weight = run._network(replace(PREPARED, vectors=vectors)).words.weight.detach()
    plain = run._network(PREPARED).words.weight.detach()
    torch.testing.assert_close(weight[1::2], torch.from_numpy(vectors[1::2, : SMALL.word_size]))
    torch.testing.assert_close(weight[::2], plain[::2])
    with pytest.raises(ConfigError, match=r"segmenter.word_size: must be the width of the vectors, 5, or less, was: 6"):
        run._network(replace(PREPARED, vectors=vectors[:, :5]))
