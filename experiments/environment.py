"""On what a result was computed, and with which seeds its models were trained."""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

from genrst.errors import ConfigError
from genrst.parser.packages import read_models
from genrst.training.run import CONFIG, MODEL
from genrst.training.run_config import load_config

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Environment:
    """The code and the machine behind a result."""

    commit: str | None
    """Of this repository, `-dirty` if files differ from it; none where git is missing."""
    hardware: str
    torch: str


def read_environment(device: torch.device) -> Environment:
    """What we compute on, here and now."""
    hardware = f"{os.cpu_count()} CPU cores ({platform.processor() or platform.machine()})"
    if device.type == "cuda":
        hardware = f"{torch.cuda.get_device_name(device)}, {hardware}"
    return Environment(_commit(), hardware, torch.__version__)


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def read_seeds(folder: Path) -> list[int | None]:
    """The seed of a model, or those of the members of an ensemble; None where no run says it."""
    return [_seed(member) for member, _ in read_models(folder)]


def _seed(folder: Path) -> int | None:
    """A run with several seeds has a folder for each, `seed-1`; one with one seed has it in its configuration."""
    run = folder.parent
    if named := re.fullmatch(r"seed-(-?\d+)", run.name):
        return int(named[1])
    if folder.name != MODEL or not (run / CONFIG).is_file():
        return None
    try:
        seeds = load_config(run / CONFIG).training.seeds
    except ConfigError:
        return None  # of another version of this package
    return seeds[0] if len(seeds) == 1 else None
