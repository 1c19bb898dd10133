"""Readers of word vectors one after the other: the formats of word2vec (text and binary), GloVe and fastText (text).

A file is read in pieces and only wanted vectors are kept, so that it may be larger than the memory. Vectors of other
words are checked for their size, not number by number: that would take ten times as long.
"""

import codecs
import re
from collections.abc import Iterator, Set
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import IO

import numpy as np

from genrst.errors import CorpusFormatError
from genrst.text.vector_table import (
    HEADER,
    VectorTable,
    check_characters,
    is_number,
    parse_header,
    parse_row,
    row_of_record,
    show,
)

LONGEST_LINE = 1 << 20
CHUNK = 1 << 23
"""How much is read at once, in bytes; a vector of the largest size fits in."""

_DECIMAL = re.compile(rb"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


def read_text(file: IO[bytes], path: Path, wanted: Set[str]) -> VectorTable:
    """A word and its numbers a line; word2vec and fastText put a line with the two counts before, GloVe does not."""
    first = file.readline(LONGEST_LINE).removeprefix(codecs.BOM_UTF8)
    lines: Iterator[tuple[int, bytes]] = enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 2)
    if HEADER.fullmatch(first):
        promised, size = parse_header(first, path)
    else:
        promised, size, lines = None, _guess_size(first, path), chain([(1, first)], lines)
    table, names, count = VectorTable(size), _by_bytes(wanted), 0
    for number, line in lines:
        if not (text := _normalise(line)):
            continue
        count += 1
        try:
            word, numbers = _split_line(text, size)
            if name := names.pop(word, None):
                table.rows[name] = parse_row(numbers.split(b" "))
        except ValueError as error:
            raise CorpusFormatError(str(error), path, number) from error
    if promised not in (None, count):
        raise CorpusFormatError(f"the file must hold the {promised} words of its first line, was: {count}", path)
    return table


def _by_bytes(wanted: Set[str]) -> dict[bytes, str]:
    """Words as they stand in files. They are compared as bytes, since files hold words that are cut within a letter.

    Readers remove those they find, so that the first vector of a word counts.
    """
    return {word.encode("utf-8", "surrogatepass"): word for word in wanted}


def _guess_size(first: bytes, path: Path) -> int:
    size = len(list(takewhile(is_number, reversed(_normalise(first).split(b" ")[1:]))))
    if not size:
        raise CorpusFormatError(f"a line must be a word and its numbers, was: {show(first)}", path, 1)
    return size


def _normalise(line: bytes) -> bytes:
    return line.replace(b"\t", b" ").rstrip(b" \r\n")


def _split_line(text: bytes, size: int) -> tuple[bytes, bytes]:
    """The word of a line and its numbers, which are the last fields: GloVe 840B has words such as `. . .`.

    A decimal number within a word of several parts is taken for a vector that is too long.
    """
    excess = text.count(b" ") - size
    *parts, numbers = text.split(b" ", max(excess, 0) + 1)
    if excess < 0 or any(map(_DECIMAL.fullmatch, parts[1:])):
        raise ValueError(f"a line must be a word and {size} numbers, was: {size + excess} in {show(text)}")
    check_characters(numbers, b" ")
    return b" ".join(parts), numbers


def read_binary(file: IO[bytes], path: Path, wanted: Set[str]) -> VectorTable:
    """word2vec's binary format: a line with the two counts, then each word, a space and its numbers as float32."""
    count, size = parse_header(file.readline(LONGEST_LINE), path)
    table, names = VectorTable(size), _by_bytes(wanted)
    for record, (word, numbers) in enumerate(_records(file, path, count, 4 * size), 1):
        if name := names.pop(word, None):
            table.rows[name] = row_of_record(np.frombuffer(numbers, "<f4"), path, record)
    return table


def _records(file: IO[bytes], path: Path, count: int, width: int) -> Iterator[tuple[bytes, bytes]]:
    """Words and vectors of `width` bytes; a line feed that a writer put behind a vector stands before the next word."""
    buffer, start = b"", 0
    for record in range(1, count + 1):
        space = buffer.find(b" ", start)
        if space < 0 or space + width >= len(buffer):
            buffer, start = buffer[start:] + file.read(CHUNK), 0
            space = buffer.find(b" ")
            if space < 0 or space + width >= len(buffer):
                raise CorpusFormatError(f"record {record}: a word and its vector must follow, was: cut short", path)
        stop = space + 1 + width
        yield buffer[start:space].lstrip(b"\n"), buffer[space + 1 : stop]
        start = stop
    if (buffer[start:] + file.read(2)).removeprefix(b"\n"):
        raise CorpusFormatError(f"record {count + 1}: the file must end after {count} words, was: more", path)
