"""Tables: one row per unit, signal, secondary edge or dependency, and functions that write any rows to a file.

`genrst.trees.dependency` converts trees to dependencies. Files are CSV, JSON lines or Parquet. Texts are written
unchanged, so that offsets stay valid. In CSV this includes texts such as `=1+1`, which spreadsheet programs read as a
formula unless the column is imported as text.
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

    `id` numbers the rows of a document from 0. `start` and `end` are character offsets; EDUs are numbered from 0.
    `relation` is the label that the node has in RST files: a satellite's relation to its nucleus, the shared relation
    of several nuclei, or `span` for the only nucleus among satellites. `importance` is that of the most important EDU
    inside. `probability` and `label_probability` are set for units found by a chart parser.
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
    """Return one row per unit and EDU, in pre-order."""
    scores = _scores(require_tree(document))
    rows: list[UnitRow] = []
    # For the children of units that already have a row: the parent's row, N or S, and the relation.
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
    """Map the EDUs of every node to its importance."""
    edus = importance(tree)
    scores: dict[tuple[int, int], int] = {}

    def score(node: Tree, parts: list[int]) -> int:
        return scores.setdefault((node.start, node.stop), max(parts))

    fold(tree, lambda leaf: score(leaf, [edus[leaf.edu]]), score)
    return scores


class SignalRow(TypedDict):
    """A signal of a unit's relation to its parent or, with a `target`, of a secondary edge.

    `unit` and `target` are row ids in the table of units. `words` are joined by an ellipsis where other words are
    skipped. `start` and `end` are the character offsets of the first and the last word.
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
    """A secondary edge; `source` and `target` are row ids in the table of units."""

    document: str
    source: int | None
    target: int | None
    relation: str


def signal_rows(document: Document, units: Sequence[UnitRow], with_words: bool = True) -> list[SignalRow]:
    """Return one row per signal, given the table of units."""
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
    """Return one row per secondary edge, given the table of units."""
    ids = _ids(units)
    return [
        EdgeRow(document=document.id, source=ids.get(edge.source), target=ids.get(edge.target), relation=edge.relation)
        for edge in document.secondary_edges
    ]


def _ids(units: Sequence[UnitRow]) -> dict[tuple[int, int], int]:
    return {(row["first_edu"], row["last_edu"] + 1): row["id"] for row in units}


Scheme: TypeAlias = Literal["li", "hirao"]

SCHEMES = {"li": dependencies_li, "hirao": dependencies_hirao}
"""The conversions by name: Li et al. (2014), with one root; Hirao et al. (2013), which allows several."""


class DependencyRow(TypedDict):
    """An EDU, its head (None for a root, whose relation is `root`), and its character offsets."""

    document: str
    edu: int
    head: int | None
    relation: str
    start: int
    end: int
    text: str | None


def dependency_rows(document: Document, scheme: Scheme = "li") -> list[DependencyRow]:
    """Return one row per EDU, in text order; EDUs are numbered from 0."""
    if scheme not in SCHEMES:
        raise UsageError(f"the dependency scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
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
"""One cell per column: a string, a number, a Boolean or None."""

Cell = TypeVar("Cell")
RowFormat: TypeAlias = Literal["csv", "json", "parquet"]

# Characters that UTF-8 cannot encode, and control characters that terminals obey or read as line ends.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def write_rows(rows: Iterable[Row], file: BinaryIO, format: RowFormat, types: Mapping[str, str] | None = None) -> None:
    """Write rows to an open file; all must have the same columns.

    `types` are the Arrow names of the column types; without them, Parquet types are inferred from the cells. CSV is
    UTF-8 with the quoting and line ends of RFC 4180; None is an empty cell. JSON is one object per line. Parquet needs
    pyarrow. CSV and Parquet cannot hold a lone surrogate, so it is replaced by U+FFFD.
    """
    if format not in WRITERS:
        raise UsageError(f"the format of the rows must be one of {', '.join(WRITERS)}, got {format!r}")
    write = partial(_write_parquet, types=types) if format == "parquet" else WRITERS[format]
    write(_uniform(rows), file)


def _uniform(rows: Iterable[Row]) -> Iterator[Row]:
    columns: list[str] | None = None
    for row in rows:
        columns = list(row) if columns is None else columns
        if list(row) != columns:
            raise UsageError(f"all rows must have the same columns ({', '.join(columns)}), got {', '.join(row)}")
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
    """Return the type of a column: that of its cells or, if all are empty, its type in other files."""
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
"""The writer of each format."""
