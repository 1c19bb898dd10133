"""An annotated document as numbers: what the network reads of each token.

Symbols (words, tags, …) are numbered by vocabularies; places in the dependency tree are numbers of other tokens;
distances and sizes are counted in powers of two.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.document import Document, Span
from genrst.errors import ConfigError, TreeError
from genrst.model.vocabulary import SPECIALS, Vocabulary
from genrst.text.segmenter.syntax import IntArray, largest_at, subtree_spans

COLUMNS = ("word", "prefix", "suffix", "shape", "tag", "deprel", "gap", "kind")
"""The symbols of a token: four of its letters, two of its syntax, what stands before it, and its paragraph's kind."""

POINTERS = ("head", "opened", "closed")
"""Other tokens that matter to a token: its head, and those of the largest subtrees that start or end with it."""

MEASURES = ("head", "opened", "closed", "before", "after")
"""Distances: to the head; the sizes of the subtrees; to the start and to the end of the sentence."""

KINDS = ("head", "item")
PROSE = "p"
"""The kinds of paragraphs that `genrst.text.layout` finds in raw text; what corpora know beyond that is prose."""

_LARGEST = 7
N_BUCKETS = 2 * _LARGEST + 1
"""Distances have a sign and are known up to a power of two."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """A vocabulary per column, in the order of `COLUMNS`."""

    vocabularies: tuple[Vocabulary, ...]

    @classmethod
    def count(cls, rows: Iterable[tuple[str, ...]], max_words: int, min_count: int) -> "Symbols":
        """The symbols seen at least `min_count` times, and no more than the `max_words` most frequent of a column."""
        columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
        found = (Vocabulary.from_words(column, min_count).symbols for column in columns)
        return cls(tuple(Vocabulary(symbols[: max_words + len(SPECIALS)]) for symbols in found))

    def as_dict(self) -> dict[str, list[str]]:
        """Plain data for JSON."""
        return {name: list(v.symbols) for name, v in zip(COLUMNS, self.vocabularies, strict=True)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Symbols":
        """The inverse of `as_dict`."""
        try:
            columns = [tuple(map(str, data[name])) for name in COLUMNS]
        except (KeyError, TypeError) as error:
            raise ConfigError(f"symbols must have a list for each of {', '.join(COLUMNS)}, was: {error!r}") from error
        for name, symbols in zip(COLUMNS, columns, strict=True):
            if symbols[: len(SPECIALS)] != SPECIALS:
                raise ConfigError(f"symbols: {name} must start with {' '.join(SPECIALS)}, was: {symbols[:4]}")
        return cls(tuple(map(Vocabulary, columns)))


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of some text as numbers."""

    symbols: NDArray[np.uint16]
    """*Shape:* (tokens, columns)"""
    heads: IntArray
    """*Shape:* (tokens)"""
    starts_sentence: NDArray[np.bool_]
    """*Shape:* (tokens)"""

    def __len__(self) -> int:
        return len(self.heads)


def read_tokens(document: Document, symbols: Symbols) -> Tokens:
    """The tokens of an annotated document."""
    numbers = [
        vocabulary.numbers(column)
        for vocabulary, column in zip(symbols.vocabularies, zip(*rows(document), strict=True), strict=True)
    ]
    return Tokens(
        np.array(numbers, dtype=np.uint16).T,
        np.array([token.head for token in document.tokens], dtype=np.int64),
        np.array(sentence_starts(document), dtype=np.bool_),
    )


def rows(document: Document) -> Iterator[tuple[str, ...]]:
    """The symbols of every token."""
    if document.text is None or not document.tokens:
        raise TreeError(f"{document.id}: a document must have text and tokens to be segmented; annotate it first")
    starts = [span.start for span in document.paragraphs]
    is_sentence = sentence_starts(document)
    end, paragraph = 0, -1
    for token, starts_sentence in zip(document.tokens, is_sentence, strict=True):
        now = bisect_right(starts, token.start) - 1
        gap = "paragraph" if now != paragraph else _gap(document.text[end : token.start], starts_sentence)
        kind = document.paragraphs[now].label if now >= 0 else PROSE
        yield *letters(document.text[token.start : token.end]), token.tag, token.deprel, gap, kind if kind in KINDS else PROSE
        end, paragraph = token.end, now


def _gap(text: str, starts_sentence: bool) -> str:
    if starts_sentence:
        return "sentence"
    return "line" if "\n" in text else "space" if text else "none"


@lru_cache(1 << 16)
def letters(word: str) -> tuple[str, str, str, str]:
    """The word without case and digits, its first and last letters, and its shape (`Xx`, `0.0`)."""
    lower = re.sub(r"\d", "0", word.lower())
    shape = re.sub(r"[^\W\d_]+", lambda run: _case(run[0]), re.sub(r"\d+", "0", word))
    return lower, lower[:3], lower[-3:], shape[:5]


def _case(run: str) -> str:
    return "x" if run.islower() else "X" if run.isupper() else "Xx" if run[0].isupper() else "xX"


def sentence_starts(document: Document) -> list[bool]:
    """Whether each token is the first of a sentence; the first of a document is."""
    return _first_in(document, document.sentences)


def _first_in(document: Document, spans: Sequence[Span]) -> list[bool]:
    starts = [span.start for span in spans]
    numbers = [bisect_right(starts, token.start) for token in document.tokens]
    return [number != before for number, before in zip(numbers, [-1, *numbers], strict=False)]


def edu_starts(document: Document) -> NDArray[np.bool_]:
    """Whether each token is the first of an EDU: what the network learns."""
    return np.array(_first_in(document, document.edus), dtype=np.bool_)


def pointers(tokens: Tokens) -> IntArray:
    """Numbers of other tokens. *Shape:* (tokens, pointers)"""
    first, last = subtree_spans(tokens.heads)
    sizes = last - first
    return np.stack([tokens.heads, largest_at(first, sizes), largest_at(last, sizes)], axis=1)


def measures(tokens: Tokens, places: IntArray) -> IntArray:
    """Distances in powers of two. *Shape:* (tokens, measures)"""
    first, last = subtree_spans(tokens.heads)
    here = np.arange(len(tokens))
    head, opened, closed = places.T
    starts = np.flatnonzero(tokens.starts_sentence)
    sentence = np.cumsum(tokens.starts_sentence) - 1
    stops = np.append(starts[1:], len(tokens))
    distances = [
        head - here,
        np.where(first[opened] == here, last[opened] + 1 - here, 0),
        np.where(last[closed] == here, here + 1 - first[closed], 0),
        here - starts[sentence],
        stops[sentence] - 1 - here,
    ]
    return bucket(np.stack(distances, axis=1))


def bucket(distances: IntArray) -> IntArray:
    """0 for 0, then one number up to every power of two, for either sign: 1, 2–3, 4–7, … are 8, 9, 10, …"""
    sizes = np.minimum(np.frexp(np.abs(distances).astype(np.float64))[1], _LARGEST).astype(np.int64)
    return _LARGEST + np.sign(distances) * sizes
