"""How good is a parser on texts of a kind that nobody annotated? Train without a genre, then parse all of it.

    python -m genrst.experiments.new_genres.run mpnet-chart --prepared FILE.npz --output runs/genres
    python -m genrst.experiments.new_genres.run mpnet-chart --prepared FILE.npz --output runs/noisy \
        --set training.layout_noise=0.3 --genres news vlog

The features are those of `genrst train --prepare-only`; the second word of a document's name is its genre, as in GUM.
A genre's documents of train and dev are parsed by a network that has seen none of them, after the last epoch: there is
nothing else to choose an epoch by. Each genre has a line of JSON and a folder, and is not trained again if its folder
is there. The mean over genres comes last.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from genrst.config import find_config
from genrst.errors import UsageError
from genrst.experiments.command import Rows, read_environment, run_command, start_parser
from genrst.model.device import choose_device
from genrst.training.data import Prepared, load_prepared
from genrst.training.run import LOG, Run, read_log
from genrst.training.run_config import RunConfig, load_config


def main(words: Sequence[str] | None = None) -> None:
    """Train and print."""
    parser = start_parser(__doc__)
    parser.add_argument("config", help="a configuration, by name or file")
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--genres", nargs="+", help="(default: all)")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="a.b=c")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, help="a file for what is printed")
    run_command(parser, run, words)


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    device = choose_device(arguments.device)
    config = _without_choice(load_config(find_config(arguments.config), arguments.changes))
    prepared = load_prepared(arguments.prepared)
    known = sorted({genre_of(example.id) for example in prepared.train})
    if unknown := set(arguments.genres or ()) - set(known):
        raise UsageError(f"--genres: each must be one of {', '.join(known)}, was: {min(unknown)}")
    rows, found = Rows(read_environment(device), {"seed": config.training.seeds[0]}), []
    for genre in arguments.genres or known:
        parts = without_genre(prepared, genre)
        one = Run(config, config.training.seeds[0], arguments.output / genre, device)
        records = read_log(one.folder / LOG) or list(one.records(parts))
        found.append(records[-1].dev_scores)
        n_edus = sum(example.n_edus for example in parts.dev)
        rows.add(genre=genre, documents=len(parts.dev), edus=n_edus, **_round(found[-1]))
    rows.add(genre="mean", **_round({name: fmean(scores[name] for scores in found) for name in found[0]}))
    rows.write(arguments.results)


def _without_choice(config: RunConfig) -> RunConfig:
    """Trained to the last epoch, scored there only."""
    n_epochs = config.training.max_epochs
    return replace(config, training=replace(config.training, evaluate_from=n_epochs, patience=n_epochs))


def genre_of(id: str) -> str:
    """The genre in a document's name, such as `GUM_news_asylum`."""
    words = id.split("_")
    return words[1] if len(words) > 2 else ""


def without_genre(prepared: Prepared, genre: str) -> Prepared:
    """Training documents of all other genres; all documents of this one to be scored."""
    train = [example for example in prepared.train if genre_of(example.id) != genre]
    own = [example for example in (*prepared.train, *prepared.dev) if genre_of(example.id) == genre]
    silver = [example for example in prepared.silver if genre_of(example.id) != genre]
    return replace(prepared, train=train, dev=own, silver=silver)


def _round(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(score, 2) for name, score in scores.items()}


if __name__ == "__main__":
    main()
