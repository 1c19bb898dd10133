"""Training with a pretrained encoder, all of it or adapted by matrices of a low rank."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from genrst.encoder.pretrained import LowRank, PretrainedEncoder
from genrst.errors import ConfigError
from genrst.rnng.network import Network
from genrst.rnng.storage import load_model
from genrst.storage import CONFIG, ENCODER, WEIGHTS
from genrst.training.checkpoint import load_checkpoint
from genrst.training.dev import evaluate_bags, parseval_f1
from genrst.training.run import CHECKPOINT, LOG, MODEL, Run, read_log
from genrst.training.run_config import RunConfig, TrainingConfig
from genrst.training.trainer import Trainer
from tests.encoder.tiny_encoders import make_tokenizer, write_encoder
from tests.training.samples import SMALL, prepare_samples
from tests.training.test_run import timeless

torch.set_num_threads(1)
PREPARED = prepare_samples(make_tokenizer())
FACTORS = (".narrow", ".widen")
LOW_RANK: dict[str, object] = {"encoder_rank": 2, "encoder_learning_rate": 1e-2}


def make_run(folder: Path, encoder: Path, kind: str = "generative", **training: object) -> Run:
    settings = {"batch_documents": 2, "learning_rate": 1e-2, "encoder_learning_rate": 1e-3, "max_epochs": 4} | training
    model = replace(SMALL, kind=kind, encoder=str(encoder), document_size=8, dropout=0.1)  # type: ignore[arg-type]
    config = RunConfig(model=model, training=TrainingConfig(**settings))  # type: ignore[arg-type]
    return Run(config, 1, folder, torch.device("cpu"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "architecture", "low_rank"),
    [
        ("generative", "bert", {}),
        ("generative", "mpnet", LOW_RANK),
        ("discriminative", "bert", LOW_RANK),
        ("discriminative", "mpnet", {}),
        ("discriminative", "qwen2", LOW_RANK),
    ],
)
def test_three_documents_are_learned_by_heart(
    kind: str, architecture: str, low_rank: dict[str, object], tmp_path: Path
):
    folder = write_encoder(tmp_path / "encoder", architecture)
    run = make_run(tmp_path / "run", folder, kind, max_epochs=60, patience=60, **low_rank)
    for record in run.records(prepare_samples(make_tokenizer(architecture))):
        if record.dev_scores["F"] == 100:
            return
    pytest.fail("60 epochs were not enough")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_goes_on_where_it_stopped(tmp_path: Path, encoder: Path, precision: str):
    """Bit for bit, with the encoder's own dropout, and without its folder needed for anything but its shape."""
    whole, broken = (make_run(tmp_path / name, encoder, precision=precision) for name in ("whole", "broken"))
    expected = timeless(list(whole.records(PREPARED)))
    list(islice(broken.records(PREPARED), 2))
    list(broken.records(PREPARED, broken.find_checkpoint()))
    assert timeless(read_log(broken.folder / LOG)) == expected
    for file in (CHECKPOINT, f"{MODEL}/{WEIGHTS}"):
        found = load_file(broken.folder / file)
        for name, tensor in load_file(whole.folder / file).items():
            assert torch.equal(tensor, found[name]), name


@pytest.mark.slow
def test_the_model_of_a_run_needs_its_encoder_no_more(tmp_path: Path):
    folder = write_encoder(tmp_path / "encoder")
    run = make_run(tmp_path / "run", folder)
    best = [record for record in run.records(PREPARED) if record.is_best][-1]
    folder.rename(tmp_path / "elsewhere")
    model = load_model(run.folder / MODEL)
    assert parseval_f1(evaluate_bags(model.network, model.symbols, PREPARED.dev, 4)) == best.dev_scores


def test_the_encoder_learns_at_its_own_rate(tmp_path: Path, encoder: Path):
    run = make_run(tmp_path, encoder, warmup_steps=4)
    trainer = Trainer(run._network(PREPARED), PREPARED, run.config.training, 1)
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
    trainer = Trainer(run._network(PREPARED), PREPARED, run.config.training, 1)
    before = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
    load_checkpoint(trainer, run.folder / CHECKPOINT)
    for name, tensor in trainer.network.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("edu_encoder.encoder."), name


def test_features_that_do_not_fit(tmp_path: Path, encoder: Path):
    run = make_run(tmp_path / "run", encoder)
    with pytest.raises(ConfigError, match="must be prepared with an encoder, but were without"):
        next(run.records(prepare_samples()))
    with pytest.raises(ConfigError, match="must be prepared with this encoder, but were with another"):
        next(run.records(prepare_samples(make_tokenizer("mpnet"))))


def test_a_model_without_an_encoder_takes_features_with_pieces(tmp_path: Path):
    run = make_run(tmp_path, tmp_path, max_epochs=1)
    run = replace(run, config=replace(run.config, model=SMALL))
    list(run.records(PREPARED))
    assert load_model(run.folder / MODEL).tokenizer is None


def low_rank_run(folder: Path, encoder: Path, kind: str = "generative", **training: object) -> Run:
    return make_run(folder, encoder, kind, **LOW_RANK | training)


def make_trainer(run: Run) -> Trainer:
    return Trainer(run._network(PREPARED), PREPARED, run.config.training, run.seed)


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


