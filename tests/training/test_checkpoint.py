import json
import os
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from genrst.errors import ConfigError, CorpusWarning
from genrst.training.checkpoint import load_checkpoint, save_checkpoint
from tests.training.samples import QUICK, make_trainer


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 4])
def test_a_resumed_run_is_the_one_never_interrupted(tmp_path: Path, stop: int):
    """Bit for bit: weights and losses."""
    kind, config = "discriminative", replace(QUICK, averaging=0.9, exploration=0.6, max_epochs=5, schedule="cosine")
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
    with pytest.raises(ConfigError, match="the seed of the checkpoint must be 2, got 1"):
        load_checkpoint(make_trainer(seed=2), path)
    with pytest.raises(ConfigError, match="another model"):
        load_checkpoint(make_trainer("discriminative"), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(make_trainer(), path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(make_trainer(), path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_checkpoint(make_trainer(), tmp_path / "missing")


def flip(path: Path, place: float) -> None:
    """Change a bit, at the start of the file (0) or anywhere to its end (1)."""
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("place", [0, 0.0005, 0.01, 0.3, 0.6, 0.9, 1])
def test_a_bit_that_changed(tmp_path: Path, place: float):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(make_trainer(), path)
    flip(path, place)
    with pytest.raises(ConfigError, match=r"^.*/checkpoint.safetensors: the checkpoint cannot be read: .*$"):
        load_checkpoint(make_trainer(), path)


@pytest.mark.parametrize("edit", [{"epoch": 7}, {"epoch": "7"}, {"sha256": "0"}])
def test_an_edited_checkpoint(tmp_path: Path, edit: dict[str, object]):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(make_trainer(), path)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    progress = json.dumps(json.loads(metadata["progress"]) | edit)
    save_file(load_file(path), path, metadata | ({"progress": progress} if "epoch" in edit else edit))
    with pytest.raises(ConfigError, match="cannot be read: the checksum does not match"):
        load_checkpoint(make_trainer(), path)


def test_the_checkpoint_before_takes_the_place_of_a_damaged_one(tmp_path: Path):
    path = tmp_path / "checkpoint.safetensors"
    trainer = make_trainer()
    for epoch in (1, 2, 3):
        trainer.progress.epoch = epoch
        save_checkpoint(trainer, path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["checkpoint.previous.safetensors", path.name]
    flip(path, 0.5)
    resumed = make_trainer()
    with pytest.warns(CorpusWarning, match=r"cannot be read: .*; training resumes from the previous one, .* epoch 2$"):
        load_checkpoint(resumed, path)
    assert resumed.progress.epoch == 2
    flip(tmp_path / "checkpoint.previous.safetensors", 0.5)
    with pytest.raises(ConfigError, match=r"checkpoint.previous.safetensors: the checkpoint cannot be read"):
        load_checkpoint(resumed, path)


def test_a_foreign_checkpoint_is_not_passed_over_for_the_one_before(tmp_path: Path):
    path = tmp_path / "checkpoint.safetensors"
    for seed in (1, 2):
        save_checkpoint(make_trainer(seed=seed), path)
    with pytest.raises(ConfigError, match="the seed of the checkpoint must be 1, got 2"):
        load_checkpoint(make_trainer(), path)


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "link", Mock(side_effect=OSError("no links")))
    path = tmp_path / "checkpoint.safetensors"
    for _ in range(2):
        save_checkpoint(make_trainer(), path)
    path.unlink()
    with pytest.warns(CorpusWarning, match="there is no such file; training resumes"):
        load_checkpoint(make_trainer(), path)
