"""Checkpoints: one file with the weights, the optimizer's state and the progress of training, replaced atomically.

A run that is killed at any moment leaves the last complete file behind. A damaged file is recognised by its checksum,
and the previous checkpoint, which is kept, is used instead.
"""

import dataclasses
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from genrst.config import from_mapping
from genrst.errors import ConfigError, CorpusWarning, OutputError
from genrst.io import write_atomically
from genrst.training.trainer import Progress, Trainer

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def previous_checkpoint(path: Path) -> Path:
    """Return the path of the checkpoint before this one."""
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Write everything needed to resume a run; an existing file becomes the previous checkpoint."""
    tensors = {f"weights/{name}": tensor for name, tensor in trainer.network.state_dict().items()}
    if trainer.average is not None:
        tensors |= {f"average/{name}": tensor for name, tensor in trainer.average.state_dict().items()}
    for name, parameter in trainer.network.named_parameters():
        state = trainer.optimizer.state.get(parameter, {})
        tensors |= {f"{moment}/{name}": torch.as_tensor(state[moment]) for moment in _MOMENTS if moment in state}
    on_cpu = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    metadata = {"progress": json.dumps(dataclasses.asdict(trainer.progress)), "seed": str(trainer.seed)}
    content = save(on_cpu, metadata | {"sha256": _checksum(on_cpu, metadata)})
    _keep(path)
    write_atomically(path, content)


def _checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    digest = hashlib.sha256(repr((metadata["progress"], metadata["seed"])).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(repr((name, tensor.dtype, tensor.shape)).encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _keep(path: Path) -> None:
    if not path.is_file():
        return
    previous = previous_checkpoint(path)
    try:
        previous.unlink(missing_ok=True)
        try:
            os.link(path, previous)
        except OSError:  # not every file system has links
            shutil.copyfile(path, previous)
    except OSError as error:
        raise OutputError(f"{previous}: cannot be written: {error.strerror or error}") from error


def load_checkpoint(trainer: Trainer, path: Path) -> None:
    """Restore a trainer from a checkpoint, or from the previous one if this one is damaged."""
    previous = previous_checkpoint(path)
    try:
        progress, seed, tensors = _read(path)
    except ConfigError as error:
        if not previous.is_file():
            raise
        path, (progress, seed, tensors) = previous, _read(previous)
        message = f"{error}; training resumes from the previous one, {previous.name}, after epoch {progress.epoch}"
        warnings.warn(CorpusWarning(message), stacklevel=2)
    if seed != str(trainer.seed):
        raise ConfigError(f"{path}: the seed of the checkpoint must be {trainer.seed}, got {seed}")
    _restore(trainer, tensors, path)
    trainer.progress = progress


def _read(path: Path) -> tuple[Progress, str, dict[str, Tensor]]:
    """Return the progress, the seed and all tensors of an undamaged checkpoint."""
    try:
        if not path.is_file():
            raise FileNotFoundError("there is no such file")
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        if _checksum(tensors, metadata) != metadata["sha256"]:
            raise ValueError("the checksum does not match, so the file was changed")
        return from_mapping(Progress, json.loads(metadata["progress"])), metadata["seed"], tensors
    except Exception as error:  # a changed byte can cause any error
        reason = str(error).partition("\n")[0][:200]
        raise ConfigError(f"{path}: the checkpoint cannot be read: {reason}") from error


def _restore(trainer: Trainer, tensors: dict[str, Tensor], path: Path) -> None:
    average = _below("average/", tensors)
    if (trainer.average is not None) != bool(average):
        was = "with" if average else "without"
        raise ConfigError(
            f"{path}: training.averaging must be the same as for the checkpoint, which is {was} an average"
        )
    try:
        trainer.network.load_state_dict(_below("weights/", tensors))
        if trainer.average is not None:
            trainer.average.load_state_dict(average)
    except RuntimeError as error:
        raise ConfigError(f"{path}: the checkpoint is of another model than the configured one") from error
    for name, parameter in trainer.network.named_parameters():
        state = {moment: tensors[f"{moment}/{name}"] for moment in _MOMENTS if f"{moment}/{name}" in tensors}
        if state:
            # The step count stays on the CPU, where Adam keeps it.
            trainer.optimizer.state[parameter] = {
                moment: tensor if moment == "step" else tensor.to(parameter.device) for moment, tensor in state.items()
            }


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