@torch.inference_mode()
def read(network: nn.Module) -> Tensor:
    assert isinstance(network, Network)
    return network.eval().encode_edus(PREPARED.dev)


def test_only_factors_learn(tmp_path: Path, encoder: Path):
    trainer = make_trainer(low_rank_run(tmp_path, encoder))
    pretrained = trainer.network.edu_encoder
    assert isinstance(pretrained, PretrainedEncoder)
    before = weights_of(trainer.network)
    next(trainer.epochs())
    for name, tensor in trainer.network.state_dict().items():
        is_frozen = name.startswith("edu_encoder.encoder.") and not name.endswith(FACTORS)
        assert torch.equal(tensor, before[name]) == is_frozen, name
    rest, group = ([id(parameter) for parameter in one["params"]] for one in trainer.optimizer.param_groups)
    factors = {id(p) for name, p in pretrained.encoder.named_parameters() if name.endswith(FACTORS)}
    assert set(group) == factors
    others = {id(p) for name, p in trainer.network.named_parameters() if not name.startswith("edu_encoder.encoder.")}
    assert set(rest) == others
    assert all(p.grad is None for p in trainer.network.parameters() if not p.requires_grad)


def test_the_rest_of_the_network_starts_as_it_does_without(tmp_path: Path, encoder: Path):
    plain = low_rank_run(tmp_path, encoder, encoder_rank=0)._network(PREPARED)
    network = low_rank_run(tmp_path, encoder)._network(PREPARED)
    assert not any(isinstance(module, LowRank) for module in plain.modules())
    assert all(parameter.requires_grad for parameter in plain.parameters())
    found = {name: tensor for name, tensor in network.state_dict().items() if not name.endswith(FACTORS)}
    assert found.keys() == plain.state_dict().keys()
    for name, tensor in plain.state_dict().items():
        assert torch.equal(found[name], tensor), name
    assert torch.equal(read(network), read(plain))


@pytest.mark.slow
def test_rank_0_is_training_as_ever(tmp_path: Path, encoder: Path):
    expected = timeless(list(make_run(tmp_path / "default", encoder, max_epochs=2).records(PREPARED)))
    run = make_run(tmp_path / "zero", encoder, max_epochs=2, encoder_rank=0)
    assert timeless(list(run.records(PREPARED))) == expected
    low_rank = make_run(tmp_path / "two", encoder, max_epochs=2, encoder_rank=2)
    assert timeless(list(low_rank.records(PREPARED))) != expected


@pytest.mark.slow
@pytest.mark.parametrize("averaging", [0.0, 0.5])
def test_a_saved_model_is_an_ordinary_one(tmp_path: Path, encoder: Path, averaging: float):
    """Dev is parsed after the last epoch only, so that the checkpoint has the same network with its factors."""
    run = low_rank_run(tmp_path / "low", encoder, evaluate_from=4, averaging=averaging)
    plain = make_run(tmp_path / "plain", encoder, max_epochs=1)
    for one in (run, plain):
        assert list(one.records(PREPARED))[-1].is_best
    for file in (CONFIG, f"{ENCODER}/config.json"):
        assert json.loads((run.folder / MODEL / file).read_text()) == json.loads(
            (plain.folder / MODEL / file).read_text()
        ), file
    stored, ordinary = (load_file(one.folder / MODEL / WEIGHTS) for one in (run, plain))
    assert {name: tensor.shape for name, tensor in stored.items()} == {
        name: tensor.shape for name, tensor in ordinary.items()
    }

    trainer = make_trainer(run)
    untrained = read(trainer.network)
    load_checkpoint(trainer, run.folder / CHECKPOINT)
    model = load_model(run.folder / MODEL)
    assert not any(isinstance(module, LowRank) for module in model.network.modules())
    expected = read(trainer.kept_network)
    torch.testing.assert_close(read(model.network), expected, atol=1e-5, rtol=0)
    assert (untrained - expected).abs().max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_low_rank_run_goes_on_where_it_stopped(tmp_path: Path, encoder: Path, precision: str):
    """Bit for bit, as saving merges nothing into the network that goes on."""
    whole, broken = (low_rank_run(tmp_path / name, encoder, precision=precision) for name in ("whole", "broken"))
    expected = timeless(list(whole.records(PREPARED)))
    list(islice(broken.records(PREPARED), 2))
    list(broken.records(PREPARED, broken.find_checkpoint()))
    assert timeless(read_log(broken.folder / LOG)) == expected
    assert sum(name.startswith("weights/") and name.endswith(FACTORS) for name in load_file(whole.folder / CHECKPOINT))
    for file in (CHECKPOINT, f"{MODEL}/{WEIGHTS}"):
        found = load_file(broken.folder / file)
        tensors = load_file(whole.folder / file)
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, found[name]), name


@pytest.mark.parametrize("rank", [0, 1])
def test_a_checkpoint_of_another_rank(tmp_path: Path, encoder: Path, rank: int):
    run = low_rank_run(tmp_path, encoder, max_epochs=1)
    list(run.records(PREPARED))
    training = replace(run.config.training, encoder_rank=rank)
    other = replace(run, config=replace(run.config, training=training))
    with pytest.raises(ConfigError, match="another model"):
        load_checkpoint(make_trainer(other), run.folder / CHECKPOINT)
