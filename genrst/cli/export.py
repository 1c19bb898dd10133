"""What `genrst export` prints for people to read: EDUs count from 1, and no text can command the terminal.

Make everyday things of trees: a summary, chunks for retrieval, tables of units or dependencies, a profile.

  genrst export article.rs3 --what summary --size 20%
  genrst export corpus/ --what chunks --tokens 200 --format json
  genrst export corpus/ --what units --output units.csv
  genrst export corpus/ --what profile --output features.parquet

IN is a file or folder of any format that genrst reads. Offsets count characters, from 0, and slice the text of the
document exactly; EDUs count from 0 in CSV, JSON and Parquet and from 1 in text, which is for reading. Documents that
cannot be read or have no tree are reported and do not stop the others.
"""

import argparse
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from genrst.cli.inputs import add_corpus_arguments, open_corpus
from genrst.console import complain, progress, show, show_file
from genrst.errors import CorpusFormatError, GenrstError, UsageError
from genrst.outputs.summary import join_edus
from genrst.rendering.measure import inert

if TYPE_CHECKING:
    from genrst.document import Document
    from genrst.outputs.tables import Row, RowFormat

    Documents: TypeAlias = Iterator[Document]
    Tables: TypeAlias = Iterator[tuple[Document, Sequence[Row]]]

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


HELP = "summaries, chunks, tables, dependencies and profiles of trees"

