"""Which relation names a score is about: the coarse classes of an inventory, or the names as they stand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from genrst.errors import UsageError
from genrst.trees.node import SPAN, Tree, units
from genrst.trees.relations import Inventory, detect_inventory

Granularity: TypeAlias = Literal["coarse", "fine"]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A description for reports, and the label of each relation name."""

    description: str
    label: Callable[[str], str]


def choose_labels(
    granularity: Granularity, inventory: Inventory | None, gold: Iterable[Tree], predicted: Iterable[Tree]
) -> LabelSet:
    """The label set of a score; without an inventory, the one that fits the names of both sides."""
    if granularity not in ("coarse", "fine"):
        raise UsageError(f"labels must be coarse or fine, was: {granularity!r}")
    gold_names = relation_names(gold)
    if inventory is None:
        inventory = detect_inventory(gold_names | relation_names(predicted))
    if granularity == "fine":
        return LabelSet(f"{inventory.name}, fine relations: {len(gold_names)} in gold", str.lower)
    return LabelSet(_describe(inventory, gold_names), cache(inventory.coarse))


def relation_names(trees: Iterable[Tree]) -> set[str]:
    """The relation names in the trees, in lower case, without `span`."""
    return {name.lower() for tree in trees for unit in units(tree) for name in unit.relations} - {SPAN}


def _describe(inventory: Inventory, gold_names: set[str]) -> str:
    """Names the gold relations alone, so that all systems scored against them get the same description."""
    classes = inventory.coarse_relations
    unknown = {inventory.coarse(name) for name in gold_names} - set(classes)
    if not classes:
        return f"{inventory.name}, relations: {len(unknown)} in gold"
    others = f", unknown to it: {len(unknown)} in gold" if unknown else ""
    return f"{inventory.name}, {len(classes)} coarse relations{others}"
