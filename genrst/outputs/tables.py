"""Tables: a row per unit of a tree, signal, secondary edge or dependency, and rows of any kind as files.

How dependencies are read off a tree is in `genrst.trees.dependency`. Files are CSV, JSON lines or Parquet. Texts are
written as they are, so that offsets hold; in CSV also a text like `=1+1`, which spreadsheet programs take for a formula
unless told that the column is text.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, Literal, TypeAlias, TypedDict, TypeVar

from genrst.document import Document, require_tree, signal_spans
from genrst.errors import MissingDependencyError, UsageError
from genrst.trees.dependency import dependencies_hirao, dependencies_li
from genrst.trees.measures import importance
from genrst.trees.node import Tree, Unit, fold


class UnitRow(TypedDict):
    """A unit or an EDU.

    `id` counts the rows of a document from 0; `start` and `end` are characters of the text, EDUs count from 0.
    `relation` is the label that RST files give a node: a satellite's relation to its nucleus, the shared relation of
    several nuclei, or `span` for the one nucleus among satellites. `importance` is that of the most important EDU
    inside; `probability` and `label_probability` are known for units that a chart made.
    """

    document: str
    id: int
    parent: int | None
    depth: int
    role: str
    relation: str | None
    is_edu: bool
    first_edu: int
    last_edu: int
    start: int
    end: int
    importance: int
    probability: float | None
    label_probability: float | None
    text: str | None


def unit_rows(document: Document) -> list[UnitRow]:
    """A row per unit and EDU, from the root down and from left to right."""
    scores = _scores(require_tree(document))
    rows: list[UnitRow] = []
    # Of the children of units that have a row: the row of the parent, N or S, and the relation.
    places: dict[tuple[int, int], tuple[int, str, str]] = {}
    for node in document.root:
        if isinstance(node.tree, Unit):
            for child, letter, label in zip(node.children, node.tree.nuclearity, node.tree.relations, strict=True):
                places[child.start, child.stop] = len(rows), letter, label
        parent, role, relation = places.get((node.start, node.stop), (None, "root", None))
        rows.append(
            UnitRow(
                document=document.id,
                id=len(rows),
                parent=parent,
                depth=0 if parent is None else rows[parent]["depth"] + 1,
                role=role,
                relation=relation,
                is_edu=node.is_edu,
                first_edu=node.start,
                last_edu=node.stop - 1,
                start=node.start_char,
                end=node.end_char,
                importance=scores[node.start, node.stop],
                probability=node.probability,
                label_probability=node.label_probability,
                text=node.text,
            )
        )
    return rows


def _scores(tree: Tree) -> dict[tuple[int, int], int]:
    """The importance of every node, by its EDUs."""
    edus = importance(tree)
    scores: dict[tuple[int, int], int] = {}

    def score(node: Tree, parts: list[int]) -> int:
        return scores.setdefault((node.start, node.stop), max(parts))

    fold(tree, lambda leaf: score(leaf, [edus[leaf.edu]]), score)
    return scores


class SignalRow(TypedDict):
    """What marks a relation: that of a unit to its parent or, with a `target`, of a secondary edge.

    `unit` and `target` are the ids of rows of the table of units. `words` are joined by an ellipsis where others are
    between them; `start` and `end` are characters of the text, from the first word to the last.
    """

    document: str
    unit: int | None
    target: int | None
    relation: str | None
    type: str
    subtype: str
    words: str | None
    start: int | None
    end: int | None


class EdgeRow(TypedDict):
    """A secondary edge; `source` and `target` are the ids of rows of the table of units."""

    document: str
    source: int | None
    target: int | None
    relation: str


def signal_rows(document: Document, units: Sequence[UnitRow], with_words: bool = True) -> list[SignalRow]:
    """A row per signal, given the table of units."""
    ids = _ids(units)
    edges = {(edge.source, edge.target): edge.relation for edge in document.secondary_edges}
    rows = []
    for signal, spans in zip(document.signals, signal_spans(document), strict=True):
        unit, text = ids.get(signal.unit), document.text if with_words else None
        own = None if unit is None else units[unit]["relation"]
        rows.append(
            SignalRow(
                document=document.id,
                unit=unit,
                target=None if signal.target is None else ids.get(signal.target),
                relation=own if signal.target is None else edges.get((signal.unit, signal.target)),
                type=signal.type,
                subtype=signal.subtype,
                words=" … ".join(text[span.start : span.end] for span in spans) if spans and text else None,
                start=spans[0].start if spans else None,
                end=spans[-1].end if spans else None,
            )
        )
    return rows


def edge_rows(document: Document, units: Sequence[UnitRow]) -> list[EdgeRow]:
    """A row per secondary edge, given the table of units."""
    ids = _ids(units)
    return [
        EdgeRow(document=document.id, source=ids.get(edge.source), target=ids.get(edge.target), relation=edge.relation)
        for edge in document.secondary_edges
    ]


def _ids(units: Sequence[UnitRow]) -> dict[tuple[int, int], int]:
    return {(row["first_edu"], row["last_edu"] + 1): row["id"] for row in units}


Scheme: TypeAlias = Literal["li", "hirao"]

SCHEMES = {"li": dependencies_li, "hirao": dependencies_hirao}
"""By name: Li et al. (2014), with one root; Hirao et al. (2013), where nuclei may share theirs."""


class DependencyRow(TypedDict):
    """An EDU, the EDU that it depends on (None for a root, whose relation is `root`), and its characters."""

    document: str
    edu: int
    head: int | None
    relation: str
    start: int
    end: int
    text: str | None


def dependency_rows(document: Document, scheme: Scheme = "li") -> list[DependencyRow]:
    """A row per EDU, in order; EDUs count from 0."""
    if scheme not in SCHEMES:
        raise UsageError(f"a scheme of dependencies must be one of {', '.join(SCHEMES)}, got {scheme!r}")
    return [
        DependencyRow(
            document=document.id,
            edu=edu,
            head=dependency.head,
            relation=dependency.relation,
            start=document.edus[edu].start,
            end=document.edus[edu].end,
            text=document.slice(edu, edu + 1),
        )
        for edu, dependency in enumerate(SCHEMES[scheme](require_tree(document)))
    ]


Row: TypeAlias = Mapping[str, Any]
"""A cell per column: a string, a number, a truth value or None."""

Cell = TypeVar("Cell")
RowFormat: TypeAlias = Literal["csv", "json", "parquet"]

# What UTF-8 cannot hold, and what terminals and other programs obey or take for a line end.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def write_rows(rows: Iterable[Row], file: BinaryIO, format: RowFormat, types: Mapping[str, str] | None = None) -> None:
    """Write rows to an open file; all must have the same columns.

    `types` are those of all columns, by Arrow's names; without them Parquet has those of the cells.
    CSV is UTF-8, quoted and with line ends as in RFC 4180; None is an empty cell. JSON is an object a line. Parquet
    needs the library pyarrow. CSV and Parquet cannot hold half of a surrogate pair: U+FFFD stands for it.
    """
    if format not in WRITERS:
        raise UsageError(f"a format of rows must be one of {', '.join(WRITERS)}, got {format!r}")
    write = partial(_write_parquet, types=types) if format == "parquet" else WRITERS[format]
    write(_uniform(rows), file)


def _uniform(rows: Iterable[Row]) -> Iterator[Row]:
    columns: list[str] | None = None
    for row in rows:
        columns = list(row) if columns is None else columns
        if list(row) != columns:
            raise UsageError(f"rows must have the same columns ({', '.join(columns)}), got {', '.join(row)}")
        yield row


def _write_csv(rows: Iterable[Row], file: BinaryIO) -> None:
    line = io.StringIO()
    writer = csv.writer(line)
    for number, row in enumerate(rows):
        for cells in (row.keys(), row.values()) if number == 0 else (row.values(),):
            writer.writerow([_encodable(cell) for cell in cells])
        file.write(line.getvalue().encode())
        line.seek(0)
        line.truncate()


def _write_json(rows: Iterable[Row], file: BinaryIO) -> None:
    for row in rows:
        text = json.dumps(row, ensure_ascii=False)
        file.write(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode() + b"\n")


def _write_parquet(rows: Iterable[Row], file: BinaryIO, types: Mapping[str, str] | None = None) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet files need pyarrow: pip install 'genrst[parquet]'") from error
    columns: dict[str, list[object]] = {name: [] for name in types or ()}
    for row in rows:
        for name, cell in row.items():
            columns.setdefault(_encodable(name), []).append(_encodable(cell))
    arrays = {
        name: pyarrow.array(cells, types[name] if types else _parquet_type(name, cells))
        for name, cells in columns.items()
    }
    parquet.write_table(pyarrow.table(arrays), file)


def _parquet_type(name: str, cells: list[object]) -> str | None:
    """The type of a column: that of its cells or, if all are empty, the one it has in other files."""
    if any(cell is not None for cell in cells):
        return None
    if name in ("text", "relation"):
        return "string"
    return "int64" if name in ("parent", "head") or name.startswith("n_") else "float64"


def _encodable(cell: Cell) -> Cell:
    return _SURROGATES.sub(_REPLACEMENT, cell) if isinstance(cell, str) else cell  # type: ignore[return-value]


WRITERS: dict[str, Callable[[Iterable[Row], BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
"""How the rows of each format are written."""
