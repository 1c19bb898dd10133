"""What the paper's figure 3 depends on: the width of the beam, and how probable it is to generate an EDU.

    python -m experiments.branching_bias.settings [--trees 100] [--output DIR]

Both searches with the uniform scorer: beams of 10 to 100 at every length, and log-probabilities of an EDU from −20 to 0
at two lengths. Writes settings.json, settings.md and settings.svg.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.branching_bias.run import Search, sample
from experiments.branching_bias.uninformed import GENERATION_LOGP
from experiments.command import count, run_command, start_parser
from genrst.io import write_atomically
from genrst.search.beam import BeamOptions, search_beams
from genrst.search.word import WordOptions, search_words

BEAMS = (10, 20, 40, 80, 100)
LENGTHS = (10, 20, 40, 80, 160)
LOGPS = (-20.0, -5.0, -2.0, -1.0, -0.7, -0.3, 0.0)
LOGP_LENGTHS = (40, 80)
LOGP_BEAMS = (10, 100)


@dataclass(frozen=True, slots=True)
class Setting:
    """A search, the length of its documents, and the log-probability of generating an EDU."""

    search: str
    """word-level or bag-level."""
    beam: int
    n: int
    generation_logp: float = GENERATION_LOGP

    @property
    def run(self) -> Search:
        """The search itself; word-level search has the paper's k_w = k and k_s = k/10."""
        if self.search == "word-level":
            return lambda scorer, generator: search_words(scorer, WordOptions(self.beam), generator)
        return lambda scorer, generator: search_beams(scorer, BeamOptions(self.beam, max_stack=None), generator)


@dataclass(frozen=True, slots=True)
class Found:
    """The left-branching of the trees that were found."""

    median: float
    low: float
    """The quartiles."""
    high: float
    seconds: float


def settings() -> Iterator[Setting]:
    """All settings, each once."""
    listed = [Setting(search, k, n) for search in ("word-level", "bag-level") for k in BEAMS for n in LENGTHS]
    listed += [Setting("word-level", k, n, logp) for k in LOGP_BEAMS for n in LOGP_LENGTHS for logp in LOGPS]
    listed += [Setting("bag-level", 10, n, logp) for n in LOGP_LENGTHS for logp in LOGPS]
    yield from dict.fromkeys(listed)


def measure(setting: Setting, n_trees: int) -> Found:
    """Search as many documents as there are to be trees."""
    started = time.perf_counter()
    batch = max(1, 1600 // setting.n)
    values = sample(setting.run, "uniform", setting.n, n_trees, batch, setting.generation_logp)
    low, _, high = quantiles(values, n=4)
    found = Found(median(values), low, high, round(time.perf_counter() - started, 1))
    print(json.dumps(asdict(setting) | asdict(found)), flush=True)
    return found


def tables(found: dict[Setting, Found]) -> str:
    """Medians as Markdown: by beam and length, then by log-probability."""
    parts = [_row("search", "k", *(f"n = {n}" for n in LENGTHS)), "|---|--:|" + "--:|" * len(LENGTHS)]
    for search in ("word-level", "bag-level"):
        for k in BEAMS:
            parts.append(_row(search, str(k), *(f"{found[Setting(search, k, n)].median:.2f}" for n in LENGTHS)))
    parts += [
        "",
        _row("search", "k", "n", *(f"log p {logp:g}" for logp in LOGPS)),
        "|---|--:|--:|" + "--:|" * len(LOGPS),
    ]
    for search, k in [*(("word-level", k) for k in LOGP_BEAMS), ("bag-level", 10)]:
        for n in LOGP_LENGTHS:
            medians = [f"{found[Setting(search, k, n, logp)].median:.2f}" for logp in LOGPS]
            parts.append(_row(search, str(k), str(n), *medians))
    return "\n".join(parts) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def plot(found: dict[Setting, Found], path: Path) -> None:
    """Left: by length, a curve for each beam. Right: by the log-probability of an EDU."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    lengths, logps = figure.subplots(1, 2, sharey=True)
    for search, style, colour in (("word-level", "-o", "C0"), ("bag-level", "--v", "C1")):
        for k, alpha in zip(BEAMS, (0.3, 0.45, 0.6, 0.8, 1.0), strict=True):
            medians = [found[Setting(search, k, n)].median for n in LENGTHS]
            lengths.plot(LENGTHS, medians, style, color=colour, alpha=alpha, markersize=4, label=f"{search}, k = {k}")
    lengths.set(xscale="log", xlabel=f"EDUs (log p {GENERATION_LOGP:g})", xticks=LENGTHS, xticklabels=LENGTHS)
    lengths.minorticks_off()
    places = range(len(LOGPS))
    for n, alpha in zip(LOGP_LENGTHS, (0.5, 1.0), strict=True):
        for k, style in zip(LOGP_BEAMS, ("-o", "-s"), strict=True):
            medians = [found[Setting("word-level", k, n, logp)].median for logp in LOGPS]
            logps.plot(places, medians, style, color="C0", alpha=alpha, markersize=4, label=f"word-level, {n}, k = {k}")
        medians = [found[Setting("bag-level", 10, n, logp)].median for logp in LOGPS]
        logps.plot(places, medians, "--v", color="C1", alpha=alpha, markersize=4, label=f"bag-level, {n}, k = 10")
    logps.set(xlabel="log p of generating an EDU", xticks=places, xticklabels=[f"{logp:g}" for logp in LOGPS])
    for axes in (lengths, logps):
        _finish(axes)
    lengths.set(ylabel="median P_L", ylim=(0, 1))
    figure.savefig(path)


def _finish(axes: Axes) -> None:
    axes.axhline(0.5, color="grey", linewidth=0.5)
    axes.legend(fontsize="x-small")


def main(words: Sequence[str] | None = None) -> None:
    """Run the experiment and write its results."""
    parser = start_parser(__doc__)
    parser.add_argument("--trees", type=count, default=100)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    found = {setting: measure(setting, arguments.trees) for setting in settings()}
    rows = [asdict(setting) | asdict(one) | {"trees": arguments.trees} for setting, one in found.items()]
    write_atomically(arguments.output / "settings.json", json.dumps(rows, indent=1))
    write_atomically(arguments.output / "settings.md", tables(found))
    plot(found, arguments.output / "settings.svg")


if __name__ == "__main__":
    main()
