"""What is trained, on what and how: the configurations of teachers and students."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.environment import ROOT
from experiments.paper_tables.train import Member
from genrst.apps.preparation import prepare_data
from genrst.corpora.files import write_atomically
from genrst.errors import UsageError
from genrst.training.config import RunConfig, load_config

FREE_GENRES = ("academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage")
"""Those of GUM and AMALGUM whose licences allow commercial use."""

STUDENT = ("training.silver_epochs=2", "training.max_epochs=12", "training.batch_documents=8")
"""Two epochs on silver and gold trees, then ten on gold ones alone."""

MANY_WORDS = ("data.min_count=4",)
"""With so many documents, a word has to be seen four times to count."""

FREE_TEACHER = ("training.max_epochs=20",)
"""It has fewer documents to learn from."""

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
        if len({member.config.data for member in self.students}) > 1 or len(self._encoders) > 1:
            raise UsageError("--students: all must have the same data and encoder, for they share features")

    @property
    def _encoders(self) -> set[str]:
        return {member.config.model.encoder for member in self.students if member.config.model.encoder is not None}

    def prepare(self, cache: Path) -> tuple[Path, Path]:
        """Make the features of students, which have the silver documents, and of teachers; returns their files."""
        teacher = self.teachers[0].config
        # Students without an encoder do not need word pieces, but a teacher may.
        encoder = next(iter(self._encoders), teacher.model.encoder)
        _, of_students = prepare_data(self.students[0].config.data, cache, encoder)
        _, of_teachers = prepare_data(teacher.data, cache, teacher.model.encoder)
        return of_students, of_teachers


def make_recipe(arguments: argparse.Namespace) -> Recipe:
    """The recipe that the command asks for; what is set by hand goes before what is usual here."""
    free = [f"data.genres={json.dumps(FREE_GENRES)}", *FREE_TEACHER] if arguments.free else []
    of_teacher = [*free, *arguments.changes, *arguments.teacher_changes]
    of_students = [*free, *MANY_WORDS, *STUDENT, *arguments.changes, *arguments.student_changes]
    teacher = _configure(_path(arguments.teacher_config), of_teacher, arguments.data, None)
    students: list[Member] = []
    for path in map(_path, arguments.students):
        config = _configure(path, of_students, arguments.data, arguments.silver)
        folder = arguments.output / "students" / path.stem
        students += _members(path.stem, config, config.training.seeds, folder)
    if len({member.folder for member in students}) < len(students):
        raise UsageError(f"--students: each must be given once, was: {' '.join(arguments.students)}")
    recipe = Recipe(list(_members("teacher", teacher, arguments.teachers, arguments.output / "teachers")), students)
    recipe.check()
    return recipe


def _path(name: str) -> Path:
    """A configuration by its file, or by its name in our folder."""
    return Path(name) if name.endswith(".toml") else ROOT / "configs" / f"{name}.toml"


def _configure(path: Path, changes: Sequence[str], data: Path | None, silver: Path | None) -> RunConfig:
    """A configuration with the folders that are given; none is where features are prepared already."""
    config = load_config(path, changes)
    folder, automatic = str(data or config.data.path), str(silver or config.data.silver)
    return replace(config, data=replace(config.data, path=folder, silver=automatic))


def _members(name: str, config: RunConfig, seeds: Sequence[int], folder: Path) -> Iterator[Member]:
    for seed in seeds:
        own = replace(config, training=replace(config.training, seeds=(seed,)))
        yield Member(name, seed, own, folder / f"seed-{seed}")


def keep_settings(arguments: argparse.Namespace, path: Path) -> None:
    """Write what the silver trees depend on; raise an error if an earlier start had other settings."""
    settings = json.loads(json.dumps({name: getattr(arguments, name) for name in SETTINGS}, default=str))
    earlier = json.loads(path.read_bytes()) if path.is_file() else settings
    if other := [name for name in SETTINGS if earlier.get(name) != settings[name]]:
        raise UsageError(f"{path.parent} holds a run of other settings ({', '.join(other)}): --output starts another")
    write_atomically(path, json.dumps(settings, indent=1) + "\n")
