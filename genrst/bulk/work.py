"""Units of work: reading the documents of a part, parsing them in batches of similar length, and making rows.

All engines run this code, so results do not depend on the engine: batches are formed within a unit, and a worker
computes with one thread. `genrst.bulk.workers` calls it and handles documents that crash the process.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from genrst.bulk.inputs import Columns, Record, name_of, read_records
from genrst.document import Document
from genrst.formats import json_text
from genrst.formats.json_format import tree_to_dict
from genrst.outputs.tables import edge_rows, signal_rows, unit_rows
from genrst.parser.folders import read_kind
from genrst.parser.options import LoadOptions
from genrst.parser.parser import Failure, Text

if TYPE_CHECKING:
    from spacy.language import Language

    from genrst.parser.parser import Parser

BATCH_DOCUMENTS = 64
BATCH_BYTES = 48_000
"""The maximum size of a batch, unless a single document is larger: about 8,000 words."""

MOST_BYTES = 100
"""Bytes in the file per allowed character; a larger document is rejected without being read."""

Row: TypeAlias = dict[str, Any]

TABLES: dict[str, dict[str, str]] = {
    "documents": {
        **{"document": "int64", "id": "string", "source": "string", "sha256": "string"},
        **{"n_words": "int64", "n_edus": "int64", "log_probability": "float64", "model": "string"},
        **{"seconds": "float64", "tree": "string", "text": "string"},
    },
    "nodes": {
        **{"document": "int64", "id": "int64", "parent": "int64", "depth": "int64", "role": "string"},
        **{"relation": "string", "is_edu": "bool", "first_edu": "int64", "last_edu": "int64"},
        **{"start": "int64", "end": "int64", "importance": "int64", "probability": "float64"},
        **{"label_probability": "float64"},
    },
    "signals": {
        **{"document": "int64", "unit": "int64", "target": "int64", "relation": "string", "type": "string"},
        **{"subtype": "string", "words": "string", "start": "int64", "end": "int64"},
    },
    "edges": {"document": "int64", "source": "int64", "target": "int64", "relation": "string"},
    "errors": {**dict.fromkeys(("document",), "int64"), **dict.fromkeys(("id", "source", "kind", "reason"), "string")},
}
"""The tables of a part with their column types. Each document is one row of `documents` or of `errors`."""

OPTIONAL_TABLES = ("signals", "edges")
"""Tables that are written only if they have rows, because signals are found only on request."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to read and parse documents: everything that results depend on except the inputs and library versions."""

    model: str | None = None
    load: LoadOptions = field(default_factory=lambda: LoadOptions(device="cpu"))
    columns: Columns = field(default_factory=Columns)
    max_characters: int = 100_000
    """Longer texts are rejected."""
    timeout: float = 600.0
    """The maximum CPU seconds for a document or a batch."""
    with_text: bool = True


@dataclass(slots=True)
class Rows:
    """The rows of documents, by table."""

    documents: list[Row] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    errors: list[Row] = field(default_factory=list)
    signals: list[Row] = field(default_factory=list)
    edges: list[Row] = field(default_factory=list)

    def add(self, other: "Rows") -> None:
        """Append the rows of another object."""
        for name in TABLES:
            getattr(self, name).extend(getattr(other, name))

    def add_document(self, record: Record, document: Document, seconds: float = 0.0, with_text: bool = True) -> None:
        """Append the rows of a parsed document."""
        self.documents.append(_document_row(record, document, seconds, with_text))
        units = unit_rows(document)
        signals = signal_rows(document, units, with_text)
        self.nodes += [_numbered(row, record) for row in units]
        self.signals += [_numbered(row, record) for row in signals]
        self.edges += [_numbered(row, record) for row in edge_rows(document, units)]

    def sort(self) -> None:
        """Sort the rows in the order of the inputs."""
        for name in TABLES:
            getattr(self, name).sort(key=lambda row: row["document"])


