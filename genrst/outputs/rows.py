"""Rows as files: CSV, JSON lines, Parquet.

Texts are written as they are, so that offsets hold. In CSV that goes for a text like `=1+1`, too, which spreadsheet
programs take for a formula unless told that the column is text.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

from genrst.errors import MissingDependencyError, UsageError

Row: TypeAlias = Mapping[str, Any]
"""A cell per column: a string, a number, a truth value or None."""

RowFormat: TypeAlias = Literal["csv", "json", "parquet"]

# What UTF-8 cannot hold, and what terminals and other programs obey or take for a line end.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def write_rows(rows: Iterable[Row], file: BinaryIO, format: RowFormat) -> None:
    """Write rows to an open file; all must have the same columns.

    CSV is UTF-8, quoted and with line ends as in RFC 4180; None is an empty cell. JSON is an object a line. Parquet
    needs the library pyarrow. CSV and Parquet cannot hold half of a surrogate pair: U+FFFD stands for it.
    """
    if format not in WRITERS:
        raise UsageError(f"a format of rows must be one of {', '.join(WRITERS)}, was: {format!r}")
    WRITERS[format](_uniform(rows), file)


def _uniform(rows: Iterable[Row]) -> Iterator[Row]:
    columns: list[str] | None = None
    for row in rows:
        columns = list(row) if columns is None else columns
        if list(row) != columns:
            raise UsageError(f"rows must have the same columns ({', '.join(columns)}), was: {', '.join(row)}")
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


def _write_parquet(rows: Iterable[Row], file: BinaryIO) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet files need pyarrow: pip install genrst[parquet]") from error
    columns: dict[str, list[object]] = {}
    for row in rows:
        for name, cell in row.items():
            columns.setdefault(_encodable(name), []).append(_encodable(cell))
    arrays = {name: pyarrow.array(cells, _parquet_type(name, cells)) for name, cells in columns.items()}
    parquet.write_table(pyarrow.table(arrays), file)


def _parquet_type(name: str, cells: list[object]) -> str | None:
    """The type of a column: that of its cells or, if all are empty, the one it has in other files."""
    if any(cell is not None for cell in cells):
        return None
    if name in ("text", "relation"):
        return "string"
    return "int64" if name in ("parent", "head") or name.startswith("n_") else "float64"


Cell = TypeVar("Cell")


def _encodable(cell: Cell) -> Cell:
    return _SURROGATES.sub(_REPLACEMENT, cell) if isinstance(cell, str) else cell  # type: ignore[return-value]


WRITERS: dict[str, Callable[[Iterable[Row], BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
"""How the rows of each format are written."""
