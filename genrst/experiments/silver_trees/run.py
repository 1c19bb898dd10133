"""Small parsers that learn from the trees of large ones: prepare, train teachers, label, train students, score.

    python -m genrst.experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/silver
    python -m genrst.experiments.silver_trees.run --data GUM --silver AMALGUM --output runs/free --free --teachers 1 2 3

On a machine without spaCy or the corpora, from features that `--prepare-only` has made and named elsewhere:

    python -m genrst.experiments.silver_trees.run --prepared STUDENTS.npz TEACHERS.npz --output runs/silver

Everything is written at once and never computed twice: a run that was killed goes on with the same command. Prints a
line of JSON for each step and writes all of them to results.jsonl: scores on dev by bag-level search, beams of 10.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter

from genrst.cli.console import show, show_json
from genrst.config import find_config
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.experiments.command import (
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
from genrst.experiments.data import load_dev, shared_source
from genrst.experiments.jobs import Schedule, start_workers
from genrst.experiments.runs import SeedRun, list_bag_searches, list_seeds
from genrst.experiments.silver_trees import label
from genrst.experiments.silver_trees.teachers import load_teachers
from genrst.io import write_atomically
from genrst.model.device import choose_device
from genrst.parser.packages import ParserConfig
from genrst.training.data import load_prepared, prepare_data
from genrst.training.run_config import DataConfig, RunConfig, load_config

FREE_GENRES = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""Those of GUM and AMALGUM whose licences allow commercial use."""

STUDENT = ("training.silver_epochs=2", "training.max_epochs=12", "training.batch_documents=8")
"""Two epochs on silver and gold trees, then ten on gold ones alone."""

MANY_WORDS = ("data.min_count=4",)
"""With this many documents, a word has to be seen four times to count."""

SETTINGS = (
    *("data", "silver", "prepared", "free", "teachers", "teacher_config", "changes", "teacher_changes"),
    *("documents", "min_edus", "max_edus", "agreement", "label_beam"),
)
"""The arguments that silver trees depend on."""

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
    parser.add_argument("--documents", type=count, default=2400, help="how many silver documents are labelled")
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
    _keep_settings(arguments)
    if arguments.prepare_only:
        show_json({"students": str(of_students), "teachers": str(of_teachers)})
        return
    results: list[str] = []
    for lines in _steps(arguments, recipe, of_students, of_teachers):
        for line in lines:
            show(line.removesuffix("\n"))
        results += lines
        write_atomically(arguments.output / "results.jsonl", "".join(results))


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error for what would go wrong later, before anything is trained."""
    if not arguments.prepared and not (arguments.data and arguments.silver):
        raise UsageError("--data and --silver are both needed, or else --prepared")
    if arguments.prepared and (arguments.data or arguments.silver or len(arguments.prepared) > 2):
        raise UsageError("--prepared must be the features of students and of teachers, without --data and --silver")
    check_once(arguments, "teachers")
    label.check(_label_arguments(arguments, arguments.teachers, Path()))
    check_search_arguments(arguments)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is trained: the seeds of the teacher and of each student."""

    teachers: Sequence[SeedRun]
    students: Sequence[SeedRun]

    def students_source(self) -> tuple[DataConfig, str | None]:
        """The data and the encoder that all students share."""
        return shared_source([student.config for student in self.students])

    def prepare(self, cache: Path) -> tuple[Path, Path]:
        """The files with the features of students, which have the silver documents, and of teachers."""
        teacher = self.teachers[0].config
        # Students without an encoder do not need word pieces, but a teacher may.
        data, encoder = self.students_source()
        _, of_students = prepare_data(data, cache, encoder or teacher.model.encoder)
        _, of_teachers = prepare_data(teacher.data, cache, teacher.model.encoder)
        return of_students, of_teachers


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """The recipe that the command asks for; settings given by hand override the usual ones."""
    free = [f"data.genres={json.dumps(FREE_GENRES)}"] if arguments.free else []
    of_teacher = [*free, *arguments.changes, *arguments.teacher_changes]
    of_students = [*free, *MANY_WORDS, *STUDENT, *arguments.changes, *arguments.student_changes]
    teacher = _configure(find_config(arguments.teacher_config), of_teacher, arguments.data, None)
    students: list[SeedRun] = []
    for path in map(find_config, arguments.students):
        config = _configure(path, of_students, arguments.data, arguments.silver)
        students += list_seeds(path.stem, config, config.training.seeds, arguments.output / "students" / path.stem)
    if len({student.folder for student in students}) < len(students):
        raise UsageError(f"--students: each must be given once, was: {' '.join(arguments.students)}")
    teachers = list_seeds("teacher", teacher, arguments.teachers, arguments.output / "teachers")
    recipe = Recipe(list(teachers), students)
    recipe.students_source()
    for seed_run in (*recipe.teachers, *students):
        seed_run.check_settings()
    return recipe


