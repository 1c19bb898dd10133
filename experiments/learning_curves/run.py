"""Learning curves of the generative and the discriminative model, from a sixteenth of the corpus to all of it.

    python -m experiments.learning_curves.run --data GUM --split test --output runs/curves
    python -m experiments.learning_curves.run --prepared FILE --test FILE --split test --output runs/curves --jobs 6

Every model is trained on nested subsets that are balanced by genre, with its own vocabulary. The weight of words is
tuned on dev for each model and size. To resume an interrupted run, repeat the command. Writes rows.json, table.md and
curves.svg.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

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
from experiments.learning_curves.subsets import nested_order, restrict, restrict_split, subset_size
from experiments.paper_tables.features import find_test
from experiments.paper_tables.scores import Comparison, Spread, System, choose_best, compare, make_systems
from experiments.runs import SeedRun, list_searches
from genrst.config import find_config
from genrst.evaluation.parseval import ASPECTS
from genrst.io import tell, write_atomically
from genrst.training.prepared import Prepared
from genrst.training.run_config import RunConfig, load_config

MODELS = {"generative": "paper", "discriminative": "paper-discriminative"}
SEARCHES = ("bag", "action")


def main(words: Sequence[str] | None = None) -> None:
    """Train on every subset, search, and write the curves."""
    run_command(_parser(), run, words)


def _parser() -> argparse.ArgumentParser:
    parser = start_parser(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="DIR", type=Path, help="folder of the corpus")
    source.add_argument("--prepared", metavar="FILE", type=Path, help="file with features of train and dev")
    parser.add_argument("--test", metavar="FILE", type=Path, help="file with features of test, if there is no --data")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("cache"), help="folder for prepared features")
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="split of the table and the curves")
    help = "train on 1/N of the documents, for each N"
    parser.add_argument("--parts", metavar="N", type=count, nargs="+", default=[16, 8, 4, 2, 1], help=help)
    parser.add_argument("--subsets", metavar="N", type=count, default=3, help="number of random subsets of each size")
    parser.add_argument("--seeds", metavar="N", type=count, default=1, help="number of trainings on each subset")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    for model, name in MODELS.items():
        parser.add_argument(
            f"--{model}", metavar="CONFIG", default=name, help=f"configuration of the {model} model (default: {name})"
        )
    parser.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="a.b=c", help="override a setting of both models"
    )
    parser.add_argument("--beam", metavar="K", type=count, default=10)
    add_search_arguments(parser, [1.0, 0.75, 0.5, 0.25])
    return parser


@dataclass(frozen=True)
class Subset:
    """A part of the training documents, with dev and test features that have the same vocabulary."""

    part: int
    number: int
    prepared: Prepared
    dev: Split
    test: Split | None


@dataclass(frozen=True)
class Point:
    """A model at one size: its systems on dev, and the best one on the split of the curves."""

    model: str
    part: int
    documents: int
    on_dev: Sequence[System]
    final: System

    def row(self) -> dict[str, Any]:
        """Return the point as plain data."""
        return {
            "model": self.model,
            "part": self.part,
            "documents": self.documents,
            "split": self.final.split.name,
            "search": asdict(self.final.search),
            "runs": [result.seed for result in self.final.results],
            "scores": self.final.scores,
            "dev": {one.search.name: one.scores for one in self.on_dev},
        }


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment."""
    check_once(arguments, "parts", "models", "word_weights")
    check_search_arguments(arguments)
    configs = {model: _config(model, arguments) for model in arguments.models}
    whole = load_features(list(configs.values()), arguments.prepared, arguments.cache)
    min_count = next(iter(configs.values())).data.min_count
    is_test = arguments.split == "test"
    test = find_test(list(configs.values()), whole, arguments.test) if is_test else None
    points: list[Point] = []
    with start_workers(arguments.jobs) as workers:
        schedule = Schedule(workers, arguments.device, arguments.at_once)
        for part in arguments.parts:
            subsets = [_subset(whole, test, part, number, min_count) for number in range(1, arguments.subsets + 1)]
            points += [_point(model, configs[model], subsets, schedule, arguments) for model in arguments.models]
            _write(points, arguments.output)


def _config(model: str, arguments: argparse.Namespace) -> RunConfig:
    config = load_config(find_config(getattr(arguments, model)), arguments.changes)
    data = config.data if arguments.data is None else replace(config.data, path=str(arguments.data))
    return replace(config, data=data)


def _subset(whole: Prepared, test: Split | None, part: int, number: int, min_count: int) -> Subset:
    """Make a subset; subsets with the same number are nested."""
    order = nested_order([example.id for example in whole.train], number)
    prepared = restrict(whole, order[: subset_size(len(order), part)], min_count)
    return Subset(part, number, prepared, load_dev(prepared), test and restrict_split(test, whole, prepared))


