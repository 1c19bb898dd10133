"""Shared code of the experiment commands: arguments, one-line errors, and result rows with their environment."""

import argparse
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from genrst.cli.console import show
from genrst.encoder.device import choose_device
from genrst.errors import ConfigError, GenrstError, UsageError
from genrst.evaluation.report import Evaluation
from genrst.io import write_atomically
from genrst.parser.folders import read_models
from genrst.parser.options import ParserConfig
from genrst.training.run import CONFIG, MODEL
from genrst.training.run_config import load_config


def start_parser(description: str | None) -> argparse.ArgumentParser:
    """Make an argument parser that shows a module's docstring as its help, with line breaks."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def run_command(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], object], words: Sequence[str] | None = None
) -> None:
    """Run a command with the given arguments or those of the program; a GenrstError exits with one line."""
    arguments = parser.parse_args(words)
    try:
        run(arguments)
    except GenrstError as error:
        parser.exit(1, f"{error}\n")


def add_search_arguments(parser: argparse.ArgumentParser, word_weights: Sequence[float]) -> None:
    """Add the arguments of commands that train and search, with the default weights of words."""
    help = "weights of words relative to structure, for generative models"
    parser.add_argument("--word-weights", type=float, nargs="+", default=word_weights, help=help)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=count, default=1, help="number of trainings and searches in parallel")
    help = "hypotheses searched at once (about 1 MB each at the paper's sizes)"
    parser.add_argument("--at-once", type=count, default=8000, help=help)


def check_search_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for invalid search settings before anything is trained."""
    choose_device(arguments.device)
    for weight in arguments.word_weights:
        ParserConfig(word_weight=weight)


def check_once(arguments: argparse.Namespace, *names: str) -> None:
    """Raise an error if one of these arguments has a duplicate value."""
    for name in names:
        values = getattr(arguments, name)
        if len(set(values)) < len(values):
            raise UsageError(f"--{name.replace('_', '-')}: duplicate values, got {values}")


def count(word: str) -> int:
    """Parse an argument that must be a positive integer."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {word!r}")
    return int(word)


def share(word: str) -> float:
    """Parse an argument that must be greater than 0 and at most 1."""
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"must be a number greater than 0 and at most 1, got {word!r}")
    return number


@dataclass(frozen=True, slots=True)
class Environment:
    """The code and the machine behind a result."""

    commit: str | None
    """The commit of this repository, with `-dirty` if files have changed since; None without git."""
    hardware: str
    torch: str


def read_environment(device: torch.device) -> Environment:
    """Return the environment of this process."""
    hardware = f"{os.cpu_count()} CPU cores ({platform.processor() or platform.machine()})"
    if device.type == "cuda":
        hardware = f"{torch.cuda.get_device_name(device)}, {hardware}"
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        described = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return Environment(None, hardware, torch.__version__)
    return Environment(described.stdout.strip(), hardware, torch.__version__)


def read_seeds(folder: Path) -> list[int | None]:
    """Return the seed of a model, or of each model in an ensemble; None if unknown."""
    return [_seed(model) for model, _ in read_models(folder)]


def _seed(folder: Path) -> int | None:
    """Find the seed in the folder name, such as `seed-1`, or in the configuration of a run with one seed."""
    run = folder.parent
    if named := re.fullmatch(r"seed-(-?\d+)", run.name):
        return int(named[1])
    if folder.name != MODEL or not (run / CONFIG).is_file():
        return None
    try:
        seeds = load_config(run / CONFIG).training.seeds
    except ConfigError:
        return None  # written by another version of this package
    return seeds[0] if len(seeds) == 1 else None


@dataclass(frozen=True, slots=True)
class Rows:
    """Results as lines of JSON, each with the common settings and the environment."""

    environment: Environment
    common: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, **row: object) -> None:
        """Add and print a row."""
        line = json.dumps(row | self.common | asdict(self.environment))
        self.lines.append(f"{line}\n")
        show(line)

    def write(self, path: Path | None) -> None:
        """Write all rows to a file if one is given."""
        if path is not None:
            write_atomically(path, "".join(self.lines))


def scores_of(evaluation: Evaluation) -> dict[str, float]:
    """Return Parseval S, N, R and F in percent, rounded for a row."""
    return {aspect: round(score, 2) for aspect, score in evaluation.percentages().items()}
