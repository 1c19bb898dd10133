"""A chart in training: its loss against the enumeration, what it learns, checkpoints and models."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from genrst.chart.config import ChartConfig
from genrst.chart.examples import ChartExample, boundaries, tree_of, units_of
from genrst.chart.labels import Labels
from genrst.chart.layout import make_layout
from genrst.chart.learning.network import ChartNetwork
from genrst.chart.learning.network import make_network as make_chart_network
from genrst.chart.learning.task import ChartTask, find_losses, label_log_prior, segment_f1, segment_starts
from genrst.encoder.model import load_model
from genrst.errors import ConfigError, UnknownLabelError
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.chart.enumeration import labelled_score, labelled_trees, log_sum
from tests.chart.random_networks import LABELS, make_charts, make_network
from tests.encoder.tiny_encoders import make_tokenizer, piece_example, write_encoder
from tests.training.samples import prepare_chart_samples

SMALL = ChartConfig(
    edu_size=16, encoder="tiny", encoder_window=24, span_size=32, span_heads=4, split_size=16, label_size=16
)
QUICK = TrainingConfig(batch_documents=2, learning_rate=1e-2, max_epochs=40, patience=40)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "mpnet", "mpnet")


def make_run(folder: Path, encoder: Path, dropout: float = 0.3, **training: Any) -> Run:
    settings = replace(QUICK, **training)
    config = RunConfig(model=replace(SMALL, encoder=str(encoder), dropout=dropout), training=settings)
    return Run(config, 1, folder, torch.device("cpu"))


def some_examples() -> list[ChartExample]:
    return [piece_example(n_edus, seed=n_edus) for n_edus in (4, 1, 3)]


def start_probabilities(network: ChartNetwork, example: ChartExample) -> Tensor:
    """Shape: → (pieces, 2)"""
    p: Tensor = torch.sigmoid(network.segments(network.edu_encoder.read(network.make_batch([example]).windows)))
    return p


def test_the_loss_is_that_of_the_enumeration():
    network = make_network()
    examples = some_examples()
    scores, labels = make_charts(network, examples)
    tree, label, *_ = find_losses(network, examples)
    for row, example in enumerate(examples):
        by_tree = {pair: labelled_score(pair, scores[row], labels[row]) for pair in labelled_trees(example.n_edus, 3)}
        units = sorted(example.units.tolist(), key=lambda unit: (unit[0], -unit[2]))
        gold = (tuple((i, k, j) for i, k, j, _ in units), tuple(label for *_, label in units))
        assert float((tree[row] + label[row]).detach()) == pytest.approx(
            log_sum(by_tree.values()) - by_tree[gold], abs=1e-4
        )


@pytest.mark.parametrize("seed", range(5))
def test_units_and_trees_are_the_same(seed: int):
    labels, units = Labels(tuple(LABELS)), piece_example(12, seed).units
    tree = tree_of(units.tolist(), labels)
    assert units_of(tree, labels, "a").tolist() == units.tolist()
    assert tree_of(units[::-1].tolist(), labels) == tree
    with pytest.raises(UnknownLabelError):
        units_of(tree, Labels((("contrast", "NN"),)), "a")


@pytest.mark.slow
def test_three_documents_are_learned_by_heart(tmp_path: Path, encoder: Path):
    prepared = prepare_chart_samples(make_tokenizer("mpnet"))
    epochs = {"evaluate_epochs": 20, "checkpoint_epochs": 80, "max_epochs": 80, "patience": 80}
    run = make_run(tmp_path, encoder, 0.0, encoder_learning_rate=1e-2, segment_weight=1.0, **epochs)
    records = list(run.records(prepared))
    assert records[-1].dev_scores["F"] == 100
    assert records[-1].dev_scores["Seg"] > 90
    assert records[-1].dev_perplexity is None
    network = load_model(run.folder / MODEL, ChartConfig, Labels, make_chart_network).network
    task = ChartTask(prepared.train, prepared.dev, prepared.symbols, make_tokenizer("mpnet"))
    assert task.scores(network)["F"] == 100


@pytest.mark.slow
def test_a_resumed_run_is_the_run_that_was_never_interrupted(tmp_path: Path, encoder: Path):
    prepared = prepare_chart_samples(make_tokenizer("mpnet"))
    settings = {"max_epochs": 4, "averaging": 0.5, "layout_noise": 0.5, "punctuation_noise": 0.5}
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
        p = start_probabilities(network, example)
        right = torch.where(torch.from_numpy(segment_starts(example)), p, 1 - p)
        assert float(found[row].detach()) == pytest.approx(float(-right.log().sum().detach()), rel=1e-4)


def test_the_loss_of_soft_segments_is_the_mean_of_that_of_segments():
    network, (example, *_) = make_network(), some_examples()
    starts = np.random.default_rng(1).random((len(example.pieces), 2), dtype=np.float32)
    soft = find_losses(network, [replace(example, starts=starts)]).segments
    p = start_probabilities(network, example)
    share = torch.from_numpy(starts)
    expected = -(share * p.log() + (1 - share) * (1 - p).log()).sum()
    assert float(soft.detach()) == pytest.approx(float(expected.detach()), rel=1e-4)


def test_the_starts_of_edus_are_counted():
    """A start that is missed, one too many, one that a paragraph gives away."""
    example = piece_example(4)
    pieces, lengths = np.arange(4, 11), np.array([2, 1, 3, 1])
    example = replace(example, sentences=[0, 0, 1, 1], kinds=[3, 0, 3, 0], pieces=pieces, piece_lengths=lengths)
    starts = np.full((7, 2), 0.4, dtype=np.float32)
    starts[[0, 4, 6], [0, 0, 1]] = 0.6
    assert segment_f1([starts, starts], [example, example]) == pytest.approx(100 * 2 * 2 / (3 + 3))


@pytest.mark.parametrize("is_balanced", [False, True])
def test_the_loss_of_a_label_is_that_of_its_group_and_of_its_relation(is_balanced: bool):
    """Of a unit of which only the class is known, the relation within it costs nothing."""
    network = make_network(fine=[("reason", "cause"), ("result", "cause"), ("list", "joint")])
    labels = network.label_names
    (example, *_) = some_examples()
    known = [labels.number(("result", "SN")), labels.number(("cause", "NS")), labels.number(("joint", "NN"))]
    example.units[:, 3] = [number for number in known if number is not None]
    layout = make_layout([boundaries(example.kinds)], [(0, range(5))])
    units = np.array([(0, split, start, stop) for start, split, stop, _ in example.units])
    bias = label_log_prior([example], labels) if is_balanced else np.zeros(len(labels), dtype=np.float32)
    with torch.no_grad():
        chart = network(network.encode(network.make_batch([example])), layout)
        logits = network.label_logits(chart, units).numpy()
    n_groups, expected = len(labels.groups), 0.0
    for row, number in zip(logits.astype(float), known, strict=True):
        assert number is not None
        relation, nuclearity = labels.name(number)
        group = labels.class_of[relation], nuclearity
        expected += np.logaddexp.reduce(row[:n_groups]) - row[labels.groups.index(group)]
        if relation in labels.fine:
            of_group = {
                one: row[n_groups + labels.fine.index(one)] + bias[place]
                for place, (one, other) in enumerate(labels.pairs)
                if (labels.class_of[one], other) == group
            }
            expected += np.logaddexp.reduce([*of_group.values()]) - of_group[relation]
    found = find_losses(network, [example], bias if is_balanced else None).labels
    assert float(found.detach()) == pytest.approx(expected, abs=1e-3)
    torch.autograd.backward(found.sum())
    assert network.label_left.weight.grad is not None, "the whole network learns from it"


def test_edus_and_sentences_start_with_pieces():
    example = piece_example(4)
    example = replace(example, sentences=[0, 0, 1, 1], pieces=np.arange(7), piece_lengths=np.array([2, 1, 3, 1]))
    assert np.flatnonzero(segment_starts(example)[:, 0]).tolist() == [0, 2, 3, 6]
    assert np.flatnonzero(segment_starts(example)[:, 1]).tolist() == [0, 3]


def test_a_chart_explores_nothing():
    with pytest.raises(ConfigError, match="must be discriminative, got chart"):
        RunConfig(model=SMALL, training=TrainingConfig(exploration=0.1))
    with pytest.raises(ConfigError, match="not available for charts"):
        RunConfig(model=SMALL, training=TrainingConfig(evaluate_search="bag"))


@pytest.mark.parametrize("name", ["piece_noise", "layout_noise", "punctuation_noise"])
def test_noise_is_for_charts(name: str):
    with pytest.raises(ConfigError, match=f"training.{name}: only available for charts"):
        RunConfig(training=TrainingConfig(**{name: 0.1}))  # type: ignore[arg-type]
