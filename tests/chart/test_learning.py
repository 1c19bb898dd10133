"""A chart in training: its loss against the enumeration, what it learns, checkpoints and models."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from genrst.chart.layout import edu_boundaries, make_layout
from genrst.chart.storage import load_chart, make_chart_network
from genrst.rnng.model_config import ChartConfig
from genrst.training.dev import parseval_f1

from genrst.chart.learning import (
    ChartLessons,
    actions_of_units,
    find_losses,
    segment_f1,
    segment_starts,
    units_of,
)
from genrst.chart.network import ChartNetwork
from genrst.errors import ConfigError
from genrst.rnng.examples import Example
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from genrst.training.trainer import Trainer
from tests.chart.enumeration import labelled_score, labelled_trees, log_sum
from tests.chart.random_networks import make_charts, make_network
from tests.encoder.tiny_encoders import make_tokenizer, piece_example, write_encoder
from tests.rnng.random_examples import random_example
from tests.training.samples import prepare_samples

PREPARED = prepare_samples()
SMALL = ChartConfig(word_size=16, edu_size=16, edu_layers=1, span_size=32, span_heads=4, split_size=16, label_size=16)
QUICK = TrainingConfig(batch_documents=2, learning_rate=1e-2, max_epochs=40, patience=40)


def make_run(folder: Path, encoder: Path | None = None, **training: object) -> Run:
    config = replace(SMALL, encoder=None if encoder is None else str(encoder), encoder_window=24)
    settings = replace(QUICK, **training)  # type: ignore[arg-type]
    return Run(RunConfig(model=config, training=settings), 1, folder, torch.device("cpu"))


def some_examples() -> list[Example]:
    """Of random trees, which have no more labels than the network."""
    examples = [piece_example(n_edus, seed=n_edus) for n_edus in (4, 1, 3)]
    return [replace(one, actions=tuple(action % 4 or 1 if action else 0 for action in one.actions)) for one in examples]


def test_the_loss_is_that_of_the_enumeration():
    network = make_network()
    examples = some_examples()
    scores, labels = make_charts(network, examples)
    tree, label, *_ = find_losses(network, examples)
    for row, example in enumerate(examples):
        by_tree = {pair: labelled_score(pair, scores[row], labels[row]) for pair in labelled_trees(example.n_edus, 3)}
        units = sorted(units_of(example.actions), key=lambda unit: (unit.start, -unit.stop))
        gold = (tuple(unit[:3] for unit in units), tuple(unit.label for unit in units))
        assert float((tree[row] + label[row]).detach()) == pytest.approx(
            log_sum(by_tree.values()) - by_tree[gold], abs=1e-4
        )


@pytest.mark.parametrize("seed", range(5))
def test_actions_and_units_are_the_same_tree(seed: int):
    actions = random_example(12, seed).actions
    assert actions_of_units(units_of(actions), 12) == list(actions)


@pytest.mark.slow
def test_three_documents_are_learned_by_heart(tmp_path: Path):
    run = make_run(tmp_path)
    records = list(run.records(PREPARED))
    assert records[-1].dev_scores["F"] == 100
    assert records[-1].dev_perplexity is None
    model = load_chart(run.folder / MODEL)
    lessons = ChartLessons(PREPARED, QUICK, 1)
    assert parseval_f1(lessons.evaluate(model.network))["F"] == 100


@pytest.mark.slow
def test_a_resumed_run_is_the_run_that_was_never_interrupted(tmp_path: Path):
    """With a pretrained encoder and noise, too."""
    encoder = write_encoder(tmp_path / "encoder", "mpnet")
    prepared = prepare_samples(make_tokenizer("mpnet"))
    settings: dict[str, object] = {"max_epochs": 4, "averaging": 0.5}
    whole = [record.train_loss for record in make_run(tmp_path / "whole", encoder, **settings).records(prepared)]
    part = make_run(tmp_path / "part", encoder, **settings)
    begun = [record.train_loss for record in islice(part.records(prepared), 2)]
    again = make_run(tmp_path / "part", encoder, **settings)
    resumed = [record.train_loss for record in again.records(prepared, again.find_checkpoint())]
    assert [*begun, *resumed] == whole


def test_the_loss_of_segments_is_that_of_each_piece():
    network = make_network()
    examples = some_examples()
    found = find_losses(network, examples).segments
    for row, example in enumerate(examples):
        p = torch.sigmoid(network.segments(network.read(network.make_batch([example]).read)))  # type: ignore[misc]
        right = torch.where(torch.from_numpy(segment_starts(example)), p, 1 - p)
        assert float(found[row].detach()) == pytest.approx(float(-right.log().sum().detach()), rel=1e-4)


def test_the_loss_of_soft_segments_is_the_mean_of_that_of_segments():
    network, (example, *_) = make_network(), some_examples()
    starts = np.random.default_rng(1).random((len(example.pieces), 2), dtype=np.float32)
    soft = find_losses(network, [replace(example, starts=starts)]).segments
    p = torch.sigmoid(network.segments(network.read(network.make_batch([example]).read)))  # type: ignore[misc]
    share = torch.from_numpy(starts)
    expected = -(share * p.log() + (1 - share) * (1 - p).log()).sum()
    assert float(soft.detach()) == pytest.approx(float(expected.detach()), rel=1e-4)


def test_the_starts_of_edus_are_counted():
    """A start that is missed, one too many, one that a paragraph gives away."""
    example = piece_example(4)
    syntax = replace(example.syntax, sentences=[0, 0, 1, 1], kinds=[3, 0, 3, 0])
    example = replace(example, syntax=syntax, pieces=np.arange(4, 11), piece_lengths=np.array([2, 1, 3, 1]))
    starts = np.full((7, 2), 0.4, dtype=np.float32)
    starts[[0, 4, 6], [0, 0, 1]] = 0.6
    assert segment_f1([starts, starts], [example, example]) == pytest.approx(100 * 2 * 2 / (3 + 3))


def test_the_loss_of_finer_relations_is_that_of_the_units_that_have_one():
    possible = [[True, True, False], [True, True, False], [False, False, True]]
    network = make_network(fine_of_labels=possible)
    examples = [replace(one, fine=np.full(one.n_edus - 1, -1)) for one in some_examples()]
    unit = units_of(examples[0].actions)[1]
    examples[0].fine[1] = possible[unit.label].index(True)
    kinds = edu_boundaries(examples[0], True)
    with torch.no_grad():
        chart = network(network.encode(network.make_batch(examples[:1])), make_layout([kinds], [(0, range(5))]))
        state = network._label_state(chart, *(torch.tensor([n]) for n in (0, unit.split, unit.start, unit.stop)))
        assert network.fine is not None
        scores = network.fine(state)[0][torch.tensor(possible[unit.label])]
        expected = float(torch.logsumexp(scores, 0) - scores[0])
    found = find_losses(network, examples).fine
    assert found.tolist() == pytest.approx([expected, 0, 0], abs=1e-4)
    torch.autograd.backward(found.sum())
    assert network.label_left.weight.grad is None, "the rest of the network does not learn from it"


def test_edus_and_sentences_start_with_pieces():
    example = piece_example(4)
    syntax = replace(example.syntax, sentences=[0, 0, 1, 1])
    example = replace(example, syntax=syntax, pieces=np.arange(7), piece_lengths=np.array([2, 1, 3, 1]))
    assert np.flatnonzero(segment_starts(example)[:, 0]).tolist() == [0, 2, 3, 6]
    assert np.flatnonzero(segment_starts(example)[:, 1]).tolist() == [0, 3]


def test_masks_need_an_encoder_whose_tokenizer_has_them():
    for name in ("piece_noise", "layout_noise", "punctuation_noise"):
        with pytest.raises(ConfigError, match="must be a chart with an encoder"):
            RunConfig(model=SMALL, training=TrainingConfig(**{name: 0.1}))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must have a piece for masks, was: without"):
        ChartLessons(prepare_samples(), TrainingConfig(piece_noise=0.1), 1)


def test_a_chart_explores_nothing():
    with pytest.raises(ConfigError, match="must be discriminative, was: chart"):
        RunConfig(model=SMALL, training=TrainingConfig(exploration=0.1))


def test_a_trainer_takes_either_kind():
    network = make_chart_network(SMALL, PREPARED.symbols)
    trainer = Trainer(network, PREPARED, QUICK, 1)
    assert isinstance(trainer.lessons, ChartLessons)
    assert isinstance(trainer.kept_network, ChartNetwork)
