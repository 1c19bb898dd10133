from dataclasses import replace
from pathlib import Path

import pytest
import torch

from genrst.errors import ConfigError
from genrst.training.checkpoint import load_checkpoint, save_checkpoint
from genrst.training.run_config import TrainingConfig
from tests.training.test_trainer import QUICK, make_trainer

VARIED = replace(QUICK, averaging=0.9, exploration=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2, 4])
@pytest.mark.parametrize(("kind", "config"), [("generative", QUICK), ("discriminative", VARIED)])
def test_a_resumed_run_is_the_one_never_interrupted(tmp_path: Path, stop: int, kind: str, config: TrainingConfig):
    """Bit for bit: weights and losses."""
    config = replace(config, max_epochs=5, schedule="cosine")
    whole = make_trainer(kind, config=config)
    expected = [(record.epoch, record.train_loss, record.dev_loss, record.is_best) for record in whole.epochs()]

    first = make_trainer(kind, config=config)
    found = []
    for record in first.epochs():
        found.append((record.epoch, record.train_loss, record.dev_loss, record.is_best))
        if record.epoch == stop:
            break
    save_checkpoint(first, tmp_path / "checkpoint.safetensors")
    second = make_trainer(kind, config=config)
    load_checkpoint(second, tmp_path / "checkpoint.safetensors")
    found += [(record.epoch, record.train_loss, record.dev_loss, record.is_best) for record in second.epochs()]

    assert found == expected
    for own, other in ((whole.network, second.network), (whole.kept_network, second.kept_network)):
        for name, tensor in own.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name
    assert second.progress == whole.progress


def test_a_checkpoint_before_the_first_step(tmp_path: Path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(make_trainer(), path)
    load_checkpoint(make_trainer(), path)


@pytest.mark.parametrize(
    ("was", "now", "message"), [(0.0, 0.9, "is without an average$"), (0.9, 0.0, "is with an average$")]
)
def test_averaging_stays_as_it_was(tmp_path: Path, was: float, now: float, message: str):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(make_trainer(config=replace(QUICK, averaging=was)), path)
    with pytest.raises(ConfigError, match=message):
        load_checkpoint(make_trainer(config=replace(QUICK, averaging=now)), path)


def test_damaged_and_foreign_checkpoints(tmp_path: Path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(make_trainer(), path)
    with pytest.raises(ConfigError, match="must be of seed 2, was: 1"):
        load_checkpoint(make_trainer(seed=2), path)
    with pytest.raises(ConfigError, match="another model"):
        load_checkpoint(make_trainer("discriminative"), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(make_trainer(), path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(make_trainer(), tmp_path / "missing")
