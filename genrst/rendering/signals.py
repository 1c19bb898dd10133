"""The labels and positions of signals in pictures.

A signal belongs to the unit whose relation to its parent it marks, or to a secondary edge between two units. Discourse
markers come first and are shown by their words alone; other signals are shown with their subtype.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeAlias

from genrst.characters import printable
from genrst.document import MARKERS, Document, SecondaryEdge, Signal, Span, signal_spans
from genrst.rendering import labels
from genrst.rendering.labels import Range
from genrst.trees.node import Unit

Place: TypeAlias = tuple[Range, Range | None]
"""A unit, and the target of its secondary edge if the signals mark that edge."""

Marks: TypeAlias = "dict[Place, list[Mark]]"

_MOST_CHARACTERS = 60
_MOST_RELATIONS = 50  # that can highlight the same word
_GAP = " … "


@dataclass(frozen=True, slots=True)
class Mark:
    """A signal: its label, the positions of its words, and whether it is a discourse marker."""

    label: str
    spans: tuple[Span, ...]
    is_marker: bool


def find_marks(document: Document) -> Marks:
    """Return the signals of every relation that has any, markers first."""
    found: dict[Place, list[Mark]] = defaultdict(list)
    for signal, spans in zip(document.signals, signal_spans(document), strict=True):
        mark = Mark(_label(document.text, signal, spans), spans, signal.type in MARKERS)
        found[signal.unit, signal.target].append(mark)
    return {place: sorted(marks, key=lambda mark: not mark.is_marker) for place, marks in found.items()}


def _label(text: str | None, signal: Signal, spans: Sequence[Span]) -> str:
    """Return the label of a signal: `"but"` for a marker, `relative clause "which"` for others (words are optional)."""
    words = "" if text is None else _GAP.join(" ".join(text[span.start : span.end].split()) for span in spans)
    if len(words) > _MOST_CHARACTERS:
        words = words[: _MOST_CHARACTERS - 1].rstrip() + "…"
    kind = "" if signal.type in MARKERS and words else (signal.subtype or signal.type).replace("_", " ")
    return printable(" ".join(filter(None, (kind, f'"{words}"' if words else ""))))


def because(relation: str, marks: Iterable[Mark]) -> str:
    """Return a relation with its signals: `contrast ← "but"`."""
    labels = ", ".join(mark.label for mark in marks)
    return f"{relation} ← {labels}" if relation and labels else relation


def edge_label(edge: SecondaryEdge, marks: Marks) -> str:
    """Return the relation of a secondary edge with its signals."""
    return because(printable(edge.relation), marks.get((edge.source, edge.target), []))


def ends_label(edge: SecondaryEdge) -> str:
    """Return the label of the units of a secondary edge: `2–3 ⇢ 7`."""
    return " ⇢ ".join(
        f"{stop}" if stop == start + 1 else f"{start + 1}–{stop}" for start, stop in (edge.source, edge.target)
    )


def titles(document: Document) -> dict[Range, str]:
    """Return the tooltip of each node, with the signals of its relation and of the relations of its children."""
    found, marks = labels.titles(document), find_marks(document)
    for node in labels.nodes_of(labels.roots(document)) if marks else ():
        for child, relation in zip(node.children, node.relations, strict=True) if isinstance(node, Unit) else ():
            key = labels.range_of(child)
            reason = printable(because(relation, marks.get((key, None), [])))
            if reason != printable(relation):
                found[key] += f"\n{reason}"
                found[labels.range_of(node)] += f"\n{reason}"
    return found


def edge_titles(document: Document) -> dict[tuple[Range, Range], str]:
    """Return the tooltip of each secondary edge."""
    marks = find_marks(document) if document.secondary_edges else {}
    found: dict[tuple[Range, Range], list[str]] = defaultdict(list)
    for edge in document.secondary_edges:
        found[edge.source, edge.target].append(f"{ends_label(edge)} {edge_label(edge, marks)}")
    return {ends: "\n".join(lines) for ends, lines in found.items()}


# Highlighting. Relations with signals are numbered, and words carry the numbers of their relations.


def number_places(document: Document) -> dict[Place, int]:
    """Number the relations that have signals."""
    return {place: number for number, place in enumerate(find_marks(document))}


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text with the CSS classes of its words."""

    start: int
    end: int
    classes: str


def find_runs(document: Document) -> list[Run]:
    """Return the words of all signals in order, divided where they overlap partially."""
    changes: dict[int, list[tuple[int, bool, int]]] = defaultdict(list)
    for number, marks in enumerate(find_marks(document).values()):
        for mark in marks:
            for span in mark.spans:
                changes[span.start].append((number, mark.is_marker, 1))
                changes[span.end].append((number, mark.is_marker, -1))
    runs: list[Run] = []
    active: Counter[tuple[int, bool]] = Counter()  # counts (relation number, whether the signal is a marker)
    for start, end in pairwise(sorted(changes)):
        for number, is_marker, change in changes[start]:
            active[number, is_marker] += change
            if not active[number, is_marker]:
                del active[number, is_marker]
        if active and start < end:
            now = sorted(islice(active, _MOST_RELATIONS))
            names = ["word", *dict.fromkeys(f"w{number}" for number, _ in now)]
            runs.append(Run(start, end, " ".join(names + ["marker"] * any(is_marker for _, is_marker in now))))
    return runs


def edu_runs(document: Document) -> dict[Range, list[Run]]:
    """Return the runs of each EDU by offsets of visible characters, because pictures drop white space at breaks."""
    found: dict[Range, list[Run]] = defaultdict(list)
    text, starts = document.text or "", [edu.start for edu in document.edus]
    for run in find_runs(document) if text else ():
        for number in range(max(bisect_right(starts, run.start) - 1, 0), bisect_left(starts, run.end)):
            edu = document.edus[number]
            ends = max(run.start, edu.start), min(run.end, edu.end)
            start, end = (count_visible(text[edu.start : end]) for end in ends)
            if start < end:
                found[number, number + 1].append(Run(start, end, run.classes))
    return found


def count_visible(text: str) -> int:
    """Count the characters that a picture shows of a text, without white space."""
    return sum(not character.isspace() for character in printable(text))


def cut_line(line: str, start: int, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Divide a line with `start` visible characters before it into parts, each with its classes, if any."""
    pieces: list[tuple[str, str]] = []
    at = start
    for character in line:
        is_space = character.isspace()
        # White space belongs to a run that continues after it.
        run = next((run for run in runs if run.start < at + (not is_space) and at < run.end), None)
        classes = run.classes if run else ""
        before = pieces.pop()[0] if pieces and pieces[-1][1] == classes else ""
        pieces.append((before + character, classes))
        at += not is_space
    return pieces
