"""The colours of pictures, for light and dark backgrounds: by relation, or by the certainty of units.

A relation has the same colour in all pictures. Every colour has a contrast ratio of at least 4.5 to 1 with its
background, as WCAG requires for text. The certainty of a unit is the probability that its EDUs form a unit, regardless
of its relation. Only chart parsers provide it.
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
    """The colours for a light or dark background: `ink` for text and lines, `faint` for less important parts."""

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
"""GUM's classes of relations, in six families with a hue each. `Theme.relations` has the same order."""

_SYNONYMS = {
    **{"background": "context", "temporal": "context", "cause": "causal", "comparison": "adversative"},
    **{"contrast": "adversative", "condition": "contingency", "enablement": "purpose", "manner-means": "mode"},
    **{"summary": "restatement", "textual-organization": "organization", "topic-change": "topic"},
    **{"topic-comment": "topic"},
}
"""The most similar class of GUM for each class of RST-DT."""

# A random search maximised the smallest distance (CIE 1976) between any two colours, as seen with normal vision and
# without red, green or blue cones (Machado et al. 2009). It is 9 on white and 12 on black.
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
"""Positions in `Theme.relations` of colours for other purposes."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """The colours of the parts of a picture, by name. Parts without a colour are drawn in ink."""

    numbers: Mapping[str, int]
    """Positions in `Theme.relations`."""
    dashes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The lengths of dashes and gaps in lines, so that the meaning does not depend on colour alone."""
    keys: Sequence[tuple[str, str]] = ()
    """The legend: names and their meanings."""


def relation_colours(names: Iterable[str]) -> dict[str, int]:
    """Return the number of the colour of each relation, by its coarse class."""
    distinct = set(names) - {""}
    inventory = detect_inventory(distinct)
    return {name: colour_number(inventory.coarse(name)) for name in distinct}


def colour_number(coarse_class: str) -> int:
    """Return the position of a class in `Theme.relations`. Classes of unknown schemes also get one of these colours."""
    known = _SYNONYMS.get(coarse_class, coarse_class)
    return CLASSES.index(known) if known in CLASSES else crc32(coarse_class.encode(errors="replace")) % len(CLASSES)


def relation_scheme(names: Iterable[str]) -> Scheme:
    """Return a scheme with the fixed colour of each relation, and a legend of their classes, grouped by family."""
    numbers = relation_colours(names)
    inventory = detect_inventory(numbers)
    classes: dict[str, str] = {}
    for name in sorted(numbers, key=lambda name: (numbers[name], name)):
        classes.setdefault(inventory.coarse(name), name)
    return Scheme(numbers, keys=[(name, coarse) for coarse, name in classes.items() if name != SPAN])


class _Class(NamedTuple):
    """A class of units with at least this probability: its position in `Theme.relations`, and its dashes."""

    least: float
    colour: int | None = None
    dashes: tuple[int, int] | None = None


CERTAINTIES = {
    "sure": _Class(0.9),
    "likely": _Class(0.7, BLUE, (12, 4)),
    "open": _Class(0.5, BROWN, (6, 5)),
    "doubtful": _Class(0.0, RED, (2, 5)),
}
"""The classes from most to least certain. Lines of less certain units have more gaps; certain ones are plain ink."""

CERTAINTY_COLOURS = {name: one.colour for name, one in CERTAINTIES.items() if one.colour is not None}


def probabilities(document: Document) -> dict[Range, float]:
    """Return the probability of each unit that has one; corrected units do not. Raises an error if no unit has one."""
    found = list(units(require_tree(document)))
    known = {range_of(unit): unit.probability for unit in found if unit.probability is not None}
    if found and not known:
        raise GenrstError(
            f"{document.id}: the units have no probabilities; parse the document with a chart parser to get them"
        )
    return known


def certainties(document: Document) -> dict[Range, str]:
    """Return the class of each unit."""
    return {
        unit: next(name for name, one in CERTAINTIES.items() if probability >= one.least)
        for unit, probability in probabilities(document).items()
    }


def certainty_scheme(names: Mapping[Range, str]) -> Scheme:
    """Return the colours of the classes, with a legend that counts the units of each."""
    counts = Counter(names.values())
    dashes = {name: one.dashes for name, one in CERTAINTIES.items() if one.dashes is not None}
    bounds = {name: f"p ≥ {one.least}" for name, one in CERTAINTIES.items()} | {
        "doubtful": f"p < {CERTAINTIES['open'].least}"
    }
    keys = [(name, f"{name}, {bounds[name]}: {counts[name]}") for name in CERTAINTIES if counts[name]]
    return Scheme(CERTAINTY_COLOURS, dashes, keys)


def least_certain(document: Document, n: int) -> list[Unit]:
    """Return the n least probable units, least probable first."""
    known = probabilities(document)
    found = [unit for unit in units(require_tree(document)) if range_of(unit) in known]
    return sorted(found, key=lambda unit: known[range_of(unit)])[:n]


def render_least_certain(document: Document, n: int, width: int = 80) -> str:
    """List the n least probable units, one per line: probability, EDUs, relation, nuclearity, start of the text.

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
