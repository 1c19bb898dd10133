"""Reproduce the paper's Tables 3 and 4: train both models with several seeds, search, score and compare.

    python -m experiments.paper_tables.run --corpus gum --data GUM --output runs/tables
    python -m experiments.paper_tables.run --prepared FILE.npz --output runs/tables --jobs 8

Results are written immediately and never recomputed; to resume an interrupted run, repeat the command. Table 3 is
always on dev. With `--split test`, Table 4 is on test, and only the searches that were best on dev are run there.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.command import (
    add_search_arguments,
    check_once,
    check_search_arguments,
    count,
    run_command,
    start_parser,
)
from experiments.data import Split, load_dev, load_features
from experiments.jobs import Schedule, start_workers
from experiments.paper_tables.features import find_test, save_features
from experiments.paper_tables.report import PAPER_BEAMS, Report
from experiments.paper_tables.scores import choose_best, make_systems
from experiments.runs import KINDS, MAX_STACK, Search, SeedRun, list_searches
from genrst.config import find_config
from genrst.errors import UsageError
from genrst.training.prepared import Prepared
from genrst.training.run_config import RunConfig, load_config

MODELS = {"generative": "paper", "discriminative": "paper-discriminative"}


def main(words: Sequence[str] | None = None) -> None:
    """Make the tables."""
    run_command(_parser(), run, words)


def _parser() -> argparse.ArgumentParser:
    parser = start_parser(__doc__)
    parser.add_argument("--corpus", choices=("gum", "rstdt"), help="kind of corpus (default: detected from the folder)")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="DIR", type=Path, help="folder of the corpus")
    source.add_argument(
        "--prepared", metavar="FILE", type=Path, help="file with features of train and dev (from genrst train)"
    )
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("cache"), help="folder for prepared features")
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="split of Table 4")
    parser.add_argument("--test", metavar="FILE", type=Path, help="file with features of test, if there is no --data")
    help = "write features.npz and test.npz to the output folder and stop"
    parser.add_argument("--prepare-only", action="store_true", help=help)
    parser.add_argument("--documents", metavar="N", type=count, help="search only the first N documents of a split")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    for model, name in MODELS.items():
        help = f"configuration of the {model} model (default: {name})"
        parser.add_argument(f"--{model}", metavar="CONFIG", default=name, help=help)
    parser.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="a.b=c", help="override a setting of both models"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    kinds = list(dict.fromkeys(kind for of_model in KINDS.values() for kind in of_model))
    parser.add_argument(
        "--searches", nargs="+", choices=kinds, default=kinds, help="kinds of search, as far as a model supports them"
    )
    parser.add_argument("--beams", type=count, nargs="+", default=PAPER_BEAMS)
    parser.add_argument(
        "--word-beam",
        metavar="K_W",
        type=count,
        nargs="+",
        default=[None],
        help="k_w of word-level search (default: the beam)",
    )
    help = "k_s of word-level search (default: a tenth of the beam)"
    parser.add_argument("--fast-beam", metavar="K_S", type=count, nargs="+", default=[None], help=help)
    help = f"stack limit of bag-level search (default: {MAX_STACK})"
    parser.add_argument("--max-stack", metavar="N", type=count, nargs="+", default=[MAX_STACK], help=help)
    add_search_arguments(parser, [1.0])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Train, search, and write the tables."""
    started = time.perf_counter()
    _check(arguments)
    runs = _runs(arguments)
    prepared = load_features([run.config for run in runs], arguments.prepared, arguments.cache)
    if arguments.prepare_only:
        save_features(runs[0].config.data, prepared, arguments.output)
        return
    configs = [run.config for run in runs]
    test = find_test(configs, prepared, arguments.test) if arguments.split == "test" else None
    with start_workers(arguments.jobs) as workers:
        report = _report(Schedule(workers, arguments.device, arguments.at_once), runs, prepared, test, arguments)
    notes: dict[str, Any] = {"settings": vars(arguments), "models": [run.summary() for run in runs]}
    notes["seconds_of_last_start"] = time.perf_counter() - started
    report.write(arguments.output, notes)


def _report(
    schedule: Schedule, runs: Sequence[SeedRun], prepared: Prepared, test: Split | None, arguments: argparse.Namespace
) -> Report:
    """Train, search dev with every model as soon as it is trained, and then run the searches for Table 4."""
    dev = load_dev(prepared).first(arguments.documents)
    on_dev = make_systems(schedule.search(schedule.train(runs, prepared), _searches(arguments), dev), dev)
    final = choose_best(on_dev, by_kind=True)
    if test is not None:
        test = test.first(arguments.documents)
        chosen = {model: [one.search for one in final if one.model == model] for model in arguments.models}
        final = make_systems(schedule.search(runs, chosen, test), test)
    return Report(arguments.corpus or prepared.notes.get("inventory", "a corpus"), on_dev, final)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.split == "test" and arguments.data is None and arguments.test is None:
        raise UsageError("--split test needs --data or --test, because prepared features have no test documents")
    if arguments.prepare_only and arguments.data is None:
        raise UsageError("--prepare-only needs --data")
    check_once(
        arguments,
        "models",
        "seeds",
        "searches",
        "beams",
        "word_weights",
        "word_beam",
        "fast_beam",
        "max_stack",
    )
    check_search_arguments(arguments)
    for model in arguments.models:
        if not set(KINDS[model]) & set(arguments.searches):
            raise UsageError(f"--searches: the {model} model needs one of {', '.join(KINDS[model])}")


def _runs(arguments: argparse.Namespace) -> list[SeedRun]:
    """Return the runs of all models and seeds."""
    runs = [
        SeedRun(model, seed, _config(model, arguments), arguments.output / model / f"seed-{seed}")
        for model in arguments.models
        for seed in arguments.seeds
    ]
    for run in runs:
        run.check_settings()
    return runs


def _config(model: str, arguments: argparse.Namespace) -> RunConfig:
    config = load_config(find_config(getattr(arguments, model)), arguments.changes)
    data = config.data if arguments.data is None else replace(config.data, path=str(arguments.data))
    return replace(config, data=data if arguments.corpus is None else replace(data, corpus=arguments.corpus))


def _searches(arguments: argparse.Namespace) -> dict[str, list[Search]]:
    return {
        model: list_searches(
            model,
            arguments.searches,
            arguments.beams,
            arguments.word_weights,
            arguments.word_beam,
            arguments.fast_beam,
            arguments.max_stack,
        )
        for model in arguments.models
    }


if __name__ == "__main__":
    main()
