"""Export trees as summaries, chunks for retrieval, features, or tables of units, dependencies or markers.

  genrst export article.rs3 --what summary --size 20%
  genrst export corpus/ --what chunks --tokens 200 --format json
  genrst export corpus/ --what units --output units.csv
  genrst export corpus/ --what features --output features.parquet
  genrst export article.txt --what chunks
  genrst export corpus/ --what features --uncertainty en en-generative --output features.csv
  genrst export GUM/rs4/ --what markers --output markers.csv

IN is a file or folder in any format that genrst reads; a text (.txt, .md) is parsed first, as by genrst parse. Offsets
are character positions in the document's text, counted from 0. EDUs are counted from 0 in CSV, JSON and Parquet, and
from 1 in plain text. A document that cannot be read or has no tree is reported and does not stop the others.
"""

import argparse
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from genrst.characters import inert
from genrst.cli.console import Failures, show, show_file
from genrst.cli.guard import Guard
from genrst.cli.inputs import Source, add_document_arguments, find_documents, read_each_document
from genrst.cli.outputs import SUMMARY_SIZES, add_output_arguments, check_suffix, make_guard, summary_size
from genrst.document import Document, require_tree
from genrst.errors import GenrstError, UsageError
from genrst.outputs.chunks import DEFAULT_TOKENS, chunk_rows
from genrst.outputs.features import UNCERTAINTY, feature_rows
from genrst.outputs.markers import marker_rows
from genrst.outputs.summary import SummarySize, join_edus, summary_rows
from genrst.outputs.tables import Row, RowFormat, dependency_rows, unit_rows, write_rows

