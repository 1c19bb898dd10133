"""Training one seed of a model, or taking what an earlier start has left of it."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genrst.console import tell
from genrst.errors import UsageError
from genrst.io import write_atomically
from genrst.model.device import choose_device
from genrst.parser.packages import is_model
from genrst.training.data import Prepared
from genrst.training.run import CONFIG, LOG, MODEL, Run, read_log
from genrst.training.run_config import RunConfig, load_config

TRAINED = "trained.json"
"""Written last: a run that has it is finished."""


@dataclass(frozen=True, slots=True)
class Member:
    """One seed of a model, and the folder of its run."""

    model: str
    """Its name: in the tables, generative or discriminative."""
    seed: int
    config: RunConfig
    folder: Path

    @property
    def model_folder(self) -> Path:
        """Where its best epoch lies."""
        return self.folder / MODEL

    @property
    def is_trained(self) -> bool:
        """Whether training is over. A model without a log was put there by somebody, and is taken as it is."""
        is_given = is_model(self.model_folder) and not (self.folder / LOG).exists()
        return is_given or (self.folder / TRAINED).is_file()

    def check_settings(self) -> None:
        """Raise an error if the folder holds a run of other settings."""
        path = self.folder / CONFIG
        if not path.is_file():
            return
        earlier = load_config(path)
        training = dataclasses.replace(earlier.training, seeds=self.config.training.seeds)
        if (earlier.model, training) != (self.config.model, self.config.training):
            raise UsageError(f"{self.folder} holds a run of other settings: --output starts another")

    def summary(self) -> dict[str, Any]:
        """What the training gave; nothing but names for a model that was put there."""
        path = self.folder / TRAINED
        known = json.loads(path.read_bytes()) if path.is_file() else {}
        return {"model": self.model, "seed": self.seed, **known}


def make_members(name: str, config: RunConfig, seeds: Sequence[int], folder: Path) -> Iterator[Member]:
    """All seeds of a model."""
    for seed in seeds:
        own = dataclasses.replace(config, training=dataclasses.replace(config.training, seeds=(seed,)))
        yield Member(name, seed, own, folder / f"seed-{seed}")


def train(member: Member, prepared: Prepared, device: str) -> None:
    """Train a seed to its end, going on from a checkpoint if there is one."""
    run = Run(member.config, member.seed, member.folder, choose_device(device))
    for record in run.records(prepared, run.find_checkpoint()):
        scores = " ".join(f"{aspect} {score:.1f}" for aspect, score in record.dev_scores.items())
        tell(f"{member.model} seed {member.seed} epoch {record.epoch}: {scores}")
    records = read_log(member.folder / LOG)
    best = [record for record in records if record.is_best][-1]
    summary = {
        "epochs": len(records),
        "best_epoch": best.epoch,
        "greedy": best.dev_scores,
        "seconds": sum(record.train_seconds + record.dev_seconds for record in records),
    }
    write_atomically(member.folder / TRAINED, json.dumps(summary))
