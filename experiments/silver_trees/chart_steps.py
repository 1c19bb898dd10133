"""The chart-specific steps of the silver-tree recipe: scoring single models and ensembles, and soft trees.

`experiments.silver_trees.run` calls them. Results that already have a file are skipped.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import as_completed
from contextlib import redirect_stdout
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from time import perf_counter

from experiments.charts.network import load_chart
from experiments.command import read_environment, scores_of
from experiments.data import read_features
from experiments.jobs import Schedule, start_workers
from experiments.runs import SeedRun
from experiments.silver_trees import join, soften
from genrst.chart.learning.network import TorchScorer
from genrst.chart.learning.task import evaluate_units, segment_f1
from genrst.chart.learning.teaching import make_soft_starts
from genrst.encoder.device import choose_device
from genrst.errors import UsageError
from genrst.io import write_atomically
from genrst.parser.folders import EnsembleConfig, WeightedName, read_models
from genrst.storage import ENSEMBLE, write_config
from genrst.training.prepared import Prepared, load_prepared, save_prepared
from genrst.training.run import MODEL

SCORES = "dev.jsonl"


def check_features(of_students: Path, of_teachers: Path) -> None:
    """Raise an error if the features of teachers and students are incompatible."""
    students, teachers = (read_features(file, "chart") for file in (of_students, of_teachers))
    if (teachers.symbols, teachers.tokenizer) != (students.symbols, students.tokenizer):
        rule = f"teachers must have the same labels and tokenizer as students ({of_students})"
        raise UsageError(f"{of_teachers}: {rule}")


def train(runs: Sequence[SeedRun], file: Path, arguments: argparse.Namespace) -> list[str]:
    """Train and score what is missing; return a row for each seed of a model, then one for its ensemble."""
    prepared = load_prepared(file)
    with start_workers(arguments.jobs) as workers:
        list(Schedule(workers, arguments.device, arguments.at_once).train(runs, prepared))
    lines = []
    for _, own in groupby(runs, lambda run: run.model):
        seeds = list(own)
        groups = [*([run] for run in seeds), *([seeds] if len(seeds) > 1 else [])]
        lines += [_score_once(group, prepared, arguments.device) for group in groups]
    return lines


def _score_once(runs: Sequence[SeedRun], prepared: Prepared, device_name: str) -> str:
    """Return the row of a chart, or of an ensemble of several seeds, which gets its own folder."""
    folder = runs[0].folder if len(runs) == 1 else _write_ensemble(runs)
    path = folder / SCORES
    if not path.is_file():
        seeds = {"seed": runs[0].seed} if len(runs) == 1 else {"seeds": [run.seed for run in runs]}
        row = {"model": runs[0].model, **seeds, "documents": "dev", "n": len(prepared.dev)}
        row |= score(load_charts(folder / MODEL, prepared, device_name), prepared)
        row |= asdict(read_environment(choose_device(device_name)))
        write_atomically(path, json.dumps(row) + "\n")
    return path.read_text(encoding="utf-8")


def _write_ensemble(runs: Sequence[SeedRun]) -> Path:
    folder = runs[0].folder.with_name("-".join(["seeds", *(str(run.seed) for run in runs)]))
    members = tuple(WeightedName(f"../../{run.folder.name}/{MODEL}") for run in runs)
    write_config(EnsembleConfig(members), folder / MODEL / ENSEMBLE)
    return folder


def load_charts(folder: Path, prepared: Prepared, device_name: str) -> list[tuple[TorchScorer, float]]:
    """Load a chart or the members of an ensemble, with weights, in full precision."""
    device = choose_device(device_name)
    charts = [(soften.make_scorer(load_chart(place, device)), weight) for place, weight in read_models(folder)]
    for chart, _ in charts:
        if (chart.labels, chart.tokenizer.json) != (prepared.symbols, prepared.tokenizer):
            raise UsageError(f"{folder}: the model was trained with different features")
    return charts


def score(charts: Sequence[tuple[TorchScorer, float]], prepared: Prepared) -> dict[str, float]:
    """Score a chart or an ensemble on dev with the default search: minimum Bayes risk, whole sentences.

    Seg, the F1 of segmentation, is reported for single charts only, because an ensemble segments by its first member.
    """
    started = perf_counter()
    found = soften.find_trees(charts, prepared.dev, prepared, temperature=1.0)
    seconds = perf_counter() - started
    coarse, fine = (
        scores_of(evaluate_units(prepared.dev, found, prepared.symbols, fine=is_fine)) for is_fine in (False, True)
    )
    scores = {**coarse, **{f"fine {aspect}": fine[aspect] for aspect in "RF"}}
    if len(charts) == 1:
        starts = [starts for one in prepared.dev for starts in make_soft_starts([charts[0][0]], [one])]
        scores["Seg"] = round(segment_f1(starts, prepared.dev), 2)
    return {**scores, "seconds": round(seconds, 2)}


def make_soft(tasks: Sequence[argparse.Namespace], output: Path) -> None:
    """Run the tasks of `list_tasks` in parallel, and join their results."""
    if not output.is_file():
        with start_workers(len(tasks)) as workers:
            waiting = [workers.submit(_soften, task) for task in tasks if not task.output.is_file()]
            for future in as_completed(waiting):
                future.result()
        save_prepared(join.join({task.output: load_prepared(task.output) for task in tasks}), output)
    shutil.rmtree(tasks[0].output.parent, ignore_errors=True)


def list_tasks(
    teachers: Sequence[SeedRun],
    segment_teachers: Sequence[SeedRun],
    features: Path,
    output: Path,
    arguments: argparse.Namespace,
) -> list[argparse.Namespace]:
    """Return the arguments of `soften` for each shard of silver documents; the first one writes scores on dev."""
    words = ["--teacher", *(str(run.model_folder) for run in teachers), "--prepared", str(features)]
    words += ["--device", arguments.device, "--documents", str(arguments.documents)]
    words += ["--min-edus", str(arguments.min_edus), "--max-edus", str(arguments.max_edus)]
    if segment_teachers:
        words += ["--segment-teacher", *(str(run.model_folder) for run in segment_teachers)]
        words += ["--resegment", str(arguments.resegment)] if arguments.resegment else []
    tasks = []
    for number in range(1, arguments.jobs + 1):
        part = output.with_suffix("") / f"{number}-of-{arguments.jobs}.npz"
        own = ["--shard", f"{number}/{arguments.jobs}", "--output", str(part)]
        own += ["--results", str(output.with_suffix(".jsonl"))] if number == 1 else []
        tasks.append(soften.make_parser().parse_args([*words, *own]))
    return tasks


def _soften(task: argparse.Namespace) -> None:
    # Results are printed once, by `run`.
    with redirect_stdout(sys.stderr):
        soften.run(task)
