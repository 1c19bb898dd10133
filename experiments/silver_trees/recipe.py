"""What is trained, on what and how: the configurations of teachers and students."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.command import find_config
from experiments.paper_tables.data import shared_source
from experiments.paper_tables.train import Member, make_members
from genrst.errors import UsageError
from genrst.training.data import prepare_data
from genrst.training.run_config import DataConfig, RunConfig, load_config

FREE_GENRES = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""Those of GUM and AMALGUM whose licences allow commercial use."""

STUDENT = ("training.silver_epochs=2", "training.max_epochs=12", "training.batch_documents=8")
"""Two epochs on silver and gold trees, then ten on gold ones alone."""

MANY_WORDS = ("data.min_count=4",)
"""With so many documents, a word has to be seen four times to count."""

SETTINGS = (
    *("data", "silver", "prepared", "free", "teachers", "teacher_config", "changes", "teacher_changes"),
    *("documents", "min_edus", "max_edus", "agreement", "label_beam"),
)
"""The arguments that silver trees depend on."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The seeds of the teacher and of each student, each with a folder of its own."""

    teachers: Sequence[Member]
    students: Sequence[Member]

    def check(self) -> None:
        """Raise an error if folders hold runs of other settings, or if students cannot share features."""
        for member in (*self.teachers, *self.students):
            member.check_settings()
        self._students_source()

    def _students_source(self) -> tuple[DataConfig, str | None]:
        return shared_source([member.config for member in self.students])

    def prepare(self, cache: Path) -> tuple[Path, Path]:
        """Make the features of students, which have the silver documents, and of teachers; returns their files."""
        teacher = self.teachers[0].config
        # Students without an encoder do not need word pieces, but a teacher may.
        data, encoder = self._students_source()
        _, of_students = prepare_data(data, cache, encoder or teacher.model.encoder)
        _, of_teachers = prepare_data(teacher.data, cache, teacher.model.encoder)
        return of_students, of_teachers


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """The recipe that the command asks for; what is set by hand goes before what is usual here."""
    free = [f"data.genres={json.dumps(FREE_GENRES)}"] if arguments.free else []
    of_teacher = [*free, *arguments.changes, *arguments.teacher_changes]
    of_students = [*free, *MANY_WORDS, *STUDENT, *arguments.changes, *arguments.student_changes]
    teacher = _configure(find_config(arguments.teacher_config), of_teacher, arguments.data, None)
    students: list[Member] = []
    for path in map(find_config, arguments.students):
        config = _configure(path, of_students, arguments.data, arguments.silver)
        folder = arguments.output / "students" / path.stem
        students += make_members(path.stem, config, config.training.seeds, folder)
    if len({member.folder for member in students}) < len(students):
        raise UsageError(f"--students: each must be given once, was: {' '.join(arguments.students)}")
    teachers = make_members("teacher", teacher, arguments.teachers, arguments.output / "teachers")
    recipe = Recipe(list(teachers), students)
    recipe.check()
    return recipe


def _configure(path: Path, changes: Sequence[str], data: Path | None, silver: Path | None) -> RunConfig:
    """A configuration with the folders that are given; none is where features are prepared already."""
    config = load_config(path, changes)
    folder, automatic = str(data or config.data.path), str(silver or config.data.silver)
    return replace(config, data=replace(config.data, path=folder, silver=automatic))
