"""The documents of a bulk run: scanning and reading files, and dividing documents into units of work.

All files are scanned once before the first document is parsed. This gives every document a number, makes parts
independent of the engine, and lets a later run detect changed inputs. `genrst.bulk.addresses` finds the files.
"""

import gzip
import hashlib
import random
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from genrst.bulk.addresses import LINES, TABLES, file_system, suffix_of
from genrst.document import Document
from genrst.errors import CorpusFormatError, GenrstError, InputError, MissingDependencyError, UsageError
from genrst.formats import json_text
from genrst.formats.files import FORMATS, read_content
from genrst.formats.json_format import document_from_dict
from genrst.formats.plain import attach_text_beside
from genrst.formats.texts import text_of
from genrst.parser.parser import Failure, Text

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

LONGEST_LINE = 2**26
"""The maximum length of a line in bytes; longer ones would fill the memory."""

DAMAGES = (EOFError, zlib.error, gzip.BadGzipFile)
"""The exceptions that a damaged gzip file raises."""

Read: TypeAlias = Text | Document | Failure


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of JSON lines and tables that hold the text and the name of a document."""

    text: str = "text"
    id: str = "id"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, with the positions of its documents."""

    address: str
    stamp: str
    """Its size and modification time, or a version, as reported by the file system."""
    sha256: str = ""
    """The hash of its uncompressed content."""
    starts: "array[int]" = field(default_factory=lambda: array("q", [0]))
    """The first byte of each document, or its row or index."""
    sizes: "array[int]" = field(default_factory=lambda: array("q", [0]))
    """The approximate size of each document in bytes."""
    damage: str = ""
    """Why the last document, which represents the unreadable rest of the file, cannot be read."""