def make_batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield batches of documents of similar length, longest first."""
    batch: list[Record] = []
    size = 0
    for record in sorted(records, key=lambda one: (-one.size, one.document)):
        if batch and (len(batch) == BATCH_DOCUMENTS or size + record.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += record.size
    if batch:
        yield batch


def load_worker(settings: Settings) -> "Parser":
    """Load the parser of a worker, with one thread and only the spaCy components that affect trees."""
    from genrst.parser.loading import load_with, use_one_thread

    use_one_thread()
    parser = load_with(settings.model, settings.load)
    pipeline = _pipeline(parser)
    if pipeline is not None and "lemmatizer" in pipeline.pipe_names:
        pipeline.disable_pipe("lemmatizer")
    # Warm up: lazy initialisation in libraries happens once here, not in every forked process.
    parser("It rained, so we stayed in.")
    return parser


def _pipeline(parser: "Parser") -> "Language | None":
    """Return the spaCy pipeline of a parser, or None if it needs none."""
    from genrst.text.annotate import load_pipeline

    needs_none = parser.folder is None or read_kind(parser.folder) == "chart"
    return None if needs_none else load_pipeline(parser.config.pipeline)


def work(parser: "Parser", records: Sequence[Record], settings: Settings) -> Rows:
    """Read and parse a batch of documents."""
    started = time.perf_counter()
    rows, items, owners = Rows(), list[Text | Document](), list[Record]()
    most_bytes = MOST_BYTES * settings.max_characters
    rule = f"a document may have at most {settings.max_characters} characters"
    readable = []
    for record in records:
        if record.size <= most_bytes:
            readable.append(record)
        else:
            rows.errors.append(error_row(record, name_of(record), "length", f"{rule}, got {record.size} bytes"))
    for record, item in zip(readable, read_records(readable, settings.columns), strict=True):
        if isinstance(item, Failure):
            rows.errors.append(error_row(record, item.id, "input", str(item.error)))
        elif (n_characters := len(item.text or "")) > settings.max_characters:
            rows.errors.append(error_row(record, item.id, "length", f"{rule}, got {n_characters}"))
        else:
            items.append(item)
            owners.append(record)
    # A memory zone forgets new words at the end; otherwise spaCy's vocabulary would fill the memory.
    pipeline = _pipeline(parser)
    with nullcontext() if pipeline is None else pipeline.memory_zone():
        outcomes = list(parser.pipe(items, batch_size=max(len(items), 1)))
    seconds = time.perf_counter() - started
    n_edus = sum(len(outcome.edus) for outcome in outcomes if isinstance(outcome, Document))
    for record, outcome in zip(owners, outcomes, strict=True):
        if isinstance(outcome, Failure):
            rows.errors.append(error_row(record, outcome.id, "parse", str(outcome.error)))
        else:
            rows.add_document(record, outcome, seconds * len(outcome.edus) / n_edus, settings.with_text)
    return rows


def error_row(record: Record, id: str | None, kind: str, reason: str) -> Row:
    """Make the row of a document without a tree."""
    return {"document": record.document, "id": id, "source": record.address, "kind": kind, "reason": reason}


def _numbered(row: Mapping[str, Any], record: Record) -> Row:
    """Return a row with the number of its document, and without text, which is in the document's row."""
    return {name: cell for name, cell in row.items() if name != "text"} | {"document": record.document}


def _document_row(record: Record, document: Document, seconds: float, with_text: bool) -> Row:
    text = document.text or ""
    return {
        "document": record.document,
        "id": document.id,
        "source": record.address,
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "n_words": len(text.split()),
        "n_edus": len(document.edus),
        "log_probability": document.log_probability,
        "model": document.model,
        "seconds": round(seconds, 4),
        "tree": None if document.tree is None else json_text.dumps(tree_to_dict(document.tree)),
        "text": text if with_text else None,
    }
