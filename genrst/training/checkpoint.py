"""Checkpoints: one file with the weights, the optimizer's state and the progress of training, replaced atomically.

A run that is killed at any moment leaves the last complete file behind.
"""

import dataclasses
import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from genrst.errors import ConfigError
from genrst.io import write_atomically
from genrst.training.trainer import Progress, Trainer

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Write all that is needed to resume a run."""
    tensors = {f"weights/{name}": tensor for name, tensor in trainer.network.state_dict().items()}
    if trainer.average is not None:
        tensors |= {f"average/{name}": tensor for name, tensor in trainer.average.state_dict().items()}
    for name, parameter in trainer.network.named_parameters():
        state = trainer.optimizer.state.get(parameter, {})
        tensors |= {f"{moment}/{name}": torch.as_tensor(state[moment]) for moment in _MOMENTS if moment in state}
    on_cpu = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    metadata = {"progress": json.dumps(dataclasses.asdict(trainer.progress)), "seed": str(trainer.seed)}
    write_atomically(path, save(on_cpu, metadata))


def load_checkpoint(trainer: Trainer, path: Path) -> None:
    """Put a trainer where the run was when the checkpoint was written."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        progress, seed = Progress(**json.loads(metadata["progress"])), metadata["seed"]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: the checkpoint cannot be read: {error}") from error
    if seed != str(trainer.seed):
        raise ConfigError(f"{path}: the checkpoint must be of seed {trainer.seed}, was: {seed}")
    _restore(trainer, tensors, path)
    trainer.progress = progress


def _restore(trainer: Trainer, tensors: dict[str, Tensor], path: Path) -> None:
    average = _below("average/", tensors)
    if (trainer.average is not None) != bool(average):
        was = "with" if average else "without"
        raise ConfigError(f"{path}: training.averaging must be as it was for the checkpoint, which is {was} an average")
    try:
        trainer.network.load_state_dict(_below("weights/", tensors))
        if trainer.average is not None:
            trainer.average.load_state_dict(average)
    except RuntimeError as error:
        raise ConfigError(f"{path}: the checkpoint must be of the configured model, was: of another model") from error
    for name, parameter in trainer.network.named_parameters():
        state = {moment: tensors[f"{moment}/{name}"] for moment in _MOMENTS if f"{moment}/{name}" in tensors}
        if state:
            # The step count stays on the CPU, as Adam keeps it there.
            trainer.optimizer.state[parameter] = {
                moment: tensor if moment == "step" else tensor.to(parameter.device) for moment, tensor in state.items()
            }


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
