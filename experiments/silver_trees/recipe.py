"""The recipe for silver trees: the teachers and students to train, with their settings.

`experiments.silver_trees.run` trains them.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.data import shared_source
from experiments.runs import SeedRun, list_seeds
from genrst.config import find_config
from genrst.errors import UsageError
from genrst.training.data import prepare_data
from genrst.training.run_config import RunConfig, load_config

FREE_GENRES = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""The genres of GUM and AMALGUM whose licences allow commercial use."""

FREE_SILVER_GENRES = ("academic", "bio", "fiction", "interview", "news", "voyage")
"""The free genres of AMALGUM, including fiction; used for charts only, so that other results stay reproducible."""

STUDENT = ("training.silver_epochs=2", "training.max_epochs=12", "training.batch_documents=8")
"""Two epochs on silver and gold trees, then ten on gold trees only."""

MANY_WORDS = ("data.min_count=4",)
"""With this many documents, the minimum word count is raised to four."""

CHART_STUDENT = (
    *("training.silver_epochs=2", "training.silver_batch_documents=4", "training.max_epochs=12"),
    *("training.evaluate_from=11", "training.segment_weight=0.3"),
    *("training.layout_noise=0.3", "training.punctuation_noise=0.1"),
)
"""Two epochs on soft and gold trees, then ten on gold trees only."""

SEGMENT_TEACHER = ("training.segment_weight=3", "training.piece_noise=0.05")
"""Segmentation has a high weight, and little noise hides the words that signal EDU boundaries."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The runs to train: the seeds of the teachers and of each student."""

    teachers: Sequence[SeedRun]
    segment_teachers: Sequence[SeedRun]
    students: Sequence[SeedRun]

    @property
    def runs(self) -> Sequence[SeedRun]:
        """All runs."""
        return [*self.teachers, *self.segment_teachers, *self.students]

    @property
    def is_chart(self) -> bool:
        """Whether teachers are charts."""
        return self.teachers[0].config.model.kind == "chart"

    def students_source(self) -> RunConfig:
        """Return the configuration for preparing the features of students."""
        return shared_source([student.config for student in self.students])

    def teachers_source(self) -> RunConfig:
        """Return the configuration for preparing the features of teachers."""
        return shared_source([teacher.config for teacher in (*self.teachers, *self.segment_teachers)])

    def prepare(self, cache: Path) -> tuple[Path, Path]:
        """Prepare the features; return the file of students, with the silver documents, and that of teachers."""
        teachers, students = self.teachers_source(), self.students_source()
        if students.model.encoder is None:
            # The students do not need word pieces, but a teacher may.
            students = replace(students, model=replace(students.model, encoder=teachers.model.encoder))
        _, of_students = prepare_data(students, cache)
        _, of_teachers = prepare_data(teachers, cache)
        return of_students, of_teachers


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """Make the recipe of the command; settings given by hand override the defaults."""
    teachers, segment_teachers = _list_teachers(arguments)
    is_chart = teachers[0].config.model.kind == "chart"
    recipe = Recipe(teachers, segment_teachers, _list_students(arguments, is_chart))
    recipe.students_source()
    recipe.teachers_source()
    for seed_run in recipe.runs:
        seed_run.check_settings()
    return recipe


def _list_teachers(arguments: argparse.Namespace) -> tuple[list[SeedRun], list[SeedRun]]:
    """Return the teachers of trees, and the teachers of segmentation."""
    path, output = find_config(arguments.teacher_config), arguments.output
    usual = [*_free(arguments), *arguments.changes]
    named = {seed for change in arguments.teacher_changes for seed in _split_seeds(change)[0]}
    if unknown := named - {*arguments.teachers}:
        raise UsageError(f"--teacher-set: seeds must be among --teachers {arguments.teachers}, got {min(unknown)}")
    teachers: list[SeedRun] = []
    for seed in arguments.teachers:
        config = _configure(path, [*usual, *_changes_of(seed, arguments)], arguments.data, None)
        teachers += list_seeds("teacher", config, [seed], output / "teachers")
    if config.model.kind != "chart":
        return teachers, []
    changes = [*usual, *_changes_of(None, arguments), *SEGMENT_TEACHER, *arguments.segment_changes]
    config = _configure(path, changes, arguments.data, None)
    others = list_seeds("segment-teacher", config, arguments.segment_teachers, output / "segment-teachers")
    return teachers, list(others)


def _list_students(arguments: argparse.Namespace, is_chart: bool) -> list[SeedRun]:
    usual = CHART_STUDENT if is_chart else (*MANY_WORDS, *STUDENT)
    free = [f"data.silver_genres={json.dumps(FREE_SILVER_GENRES)}"] if arguments.free and is_chart else []
    changes = [*_free(arguments), *free, *usual, *arguments.changes, *arguments.student_changes]
    names = arguments.students or [arguments.teacher_config if is_chart else "minilm-discriminative"]
    students: list[SeedRun] = []
    for path in map(find_config, names):
        if (load_config(path).model.kind == "chart") != is_chart:
            raise UsageError(f"--students must be of the same kind as the teachers (charts or not), got {path.stem}")
        config = _configure(path, changes, arguments.data, arguments.silver)
        students += list_seeds(path.stem, config, config.training.seeds, arguments.output / "students" / path.stem)
    if len({student.folder for student in students}) < len(students):
        raise UsageError(f"--students: duplicate configurations, got {' '.join(names)}")
    return students


def _free(arguments: argparse.Namespace) -> list[str]:
    return [f"data.genres={json.dumps(FREE_GENRES)}"] if arguments.free else []


def _changes_of(seed: int | None, arguments: argparse.Namespace) -> list[str]:
    """Return the changes by --teacher-set that apply to a seed."""
    split = map(_split_seeds, arguments.teacher_changes)
    return [change for seeds, change in split if not seeds or seed in seeds]


def _split_seeds(change: str) -> tuple[list[int], str]:
    """Split `4,5:a.b=c` into the seeds and the setting; a setting for all teachers has no seeds."""
    named = re.fullmatch(r"(\d+(?:,\d+)*):(.*)", change, re.DOTALL)
    return ([int(seed) for seed in named[1].split(",")], named[2]) if named else ([], change)


def _configure(path: Path, changes: Sequence[str], data: Path | None, silver: Path | None) -> RunConfig:
    """Load a configuration with the given folders, which are None if features are already prepared."""
    config = load_config(path, changes)
    folder, automatic = str(data or config.data.path), str(silver or config.data.silver)
    return replace(config, data=replace(config.data, path=folder, silver=automatic))
