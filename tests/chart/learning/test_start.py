"""Training that starts from a trained chart."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import ChartNetwork
from genrst.chart.learning.network import make_network as make_chart_network
from genrst.chart.learning.start import freeze_layers, start_from
from genrst.encoder.model import load_model
from genrst.errors import ConfigError
from genrst.training.data import prepare_data
from genrst.training.run import MODEL, Run
from genrst.training.run_config import DataConfig, RunConfig, TrainingConfig
from tests.chart.learning.test_task import make_run
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import prepare_chart_samples


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of one epoch whose folder holds a model."""
    folder = tmp_path_factory.mktemp("start")
    run = make_run(folder / "run", write_encoder(folder / "mpnet", "mpnet"), max_epochs=1)
    list(run.records(prepare_chart_samples(make_tokenizer("mpnet"))))
    return run


def load(folder: Path) -> ChartNetwork:
    return load_model(folder, ChartConfig, Labels, make_chart_network).network


def blank_network(folder: Path, labels: Labels | None = None) -> ChartNetwork:
    """A network of the same sizes whose weights are all zero."""
    network = load(folder)
    if labels is not None:
        network = ChartNetwork(network.config, labels, network.edu_encoder)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    return network


def test_all_weights_are_those_of_the_start(trained: Run):
    network, expected = blank_network(trained.folder / MODEL), load(trained.folder / MODEL)
    start_from(network, trained.folder / MODEL)
    for name, weight in expected.state_dict().items():
        assert torch.equal(network.state_dict()[name], weight), name


def test_labels_are_matched_by_name(trained: Run):
    known = load(trained.folder / MODEL)
    groups = known.label_names.groups
    labels = Labels((("an-unknown-relation", "NN"), *known.label_names.pairs[1:]), known.label_names.classes)
    network = blank_network(trained.folder / MODEL, labels)
    start_from(network, trained.folder / MODEL)
    shared = [name for name in labels.groups if name in groups]
    assert 0 < len(shared) < len(labels.groups)
    for number, name in enumerate(labels.groups):
        row = network.labels.weight[number]
        expected = known.labels.weight[groups.index(name)] if name in groups else torch.zeros_like(row)
        assert torch.equal(row, expected), name


def test_other_sizes_are_an_error(trained: Run):
    network = load(trained.folder / MODEL)
    network.config = replace(network.config, label_size=8)
    with pytest.raises(ConfigError, match=r"model\.label_size: must be 16, as in .*, got 8"):
        start_from(network, trained.folder / MODEL)


def test_frozen_layers_keep_their_weights(trained: Run, tmp_path: Path):
    start = trained.folder / MODEL
    settings = replace(trained.config.training, start=str(start), frozen_layers=1, max_epochs=2)
    config = RunConfig(model=replace(trained.config.model, encoder="not/installed"), training=settings)
    list(Run(config, 1, tmp_path, torch.device("cpu")).records(prepare_chart_samples(make_tokenizer("mpnet"))))
    before, after = load(start).state_dict(), load(tmp_path / MODEL).state_dict()
    encoder = "edu_encoder.encoder."
    frozen = [name for name in before if name.startswith((f"{encoder}embeddings.", f"{encoder}encoder.layer.0."))]
    assert frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    learned = [name for name in before if name not in frozen and not torch.equal(before[name], after[name])]
    assert any(name.startswith(f"{encoder}encoder.layer.1.") for name in learned)
    assert any(name.startswith("spans.") for name in learned)


def test_the_encoder_has_no_more_layers_to_freeze(trained: Run):
    with pytest.raises(ConfigError, match=r"training.frozen_layers must be at most the number of encoder layers, 2"):
        freeze_layers(load(trained.folder / MODEL), 3)


def test_a_start_must_be_a_chart(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    config = RunConfig(
        DataConfig(path="nowhere"),
        ChartConfig(encoder="not/installed"),
        TrainingConfig(start=str(tmp_path / "empty")),
    )
    with pytest.raises(ConfigError, match=r"training.start: the folder of a chart must hold encoder/tokenizer.json"):
        prepare_data(config, tmp_path)


def test_only_charts_start_from_others():
    with pytest.raises(ConfigError, match=r"training.start: only a chart .*, got generative"):
        RunConfig(training=TrainingConfig(start="somewhere"))
    with pytest.raises(ConfigError, match=r"training.frozen_layers: needs a model to start from"):
        RunConfig(training=TrainingConfig(frozen_layers=1))
