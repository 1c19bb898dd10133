"""The colours of pictures: ink and paper, light and dark; for each class of relations, or for how certain units are.

A relation has the same colour in every picture and in every part of one. Every colour has a contrast of at least 4.5
to 1 with its paper, as WCAG asks for text. The probability of a unit says whether these EDUs are a unit at all,
whatever its relation. Only charts give it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from genrst.characters import inert
from genrst.document import Document, require_tree
from genrst.errors import GenrstError
from genrst.rendering.labels import Range, range_label, range_of
from genrst.rendering.measure import columns, shorten, wrap
from genrst.trees.node import SPAN, Unit, units
from genrst.trees.relations import detect_inventory


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours on one kind of paper: `ink` for text and lines, `faint` for what matters less."""

    paper: str
    ink: str
    faint: str
    relations: tuple[str, ...]


CLASSES = (
    *("elaboration", "restatement"),
    *("causal", "explanation", "purpose"),
    *("adversative", "contingency", "evaluation"),
    *("joint", "same-unit"),
    *("attribution", "organization", "topic"),
    *("context", "mode"),
)
"""GUM's classes of relations in six families; each family has a hue, and `Theme.relations` this order."""

_SYNONYMS = {
    **{"background": "context", "temporal": "context", "cause": "causal", "comparison": "adversative"},
    **{"contrast": "adversative", "condition": "contingency", "enablement": "purpose", "manner-means": "mode"},
    **{"summary": "restatement", "textual-organization": "organization", "topic-change": "topic"},
    **{"topic-comment": "topic"},
}
"""RST-DT's classes, by the most similar of GUM's."""

# Found by a random search for the largest least distance (CIE 1976) between any two, as people see them with normal
# vision and without red, green or blue cones (Machado et al. 2009): 9 on white paper, 12 on black.
LIGHT = Theme(
    "#ffffff",
    "#1f2933",
    "#616e7c",
    (
        *("#215ac0", "#093c8e", "#bb4607", "#582105", "#af5742", "#b211c2", "#481566", "#4b1349"),
        *("#018204", "#184021", "#0d7b91", "#045160", "#1d6962", "#704604", "#615125"),
    ),
)
DARK = Theme(
    "#14181d",
    "#e4e7eb",
    "#9aa5b1",
    (
        *("#2783fa", "#8cb0e1", "#f57931", "#c9746c", "#e4baaa", "#e41efc", "#d08cfc", "#c358bc"),
        *("#6ae974", "#7bce7e", "#47bac0", "#a6e4dd", "#24f1ff", "#e9b41c", "#f0e0a5"),
    ),
)
BLUE, RED, PURPLE, GREEN, BROWN = (
    CLASSES.index(name) for name in ("elaboration", "causal", "adversative", "joint", "context")
)
"""Places in `Theme.relations` for all that is no relation."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """Which colours the parts of a picture have, by name; what has none is drawn in ink."""

    numbers: Mapping[str, int]
    """Places in `Theme.relations`."""
    dashes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How long the dashes of a line are, and the gaps between them, so that not all depends on colour."""
    keys: Sequence[tuple[str, str]] = ()
    """The legend: names, and what they mean."""


def relation_colours(names: Iterable[str]) -> dict[str, int]:
    """The number of the colour of each relation in a document, by its coarse class."""
    distinct = set(names) - {""}
    inventory = detect_inventory(distinct)
    return {name: colour_number(inventory.coarse(name)) for name in distinct}


def colour_number(coarse_class: str) -> int:
    """The place of a class of relations in `Theme.relations`; classes of other schemes have one of these, too."""
    known = _SYNONYMS.get(coarse_class, coarse_class)
    return CLASSES.index(known) if known in CLASSES else crc32(coarse_class.encode(errors="replace")) % len(CLASSES)


def relation_scheme(names: Iterable[str]) -> Scheme:
    """A colour for each relation, as all pictures have it, with a legend of their classes, families together."""
    numbers = relation_colours(names)
    inventory = detect_inventory(numbers)
    classes: dict[str, str] = {}
    for name in sorted(numbers, key=lambda name: (numbers[name], name)):
        classes.setdefault(inventory.coarse(name), name)
    return Scheme(numbers, keys=[(name, coarse) for coarse, name in classes.items() if name != SPAN])


class _Class(NamedTuple):
    """Units with at least this probability; a number in `Theme.relations`, and how lines are dashed."""

    least: float
    colour: int | None = None
    dashes: tuple[int, int] | None = None


CERTAINTIES = {
    "sure": _Class(0.9),
    "likely": _Class(0.7, BLUE, (12, 4)),
    "open": _Class(0.5, BROWN, (6, 5)),
    "doubtful": _Class(0.0, RED, (2, 5)),
}
"""From the most to the least certain: the less, the more a line is broken. What is sure is drawn in plain ink."""

CERTAINTY_COLOURS = {name: one.colour for name, one in CERTAINTIES.items() if one.colour is not None}


def probabilities(document: Document) -> dict[Range, float]:
    """The probability of each unit that has one: corrected ones have none. Raises an error if no unit has."""
    found = list(units(require_tree(document)))
    known = {range_of(unit): unit.probability for unit in found if unit.probability is not None}
    if found and not known:
        raise GenrstError(
            f"{document.id}: the units have no probabilities; parse the document with a chart parser to get them"
        )
    return known


def certainties(document: Document) -> dict[Range, str]:
    """The class of each unit."""
    return {
        unit: next(name for name, one in CERTAINTIES.items() if probability >= one.least)
        for unit, probability in probabilities(document).items()
    }


def certainty_scheme(names: Mapping[Range, str]) -> Scheme:
    """The colours of the classes, with a legend that counts the units of each."""
    counts = Counter(names.values())
    dashes = {name: one.dashes for name, one in CERTAINTIES.items() if one.dashes is not None}
    bounds = {name: f"p ≥ {one.least}" for name, one in CERTAINTIES.items()} | {
        "doubtful": f"p < {CERTAINTIES['open'].least}"
    }
    keys = [(name, f"{name}, {bounds[name]}: {counts[name]}") for name in CERTAINTIES if counts[name]]
    return Scheme(CERTAINTY_COLOURS, dashes, keys)


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
