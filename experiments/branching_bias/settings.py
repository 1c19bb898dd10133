"""Vary the settings of the paper's figure 3: the beam and the probability of generating an EDU.

    python -m experiments.branching_bias.settings [--trees 100] [--output DIR]

Runs both searches with the uniform scorer, with beams of 10 to 100 at every length, and with log-probabilities of an
EDU from −20 to 0 at some lengths. Writes settings.json, settings.md and settings.svg.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from matplotlib.figure import Figure

from experiments.branching_bias.run import Search, run_with_trees, sample
from experiments.branching_bias.uninformed import GENERATION_LOGP
from genrst.cli.console import show_json
from genrst.io import write_atomically
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.word import WordOptions, search_words

BEAMS = (10, 20, 40, 80, 100)
LENGTHS = {"word-level": (10, 20, 40, 80, 160), "bag-level": (10, 20, 40)}
"""Without a limit on the stack, bag-level search is quadratic in the length, so it gets fewer lengths."""
LOGPS = (-20.0, -5.0, -2.0, -1.0, -0.7, -0.3, 0.0)
CURVES = (("word-level", 10, 40), ("word-level", 10, 80), ("word-level", 100, 80), ("bag-level", 10, 40))
"""The curves by log-probability: search, beam and length."""


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
        """The search function; word-level search has the paper's k_w = k and k_s = k/10."""
        if self.search == "word-level":
            return lambda scorer, generator: search_words(scorer, WordOptions(self.beam), generator)
        return lambda scorer, generator: search_beams(scorer, BeamOptions(self.beam, max_stack=None), generator)


@dataclass(frozen=True, slots=True)
class Found:
    """The left-branching of the trees found."""

    median: float
    low: float
    """The lower quartile."""
    high: float
    seconds: float


def settings() -> Iterator[Setting]:
    """Yield all settings without duplicates."""
    listed = [Setting(search, k, n) for search, lengths in LENGTHS.items() for k in BEAMS for n in lengths]
    listed += [Setting(*curve, logp) for curve in CURVES for logp in LOGPS]
    yield from dict.fromkeys(listed)


def measure(setting: Setting, n_trees: int) -> Found:
    """Run the search on `n_trees` documents."""
    started = time.perf_counter()
    batch = max(1, 1600 // setting.n)
    values = sample(setting.run, "uniform", setting.n, n_trees, batch, setting.generation_logp)
    low, _, high = quantiles(values, n=4)
    found = Found(median(values), low, high, round(time.perf_counter() - started, 1))
    show_json(asdict(setting) | asdict(found))
    return found


def tables(found: dict[Setting, Found]) -> str:
    """Format the medians as Markdown, by beam and length, then by log-probability."""
    columns = LENGTHS["word-level"]
    parts = [_row("search", "k", *(f"n = {n}" for n in columns)), "|---|--:|" + "--:|" * len(columns)]
    for search in LENGTHS:
        for k in BEAMS:
            cells = [found.get(Setting(search, k, n)) for n in columns]
            parts.append(_row(search, str(k), *("–" if one is None else f"{one.median:.2f}" for one in cells)))
    head = _row("search", "k", "n", *(f"log p {logp:g}" for logp in LOGPS))
    parts += ["", head, "|---|--:|--:|" + "--:|" * len(LOGPS)]
    for search, k, n in CURVES:
        medians = [f"{found[Setting(search, k, n, logp)].median:.2f}" for logp in LOGPS]
        parts.append(_row(search, str(k), str(n), *medians))
    return "\n".join(parts) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def plot(found: dict[Setting, Found], path: Path) -> None:
    """Draw the medians by length, with a curve per beam (left), and by log-probability of an EDU (right)."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    by_length, by_logp = figure.subplots(1, 2, sharey=True)
    for (search, lengths), style, colour in zip(LENGTHS.items(), ("-o", "--v"), ("C0", "C1"), strict=True):
        for k, alpha in zip(BEAMS, (0.3, 0.45, 0.6, 0.8, 1.0), strict=True):
            medians = [found[Setting(search, k, n)].median for n in lengths]
            by_length.plot(lengths, medians, style, color=colour, alpha=alpha, label=f"{search}, k = {k}")
    ticks = LENGTHS["word-level"]
    by_length.set(xscale="log", xlabel=f"EDUs (log p {GENERATION_LOGP:g})", xticks=ticks, xticklabels=ticks)
    by_length.minorticks_off()
    places = range(len(LOGPS))
    for search, k, n in CURVES:
        medians = [found[Setting(search, k, n, logp)].median for logp in LOGPS]
        by_logp.plot(places, medians, "-o" if k == 100 else "--v", label=f"{search}, k = {k}, n = {n}")
    by_logp.set(xlabel="log p of generating an EDU", xticks=places, xticklabels=[f"{logp:g}" for logp in LOGPS])
    for axes in (by_length, by_logp):
        axes.axhline(0.5, color="grey", linewidth=0.5)
        axes.legend(fontsize="x-small")
    by_length.set(ylabel="median P_L", ylim=(0, 1))
    figure.savefig(path)


def main(words: Sequence[str] | None = None) -> None:
    """Run the experiment and write its results."""
    run_with_trees(__doc__, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    found = {setting: measure(setting, arguments.trees) for setting in settings()}
    rows = [asdict(setting) | asdict(one) | {"trees": arguments.trees} for setting, one in found.items()]
    write_atomically(arguments.output / "settings.json", json.dumps(rows, indent=1))
    write_atomically(arguments.output / "settings.md", tables(found))
    plot(found, arguments.output / "settings.svg")


if __name__ == "__main__":
    main()
