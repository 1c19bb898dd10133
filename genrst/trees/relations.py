"""Relation inventories: which names a corpus uses, and the coarse class of each.

An inventory is a data file (`data/*.tsv`: relation, coarse class, kinds). Names outside it pass through, so that any
corpus can be read and scored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from genrst.errors import UsageError


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation name, its coarse class, and whether it joins a satellite (`rst`), nuclei (`multinuc`) or both."""

    name: str
    coarse: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The relations of one annotation scheme."""

    name: str
    relations: dict[str, Relation]

    @property
    def coarse_relations(self) -> tuple[str, ...]:
        """The coarse classes, sorted."""
        return tuple(sorted({relation.coarse for relation in self.relations.values()}))

    def coarse(self, name: str) -> str:
        """The coarse class of a relation; a coarse class is its own, an unknown name passes through in lower case."""
        name = name.lower()
        if name in self.relations:
            return self.relations[name].coarse
        prefix = name.split("-")[0]
        # GUM's coarse class is the part before the hyphen, also in releases with names that we have not seen.
        return prefix if self.name == "gum" and prefix in self.coarse_relations else name

    def knows(self, name: str) -> bool:
        """Whether the name is a relation or a coarse class of this inventory."""
        name = name.lower()
        return name in self.relations or name in self.coarse_relations


INVENTORIES = ("rstdt", "gum", "open")
"""The names that `load_inventory` takes."""

OPEN = Inventory("open", {})
"""The inventory of a corpus that follows no known scheme: every name is its own class."""


@cache
def load_inventory(name: str) -> Inventory:
    """An inventory by name: `rstdt`, `gum` or `open`."""
    if name == OPEN.name:
        return OPEN
    if name not in INVENTORIES:
        raise UsageError(f"an inventory must be one of {', '.join(INVENTORIES)}, got {name!r}")
    table = files("genrst.trees").joinpath("data", f"{name}.tsv").read_text(encoding="utf-8")
    relations = {}
    for row in table.splitlines()[1:]:
        relation, coarse, kinds = row.split("\t")
        relations[relation] = Relation(relation, coarse, frozenset(kinds.split()))
    return Inventory(name, relations)


@cache
def load_glossary() -> dict[str, tuple[str, str]]:
    """The definition and an example of each relation of GUM.

    A definition goes on after "the satellite", or starts with a dash if there is none. In an example, satellites stand
    between asterisks, and strokes between nuclei.
    """
    table = files("genrst.trees").joinpath("data", "glossary.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in table.splitlines()[1:])
    return {name: (definition, example) for name, definition, example in rows}


def detect_inventory(names: Iterable[str]) -> Inventory:
    """The inventory that knows most of the names; `open` if none knows more than half of them.

    Where two know equally many, the one that changes fewer names wins: `purpose` is a class of its own in GUM and a
    fine name in RST-DT.
    """
    distinct = {name.lower() for name in names}
    if not distinct:
        return OPEN

    def fit(inventory: Inventory) -> tuple[int, int]:
        return sum(map(inventory.knows, distinct)), sum(inventory.coarse(name) == name for name in distinct)

    best = max((load_inventory(name) for name in ("rstdt", "gum")), key=fit)
    return best if 2 * fit(best)[0] > len(distinct) else OPEN


def describe_classes(classes: Mapping[str, str]) -> str:
    """Which relations became which classes, in a line.

    >>> describe_classes({"Cause": "causal", "Result": "causal", "joint": "joint"})
    'Cause, Result → causal; unchanged: joint'
    """
    members: dict[str, list[str]] = {}
    for name, coarse in classes.items():
        members.setdefault(coarse, []).append(name)
    changed = [f"{', '.join(names)} → {coarse}" for coarse, names in members.items() if names != [coarse]]
    kept = ", ".join(coarse for coarse, names in members.items() if names == [coarse])
    return "; ".join([*changed, f"unchanged: {kept}"] if kept else changed)
