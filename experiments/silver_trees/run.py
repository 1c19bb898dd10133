"""Small parsers that learn from the trees of large ones: prepare, train teachers, label, train students, score.

    python -m experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/silver
    python -m experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/free --free --teachers 1 2 3

On a machine without spaCy or the corpora, from features that `--prepare-only` has made and named elsewhere:

    python -m experiments.silver_trees.run --prepared STUDENTS.npz TEACHERS.npz --output runs/silver

Everything is written as it comes and never computed twice: a run that was killed goes on with the same command. Prints
a line of JSON for each step and writes all of them into results.jsonl: scores on dev by bag-level search, beams of 10.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

from experiments.combination import run as combination
from experiments.command import (
    add_search_arguments,
    check_search_arguments,
    count,
    keep_settings,
    run_command,
    scores_of,
    share,
    start_parser,
)
from experiments.paper_tables.data import load_dev
from experiments.paper_tables.schedule import Schedule
from experiments.paper_tables.scores import System
from experiments.paper_tables.searches import list_bag_searches
from experiments.paper_tables.train import Member
from experiments.paper_tables.workers import start_workers
from experiments.silver_trees import label
from experiments.silver_trees.recipe import SETTINGS, Recipe, make_recipe
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.io import write_atomically
from genrst.training.data import load_prepared

BEAM = 10


def main(words: Sequence[str] | None = None) -> None:
    """Do all steps that are not done yet."""
    run_command(_parser(), run, words)


def _parser() -> argparse.ArgumentParser:
    parser = start_parser(__doc__)
    parser.add_argument("--data", metavar="DIR", type=Path, help="the folder of GUM")
    parser.add_argument("--silver", metavar="DIR", type=Path, help="the folder of AMALGUM")
    parser.add_argument("--prepared", metavar="FILE", type=Path, nargs="+", help="features of students and of teachers")
    parser.add_argument("--prepare-only", action="store_true", help="prepare features, print their files, and stop")
    parser.add_argument("--cache", metavar="DIR", type=Path, default=Path("cache"), help="where features are kept")
    parser.add_argument("--output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--free", action="store_true", help="only texts whose licences allow commercial use")
    parser.add_argument("--teachers", metavar="SEED", type=int, nargs="+", default=[1], help="a teacher for each seed")
    parser.add_argument("--teacher-config", metavar="CONFIG", default="mpnet-discriminative")
    parser.add_argument("--students", metavar="CONFIG", nargs="+", default=["minilm-discriminative"])
    for name, whose in (("", "all"), ("teacher-", "teachers"), ("student-", "students")):
        target = f"{name}changes".replace("-", "_")
        help = f"change a setting of {whose}"
        parser.add_argument(f"--{name}set", dest=target, action="append", default=[], metavar="a.b=c", help=help)
    parser.add_argument("--documents", type=count, default=2400, help="how many silver ones are labelled")
    parser.add_argument("--min-edus", type=count, default=10, help="shorter silver documents are left out")
    parser.add_argument("--max-edus", type=count, default=250, help="longer silver documents are left out")
    parser.add_argument("--agreement", metavar="SHARE", type=share, help="keep those that teachers agree on most")
    parser.add_argument("--label-beam", type=count, default=1, help="label by bag-level search, not greedily")
    add_search_arguments(parser, [0.75])
    return parser


def run(arguments: argparse.Namespace) -> None:
    """The command."""
    _check(arguments)
    recipe = make_recipe(arguments)
    of_students, of_teachers = _prepare(arguments, recipe)
    keep_settings(arguments, SETTINGS, arguments.output / "settings.json")
    if arguments.prepare_only:
        print(json.dumps({"students": str(of_students), "teachers": str(of_teachers)}))
        return
    results: list[str] = []
    for lines in _steps(arguments, recipe, of_students, of_teachers):
        print("".join(lines), end="", flush=True)
        results += lines
        write_atomically(arguments.output / "results.jsonl", "".join(results))


def _check(arguments: argparse.Namespace) -> None:
    if not arguments.prepared and not (arguments.data and arguments.silver):
        raise UsageError("--data and --silver are both needed, or else --prepared")
    if arguments.prepared and (arguments.data or arguments.silver or len(arguments.prepared) > 2):
        raise UsageError("--prepared must be the features of students and of teachers, without --data and --silver")
    if len(set(arguments.teachers)) < len(arguments.teachers):
        raise UsageError(f"--teachers: each seed must be given once, was: {arguments.teachers}")
    # What is wrong with later steps is said before anything is trained.
    label.check(_label_arguments(arguments, arguments.teachers, Path()))
    check_search_arguments(arguments)


def _prepare(arguments: argparse.Namespace, recipe: Recipe) -> tuple[Path, Path]:
    """The features of students and of teachers. Reading all documents takes minutes: it is done once."""
    if arguments.prepared:
        for path in arguments.prepared:
            if not path.is_file():
                raise CorpusNotFoundError(f"{path}: the file must hold prepared features, was: no file")
        return arguments.prepared[0], arguments.prepared[-1]
    note = arguments.output / "features.json"
    if note.is_file():
        of_students, of_teachers = map(Path, json.loads(note.read_bytes()))
        if of_students.is_file() and of_teachers.is_file():
            return of_students, of_teachers
    files = recipe.prepare(arguments.cache)
    write_atomically(note, json.dumps([str(file) for file in files]))
    return files


def _steps(
    arguments: argparse.Namespace, recipe: Recipe, of_students: Path, of_teachers: Path
) -> Iterator[Sequence[str]]:
    """The results of each step."""
    yield _train(recipe.teachers, of_teachers, arguments)
    teachers = [str(member.model_folder) for member in recipe.teachers]
    if teachers[1:]:
        together = arguments.output / "teachers" / "together.jsonl"
        if not together.is_file():
            words = ["--models", *teachers, "--prepared", str(of_students), "--results", str(together)]
            words += ["--beam", str(BEAM), "--device", arguments.device]
            _quietly(combination.run, combination.make_parser().parse_args(words))
        yield _read_lines(together)
    labelled = arguments.output / "labelled.npz"
    if not labelled.is_file():
        _quietly(label.run, _label_arguments(arguments, teachers, of_students))
    yield _read_lines(labelled.with_suffix(".jsonl"))
    yield _train(recipe.students, labelled, arguments)


def _quietly(run: Callable[[argparse.Namespace], None], arguments: argparse.Namespace) -> None:
    """Run another command; what it prints is read from its file, whether it ran now or earlier."""
    with redirect_stdout(sys.stderr):
        run(arguments)


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []


def _label_arguments(arguments: argparse.Namespace, teachers: Sequence[object], prepared: Path) -> argparse.Namespace:
    labelled = arguments.output / "labelled.npz"
    words = ["--teacher", *map(str, teachers), "--prepared", str(prepared), "--output", str(labelled)]
    words += ["--results", str(labelled.with_suffix(".jsonl")), "--device", arguments.device]
    words += ["--documents", str(arguments.documents), "--beam", str(arguments.label_beam)]
    words += ["--min-edus", str(arguments.min_edus), "--max-edus", str(arguments.max_edus)]
    words += [] if arguments.agreement is None else ["--agreement", str(arguments.agreement)]
    return label.make_parser().parse_args(words)


def _train(members: Sequence[Member], file: Path, arguments: argparse.Namespace) -> list[str]:
    """Train what is not trained yet, and score it."""
    prepared = load_prepared(file)
    searches = {one.model: list_bag_searches(one.config.model, BEAM, arguments.word_weights) for one in members}
    with start_workers(arguments.jobs) as workers:
        schedule = Schedule(workers, arguments.device, arguments.at_once)
        systems = schedule.search(schedule.train(members, prepared), searches, load_dev(prepared))
    return [line for system in systems for line in _lines(system)]


def _lines(system: System) -> Iterator[str]:
    """A row for each seed."""
    for result, evaluation in zip(system.results, system.evaluations, strict=True):
        row = {"model": system.model, "seed": result.seed, "documents": "dev", "n": len(system.split.examples)}
        row |= {**scores_of(evaluation), "search": asdict(system.search), "seconds": round(result.seconds, 2)}
        yield json.dumps(row | asdict(result.environment)) + "\n"


if __name__ == "__main__":
    main()
