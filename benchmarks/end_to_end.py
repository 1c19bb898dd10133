"""Measure the time from raw text to a tree, in total and by stage.

    python -m benchmarks.end_to_end [--model NAME|DIR] [--text FILE] [--words 500] [--runs 3] [--random]

Prints one JSON object: the seconds of `genrst parse` in a new process (median of the runs), of a loaded parser, and of
each stage. `--random` measures a model of the paper's sizes with random weights.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks import read_anew
from benchmarks.train import machine, peak_memory, random_prepared
from genrst.encoder.model import Model, save_model
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.rnng.config import RnngConfig
from genrst.rnng.finder import RnngFinder, make_network
from genrst.text.annotate import load_pipeline

TEXT = Path(__file__).parent.parent / "examples" / "library.txt"


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    text = repeat(arguments.text.read_text(encoding="utf-8"), arguments.words)
    with tempfile.TemporaryDirectory() as folder:
        model = random_model(Path(folder) / "random") if arguments.random else arguments.model
        cold = [cold_seconds(text, model) for _ in range(arguments.runs)]
        seconds = {"cold_seconds": median(cold)} | warm(text, model, arguments.runs)
    print(json.dumps(describe(text, arguments) | seconds))


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="an installed model or a folder (default: en)")
    parser.add_argument("--random", action="store_true", help="use random weights at the paper's sizes")
    parser.add_argument("--text", type=Path, default=TEXT, help="text file to parse")
    parser.add_argument(
        "--words", type=int, default=500, help="number of words to parse; a shorter text is repeated (default: 500)"
    )
    parser.add_argument("--runs", type=int, default=3)
    return parser.parse_args()


def repeat(text: str, n_words: int) -> str:
    """Return a text of exactly n words, in whole paragraphs except for the last."""
    words = text.replace("\n\n", " \n\n ").split(" ")
    while sum(word.strip() != "" for word in words) < n_words:
        words += ["\n\n", *words]
    kept, n_kept = [], 0
    for word in words:
        n_kept += word.strip() != ""
        if n_kept > n_words:
            break
        kept.append(word)
    return " ".join(kept).replace(" \n\n ", "\n\n")


def random_model(folder: Path) -> Path:
    """Write an untrained model of the paper's sizes."""
    symbols = random_prepared().symbols
    save_model(Model(make_network(RnngConfig(), symbols), symbols), folder)
    return folder


def cold_seconds(text: str, model: str | Path | None) -> float:
    """Return the time of the whole command in a new process."""
    command = [sys.executable, "-W", "ignore", "-m", "genrst.cli.main", "parse", "-", "--device", "cpu"]
    command += ["--model", str(model)] if model else []
    started = time.perf_counter()
    subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return time.perf_counter() - started


class Clock:
    """Accumulates the seconds of stages. A nested stage does not count for the outer one."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block."""
        outside, self._inside = self._inside, 0.0
        started = time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        self.seconds[name] += seconds - self._inside
        self._inside = outside + seconds


def warm(text: str, model: str | Path | None, runs: int) -> dict[str, object]:
    """Time a loaded parser, in total and by stage: the median of the runs after the first."""
    read_anew()
    clock = Clock()
    with clock.stage("load model"):
        parser = load(model, device="cpu")
    if isinstance(parser.finder, RnngFinder):
        with clock.stage("load spaCy"):
            load_pipeline(parser.config.pipeline)
    loading = dict(clock.seconds)
    totals, stages = [], []
    watch(parser, clock)
    for _ in range(runs + 1):
        clock.seconds.clear()
        started = time.perf_counter()
        document = parser(text)
        totals.append(time.perf_counter() - started)
        stages.append(dict(clock.seconds))
    seconds = {name: median(stage[name] for stage in stages[1:]) for name in stages[0]}
    total = median(totals[1:])
    return {
        "edus": len(document.edus),
        "first_seconds": totals[0],
        "warm_seconds": total,
        "loading_seconds": loading,
        "stage_seconds": seconds,
        "stage_shares": {name: round(value / total, 3) for name, value in seconds.items()},
        "peak_memory_mib": peak_memory(torch.device("cpu")),
    }


def watch(parser: Parser, clock: Clock) -> None:
    """Time the stages of a parser."""
    for name, stage in (("prepare", "annotate"), ("segment", "segment"), ("find", "search")):
        setattr(parser.finder, name, timed(getattr(parser.finder, name), clock, stage))


def timed(method: Callable[..., Any], clock: Clock, name: str) -> Callable[..., Any]:
    """Return the method, timed as a stage."""

    def run(*arguments: Any) -> Any:  # noqa: ANN401
        with clock.stage(name):
            return method(*arguments)

    return run


def describe(text: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Describe the machine and the text."""
    return {
        "machine": machine(torch.device("cpu")),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "model": "random weights, the paper's sizes" if arguments.random else arguments.model or "en",
        "words": len(text.split()),
    }


if __name__ == "__main__":
    main()
