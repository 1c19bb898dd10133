"""The parts of `.rs3` and `.rs4` files that a document has no field for.

These are ids, the relations of menus, unknown attributes and elements, and the notes of annotators. They are stored as
a string in the metadata of the document, so that a file from rstWeb keeps them when it is read, parsed or edited, and
written again, even via JSON. Parts that genrst would write anyway are not stored.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from genrst.document import Document
from genrst.formats.rs3_nodes import COMMENT, Element

KEY = "rs3"
"""The metadata key for these parts."""
NOTES = "notes"
"""The metadata key for notes: the comments and flags of annotators.

Its value is a JSON list of `{"edus": [start, stop], "text", "flag"}`. In a file, notes are elements of the body,
`<note edus="2-3" flag="true" text="…"/>`, which rstWeb ignores.
"""

Attributes = dict[str, str]

_KNOWN: dict[str, frozenset[str]] = {
    **dict.fromkeys(("rst", "header", "relations", "sigtypes", "sig", "body", "secedges", "signals"), frozenset()),
    "rel": frozenset({"name", "type"}),
    "segment": frozenset({"id", "parent", "relname"}),
    "group": frozenset({"id", "parent", "relname", "type"}),
    "secedge": frozenset({"id", "source", "target", "relname"}),
    "signal": frozenset({"source", "type", "subtype", "tokens", "status"}),
}


@dataclass(slots=True)
class Kept:
    """The kept parts of a file. Attributes are those that genrst does not know."""

    segments: list[tuple[str, Attributes]] = field(default_factory=list)
    """The id and the attributes of each EDU."""
    groups: list[tuple[int, int, str, Attributes]] = field(default_factory=list)
    """The EDUs (start, stop) of each group, its id and its attributes."""
    relations: list[tuple[str, str, Attributes]] = field(default_factory=list)
    """The name and the type of each relation in the header."""
    signal_types: list[tuple[str, str]] = field(default_factory=list)
    """The signal types in the header, each with its subtypes, joined by semicolons."""
    attributes: list[tuple[str, Attributes]] = field(default_factory=list)
    """The description of a secondary edge or signal, and its attributes."""
    elements: list[tuple[str, str, Attributes, str]] = field(default_factory=list)
    """The section of an unknown element, its name, its attributes and its text. Comments have no name."""

    @classmethod
    def of(cls, document: Document) -> "Kept":
        """Read the kept parts from the metadata of a document. They are empty if the metadata is malformed."""
        try:
            data: dict[str, Any] = json.loads(document.metadata.get(KEY, "{}"))
            kept = cls(**{one.name: list(map(tuple, data.get(one.name, []))) for one in fields(cls)})
            kept.check()
        except (ValueError, TypeError, AttributeError):
            kept = cls()
        kept.elements += map(_note_element, notes_of(document))
        return kept

    def check(self) -> None:
        """Raise an error unless all parts have the right types, because the JSON is not trusted."""
        types = (str, dict), (int, int, str, dict), (str, str, dict), (str, str), (str, dict), (str, str, dict, str)
        for one, expected in zip(fields(self), types, strict=True):
            for row in getattr(self, one.name):
                texts = [text for part in row if isinstance(part, dict) for text in part.values()]
                if tuple(map(type, row)) != expected or not all(isinstance(text, str) for text in texts):
                    raise TypeError(f"{one.name}: a row must have the types {expected}, got {row}")

    def metadata(self) -> dict[str, str]:
        """Return the metadata for a document; empty if there are no parts to keep."""
        data = {one.name: rows for one in fields(self) if (rows := getattr(self, one.name))}
        notes = [note for element in self.elements if (note := _read_note(*element[1:3])) is not None]
        if notes:
            data["elements"] = [element for element in self.elements if _read_note(*element[1:3]) is None]
        kept = {KEY: {name: rows for name, rows in data.items() if rows}, NOTES: notes}
        return {
            key: json.dumps(value, ensure_ascii=False, separators=(",", ":")) for key, value in kept.items() if value
        }


def notes_of(document: Document) -> list[dict[str, Any]]:
    """Return the comments and flags of annotators; none if the metadata is malformed."""
    try:
        found = [(*map(int, note["edus"]), note) for note in json.loads(document.metadata.get(NOTES, "[]"))]
        return [note for start, stop, note in found if 0 <= start < stop]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _note_element(note: Mapping[str, Any]) -> tuple[str, str, Attributes, str]:
    start, stop = map(int, note["edus"])
    parts = {"edus": f"{start + 1}-{stop}", "flag": "true" if note.get("flag") else "", "text": note.get("text")}
    return "body", "note", {name: str(value) for name, value in parts.items() if value}, ""


def _read_note(name: str, attributes: Attributes) -> dict[str, Any] | None:
    """Return the note in an element; None if the element is not a note."""
    place = re.fullmatch("([0-9]{1,9})-([0-9]{1,9})", attributes.get("edus", ""))
    if name != "note" or place is None or not 0 < int(place[1]) <= int(place[2]):
        return None
    text, flag = attributes.get("text"), attributes.get("flag") == "true"
    edus = {"edus": [int(place[1]) - 1, int(place[2])]}
    return {**edus, **({"text": text} if text else {}), **({"flag": True} if flag else {})}


def unknown(element: Element) -> Attributes:
    """Return the attributes of an element that genrst does not know."""
    known = _KNOWN.get(element.name, frozenset())
    return {name: value for name, value in element.attributes.items() if name not in known}


def foreign_elements(elements: Sequence[Element]) -> list[tuple[str, str, Attributes, str]]:
    """Return the comments and the unknown elements in the header and the body."""
    return [
        (_section(element), "" if element.name == COMMENT else element.name, element.attributes, element.text)
        for element in elements
        if element.name == COMMENT or (element.name not in _KNOWN and element.parent in ("header", "body"))
    ]


def _section(element: Element) -> str:
    return "header" if element.parent in ("header", "relations", "sigtypes") else "body"


def node_names(
    kept: Kept, ids: Mapping[tuple[int, int], int], numbers: Iterable[int]
) -> dict[int, tuple[str, Attributes]]:
    """Return the id and attributes of every node: the original ones if EDUs are unchanged, otherwise new."""
    names: dict[int, tuple[str, Attributes]] = {}
    n_edus = sum(1 for start, stop in ids if stop == start + 1)
    if len(kept.segments) == n_edus:
        names |= dict(enumerate(kept.segments, 1))
    for start, stop, name, attributes in kept.groups:
        number = ids.get((start, stop))
        if number is not None and number not in names:
            names[number] = name, attributes
    taken = {name for name, _ in names.values()}
    if len(taken) < len(names):
        names, taken = {}, set()
    free = max((int(name) for name in taken if name.isdecimal() and len(name) < 10), default=0)
    for number in numbers:
        if number not in names:
            name = str(number)
            if name in taken:
                free = max(free, number) + 1
                while str(free) in taken:
                    free += 1
                name = str(free)
            taken.add(name)
            names[number] = name, {}
    return names


def describe(name: str, attributes: Mapping[str, object]) -> str:
    """Return a description that identifies a secondary edge or a signal: all its known attributes."""
    return " ".join([name, *(str(attributes.get(one, "")) for one in sorted(_KNOWN[name] - {"id"}))])
