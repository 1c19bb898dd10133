"""The project of a folder: its own relations and its guidelines, from a TOML file.

    guidelines = "guidelines.md"      # a link, a text file beside this one, or the text itself

    [[relations]]
    name = "evidence"
    nuclearity = ["NS", "SN"]         # the default; ["NN"] joins nuclei
    definition = "The satellite makes the reader believe the nucleus."
    example = "Somebody has been here: the ashes are still warm."

The page offers these relations instead of those of the model, and checks trees against them. Not here: what the model
knows, which stays as it is.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from genrst.config import read_tables, resolve
from genrst.errors import ConfigError, InputError
from genrst.io import decode, read_bytes

PROJECT_FILE = "genrst.toml"
"""The project of a folder, unless `--project` names another file."""

_LINKS = ("http://", "https://")
_TEXTS = (".md", ".txt")


@dataclass(frozen=True, slots=True)
class ProjectRelation:
    """A relation that annotators choose from, and in which order of nucleus and satellite it may be used."""

    name: str = ""
    nuclearity: tuple[Literal["NS", "SN", "NN"], ...] = ("NS", "SN")
    definition: str = ""
    example: str = ""

    def as_labels(self) -> list[dict[str, str]]:
        """Return a label for each nuclearity, as models list theirs, with the definition and the example."""
        texts = {"definition": self.definition, "example": self.example}
        given = {key: text for key, text in texts.items() if text}
        return [{"relation": self.name, "nuclearity": nuclearity, **given} for nuclearity in self.nuclearity]


@dataclass(frozen=True, slots=True)
class Project:
    """What annotators of a folder agreed on; an empty project changes nothing."""

    guidelines: str = ""
    relations: tuple[ProjectRelation, ...] = ()

    def __post_init__(self) -> None:
        names: set[str] = set()
        for number, relation in enumerate(self.relations):
            where = f"relations[{number}]"
            if not relation.name.strip() or relation.name == "span":
                raise ConfigError(f"{where}.name: the value must be the name of a relation, got {relation.name!r}")
            if relation.name in names:
                raise ConfigError(f"{where}.name: a relation must be defined once, got {relation.name!r} again")
            if not relation.nuclearity:
                raise ConfigError(f"{where}.nuclearity: the list must have one of 'NS', 'SN', 'NN', got []")
            names.add(relation.name)

    def describe_guidelines(self) -> dict[str, str] | None:
        """Return the guidelines for the page, a link or a text."""
        if not self.guidelines:
            return None
        return {"link" if self.guidelines.startswith(_LINKS) else "text": self.guidelines}

    def apply(self, description: dict[str, Any]) -> dict[str, Any]:
        """Return the description of the models with the relations of the project in the place of their labels.

        `known` has the model's own labels: a constraint can name only these.
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
    """Read a project; an unknown key or a wrong type is an error that names the file and the key."""
    project = resolve(Project, read_tables(path), path)
    guidelines = project.guidelines.strip()
    if "\n" in guidelines or guidelines.startswith(_LINKS) or not guidelines.lower().endswith(_TEXTS):
        return replace(project, guidelines=guidelines)
    file = path.parent / guidelines
    if not file.resolve().is_relative_to(path.parent.resolve()) or not file.is_file():
        rule = "a file of guidelines must be in the folder of the project"
        raise ConfigError(f"{path}: guidelines: {rule}, got {guidelines}")
    try:
        return replace(project, guidelines=decode(read_bytes(file), file).strip())
    except InputError as error:
        raise ConfigError(f"{path}: guidelines: {error}") from error


def find_project(folder: Path, given: Path | None = None) -> Project:
    """Return the project in a file, or else in `genrst.toml` of a folder; an empty one if there is neither."""
    path = given or folder / PROJECT_FILE
    return read_project(path) if given is not None or path.is_file() else Project()
