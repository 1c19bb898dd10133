"""Reproduce the paper's figure 3: the branching bias of search with an uninformed model.

    python -m experiments.branching_bias.run [--trees 100] [--output DIR]

Runs word-level and bag-level search with two uninformed scorers on sequences of 10 to 320 EDUs, for 100 trees each;
ties are broken at random. Writes results.json, table.md and figure.svg.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Literal

import torch
from matplotlib.figure import Figure

from experiments.branching_bias.uninformed import GENERATION_LOGP, UninformedScorer
from experiments.command import count, run_command, start_parser
from genrst.cli.console import show_json
from genrst.io import write_atomically
from genrst.rnng.search.beam import BeamOptions, search_beams
from genrst.rnng.search.results import SearchResult
from genrst.rnng.search.word import WordOptions, search_words
from genrst.rnng.transitions.actions import GEN, GENERATE, Reduce, tree_of
from genrst.trees.measures import left_branching
from genrst.trees.node import Tree

LENGTHS = (10, 20, 40, 80, 160, 320)
PAPER = dict(zip(LENGTHS, (0.33, 0.63, 0.82, 0.91, 0.95, 0.97), strict=True))
"""Medians read off the paper's figure: word-level search, uniform scorer."""

Kind = Literal["uniform", "constant"]
KINDS: tuple[Kind, ...] = ("uniform", "constant")
Search = Callable[[UninformedScorer, torch.Generator], list[SearchResult]]
BAG_BEAM = 20

SEARCHES: dict[str, Search] = {
    "word-level": lambda scorer, generator: search_words(scorer, WordOptions(100, 100, 10), generator),
    "bag-level": lambda scorer, generator: search_beams(scorer, BeamOptions(BAG_BEAM, max_stack=None), generator),
}


def sample(
    search: Search, kind: Kind, n_edus: int, n_trees: int, batch: int, generation_logp: float = GENERATION_LOGP
) -> list[float]:
    """Return P_L of the best trees of independent searches, which run in batches."""
    values: list[float] = []
    for first in range(0, n_trees, batch):
        generator = torch.Generator().manual_seed(first)
        n_documents = min(batch, n_trees - first)
        for found in search(UninformedScorer((n_edus,) * n_documents, kind, generation_logp), generator):
            values.append(left_branching(choose_tree(found, random.Random(len(values)))))
    return values


def choose_tree(found: SearchResult, rng: random.Random) -> Tree:
    """Return the best tree, chosen at random among ties."""
    best = max(parse.logp for parse in found.parses)
    chosen = rng.choice([parse for parse in found.parses if parse.logp > best - 1e-9])
    return tree_of(GEN if action == GENERATE else Reduce("unit", "NN") for action in chosen.actions)


Row = dict[str, Any]


def sample_all(n_trees: int) -> list[Row]:
    """Run all searches, scorers and lengths."""
    rows: list[Row] = []
    for name, search in SEARCHES.items():
        for kind in KINDS:
            for n_edus in LENGTHS:
                started = time.perf_counter()
                values = sample(search, kind, n_edus, n_trees, batch=max(1, 1600 // n_edus))
                low, _, high = quantiles(values, n=4)
                row = {"search": name, "scorer": kind, "n": n_edus, "median": median(values), "quartiles": [low, high]}
                rows.append(row | {"trees": n_trees, "seconds": round(time.perf_counter() - started, 1)})
                show_json(rows[-1])
    return rows


def table(rows: list[Row]) -> str:
    """Format the medians as Markdown, with the paper's."""
    lines = [
        "| search | scorer | " + " | ".join(f"n = {n}" for n in LENGTHS) + " |",
        "|---|---|" + "--:|" * len(LENGTHS),
    ]
    lines.append("| word-level, paper | uniform | " + " | ".join(f"{PAPER[n]:.2f}" for n in LENGTHS) + " |")
    for name in SEARCHES:
        for kind in KINDS:
            medians = [row["median"] for row in rows if (row["search"], row["scorer"]) == (name, kind)]
            lines.append(f"| {name} | {kind} | " + " | ".join(f"{value:.2f}" for value in medians) + " |")
    return "\n".join(lines) + "\n"


def plot(rows: list[Row], path: Path) -> None:
    """Draw the figure."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(LENGTHS, [PAPER[n] for n in LENGTHS], "ks", fillstyle="none", label="word-level, uniform (paper)")
    for name, marker in zip(SEARCHES, "ov", strict=True):
        for kind, style in zip(KINDS, ("-", "--"), strict=True):
            medians = [row["median"] for row in rows if (row["search"], row["scorer"]) == (name, kind)]
            axes.plot(LENGTHS, medians, style + marker, label=f"{name}, {kind}")
    axes.axhline(0.5, color="grey", linewidth=0.5)
    axes.set(xscale="log", xlabel="EDUs", ylabel="median P_L", ylim=(0, 1), xticks=LENGTHS, xticklabels=LENGTHS)
    axes.minorticks_off()
    axes.legend(fontsize="small")
    figure.savefig(path)


def main(words: Sequence[str] | None = None) -> None:
    """Run the experiment and write its results."""
    run_with_trees(__doc__, run, words)


def run_with_trees(
    description: str | None, run: Callable[[argparse.Namespace], object], words: Sequence[str] | None
) -> None:
    """Run a command of this folder, with the arguments --trees and --output."""
    parser = start_parser(description)
    parser.add_argument("--trees", type=count, default=100)
    parser.add_argument("--output", type=Path, default=Path("runs/branching_bias"))
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    rows = sample_all(arguments.trees)
    write_atomically(arguments.output / "results.json", json.dumps(rows, indent=1))
    write_atomically(arguments.output / "table.md", table(rows))
    plot(rows, arguments.output / "figure.svg")


if __name__ == "__main__":
    main()
