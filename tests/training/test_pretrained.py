"""Training with a pretrained encoder."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from genrst.encoder.pretrained import PretrainedEncoder
from genrst.errors import ConfigError
from genrst.rnng.finder import load_rnng
from genrst.rnng.learning import evaluate_bags
from genrst.training.checkpoint import load_checkpoint
from genrst.training.run import CHECKPOINT, MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from genrst.training.tasks import make_task
from genrst.training.trainer import Trainer
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import SMALL, assert_goes_on, prepare_chart_samples, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples(make_tokenizer())


def make_run(folder: Path, encoder: Path, kind: str = "generative", **training: object) -> Run:
    settings = {"batch_documents": 2, "learning_rate": 1e-2, "encoder_learning_rate": 1e-3, "max_epochs": 4} | training
    model = replace(SMALL, kind=kind, encoder=str(encoder), document_size=8, dropout=0.1)  # type: ignore[arg-type]
    config = RunConfig(model=model, training=TrainingConfig(**settings))  # type: ignore[arg-type]
    return Run(config, 1, folder, torch.device("cpu"))


def untrained(run: Run) -> Trainer:
    """The trainer that a run begins with."""
    network, training = run._network(PREPARED), run.config.training
    return Trainer(network, make_task(PREPARED, network, training, run.seed), training, run.seed)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "architecture"), [("generative", "bert"), ("discriminative", "mpnet"), ("discriminative", "qwen2")]
)
def test_three_documents_are_learned_by_heart(kind: str, architecture: str, tmp_path: Path):
    folder = write_encoder(tmp_path / "encoder", architecture)
    run = make_run(tmp_path / "run", folder, kind, max_epochs=60, patience=60)
    for record in run.records(prepare_samples(make_tokenizer(architecture))):
        if record.dev_scores["F"] == 100:
            return
    pytest.fail("60 epochs were not enough")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_goes_on_where_it_stopped(tmp_path: Path, encoder: Path, precision: str):
    """Bit for bit, with the encoder's own dropout, and without its folder needed for anything but its shape."""
    whole, broken = (make_run(tmp_path / name, encoder, precision=precision) for name in ("whole", "broken"))
    assert_goes_on(whole, broken, PREPARED)


@pytest.mark.slow
def test_the_model_of_a_run_needs_its_encoder_no_more(tmp_path: Path):
    folder = write_encoder(tmp_path / "encoder")
    run = make_run(tmp_path / "run", folder)
    best = [record for record in run.records(PREPARED) if record.is_best][-1]
    folder.rename(tmp_path / "elsewhere")
    model = load_rnng(run.folder / MODEL)
    assert evaluate_bags(model.network, model.symbols, PREPARED.dev, 4).percentages() == best.dev_scores


def test_the_encoder_learns_at_its_own_rate(tmp_path: Path, encoder: Path):
    run = make_run(tmp_path, encoder, warmup_steps=4)
    trainer = untrained(run)
    pretrained = trainer.network.edu_encoder
    assert isinstance(pretrained, PretrainedEncoder)
    assert all(module.training for module in pretrained.modules()), "with its dropout"
    trainer._train_on(trainer._batches()[0])
    rest, group = trainer.optimizer.param_groups
    assert rest["lr"] == pytest.approx(1e-2 / 4)
    assert group["lr"] == pytest.approx(1e-3 / 4)
    assert {id(parameter) for parameter in group["params"]} == {id(p) for p in pretrained.encoder.parameters()}
    assert len(rest["params"]) + len(group["params"]) == len(list(trainer.network.parameters()))


def test_an_encoder_that_is_frozen(tmp_path: Path, encoder: Path):
    run = make_run(tmp_path, encoder, encoder_learning_rate=0.0, max_epochs=1)
    list(run.records(PREPARED))
    trainer = untrained(run)
    before = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
    load_checkpoint(trainer, run.folder / CHECKPOINT)
    for name, tensor in trainer.network.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("edu_encoder.encoder."), name


def test_features_that_do_not_fit(tmp_path: Path, encoder: Path):
    run = make_run(tmp_path / "run", encoder)
    with pytest.raises(ConfigError, match="the features were prepared without an encoder"):
        next(run.records(prepare_samples()))
    with pytest.raises(ConfigError, match="the features were prepared with another encoder"):
        next(run.records(prepare_samples(make_tokenizer("mpnet"))))
    with pytest.raises(
        ConfigError, match=r"must be prepared for a transition-based model, but were prepared for another"
    ):
        next(run.records(prepare_chart_samples(make_tokenizer())))


def test_a_model_without_an_encoder_takes_features_with_pieces(tmp_path: Path):
    run = make_run(tmp_path, tmp_path, max_epochs=1)
    run = replace(run, config=replace(run.config, model=SMALL))
    list(run.records(PREPARED))
    assert load_rnng(run.folder / MODEL).tokenizer is None
