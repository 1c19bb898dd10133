"""What `genrst export` prints for people to read: EDUs count from 1, and no text can command the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from genrst.outputs.summary import join_edus
from genrst.rendering.characters import inert

if TYPE_CHECKING:
    from genrst.corpora.document import Document
    from genrst.outputs.rows import Row

_TEXT_WIDTH = 60
_EDU_COLUMNS = ("edu", "head", "first_edu", "last_edu")


def format_tables(what: str, tables: "Sequence[tuple[Document, Sequence[Row]]]") -> str:
    """The rows of documents as text; documents have titles if there are several."""
    texts = [_format(what, document, rows) for document, rows in tables]
    if len(texts) > 1:
        texts = [f"# {inert(document.id)}\n{text}" for (document, _), text in zip(tables, texts, strict=True)]
    return "\n\n".join(texts)


def _format(what: str, document: "Document", rows: "Sequence[Row]") -> str:
    if what == "summary" and document.text is not None:
        return inert(join_edus(document, [row["edu"] for row in rows]))
    if what == "chunks":
        return "\n\n".join(map(_chunk, rows))
    return _profile(rows[0]) if what == "profile" else _table(rows)


def _chunk(row: "Row") -> str:
    """A line about a chunk, and its text below."""
    edus = "–".join(dict.fromkeys([_cell(row, "first_edu"), _cell(row, "last_edu")]))
    place = f"[{row['start']}:{row['end']}] {edus} {_cell(row, 'relation_path')}".rstrip()
    return place if row["text"] is None else f"{place}\n{inert(row['text'])}"


def _table(rows: "Sequence[Row]") -> str:
    """Aligned columns, the text last and shortened."""
    columns = [column for column in rows[0] if column != "document"]
    lines = [columns, *([_cell(row, column) for column in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in lines)


def _profile(row: "Row") -> str:
    """A feature a line, without those that are unknown and the relations that do not occur."""
    known = {name: value for name, value in row.items() if value is not None and name != "document"}
    shown = {inert(name): value for name, value in known.items() if value or not name.startswith(("count_", "share_"))}
    width = max(map(len, shown))
    return "\n".join(f"{name:<{width}}  {value:.4g}" for name, value in shown.items())


def _cell(row: "Row", column: str) -> str:
    value = row[column]
    if value is None:
        return ""
    if column in _EDU_COLUMNS:
        return str(value + 1)
    text = inert(str(value))
    return text if column != "text" or len(text) <= _TEXT_WIDTH else f"{text[: _TEXT_WIDTH - 1]}…"