FORMATS = {".txt": "text", ".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}
"""The names of formats, by file suffix."""

Tables: TypeAlias = Iterator[tuple[Document, Sequence[Row]]]

# The export that each special option belongs to.
_OPTIONS = {
    "size": "summary",
    "everything": "summary",
    "tokens": "chunks",
    "min_tokens": "chunks",
    "scheme": "dependencies",
    "inventory": "features",
    "uncertainty": "features",
}
_TEXT_WIDTH = 60
_MANY = re.compile("^(count|share|motif|pair)_|^(sentence|paragraph|document)_share_")
"""Features that most documents do not have."""
_EDU_COLUMNS = ("edu", "head", "first_edu", "last_edu")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst export`."""
    add_document_arguments(parser, has_corpora=True)
    parser.add_argument(
        "--what",
        required=True,
        choices=("summary", "chunks", "units", "dependencies", "features", "profile", "markers"),
        help="kind of export; profile is another name for features",
    )
    parser.add_argument("--size", help=f"size of a summary: {SUMMARY_SIZES} (default: 20%%)")
    parser.add_argument(
        "--everything",
        action="store_true",
        default=None,
        help="keep headings, bylines, greetings, tables and code in a summary",
    )
    parser.add_argument("--tokens", type=int, metavar="N", help="maximum number of words per chunk (default: 200)")
    parser.add_argument(
        "--min-tokens",
        type=int,
        metavar="N",
        help="preferred minimum number of words per chunk (default: an eighth of --tokens)",
    )
    parser.add_argument(
        "--scheme", choices=("li", "hirao"), help="conversion to dependencies: Li et al. (default) or Hirao et al."
    )
    parser.add_argument(
        "--inventory",
        choices=("rstdt", "gum", "open"),
        help="relations of the features (default: the set that fits the labels)",
    )
    parser.add_argument(
        "--uncertainty",
        metavar="MODEL",
        nargs="+",
        help="models that add the entropy of trees (a chart) or the surprisal of words (a generative model)",
    )
    add_output_arguments(parser, tuple(dict.fromkeys(FORMATS.values())), "text", "a file")


def run(arguments: argparse.Namespace) -> int:
    """Export all documents; return 1 if any could not be exported."""
    arguments.what = "features" if arguments.what == "profile" else arguments.what
    format, make_rows = _choose_format(arguments), _row_maker(arguments)
    failures = Failures()
    sources = find_documents(arguments, has_corpora=True)
    guard = make_guard(f"export --what {arguments.what}", arguments, sources)
    if arguments.output != "-":
        guard.check_file(Path(arguments.output))
    documents = _with_tree(sources, failures)
    first = next(documents, None)
    if first is None:
        return failures.status
    documents = chain([first], documents)
    # The columns of features depend on all documents.
    if arguments.what == "markers":
        tables: Tables = iter([_markers(list(documents))])
    elif make_rows is None:
        tables = _features(list(documents), arguments)
    else:
        tables = ((document, make_rows(document)) for document in documents)
    _write(tables, format, arguments, guard)
    return failures.status


def _write(tables: Tables, format: str, arguments: argparse.Namespace, guard: Guard) -> None:
    def write(file: BinaryIO) -> None:
        if format == "text":
            file.write(f"{format_tables(arguments.what, list(tables))}\n".encode())
        else:
            write_rows(chain.from_iterable(rows for _, rows in tables), file, cast(RowFormat, format))

    if arguments.output != "-":
        guard.write(Path(arguments.output), write)
    elif format == "text":
        show(format_tables(arguments.what, list(tables)))
    else:
        buffer = io.BytesIO()
        write(buffer)
        show_file(buffer.getvalue())


def _choose_format(arguments: argparse.Namespace) -> str:
    """Return the name of the format; refuses options that do not fit together."""
    for option, what in _OPTIONS.items():
        if getattr(arguments, option) is not None and arguments.what != what:
            raise UsageError(f"--{option.replace('_', '-')} works only with --what {what}, got {arguments.what}")
    name, output, suffix = arguments.format, arguments.output, Path(arguments.output).suffix.lower()
    if output == "-" and name == "parquet":
        raise UsageError("--format parquet cannot be written to standard output; use --output PATH")
    if output != "-" and name is None and suffix not in FORMATS:
        raise UsageError(f"--output must end in one of {', '.join(FORMATS)}, or --format must be given, got {output}")
    if output != "-" and name is not None:
        check_suffix(name, output, FORMATS)
    return name or FORMATS.get(suffix, "text")


def _row_maker(arguments: argparse.Namespace) -> Callable[[Document], Sequence[Row]] | None:
    """Return the function that makes the rows of a document, or None if the export needs all documents at once."""
    if arguments.what == "summary":
        size: SummarySize = {} if arguments.size is None else summary_size(arguments.size, "--size")
        size["everything"] = bool(arguments.everything)
        return lambda document: summary_rows(document, **size)
    if arguments.what == "chunks":
        tokens = DEFAULT_TOKENS if arguments.tokens is None else arguments.tokens
        return lambda document: chunk_rows(document, tokens, min_tokens=arguments.min_tokens)
    if arguments.what == "dependencies":
        return lambda document: dependency_rows(document, arguments.scheme or "li")
    return unit_rows if arguments.what == "units" else None


def _with_tree(sources: Sequence[Source[Document]], failures: Failures) -> Iterator[Document]:
    """Yield the documents that have a tree, and report the others."""
    for _, document in read_each_document(sources, "export", failures):
        try:
            require_tree(document)
        except GenrstError as error:
            failures.report(error)
        else:
            yield document


def _features(documents: Sequence[Document], arguments: argparse.Namespace) -> Tables:
    rows = feature_rows(documents, arguments.inventory, ask=_ask(arguments.uncertainty or ()))
    return zip(documents, ([row] for row in rows), strict=True)


def _ask(models: Sequence[str]) -> Callable[[Document], dict[str, float | None]]:
    """Return the function that computes the uncertainty of models about a document."""
    if not models:
        return lambda document: {}
    from genrst.cli.verbs.score import load_uncertainty

    asked = [load_uncertainty(name) for name in models]

    def ask(document: Document) -> dict[str, float | None]:
        answers = [one(document) for one in asked]
        return {name: next((one[name] for one in answers if name in one), None) for name in UNCERTAINTY}

    return ask


def _markers(documents: Sequence[Document]) -> tuple[Document, Sequence[Row]]:
    """Return the index of markers in all documents."""
    rows = marker_rows(documents)
    if not rows:
        raise GenrstError(f"{documents[0].id}: no signals to export as markers; parse with --why to find signals")
    return documents[0], rows


# Plain text for reading: EDUs count from 1, and control characters are escaped.


def format_tables(what: str, tables: Sequence[tuple[Document, Sequence[Row]]]) -> str:
    """Format the rows of documents as text, with titles if there are several documents."""
    texts = [_format(what, document, rows) for document, rows in tables]
    if len(texts) > 1:
        texts = [f"# {inert(document.id)}\n{text}" for (document, _), text in zip(tables, texts, strict=True)]
    return "\n\n".join(texts)


def _format(what: str, document: Document, rows: Sequence[Row]) -> str:
    if what == "summary" and document.text is not None:
        return inert(join_edus(document, [row["edu"] for row in rows]))
    if what == "chunks":
        return "\n\n".join(map(_chunk, rows))
    return _vector(rows[0]) if what == "features" else _table(rows)


def _chunk(row: Row) -> str:
    """Format a chunk: a line about it, then its text."""
    edus = "–".join(dict.fromkeys([_cell(row, "first_edu"), _cell(row, "last_edu")]))
    place = f"[{row['start']}:{row['end']}] {edus} {_cell(row, 'relation_path')}".rstrip()
    return place if row["text"] is None else f"{place}\n{inert(row['text'])}"


def _table(rows: Sequence[Row]) -> str:
    """Format rows in aligned columns, with the text last and shortened."""
    columns = [column for column in rows[0] if column != "document"]
    lines = [columns, *([_cell(row, column) for column in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in lines)


def _vector(row: Row) -> str:
    """Format features, one per line, without unknown ones and relations that do not occur."""
    known = {name: value for name, value in row.items() if value is not None and name != "document"}
    shown = {inert(name): value for name, value in known.items() if value or not _MANY.search(name)}
    width = max(map(len, shown))
    return "\n".join(f"{name:<{width}}  {value:.4g}" for name, value in shown.items())


def _cell(row: Row, column: str) -> str:
    value = row[column]
    if value is None:
        return ""
    if column in _EDU_COLUMNS:
        return str(value + 1)
    text = inert(str(value))
    return text if column != "text" or len(text) <= _TEXT_WIDTH else f"{text[: _TEXT_WIDTH - 1]}…"
