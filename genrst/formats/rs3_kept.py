"""What `.rs3` and `.rs4` files hold that documents do not: ids, relations in menus, unknown attributes and elements;
and the notes of annotators.

It is kept as a string in a document's metadata, so that a file from rstWeb that was read, parsed or edited, perhaps as
JSON, and written again still has it. What our own files have anyway is not noted.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from genrst.document import Document
from genrst.formats.rs3_nodes import COMMENT, Element

KEY = "rs3"
"""Of the metadata."""
NOTES = "notes"
"""Of the metadata: the comments and flags of annotators, as a JSON list of `{"edus": [start, stop], "text", "flag"}`.

In a file they are elements of the body: `<note edus="2-3" flag="true" text="…"/>`, which rstWeb leaves alone.
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
    """Parts of a file; attributes are those that we do not know."""

    segments: list[tuple[str, Attributes]] = field(default_factory=list)
    """The id and the attributes of each EDU."""
    groups: list[tuple[int, int, str, Attributes]] = field(default_factory=list)
    """The EDUs (start, stop) of each group, its id and its attributes."""
    relations: list[tuple[str, str, Attributes]] = field(default_factory=list)
    """The name and the type of each relation in the header."""
    signal_types: list[tuple[str, str]] = field(default_factory=list)
    """The types of signals in the header, each with its subtypes, joined by semicolons."""
    attributes: list[tuple[str, Attributes]] = field(default_factory=list)
    """What a secondary edge or signal is, and its attributes."""
    elements: list[tuple[str, str, Attributes, str]] = field(default_factory=list)
    """Where an unknown element stands, its name, its attributes and its text; comments have no name."""

    @classmethod
    def of(cls, document: Document) -> "Kept":
        """What a document has from its file; nothing if that cannot be read."""
        try:
            data: dict[str, Any] = json.loads(document.metadata.get(KEY, "{}"))
            kept = cls(**{one.name: list(map(tuple, data.get(one.name, []))) for one in fields(cls)})
            kept.check()
        except (ValueError, TypeError, AttributeError):
            kept = cls()
        kept.elements += map(_note_element, notes_of(document))
        return kept

    def check(self) -> None:
        """Raise an error unless parts have their types: JSON may come from anywhere."""
        types = (str, dict), (int, int, str, dict), (str, str, dict), (str, str), (str, dict), (str, str, dict, str)
        for one, expected in zip(fields(self), types, strict=True):
            for row in getattr(self, one.name):
                texts = [text for part in row if isinstance(part, dict) for text in part.values()]
                if tuple(map(type, row)) != expected or not all(isinstance(text, str) for text in texts):
                    raise TypeError(f"{one.name}: a row must have the types {expected}, got {row}")

    def metadata(self) -> dict[str, str]:
        """As a document holds it; empty if there is nothing."""
        data = {one.name: rows for one in fields(self) if (rows := getattr(self, one.name))}
        notes = [note for element in self.elements if (note := _read_note(*element[1:3])) is not None]
        if notes:
            data["elements"] = [element for element in self.elements if _read_note(*element[1:3]) is None]
        kept = {KEY: {name: rows for name, rows in data.items() if rows}, NOTES: notes}
        return {
            key: json.dumps(value, ensure_ascii=False, separators=(",", ":")) for key, value in kept.items() if value
        }


def notes_of(document: Document) -> list[dict[str, Any]]:
    """The comments and flags of annotators; nothing if they cannot be read."""
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
    """The note of an element; None if it is another one."""
    place = re.fullmatch("([0-9]{1,9})-([0-9]{1,9})", attributes.get("edus", ""))
    if name != "note" or place is None or not 0 < int(place[1]) <= int(place[2]):
        return None
    text, flag = attributes.get("text"), attributes.get("flag") == "true"
    edus = {"edus": [int(place[1]) - 1, int(place[2])]}
    return {**edus, **({"text": text} if text else {}), **({"flag": True} if flag else {})}


def unknown(element: Element) -> Attributes:
    """The attributes of an element that we do not know."""
    known = _KNOWN.get(element.name, frozenset())
    return {name: value for name, value in element.attributes.items() if name not in known}


def foreign_elements(elements: Sequence[Element]) -> list[tuple[str, str, Attributes, str]]:
    """Comments, and the elements of other names in the header and the body."""
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
    """The id and the attributes of every node: as in the file where the EDUs are the same, else a free number."""
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
    """What tells a secondary edge or a signal from others: all that we know of it."""
    return " ".join([name, *(str(attributes.get(one, "")) for one in sorted(_KNOWN[name] - {"id"}))])
