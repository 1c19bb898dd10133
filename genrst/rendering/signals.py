"""What a picture says of signals, the words that mark relations, and where they are.

A signal belongs to the unit whose relation to its parent it marks, or to the secondary edge between two units.
Discourse markers come first and are shown by their words alone; other signals say what they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from genrst.characters import printable
from genrst.document import Document, SecondaryEdge, Signal, Span, signal_spans
from genrst.rendering.labels import Range

Place: TypeAlias = tuple[Range, Range | None]
"""A unit, and the target of the secondary edge that starts at it, if it is that edge which is marked."""

Marks: TypeAlias = "dict[Place, list[Mark]]"

MARKERS = ("dm", "orphan")
"""The types of discourse markers: of relations in the tree, and of secondary edges."""

_MOST_CHARACTERS = 60
_GAP = " … "


@dataclass(frozen=True, slots=True)
class Mark:
    """A signal: what is said of it, where its words are, and whether it is a discourse marker."""

    label: str
    spans: tuple[Span, ...]
    is_marker: bool


def find_marks(document: Document) -> Marks:
    """The signals of every relation that has some, markers first."""
    found: dict[Place, list[Mark]] = defaultdict(list)
    for signal, spans in zip(document.signals, signal_spans(document), strict=True):
        mark = Mark(_label(document.text, signal, spans), spans, signal.type in MARKERS)
        found[signal.unit, signal.target].append(mark)
    return {place: sorted(marks, key=lambda mark: not mark.is_marker) for place, marks in found.items()}


def _label(text: str | None, signal: Signal, spans: Sequence[Span]) -> str:
    """`"but"` for a marker, `relative clause "which"` for others, without words where there are none."""
    words = "" if text is None else _GAP.join(" ".join(text[span.start : span.end].split()) for span in spans)
    if len(words) > _MOST_CHARACTERS:
        words = words[: _MOST_CHARACTERS - 1].rstrip() + "…"
    kind = "" if signal.type in MARKERS and words else (signal.subtype or signal.type).replace("_", " ")
    return printable(" ".join(filter(None, (kind, f'"{words}"' if words else ""))))


def because(relation: str, marks: Iterable[Mark]) -> str:
    """A relation and what marks it: `contrast ← "but"`."""
    labels = ", ".join(mark.label for mark in marks)
    return f"{relation} ← {labels}" if relation and labels else relation


def edge_label(edge: SecondaryEdge, marks: Marks) -> str:
    """The relation of a secondary edge, and what marks it."""
    return because(printable(edge.relation), marks.get((edge.source, edge.target), []))


def ends_label(edge: SecondaryEdge) -> str:
    """The units of a secondary edge: `2–3 ⇢ 7`."""
    return " ⇢ ".join(
        f"{stop}" if stop == start + 1 else f"{start + 1}–{stop}" for start, stop in (edge.source, edge.target)
    )
