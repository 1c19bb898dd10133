"""What the commands of all experiments share: arguments, one-line errors, and result rows with their environment."""

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
    """An argument parser that shows the docstring of a module as its help, line breaks included."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def run_command(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], object], words: Sequence[str] | None = None
) -> None:
    """Run a command with these arguments, or with those of the program; a GenrstError ends it with one line."""
    arguments = parser.parse_args(words)
    try:
        run(arguments)
    except GenrstError as error:
        parser.exit(1, f"{error}\n")


def add_search_arguments(parser: argparse.ArgumentParser, word_weights: Sequence[float]) -> None:
    """The arguments of commands that train and search, with the default weights of words."""
    help = "of words against structure, in generative models"
    parser.add_argument("--word-weights", type=float, nargs="+", default=word_weights, help=help)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=count, default=1, help="trainings and searches side by side")
    help = "hypotheses side by side: about 1 MB each at the paper's sizes"
    parser.add_argument("--at-once", type=count, default=8000, help=help)


def check_search_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for invalid search settings, before anything is trained."""
    choose_device(arguments.device)
    for weight in arguments.word_weights:
        ParserConfig(word_weight=weight)


def check_once(arguments: argparse.Namespace, *names: str) -> None:
    """Raise an error if one of these arguments has a value twice."""
    for name in names:
        values = getattr(arguments, name)
        if len(set(values)) < len(values):
            raise UsageError(f"--{name.replace('_', '-')}: each must be given once, got {values}")


def count(word: str) -> int:
    """An argument that is a whole number from 1 on."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {word!r}")
    return int(word)


def share(word: str) -> float:
    """An argument that is a number over 0 and at most 1."""
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"must be a number over 0 and at most 1, got {word!r}")
    return number


@dataclass(frozen=True, slots=True)
class Environment:
    """The code and the machine behind a result."""

    commit: str | None
    """Of this repository, with `-dirty` if files have changed since; None where there is no git."""
    hardware: str
    torch: str


def read_environment(device: torch.device) -> Environment:
    """The environment of this process."""
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
    """The seed of a model, or of each model in an ensemble; None if it is unknown."""
    return [_seed(model) for model, _ in read_models(folder)]


def _seed(folder: Path) -> int | None:
    """A run with several seeds has a folder for each, `seed-1`; a run with one seed names it in its configuration."""
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
    """Results as lines of JSON; each also has the common settings and the environment."""

    environment: Environment
    common: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, **row: object) -> None:
        """Print a row."""
        line = json.dumps(row | self.common | asdict(self.environment))
        self.lines.append(f"{line}\n")
        show(line)

    def write(self, path: Path | None) -> None:
        """Write all rows to a file, if one is given."""
        if path is not None:
            write_atomically(path, "".join(self.lines))


def scores_of(evaluation: Evaluation) -> dict[str, float]:
    """S, N, R, F by Parseval, in percent, rounded for a row."""
    return {aspect: round(score, 2) for aspect, score in evaluation.percentages().items()}
