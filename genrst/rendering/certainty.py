"""How sure a parser is of its units: classes for pictures, and the units of which it is least sure.

The probability of a unit says whether these EDUs are a unit at all, whatever its relation. Only charts give it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from genrst.characters import inert
from genrst.document import Document, require_tree
from genrst.errors import GenrstError
from genrst.rendering.colours import BLUE, BROWN, RED, Scheme
from genrst.rendering.labels import Range, range_label, range_of
from genrst.rendering.measure import columns, shorten, wrap
from genrst.trees.node import Unit, units


class _Class(NamedTuple):
    """Units with at least this probability; a number in `Theme.relations`, and how lines are dashed."""

    least: float
    colour: int | None = None
    dashes: tuple[int, int] | None = None


CLASSES = {
    "sure": _Class(0.9),
    "likely": _Class(0.7, BLUE, (12, 4)),
    "open": _Class(0.5, BROWN, (6, 5)),
    "doubtful": _Class(0.0, RED, (2, 5)),
}
"""From the most to the least certain: the less, the more a line is broken. What is sure is drawn in plain ink."""

CLASS_COLOURS = {name: one.colour for name, one in CLASSES.items() if one.colour is not None}


def probabilities(document: Document) -> dict[Range, float]:
    """The probability of each unit that has one: corrected ones have none. Raises an error if no unit has."""
    found = list(units(require_tree(document)))
    known = {range_of(unit): unit.probability for unit in found if unit.probability is not None}
    if found and not known:
        raise GenrstError(f"{document.id}: units must have probabilities, was: none; a chart's model gives them")
    return known


def certainties(document: Document) -> dict[Range, str]:
    """The class of each unit."""
    return {
        unit: next(name for name, one in CLASSES.items() if probability >= one.least)
        for unit, probability in probabilities(document).items()
    }


def certainty_scheme(names: Mapping[Range, str]) -> Scheme:
    """The colours of the classes, with a legend that counts the units of each."""
    counts = Counter(names.values())
    dashes = {name: one.dashes for name, one in CLASSES.items() if one.dashes is not None}
    bounds = {name: f"p ≥ {one.least}" for name, one in CLASSES.items()} | {"doubtful": f"p < {CLASSES['open'].least}"}
    keys = [(name, f"{name}, {bounds[name]}: {counts[name]}") for name in CLASSES if counts[name]]
    return Scheme(CLASS_COLOURS, dashes, keys)


def least_certain(document: Document, n: int) -> list[Unit]:
    """The n least probable units, the least first."""
    known = probabilities(document)
    found = [unit for unit in units(require_tree(document)) if range_of(unit) in known]
    return sorted(found, key=lambda unit: known[range_of(unit)])[:n]


def render_least_certain(document: Document, n: int, width: int = 80) -> str:
    """A line for each of the n least probable units: probability, EDUs, relation, nuclearity, and how its text begins.

    EDUs are numbered as in the drawing of the tree.
    """
    found = least_certain(document, n)
    if not found:
        return ""
    ranges = [range_label(unit) for unit in found]
    labels = [f"{inert(unit.relation)} {unit.nuclearity}" for unit in found]
    lines = ["least probable units:"]
    for unit, edus, label in zip(found, ranges, labels, strict=True):
        p = f"{unit.probability:.2f}"
        head = f"  {p}  {edus:>{max(map(len, ranges))}}  {label:<{max(map(len, labels))}}  "
        room = max(10, width - sum(map(columns, head)))
        text = inert((document.slice(unit.start, unit.stop) or "")[: 10 * room])
        lines.append((head + "".join(shorten(wrap(text, room, columns), 1, room, columns))).rstrip())
    return "\n".join(lines) + "\n"