FORMATS = {".txt": "text", ".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}
"""The formats, by the suffix of a file."""

# Options that only some exports have.
_OPTIONS = {"size": "summary", "tokens": "chunks", "scheme": "dependencies", "inventory": "profile"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst export`."""
    parser.add_argument("source", metavar="IN", help="a file, a folder, the folder of a corpus, or - (with --from)")
    parser.add_argument(
        "--what", required=True, choices=("summary", "chunks", "units", "dependencies", "profile"), help="what to make"
    )
    parser.add_argument("--size", help="of a summary: a number of EDUs (5) or a share of the words (20%%, the default)")
    parser.add_argument("--tokens", type=int, metavar="N", help="the most words in a chunk (default: 200)")
    parser.add_argument("--scheme", choices=("li", "hirao"), help="of dependencies (default: li)")
    parser.add_argument(
        "--inventory", choices=("rstdt", "gum", "open"), help="relations of a profile (default: by the names)"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--format", choices=tuple(dict.fromkeys(FORMATS.values())), help="default: by PATH, or text")
    output.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--output", metavar="PATH", default="-", help="a file (default: -, standard output)")
    parser.add_argument(
        "--from", dest="source_format", choices=("dis", "rs3", "rs4", "json", "jsonl"), help="format of standard input"
    )
    add_corpus_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export all documents; 1 if one of them could not be."""
    format = _check(arguments)
    failures: list[GenrstError] = []
    documents = _with_tree(_read(arguments, failures), failures)
    first = list(islice(documents, 1))
    if not first and not failures:
        raise CorpusFormatError("there must be a document to export, was: none", arguments.source)
    if first:
        tables = _tables(chain(first, documents), arguments)
        if format == "text":
            _write_text(tables, arguments)
        else:
            _write_rows(chain.from_iterable(rows for _, rows in tables), cast("RowFormat", format), arguments.output)
    return 1 if failures else 0


def _check(arguments: argparse.Namespace) -> str:
    """Before anything is read: the options must fit together; the format that they ask for."""
    for option, what in _OPTIONS.items():
        if getattr(arguments, option) is not None and arguments.what != what:
            raise UsageError(f"--{option} must go with --what {what}, was: {arguments.what}")
    _size(arguments.size)
    if (arguments.source == "-") != (arguments.source_format is not None):
        raise UsageError(f"standard input (-) and --from FORMAT must go together, was: {arguments.source}")
    if arguments.output != "-":
        _protect(arguments.source, Path(arguments.output))
    return _choose_format(arguments.format, arguments.output)


def _choose_format(name: str | None, output: str) -> str:
    if output == "-":
        if name == "parquet":
            raise UsageError("--format parquet must go with --output PATH, was: standard output")
        return name or "text"
    suffix = Path(output).suffix.lower()
    if name is None and suffix not in FORMATS:
        raise UsageError(f"--output must end in one of {', '.join(FORMATS)} or go with --format, was: {output}")
    return name or FORMATS[suffix]


def _size(size: str | None) -> tuple[int | None, float | None]:
    """The size of a summary: a number of EDUs, or a share of the words."""
    if size is None:
        return None, None
    match = re.fullmatch(r"([0-9]{1,9})|([0-9]{1,3}(?:\.[0-9]{1,9})?)%", size)
    if match is None:
        raise UsageError(f"--size must be a number of EDUs (5) or a share of the words (20%), was: {size}")
    return (int(match[1]), None) if match[1] else (None, float(match[2]) / 100)


def _protect(source: str, target: Path) -> None:
    """Refuse to write over what is read."""
    from genrst.formats.files import TREE_SUFFIXES

    inside = Path(source).resolve() in target.resolve().parents and target.suffix.lower() in TREE_SUFFIXES
    if target.exists() and (inside or target.resolve() == Path(source).resolve()):
        raise UsageError(f"{target}: --output must not overwrite a file of IN")


def _read(arguments: argparse.Namespace, failures: list[GenrstError]) -> "Documents":
    """The documents; a file that cannot be read is reported and counted, unless it is the only one."""
    if arguments.source == "-":
        yield from _read_standard_input(arguments)
        return
    corpus = open_corpus(arguments.source, arguments)
    for source in progress(corpus.sources, "exporting", len(corpus)):
        try:
            documents = list(source())
        except GenrstError as error:
            if len(corpus) == 1:
                raise
            complain(error)
            failures.append(error)
            continue
        yield from documents


def _read_standard_input(arguments: argparse.Namespace) -> "list[Document]":
    from genrst.formats.files import ReadOptions, read_content

    if sys.stdin is None:
        raise GenrstError("standard input must be open, was: closed")
    path = Path(f"stdin.{arguments.source_format}")
    return read_content(sys.stdin.buffer.read(), path, ReadOptions(arguments.roots))


def _with_tree(documents: "Documents", failures: list[GenrstError]) -> "Documents":
    from genrst.document import require_tree

    for document in documents:
        try:
            require_tree(document)
        except GenrstError as error:
            complain(error)
            failures.append(error)
        else:
            yield document


def _tables(documents: "Documents", arguments: argparse.Namespace) -> "Tables":
    """The documents, each with its rows."""
    if arguments.what == "profile":
        from genrst.outputs.profile import profile_rows
        from genrst.trees.relations import load_inventory

        inventory = load_inventory(arguments.inventory) if arguments.inventory else None
        listed = list(documents)
        yield from zip(listed, ([row] for row in profile_rows(listed, inventory)), strict=True)
    else:
        make_rows = _row_maker(arguments)
        yield from ((document, make_rows(document)) for document in documents)


def _row_maker(arguments: argparse.Namespace) -> "Callable[[Document], Sequence[Row]]":
    """What makes the rows of one document."""
    if arguments.what == "summary":
        from genrst.outputs.summary import summary_rows

        n_edus, share = _size(arguments.size)
        return lambda document: summary_rows(document, n_edus=n_edus, share=share)
    if arguments.what == "chunks":
        from genrst.outputs.chunks import DEFAULT_TOKENS, chunk_rows

        tokens = DEFAULT_TOKENS if arguments.tokens is None else arguments.tokens
        return lambda document: chunk_rows(document, tokens)
    if arguments.what == "dependencies":
        from genrst.outputs.tables import dependency_rows

        return lambda document: dependency_rows(document, arguments.scheme or "li")
    from genrst.outputs.tables import units_table

    return units_table


def _write_text(tables: "Tables", arguments: argparse.Namespace) -> None:
    from genrst.io import write_atomically

    text = format_tables(arguments.what, list(tables))
    if arguments.output == "-":
        show(text)
    else:
        write_atomically(Path(arguments.output), f"{text}\n")


def _write_rows(rows: "Iterable[Row]", format: "RowFormat", path: str) -> None:
    from genrst.io import write_atomically_with
    from genrst.outputs.tables import write_rows

    if path == "-":
        content = io.BytesIO()
        write_rows(rows, content, format)
        show_file(content.getvalue())
    else:
        write_atomically_with(Path(path), lambda file: write_rows(rows, file, format))