@dataclass(frozen=True, slots=True)
class Record:
    """The position of a document that has not been read yet."""

    document: int
    """Its number among all documents of the inputs."""
    address: str
    stamp: str
    start: int
    size: int
    damage: str = ""
    """Why it cannot be read, if known."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work: the documents of one part."""

    number: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which documents to parse, and how many to put in a part."""

    limit: int | None = None
    """Parse only the first documents, up to this number."""
    sample: int | None = None
    """Parse only a random sample of this size, which is always the same."""
    part_documents: int = 100
    part_bytes: int = 500_000
    """The maximum size of a part, unless one document is larger: about 80,000 words, minutes of work for a core."""

    def __post_init__(self) -> None:
        for name in ("limit", "sample", "part_documents", "part_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, got {value}")


def make_units(sources: Sequence[Source], choice: Choice) -> Iterator[Unit]:
    """Yield the units of work, which depend on the inputs and the choice only."""
    total = sum(len(source.starts) for source in sources)
    chosen: Iterable[int] = range(total)
    if choice.sample is not None and choice.sample < total:
        chosen = sorted(random.Random(0).sample(range(total), choice.sample))
    wanted = set(chosen) if choice.sample is not None else chosen
    records, size, number = list[Record](), 0, 0
    for n_chosen, record in enumerate(one for one in _records(sources) if one.document in wanted):
        if n_chosen == choice.limit:
            break
        if records and (len(records) == choice.part_documents or size + record.size > choice.part_bytes):
            yield Unit(number, tuple(records))
            records, size, number = [], 0, number + 1
        records.append(record)
        size += record.size
    if records:
        yield Unit(number, tuple(records))


def _records(sources: Iterable[Source]) -> Iterator[Record]:
    number = 0
    for source in sources:
        last = number + len(source.starts) - 1
        for start, size in zip(source.starts, source.sizes, strict=True):
            yield Record(number, source.address, source.stamp, start, size, source.damage if number == last else "")
            number += 1


# Listing documents.


def _stamp(address: str) -> str:
    files, path = file_system(address)
    try:
        facts = files.info(path)
    except OSError as error:
        raise InputError(f"{address}: {error.strerror or 'No such file or directory'}") from error
    if facts["type"] != "file":
        raise InputError(f"{address}: not a regular file")
    age = next((facts[key] for key in ("ETag", "etag", "mtime", "LastModified", "created") if key in facts), "")
    return f"{facts['size']} {age}"


def scan_all(addresses: Iterable[str], columns: Columns) -> list[Source]:
    """Scan all files; raise an error if none of them has a readable document."""
    sources = [scan(address, columns) for address in addresses]
    if sources and all(len(source.starts) == 1 and source.damage for source in sources):
        raise InputError(sources[0].damage)
    return sources


def scan(address: str, columns: Columns) -> Source:
    """Scan a file for the positions of its documents and the hash of its content.

    An unreadable file counts as one document, which becomes an error in the results and does not stop the run.
    """
    stamp = _stamp(address)
    try:
        return _scan_lines(address, stamp) if suffix_of(address) in LINES else _scan_whole(address, stamp, columns)
    except MissingDependencyError:
        raise
    except GenrstError as error:
        return Source(address, stamp, damage=str(error))


def _scan_whole(address: str, stamp: str, columns: Columns) -> Source:
    digest, size = hashlib.sha256(), 0
    with _open(address) as file:
        for block in iter(partial(file.read, 1 << 20), b""):
            digest.update(block)
            size += len(block)
    if suffix_of(address) in TABLES:
        sizes = _scan_table(address, columns)
        return Source(address, stamp, digest.hexdigest(), array("q", range(len(sizes))), sizes)
    n_documents = _count_json(address) if suffix_of(address) == ".json" else 1
    each = array("q", [size // max(n_documents, 1)] * n_documents)
    return Source(address, stamp, digest.hexdigest(), array("q", range(n_documents)), each)


def _scan_lines(address: str, stamp: str) -> Source:
    digest, starts, sizes, place, damage = hashlib.sha256(), array("q"), array("q"), 0, ""
    try:
        with _open(address) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise CorpusFormatError(f"a line is longer than {LONGEST_LINE} bytes", address)
                digest.update(line)
                if line.strip():
                    starts.append(place)
                    sizes.append(len(line))
                place += len(line)
    except CorpusFormatError as error:
        # The lines before the damage can be read.
        damage = f"{error} (after {len(starts)} documents)"
        starts.append(place)
        sizes.append(0)
    return Source(address, stamp, digest.hexdigest(), starts, sizes, damage)


def _scan_table(address: str, columns: Columns) -> "array[int]":
    import pyarrow.compute

    table, sizes = _open_table(address, columns), array("q")
    with _naming_damage(address):
        for batch in table.to_batches(columns=[columns.text]):
            lengths = pyarrow.compute.binary_length(batch.column(0))
            sizes.extend(length or 0 for length in lengths.to_pylist())
    return sizes


def _count_json(address: str) -> int:
    """Count the documents of a JSON file; an unreadable file counts as one, which fails when it is parsed."""
    try:
        with _open(address) as file:
            data = json_text.loads(file.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return len(data) if isinstance(data, list) else 1


@contextmanager
def _open(address: str) -> Iterator[IO[bytes]]:
    """Open a file, uncompressed, with its errors converted to ours."""
    files, path = file_system(address)
    try:
        with files.open(path, "rb") as file:
            yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if address.lower().endswith(".gz") else file
    except GenrstError:
        raise
    except DAMAGES as error:
        raise CorpusFormatError(f"the gzip file is damaged: {error}", address) from error
    except OSError as error:
        raise InputError(f"{address}: {error.strerror or error}") from error


def _open_table(address: str, columns: Columns) -> "Dataset":
    try:
        from pyarrow import dataset
    except ImportError as error:
        raise MissingDependencyError("Parquet and Arrow files need pyarrow: pip install 'genrst[bulk]'") from error
    files, path = file_system(address)
    with _naming_damage(address):
        table: Dataset = dataset.dataset(path, format=TABLES[suffix_of(address)], filesystem=files)
        kinds = {field.name: str(field.type) for field in table.schema}
    kind = kinds.get(columns.text)
    if kind is None:
        rule = f"--text-column must be one of the columns {', '.join(kinds)}"
        raise CorpusFormatError(f"{rule}, got {columns.text!r}", address)
    if kind not in ("string", "large_string", "string_view"):
        raise CorpusFormatError(f"the column {columns.text!r} must hold strings, got {kind}", address)
    return table


@contextmanager
def _naming_damage(address: str) -> Iterator[None]:
    """Convert Arrow's errors about a file to ours, in one line."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CorpusFormatError(f"the file is not a readable table: {reason}", address) from error


