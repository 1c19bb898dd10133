"""Evaluate charts on unseen genres: train without a genre, then parse all of its documents.

    python -m experiments.new_genres.run mpnet-chart --prepared FILE.npz --output runs/genres
    python -m experiments.new_genres.run mpnet-chart --prepared FILE.npz --output runs/noisy \
        --set training.layout_noise=0.3 --genres news vlog bio court --together 2

The features come from `genrst train --prepare-only`; the second part of a document's id is its genre, as in GUM. The
train and dev documents of a genre are parsed by a network that has seen none of them, after the last epoch, because
there is no dev data for choosing an epoch. With --together, several genres are held out of one training, which is
harder but takes less time. Each genre is parsed unchanged, without layout, and without punctuation, with one line of
JSON each; the means over genres come last. Each training has its own folder, and is skipped if its model exists.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from experiments.command import Rows, count, read_environment, run_command, start_parser
from experiments.data import read_features
from experiments.silver_trees.chart_steps import load_charts, score
from genrst.chart.examples import ChartExample
from genrst.chart.learning.task import without_paragraphs, without_pieces
from genrst.config import find_config
from genrst.encoder.device import choose_device
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import UsageError
from genrst.storage import WEIGHTS
from genrst.training.prepared import Prepared
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, load_config


def main(words: Sequence[str] | None = None) -> None:
    """Train and print."""
    parser = start_parser(__doc__)
    parser.add_argument("config", help="name or file of a configuration")
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--genres", nargs="+", help="genres to hold out (default: all)")
    parser.add_argument(
        "--together", metavar="N", type=count, default=1, help="number of genres held out of one training"
    )
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="a.b=c")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, help="file for the printed rows")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    device = choose_device(arguments.device)
    config = _without_choice(load_config(find_config(arguments.config), arguments.changes))
    if config.model.kind != "chart":
        raise UsageError(f"{arguments.config}: the model must be a chart, got {config.model.kind}")
    prepared = read_features(arguments.prepared, "chart")
    known = sorted({genre_of(example.id) for example in prepared.train})
    if unknown := set(arguments.genres or ()) - set(known):
        raise UsageError(f"--genres must be among {', '.join(known)}, got {min(unknown)}")
    if arguments.together >= len(known):
        raise UsageError(f"--together must be less than the number of genres, {len(known)}, got {arguments.together}")
    rows = Rows(read_environment(device), {"seed": config.training.seeds[0]})
    changes = changes_of(prepared)
    found: dict[str, list[dict[str, float]]] = {text: [] for text in changes}
    for genres in in_parts(arguments.genres or known, arguments.together):
        parts = without_genres(prepared, genres)
        one = Run(config, config.training.seeds[0], arguments.output / "-".join(genres), device)
        # The weights are written after the last epoch, so an interrupted run has none.
        if not (one.folder / MODEL / WEIGHTS).is_file():
            list(one.records(parts))
        models = load_charts(one.folder / MODEL, parts, arguments.device)
        for genre in genres:
            own = [example for example in parts.dev if genre_of(example.id) == genre]
            facts = {"genre": genre, "documents": len(own), "edus": sum(example.n_edus for example in own)}
            for text, change in changes.items():
                scores = score(models, replace(parts, dev=[change(example) for example in own]))
                del scores["seconds"]
                found[text].append(scores)
                rows.add(**facts, text=text, **scores)
    for text, of_genres in found.items():
        rows.add(genre="mean", text=text, **means(of_genres))
    rows.write(arguments.results)


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each score."""
    return {name: round(fmean(row[name] for row in rows), 2) for name in rows[0]}


def changes_of(prepared: Prepared) -> dict[str, Callable[[ChartExample], ChartExample]]:
    """Return the variants in which a genre is parsed, as functions on its documents."""
    assert prepared.tokenizer is not None
    signs = PieceTokenizer(prepared.tokenizer).punctuation
    return {
        "as it is": lambda example: example,
        "without layout": without_paragraphs,
        "without punctuation": lambda example: without_pieces(example, np.isin(example.pieces, signs)),
    }


def in_parts(genres: Sequence[str], size: int) -> list[Sequence[str]]:
    """Divide genres into parts that are held out together, with distant ones in each part."""
    n_parts = -(-len(genres) // size)
    return [genres[first::n_parts] for first in range(n_parts)]


def _without_choice(config: RunConfig) -> RunConfig:
    """Return the configuration changed to train to the last epoch and evaluate only there."""
    n_epochs = config.training.max_epochs
    return replace(config, training=replace(config.training, evaluate_from=n_epochs, patience=n_epochs))


def genre_of(id: str) -> str:
    """Return the genre in a document's id, such as `GUM_news_asylum`."""
    words = id.split("_")
    return words[1] if len(words) > 2 else ""


def without_genres(prepared: Prepared, genres: Sequence[str]) -> Prepared:
    """Return features with the training documents of all other genres, and all documents of these genres as dev."""
    train = [example for example in prepared.train if genre_of(example.id) not in genres]
    own = [example for example in (*prepared.train, *prepared.dev) if genre_of(example.id) in genres]
    silver = [example for example in prepared.silver if genre_of(example.id) not in genres]
    return replace(prepared, train=train, dev=own, silver=silver)


if __name__ == "__main__":
    main()
