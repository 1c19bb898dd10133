"""What all commands of the experiments share: how they begin, what they print, and how an error ends them."""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.environment import ROOT, Environment
from genrst.errors import GenrstError, UsageError
from genrst.evaluation.report import Evaluation
from genrst.io import write_atomically
from genrst.model.device import choose_device
from genrst.parser.packages import ParserConfig
from genrst.training.dev import parseval_f1


def start_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of arguments whose help is the description of a module, as it is."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def run_command(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], object], words: Sequence[str] | None = None
) -> None:
    """Run a command with the arguments given, or with those of the program; an error of ours is one line."""
    arguments = parser.parse_args(words)
    try:
        run(arguments)
    except GenrstError as error:
        parser.exit(1, f"{error}\n")


def add_search_arguments(parser: argparse.ArgumentParser, word_weights: Sequence[float]) -> None:
    """The arguments of commands that train and search; `word_weights` are those if none is given."""
    help = "of words against structure, in generative models"
    parser.add_argument("--word-weights", type=float, nargs="+", default=word_weights, help=help)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=count, default=1, help="trainings and searches side by side")
    help = "hypotheses side by side: about 1 MB each at the paper's sizes"
    parser.add_argument("--at-once", type=count, default=8000, help=help)


def check_once(arguments: argparse.Namespace, *names: str) -> None:
    """Raise an error if a value of one of these arguments was given twice."""
    for name in names:
        values = getattr(arguments, name)
        if len(set(values)) < len(values):
            raise UsageError(f"--{name.replace('_', '-')}: each must be given once, was: {values}")


def check_search_arguments(arguments: argparse.Namespace) -> None:
    """Raise an error for what is wrong with searches, before anything is trained."""
    choose_device(arguments.device)
    for weight in arguments.word_weights:
        ParserConfig(word_weight=weight)


def count(word: str) -> int:
    """An argument that is a number from 1 on."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1 on, was: {word!r}")
    return int(word)


def positive(word: str) -> float:
    """An argument that is a number over 0."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number over 0, was: {word!r}")
    return number


def share(word: str) -> float:
    """An argument that is a number over 0, and 1 at most."""
    if positive(word) > 1:
        raise argparse.ArgumentTypeError(f"must be 1 at most, was: {word!r}")
    return float(word)


def find_config(name: str) -> Path:
    """A configuration by its file, or by its name in our folder."""
    return Path(name) if name.endswith(".toml") else ROOT / "configs" / f"{name}.toml"


def keep_settings(arguments: argparse.Namespace, names: Sequence[str], path: Path) -> None:
    """Write arguments that all results depend on; raise an error if an earlier start had others."""
    settings = json.loads(json.dumps({name: getattr(arguments, name) for name in names}, default=str))
    earlier = json.loads(path.read_bytes()) if path.is_file() else settings
    if other := [name for name in names if earlier.get(name) != settings[name]]:
        raise UsageError(f"{path.parent} holds a run of other settings ({', '.join(other)}): --output starts another")
    write_atomically(path, json.dumps(settings, indent=1) + "\n")


@dataclass(frozen=True, slots=True)
class Rows:
    """Results as lines of JSON, each with the code and the machine behind it, and with what is the same in all."""

    environment: Environment
    common: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, **row: object) -> None:
        """Print a row."""
        self.lines.append(json.dumps(row | self.common | asdict(self.environment)) + "\n")
        print(self.lines[-1], end="", flush=True)

    def write(self, path: Path | None) -> None:
        """Write all rows into a file, if one is given."""
        if path is not None:
            write_atomically(path, "".join(self.lines))


def scores_of(evaluation: Evaluation) -> dict[str, float]:
    """S, N, R, F by Parseval, in percent, as rows have them."""
    return {aspect: round(score, 2) for aspect, score in parseval_f1(evaluation).items()}
