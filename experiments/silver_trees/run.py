"""Distil large parsers into small ones: prepare features, train teachers, label, train students, and score.

    python -m experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/silver
    python -m experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/free --free --teachers 1 2 3
    python -m experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/charts \\
        --teacher-config mpnet-chart --teachers 1 2 3 --student-set training.seeds=[1,2,3]

Chart teachers, as in the last command, do not assign single trees: students learn their probabilities of all units and
labels. On a machine without spaCy or the corpora, use features that `--prepare-only` has prepared elsewhere:

    python -m experiments.silver_trees.run --prepared STUDENTS.npz TEACHERS.npz --output runs/silver

Results are written immediately and never recomputed; to resume an interrupted run, repeat the command. Prints one line
of JSON per step, and writes all lines to results.jsonl: scores on dev with bag-level search and a beam of 10, or of
minimum Bayes risk trees for charts.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from experiments.command import (
    Rows,
    add_search_arguments,
    check_once,
    check_search_arguments,
    count,
    read_environment,
    run_command,
    scores_of,
    share,
    start_parser,
)
from experiments.data import load_dev, read_features
from experiments.jobs import Schedule, start_workers
from experiments.runs import SeedRun, list_bag_searches
from experiments.silver_trees import chart_steps, label, soften
from experiments.silver_trees.recipe import Recipe, make_recipe
from experiments.silver_trees.teachers import load_teachers
from genrst.cli.console import show, show_json
from genrst.encoder.device import choose_device
from genrst.errors import InputError, UsageError
from genrst.io import write_atomically
from genrst.rnng.finder import RnngSettings

FOR_STEPS = ("label_beam", "word_weights", "at_once")
"""The arguments for step-by-step teachers only."""

FOR_CHARTS = ("segment_teachers", "segment_changes", "resegment")
"""The arguments for charts only."""

CHOICE = ("documents", "min_edus", "max_edus")
"""The arguments that choose silver documents; `label` and `soften` have their own defaults."""

SETTINGS = (
    *("data", "silver", "prepared", "free", "teachers", "teacher_config", "changes", "teacher_changes"),
    *("segment_teachers", "segment_changes", "resegment"),
    *CHOICE,
    "label_beam",
)
"""The arguments that silver trees depend on."""

BEAM = 10


def main(words: Sequence[str] | None = None) -> None:
    """Run all steps that are not finished."""
    run_command(make_parser(), run, words)


def make_parser() -> argparse.ArgumentParser:
    """Make the argument parser of the command."""
    parser = start_parser(__doc__)
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder of GUM")
    parser.add_argument("--silver", metavar="DIR", type=Path, help="folder of AMALGUM")
    parser.add_argument(
        "--prepared", metavar="FILE", type=Path, nargs="+", help="files of features of students and of teachers"
    )
    parser.add_argument("--prepare-only", action="store_true", help="prepare features, print their files and stop")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("cache"), help="folder for prepared features")
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--free", action="store_true", help="use only texts whose licences allow commercial use")
    parser.add_argument(
        "--teachers", metavar="SEED", type=int, nargs="+", default=[1], help="seeds of the teachers (default: 1)"
    )
    parser.add_argument("--teacher-config", metavar="CONFIG", default="mpnet-discriminative")
    help = "configurations of the students (default: minilm-discriminative, or the teacher's for charts)"
    parser.add_argument("--students", metavar="CONFIG", nargs="+", default=[], help=help)
    help = "seeds of charts that teach EDUs and sentences"
    parser.add_argument("--segment-teachers", metavar="SEED", type=int, nargs="+", default=[], help=help)
    help = "share of silver documents that are re-segmented by these teachers (default: 0)"
    parser.add_argument("--resegment", metavar="SHARE", type=share, default=0.0, help=help)
    some = "teachers (4,5:a.b=c for some seeds)"
    for name, whose in (
        ("", "all models"),
        ("teacher-", some),
        ("segment-", "segment teachers"),
        ("student-", "students"),
    ):
        target = f"{name}changes".replace("-", "_")
        help = f"override a setting of {whose}"
        parser.add_argument(f"--{name}set", dest=target, action="append", default=[], metavar="a.b=c", help=help)
    help = "number of silver documents to label (default: 2400; charts: 10000)"
    parser.add_argument("--documents", type=count, help=help)
    help = "silver documents (default: {}; charts: {})"
    parser.add_argument("--min-edus", type=count, help=f"skip shorter {help.format(10, 2)}")
    parser.add_argument("--max-edus", type=count, help=f"skip longer {help.format(250, 400)}")
    parser.add_argument(
        "--label-beam", type=count, default=1, help="label by bag-level search with this beam (default: 1, greedy)"
    )
    add_search_arguments(parser, [0.75])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    recipe = make_recipe(arguments)
    _fill_defaults(arguments, recipe.is_chart)
    _check(arguments, recipe)
    of_students, of_teachers = _prepare(arguments, recipe)
    _keep_settings(arguments)
    if arguments.prepare_only:
        show_json({"students": str(of_students), "teachers": str(of_teachers)})
        return
    results: list[str] = []
    steps = _chart_steps if recipe.is_chart else _steps
    for lines in steps(arguments, recipe, of_students, of_teachers):
        for line in lines:
            show(line.removesuffix("\n"))
        results += lines
        write_atomically(arguments.output / "results.jsonl", "".join(results))


def _fill_defaults(arguments: argparse.Namespace, is_chart: bool) -> None:
    defaults = (soften if is_chart else label).make_parser()
    for name in CHOICE:
        if getattr(arguments, name) is None:
            setattr(arguments, name, defaults.get_default(name))


def _check(arguments: argparse.Namespace, recipe: Recipe) -> None:
    """Raise an error for invalid arguments before anything is trained."""
    if not arguments.prepared and not (arguments.data and arguments.silver):
        raise UsageError("--data and --silver are both required, unless --prepared is given")
    if arguments.prepared and (arguments.data or arguments.silver or len(arguments.prepared) > 2):
        raise UsageError(
            "--prepared takes the features of students and of teachers, and cannot be combined with --data or --silver"
        )
    check_once(arguments, "teachers", "segment_teachers")
    _check_options(arguments, recipe.is_chart)
    if arguments.resegment and not arguments.segment_teachers:
        raise UsageError("--resegment needs --segment-teachers")
    check_search_arguments(arguments)


def _check_options(arguments: argparse.Namespace, is_chart: bool) -> None:
    """Raise an error for arguments that do not apply to charts, or apply only to charts."""
    defaults = make_parser()
    for name in FOR_STEPS if is_chart else FOR_CHARTS:
        if getattr(arguments, name) != defaults.get_default(name):
            option = name.replace("_", "-").replace("changes", "set")
            rule = "does not apply to" if is_chart else "applies only to"
            raise UsageError(f"--{option} {rule} chart teachers, got {arguments.teacher_config}")


def _prepare(arguments: argparse.Namespace, recipe: Recipe) -> tuple[Path, Path]:
    """Return the features of students and of teachers. Reading all documents takes minutes, so it is done once."""
    if arguments.prepared:
        for path in arguments.prepared:
            if not path.is_file():
                raise InputError(f"{path}: no such file of prepared features")
        return arguments.prepared[0], arguments.prepared[-1]
    note = arguments.output / "features.json"
    if note.is_file():
        of_students, of_teachers = map(Path, json.loads(note.read_bytes()))
        if of_students.is_file() and of_teachers.is_file():
            return of_students, of_teachers
    files = recipe.prepare(arguments.cache)
    write_atomically(note, json.dumps([str(file) for file in files]))
    return files


def _keep_settings(arguments: argparse.Namespace) -> None:
    """Write the settings that silver trees depend on; raise an error if an earlier run had different ones."""
    path = arguments.output / "settings.json"
    settings = json.loads(json.dumps({name: getattr(arguments, name) for name in SETTINGS}, default=str))
    earlier = json.loads(path.read_bytes()) if path.is_file() else settings
    if other := [name for name in SETTINGS if earlier.get(name, settings[name]) != settings[name]]:
        raise UsageError(f"{path.parent} holds a run with other settings ({', '.join(other)}); choose another --output")
    write_atomically(path, json.dumps(settings, indent=1) + "\n")


def _steps(
    arguments: argparse.Namespace, recipe: Recipe, of_students: Path, of_teachers: Path
) -> Iterator[Sequence[str]]:
    """Yield the results of each step."""
    yield _train(recipe.teachers, of_teachers, arguments)
    teachers = [str(teacher.model_folder) for teacher in recipe.teachers]
    if teachers[1:]:
        together = arguments.output / "teachers" / "together.jsonl"
        if not together.is_file():
            with redirect_stdout(sys.stderr):
                _score_together(teachers, of_students, arguments, together)
        yield _read_lines(together)
    labelled = arguments.output / "labelled.npz"
    if not labelled.is_file():
        with redirect_stdout(sys.stderr):
            label.run(_label_arguments(arguments, teachers, of_students))
    yield _read_lines(labelled.with_suffix(".jsonl"))
    yield _train(recipe.students, labelled, arguments)


def _chart_steps(
    arguments: argparse.Namespace, recipe: Recipe, of_students: Path, of_teachers: Path
) -> Iterator[Sequence[str]]:
    """Yield the results of each step with charts."""
    chart_steps.check_features(of_students, of_teachers)
    yield chart_steps.train([*recipe.teachers, *recipe.segment_teachers], of_teachers, arguments)
    soft = arguments.output / "soft.npz"
    tasks = chart_steps.list_tasks(recipe.teachers, recipe.segment_teachers, of_students, soft, arguments)
    chart_steps.make_soft(tasks, soft)
    yield _read_lines(soft.with_suffix(".jsonl"))
    yield chart_steps.train(recipe.students, soft, arguments)


def _read_lines(path: Path) -> list[str]:
    """Return the rows that a step has written, in this run or an earlier one."""
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []


def _score_together(names: Sequence[str], features: Path, arguments: argparse.Namespace, path: Path) -> None:
    """Score the trees of the teachers as an ensemble."""
    device, settings = choose_device(arguments.device), RnngSettings(beam=BEAM)
    prepared = read_features(features, "rnng")
    teachers = load_teachers(names, prepared, device, settings, at_once=8)
    started = perf_counter()
    found = teachers(prepared.dev)
    seconds, n_edus = perf_counter() - started, sum(example.n_edus for example in prepared.dev)
    rows = Rows(read_environment(device), {"models": names, "seeds": label.read_all_seeds(names), "split": "dev"})
    about = {"word_weight": settings.word_weight, "beam": BEAM, "documents": len(found), "edus": n_edus}
    speed = {"seconds": round(seconds, 2), "edus_per_second": round(n_edus / seconds, 1)}
    rows.add(**about, **scores_of(load_dev(prepared).evaluate(found)), **speed)
    rows.write(path)


def _label_arguments(arguments: argparse.Namespace, teachers: Sequence[object], prepared: Path) -> argparse.Namespace:
    labelled = arguments.output / "labelled.npz"
    words = ["--teacher", *map(str, teachers), "--prepared", str(prepared), "--output", str(labelled)]
    words += ["--results", str(labelled.with_suffix(".jsonl")), "--device", arguments.device]
    words += ["--documents", str(arguments.documents), "--beam", str(arguments.label_beam)]
    words += ["--min-edus", str(arguments.min_edus), "--max-edus", str(arguments.max_edus)]
    return label.make_parser().parse_args(words)


def _train(runs: Sequence[SeedRun], file: Path, arguments: argparse.Namespace) -> list[str]:
    """Train and score what is missing; return a row for each search and seed."""
    prepared = read_features(file, "rnng")
    dev = load_dev(prepared)
    searches = {one.model: list_bag_searches(one.config.model, BEAM, arguments.word_weights) for one in runs}
    with start_workers(arguments.jobs) as workers:
        schedule = Schedule(workers, arguments.device, arguments.at_once)
        results = schedule.search(schedule.train(runs, prepared), searches, dev)
    lines = []
    for result in results:
        row = {"model": result.model, "seed": result.seed, "documents": dev.name, "n": len(dev.examples)}
        row |= scores_of(dev.evaluate([tree.actions for tree in result.trees]))
        row |= {"search": asdict(result.search), "seconds": round(result.seconds, 2)}
        lines.append(json.dumps(row | asdict(result.environment)) + "\n")
    return lines


if __name__ == "__main__":
    main()
