"""A chart from training to parsing: what was learned in PyTorch is known in ONNX Runtime, with few bits too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import genrst
from experiments.shipped_model import pack
from genrst.chart.config import ChartConfig
from genrst.chart.finder import ChartFinder
from genrst.chart.scorer import OnnxScorer
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import assert_goes_on, make_document, prepare_chart_samples

PREPARED = prepare_chart_samples(make_tokenizer("mpnet"))
SMALL = ChartConfig(
    edu_size=16, encoder="tiny", encoder_window=24, span_size=32, span_heads=4, split_size=16, label_size=16
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "mpnet", "mpnet")


def make_run(folder: Path, encoder: Path, dropout: float = 0.3, **training: Any) -> Run:
    settings = TrainingConfig(batch_documents=2, learning_rate=1e-2, **training)
    config = RunConfig(model=replace(SMALL, encoder=str(encoder), dropout=dropout), training=settings)
    return Run(config, 1, folder, torch.device("cpu"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> Path:
    """The folder of a chart that knows three documents by heart."""
    epochs = {"evaluate_epochs": 20, "checkpoint_epochs": 80, "max_epochs": 80, "patience": 80, "rounded_epochs": 20}
    run = make_run(tmp_path_factory.mktemp("run"), encoder, 0.0, encoder_learning_rate=1e-2, **epochs)
    records = list(run.records(PREPARED))
    assert records[-1].dev_scores["F"] == 100
    assert records[-1].train_loss < records[0].train_loss / 10
    return run.folder / MODEL


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "int4"])
def test_what_was_learned_is_parsed(trained: Path, tmp_path: Path, precision: str):
    """The model of a run is packed, and reads what it has learned as users have it."""
    words = [str(trained), str(tmp_path), "--name", "heart", "--precision", precision, "--temperature", "1.5"]
    pack.main(words)
    parser = genrst.load(tmp_path, device="cpu")
    assert isinstance(parser.finder, ChartFinder)
    assert isinstance(parser.finder.scorers[0][0], OnnxScorer)
    assert parser.config.temperature == 1.5
    for number in range(3):
        gold = replace(make_document(number), tokens=())
        assert str(parser(replace(gold, tree=None)).tree) == str(gold.tree)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"rounded_epochs": 3, "averaging": 0.5, "layout_noise": 0.5}], ids=str)
def test_a_run_goes_on_where_it_stopped(tmp_path: Path, encoder: Path, more: dict[str, Any]):
    """Bit for bit, also in the middle of epochs that see rounded weights."""
    whole, broken = (make_run(tmp_path / name, encoder, max_epochs=4, **more) for name in ("whole", "broken"))
    assert_goes_on(whole, broken, PREPARED)
