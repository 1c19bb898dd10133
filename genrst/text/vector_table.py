"""What all readers of word vectors share: the vectors they find, and the checks of a header and of a vector."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genrst.errors import CorpusFormatError

Row = NDArray[np.float32]

LARGEST_SIZE = 1 << 16
"""Of a vector, so that junk with a plausible header is an error before it takes all memory."""

HEADER = re.compile(rb"(\d{1,12})[ \t]+(\d{1,12})\s*")
"""The line that stands first in word2vec's files: how many words, how many numbers each."""

_OF_NUMBERS = b"0123456789+-.eE"


@dataclass(frozen=True, slots=True)
class VectorTable:
    """The size of the vectors of a source, and those of them that were wanted."""

    size: int
    rows: dict[str, Row] = field(default_factory=dict)


def parse_header(line: bytes, path: Path) -> tuple[int, int]:
    """The number of words and the size of their vectors."""
    match = HEADER.fullmatch(line)
    count, size = map(int, match.groups()) if match else (0, 0)
    if not (count and 0 < size <= LARGEST_SIZE):
        rule = f"the first line must be the number of words and their size (1 to {LARGEST_SIZE})"
        raise CorpusFormatError(f"{rule}, was: {show(line)}", path, 1)
    return count, size


def check_characters(numbers: bytes, separators: bytes) -> None:
    """A quick look whether a text can be numbers, for vectors that nobody wants; raises `ValueError`."""
    if numbers.translate(None, _OF_NUMBERS + separators):
        wrong = next(part for part in re.split(b"[%b]" % separators, numbers) if part.translate(None, _OF_NUMBERS))
        raise ValueError(f"a vector must hold finite numbers, was: {show(wrong)}")


def parse_row(fields: Sequence[bytes]) -> Row:
    """A vector from the text of its numbers; raises `ValueError`."""
    try:
        numbers = list(map(float, fields))
    except ValueError:
        wrong = next(text for text in fields if not is_number(text))
        raise ValueError(f"a vector must hold finite numbers, was: {show(wrong)}") from None
    return make_row(numbers)


def is_number(text: bytes) -> bool:
    """Whether a text is a number, be it infinite or none."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def make_row(numbers: ArrayLike) -> Row:
    """A vector of its own, no view; raises `ValueError` unless all numbers are finite as float32."""
    with np.errstate(over="ignore"):
        row = np.array(numbers, np.float32)
    if not np.isfinite(row).all():
        raise ValueError(f"a vector must hold finite numbers, was: {row[~np.isfinite(row)][0]}")
    return row


def row_of_record(numbers: ArrayLike, path: Path, record: int) -> Row:
    """A vector as by `make_row`; an error names its number in the file."""
    try:
        return make_row(numbers)
    except ValueError as error:
        raise CorpusFormatError(f"record {record}: {error}", path) from error


def show(content: bytes) -> str:
    """The start of some bytes, for a message."""
    return repr(content[:40].decode("utf-8", "replace"))