def _point(
    model: str, config: RunConfig, subsets: Sequence[Subset], schedule: Schedule, arguments: argparse.Namespace
) -> Point:
    """Train a model on all subsets of a size, and search dev with every weight of words."""
    searches = {model: list_searches(model, SEARCHES, [arguments.beam], arguments.word_weights)}
    results, runs = [], []
    for subset in subsets:
        own = [_seed_run(model, config, subset, seed, arguments.output) for seed in range(1, arguments.seeds + 1)]
        results += schedule.search(schedule.train(own, subset.prepared), searches, subset.dev)
        runs.append((subset, own))
    on_dev = make_systems(results, subsets[0].dev)
    (best,) = choose_best(on_dev, by_kind=False)
    if subsets[0].test is not None:
        found = [
            result
            for subset, own in runs
            if subset.test is not None
            for result in schedule.search(own, {model: [best.search]}, subset.test)
        ]
        (best,) = make_systems(found, subsets[0].test)
    point = Point(model, subsets[0].part, len(subsets[0].prepared.train), on_dev, best)
    tell(f"{model}, {point.documents} documents: F {Spread.of(best.scores['F'])}")
    return point


def _seed_run(model: str, config: RunConfig, subset: Subset, seed: int, output: Path) -> SeedRun:
    """Make a training run; its number encodes the subset and the seed, so it is unique for each size."""
    number = 100 * subset.number + seed
    own = replace(config, training=replace(config.training, seeds=(number,)))
    found = SeedRun(model, number, own, output / model / f"part-{subset.part}" / f"seed-{number}")
    found.check_settings()
    return found


def _write(points: Sequence[Point], folder: Path) -> None:
    compared = _compared(points)
    rows = [point.row() for point in points]
    differences = [{"documents": n, "all_runs": asdict_of(one)} for n, one in compared]
    text = json.dumps({"points": rows, "generative_minus_discriminative": differences}, indent=1)
    write_atomically(folder / "rows.json", text)
    write_atomically(folder / "table.md", table(points, compared))
    plot(points, folder / "curves.svg")


def asdict_of(comparison: Comparison) -> dict[str, Any]:
    """Return the differences of a comparison, with all runs joined, as plain data."""
    return {aspect: asdict(difference) for aspect, difference in comparison.joined.items()}


def _compared(points: Sequence[Point]) -> list[tuple[int, Comparison]]:
    """Compare the generative with the discriminative model at every size."""
    by_model = {(point.model, point.part): point for point in points}
    pairs = [
        (point, by_model["discriminative", point.part])
        for point in points
        if point.model == "generative" and ("discriminative", point.part) in by_model
    ]
    return [(first.documents, compare(first.final, second.final)) for first, second in pairs]


def table(points: Sequence[Point], compared: Sequence[tuple[int, Comparison]]) -> str:
    """Format the scores by size as Markdown, with the significance of the difference between the models."""
    lines = ["| documents | model | search | " + " | ".join(ASPECTS) + " |", "|--:|---|---|" + "--:|" * len(ASPECTS)]
    for point in points:
        cells = [str(Spread.of(point.final.scores[aspect])) for aspect in ASPECTS]
        lines.append(f"| {point.documents} | {point.model} | {point.final.search.name} | {' | '.join(cells)} |")
    lines += [
        "",
        "| documents | generative − discriminative, F | 95% interval | p (randomisation) |",
        "|--:|--:|--:|--:|",
    ]
    for n_documents, comparison in compared:
        found = comparison.joined["F"]
        interval = f"{found.low:+.1f} to {found.high:+.1f}"
        lines.append(f"| {n_documents} | {found.points:+.1f} | {interval} | {found.randomisation_p:.3f} |")
    return "\n".join(lines) + "\n"


def plot(points: Sequence[Point], path: Path) -> None:
    """Plot S and F by the number of training documents, with the spread over runs."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, aspect in zip(figure.subplots(1, 2), ("S", "F"), strict=True):
        for model, style in zip(MODELS, ("-o", "--v"), strict=True):
            own = sorted((point for point in points if point.model == model), key=lambda point: point.documents)
            spreads = [Spread.of(point.final.scores[aspect]) for point in own]
            sizes, means = [point.documents for point in own], [spread.mean for spread in spreads]
            axes.errorbar(
                sizes, means, [spread.deviation or 0 for spread in spreads], fmt=style, capsize=3, label=model
            )
        ticks = sorted({point.documents for point in points})
        axes.set(xscale="log", xlabel="training documents", ylabel=f"{aspect} (Parseval)", xticks=ticks)
        axes.set_xticklabels([str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
