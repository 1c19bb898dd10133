"""On what a result was computed."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


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
