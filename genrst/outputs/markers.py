"""An index of discourse markers: which relations each one marks, how often, and in which genre."""

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias, TypedDict

from genrst.document import Document, Signal, signal_words
from genrst.trees.node import units

Edus: TypeAlias = tuple[int, int]

MARKERS = ("dm", "orphan")
"""The types of signals that are discourse markers: of relations of the tree, and of secondary edges."""
GAP = " … "
"""Separates the parts of a discontinuous marker, such as `if … then`."""
_SIGNS = ".,;:!?\"'“”()[]—–"


class MarkerRow(TypedDict):
    """A marker with a relation; `genre` comes from the metadata of the documents, if present."""

    marker: str
    type: str
    relation: str | None
    genre: str | None
    count: int


def marker_rows(documents: Iterable[Document]) -> list[MarkerRow]:
    """Return the index of all documents together, the most frequent markers first."""
    counts = Counter(key for document in documents for key in _markers(document))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], tuple(map(str, item[0]))))
    return [
        MarkerRow(marker=marker, type=type, relation=relation, genre=genre, count=count)
        for (marker, type, relation, genre), count in ordered
    ]


def marker_text(document: Document, signal: Signal) -> str:
    """Return the words of a signal in lower case, without surrounding punctuation."""
    words, text = signal_words(document), document.text or ""
    found, before = "", 0
    for number in signal.tokens:
        if 1 <= number <= len(words):
            word = words[number - 1]
            found += ("" if not before else " " if number == before + 1 else GAP) + text[word.start : word.end]
            before = number
    return found.lower().strip(_SIGNS)


def _markers(document: Document) -> Iterable[tuple[str, str, str | None, str | None]]:
    relations: dict[tuple[Edus, Edus | None], str] = {
        ((child.start, child.stop), None): relation
        for unit in (units(document.tree) if document.tree is not None else ())
        for child, relation in zip(unit.children, unit.relations, strict=True)
    }
    relations |= {(edge.source, edge.target): edge.relation for edge in document.secondary_edges}
    for signal in document.signals:
        if signal.type in MARKERS and (marker := marker_text(document, signal)):
            yield marker, signal.type, relations.get((signal.unit, signal.target)), document.metadata.get("genre")