def _configure(path: Path, changes: Sequence[str], data: Path | None, silver: Path | None) -> RunConfig:
    """A configuration with the folders given; there are none where features are prepared already."""
    config = load_config(path, changes)
    folder, automatic = str(data or config.data.path), str(silver or config.data.silver)
    return replace(config, data=replace(config.data, path=folder, silver=automatic))


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


def _keep_settings(arguments: argparse.Namespace) -> None:
    """Write the settings that silver trees depend on; raise an error if an earlier start had others."""
    path = arguments.output / "settings.json"
    settings = json.loads(json.dumps({name: getattr(arguments, name) for name in SETTINGS}, default=str))
    earlier = json.loads(path.read_bytes()) if path.is_file() else settings
    if other := [name for name in SETTINGS if earlier.get(name) != settings[name]]:
        raise UsageError(f"{path.parent} holds a run of other settings ({', '.join(other)}): choose another --output")
    write_atomically(path, json.dumps(settings, indent=1) + "\n")


def _steps(
    arguments: argparse.Namespace, recipe: Recipe, of_students: Path, of_teachers: Path
) -> Iterator[Sequence[str]]:
    """The results of each step."""
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


def _read_lines(path: Path) -> list[str]:
    """The rows that a step has written, now or at an earlier start."""
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []


def _score_together(names: Sequence[str], features: Path, arguments: argparse.Namespace, path: Path) -> None:
    """How good the trees are that teachers find together."""
    device, config = choose_device(arguments.device), ParserConfig(beam=BEAM)
    prepared = load_prepared(features)
    teachers = load_teachers(names, prepared, device, config, at_once=8)
    started = perf_counter()
    found = teachers(prepared.dev)
    seconds, n_edus = perf_counter() - started, sum(example.n_edus for example in prepared.dev)
    rows = Rows(read_environment(device), {"models": names, "seeds": label.read_all_seeds(names), "split": "dev"})
    about = {"word_weight": config.word_weight, "beam": BEAM, "documents": len(found), "edus": n_edus}
    speed = {"seconds": round(seconds, 2), "edus_per_second": round(n_edus / seconds, 1)}
    rows.add(**about, **scores_of(load_dev(prepared).evaluate(found)), **speed)
    rows.write(path)


def _label_arguments(arguments: argparse.Namespace, teachers: Sequence[object], prepared: Path) -> argparse.Namespace:
    labelled = arguments.output / "labelled.npz"
    words = ["--teacher", *map(str, teachers), "--prepared", str(prepared), "--output", str(labelled)]
    words += ["--results", str(labelled.with_suffix(".jsonl")), "--device", arguments.device]
    words += ["--documents", str(arguments.documents), "--beam", str(arguments.label_beam)]
    words += ["--min-edus", str(arguments.min_edus), "--max-edus", str(arguments.max_edus)]
    words += [] if arguments.agreement is None else ["--agreement", str(arguments.agreement)]
    return label.make_parser().parse_args(words)


def _train(runs: Sequence[SeedRun], file: Path, arguments: argparse.Namespace) -> list[str]:
    """Train what is not trained yet, and score it: a row for each search and seed."""
    prepared = load_prepared(file)
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
