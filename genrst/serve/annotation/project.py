"""The project of a folder: its relations and guidelines, from a TOML file.

    guidelines = "guidelines.md"      # a link, a text file beside this one, or the text itself

    [[relations]]
    name = "evidence"
    nuclearity = ["NS", "SN"]         # the default; ["NN"] joins nuclei
    definition = "The satellite makes the reader believe the nucleus."
    example = "Somebody has been here: the ashes are still warm."

The page offers these relations instead of the model's, and checks trees against them. The model itself does not change.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from genrst.config import read_tables, resolve
from genrst.errors import ConfigError, InputError
from genrst.io import decode, read_bytes

PROJECT_FILE = "genrst.toml"
"""The name of the project file in a folder, unless `--project` names another one."""

_LINKS = ("http://", "https://")
_TEXTS = (".md", ".txt")


@dataclass(frozen=True, slots=True)
class ProjectRelation:
    """A relation that annotators can choose, with its allowed nuclearities."""

    name: str = ""
    nuclearity: tuple[Literal["NS", "SN", "NN"], ...] = ("NS", "SN")
    definition: str = ""
    example: str = ""

    def as_labels(self) -> list[dict[str, str]]:
        """Return a label for each nuclearity, in the format of the models' labels, with definition and example."""
        texts = {"definition": self.definition, "example": self.example}
        given = {key: text for key, text in texts.items() if text}
        return [{"relation": self.name, "nuclearity": nuclearity, **given} for nuclearity in self.nuclearity]


@dataclass(frozen=True, slots=True)
class Project:
    """The conventions of a folder; an empty project changes nothing."""

    guidelines: str = ""
    relations: tuple[ProjectRelation, ...] = ()

    def __post_init__(self) -> None:
        names: set[str] = set()
        for number, relation in enumerate(self.relations):
            where = f"relations[{number}]"
            if not relation.name.strip() or relation.name == "span":
                raise ConfigError(f"{where}.name: the value must be the name of a relation, got {relation.name!r}")
            if relation.name in names:
                raise ConfigError(f"{where}.name: the relation {relation.name!r} is defined twice")
            if not relation.nuclearity:
                raise ConfigError(f"{where}.nuclearity: must list at least one of 'NS', 'SN', 'NN', got []")
            names.add(relation.name)

    def describe_guidelines(self) -> dict[str, str] | None:
        """Return the guidelines as a link or a text for the page, or None."""
        if not self.guidelines:
            return None
        return {"link" if self.guidelines.startswith(_LINKS) else "text": self.guidelines}

    def apply(self, description: dict[str, Any]) -> dict[str, Any]:
        """Return the description of the models with their labels replaced by the relations of the project.

        `known` has the model's own labels, because constraints can use only these.
        """
        if not self.relations:
            return description
        labels = [label for relation in self.relations for label in relation.as_labels()]
        names = {relation.name for relation in self.relations}
        return {
            "models": [
                {
                    **model,
                    "labels": labels,
                    "known": model["labels"],
                    "fine": {name: coarse for name, coarse in model["fine"].items() if name in names},
                }
                for model in description["models"]
            ]
        }


def read_project(path: Path) -> Project:
    """Read a project file; an unknown key or a wrong type is an error that names the file and the key."""
    project = resolve(Project, read_tables(path), path)
    guidelines = project.guidelines.strip()
    if "\n" in guidelines or guidelines.startswith(_LINKS) or not guidelines.lower().endswith(_TEXTS):
        return replace(project, guidelines=guidelines)
    file = path.parent / guidelines
    if not file.resolve().is_relative_to(path.parent.resolve()) or not file.is_file():
        rule = "the file must exist in the folder of the project"
        raise ConfigError(f"{path}: guidelines: {rule}, got {guidelines}")
    try:
        return replace(project, guidelines=decode(read_bytes(file), file).strip())
    except InputError as error:
        raise ConfigError(f"{path}: guidelines: {error}") from error


def find_project(folder: Path, given: Path | None = None) -> Project:
    """Return the project in the given file or in the folder's `genrst.toml`; an empty project if there is neither."""
    path = given or folder / PROJECT_FILE
    return read_project(path) if given is not None or path.is_file() else Project()
