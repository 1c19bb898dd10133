"""Relation inventories: the relation names of an annotation scheme, and the coarse class of each.

An inventory is a data file (`data/*.tsv`: relation, coarse class, kinds). Unknown names are kept as they are, so that
any corpus can be read and scored.
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
        """Return the coarse class of a relation. Coarse classes and unknown names are returned in lower case."""
        name = name.lower()
        if name in self.relations:
            return self.relations[name].coarse
        prefix = name.split("-")[0]
        # In GUM, the coarse class is the part before the hyphen. This covers names that are new in later releases.
        return prefix if self.name == "gum" and prefix in self.coarse_relations else name

    def knows(self, name: str) -> bool:
        """Whether the name is a relation or a coarse class of this inventory."""
        name = name.lower()
        return name in self.relations or name in self.coarse_relations


INVENTORIES = ("rstdt", "gum", "open")
"""The names that `load_inventory` accepts."""

OPEN = Inventory("open", {})
"""The inventory for corpora that follow no known scheme. Every name is its own class."""


@cache
def load_inventory(name: str) -> Inventory:
    """Load an inventory by name: `rstdt`, `gum` or `open`."""
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
    """Load the definition and an example of each relation of GUM.

    A definition continues the phrase "the satellite"; for relations without satellites, it starts with a dash. In an
    example, satellites are enclosed in asterisks, and nuclei are separated by strokes.
    """
    table = files("genrst.trees").joinpath("data", "glossary.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in table.splitlines()[1:])
    return {name: (definition, example) for name, definition, example in rows}


def detect_inventory(names: Iterable[str]) -> Inventory:
    """Return the inventory that covers the most names; `open` if none covers more than half of them.

    In a tie, the inventory that changes fewer names wins: `purpose`, for example, is a coarse class in GUM but a fine
    relation in RST-DT.
    """
    distinct = {name.lower() for name in names}
    if not distinct:
        return OPEN

    def fit(inventory: Inventory) -> tuple[int, int]:
        return sum(map(inventory.knows, distinct)), sum(inventory.coarse(name) == name for name in distinct)

    best = max((load_inventory(name) for name in ("rstdt", "gum")), key=fit)
    return best if 2 * fit(best)[0] > len(distinct) else OPEN


def describe_classes(classes: Mapping[str, str]) -> str:
    """Describe on one line which relations are mapped to which classes.

    >>> describe_classes({"Cause": "causal", "Result": "causal", "joint": "joint"})
    'Cause, Result → causal; unchanged: joint'
    """
    members: dict[str, list[str]] = {}
    for name, coarse in classes.items():
        members.setdefault(coarse, []).append(name)
    changed = [f"{', '.join(names)} → {coarse}" for coarse, names in members.items() if names != [coarse]]
    kept = ", ".join(coarse for coarse, names in members.items() if names == [coarse])
    return "; ".join([*changed, f"unchanged: {kept}"] if kept else changed)