# Reading documents.


def name_of(record: Record) -> str:
    """Return a name for a document that cannot be read."""
    return _name(record.address, None)


def read_records(records: Iterable[Record], columns: Columns) -> Iterator[Read]:
    """Read the documents of records. An unreadable document yields a failure; a changed file raises an error."""
    for address, group in groupby(records, key=attrgetter("address")):
        own = list(group)
        found = iter(_read_places(address, [(one.start, one.size) for one in own if not one.damage], columns))
        items = [
            Failure(_name(address, None), CorpusFormatError(one.damage)) if one.damage else next(found) for one in own
        ]
        if _stamp(address) != own[0].stamp:
            raise InputError(f"{address}: the file has changed during the run")
        yield from items


def _read_places(address: str, places: Sequence[tuple[int, int]], columns: Columns) -> list[Read]:
    """Return the documents at these places of a file, or as many failures if it cannot be read."""
    suffix = suffix_of(address)
    read = _read_table if suffix in TABLES else _read_lines if suffix in LINES else _read_file
    try:
        return list(read(address, places, columns)) if places else []
    except InputError:
        raise
    except GenrstError as error:
        return [Failure(_name(address, None), error)] * len(places)


def _name(address: str, number: int | None) -> str:
    stem = Path(address).name.removesuffix(suffix_of(address))
    return stem if number is None else f"{stem}-{number + 1}"


def _read_table(address: str, places: Sequence[tuple[int, int]], columns: Columns) -> Iterator[Read]:
    table = _open_table(address, columns)
    has_ids = columns.id in table.schema.names
    names = [columns.text, *([columns.id] if has_ids else [])]
    with _naming_damage(address):
        rows = table.take([start for start, _ in places], columns=names).to_pylist()
    for row, (start, _) in zip(rows, places, strict=True):
        yield _read_text(row, columns, _name(address, start))


def _read_text(row: dict[str, Any], columns: Columns, name: str) -> Read:
    text, id = row[columns.text], row.get(columns.id)
    name = name if id is None else str(id)
    if not isinstance(text, str):
        return Failure(name, CorpusFormatError(f"{name}: a text must be a string, got {type(text).__name__}"))
    return Text(name, text)


def _read_lines(address: str, places: Sequence[tuple[int, int]], columns: Columns) -> Iterator[Read]:
    with _open(address) as file:
        for start, size in places:
            try:
                file.seek(start)
                yield _read_line(file.read(size), address, start, columns)
            except DAMAGES as error:
                # How far a damaged file can be read depends on the start, so read from the beginning again.
                rule = f"the gzip file is damaged: {error}"
                yield Failure(f"{_name(address, None)}-{start}", CorpusFormatError(rule, address))
                file.seek(0)


def _read_line(line: bytes, address: str, start: int, columns: Columns) -> Read:
    """Read a line: a text, or a document in our JSON format, which has EDUs."""
    name = f"{_name(address, None)}-{start}"
    try:
        data = json_text.loads(line.decode("utf-8"))
        if isinstance(data, dict) and columns.text in data and "edus" not in data:
            return _read_text(data, columns, name)
        return document_from_dict(data, with_tree=False, default_id=name)
    except GenrstError as error:
        return Failure(name, error)
    except ValueError as error:
        rule = f"{address}: byte {start}: a line must be JSON"
        return Failure(name, CorpusFormatError(f"{rule}, got {str(error).splitlines()[0]}"))


def _read_file(address: str, places: Sequence[tuple[int, int]], columns: Columns) -> Iterator[Read]:
    del columns
    path, suffix = Path(address), suffix_of(address)
    with _open(address) as file:
        content = file.read()
    if suffix not in FORMATS or suffix == ".txt":
        yield Text(_name(address, None), text_of(content, path))
        return
    documents = read_content(content, path, with_tree=False)
    for start, _ in places:
        yield attach_text_beside(documents[start], path) if suffix == ".dis" else documents[start]
