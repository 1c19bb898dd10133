"""An annotated document as numbers: what the network reads of each token.

Symbols (words, tags, …) are numbered by a vocabulary per column. Places in the dependency tree are numbers of other
tokens; a root is its own head. Distances and sizes are counted in powers of two. No torch here.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document, Span
from genrst.errors import ConfigError, TreeError
from genrst.rnng.symbols import SPECIALS, Vocabulary, strings

IntArray: TypeAlias = NDArray[np.int64]

COLUMNS = ("word", "prefix", "suffix", "shape", "tag", "deprel", "gap", "kind")
"""The symbols of a token: four of its letters, two of its syntax, what stands before it, and its paragraph's kind."""

KINDS = ("head", "item")
PROSE = "p"
"""The kinds of paragraphs that `genrst.text.layout` finds in raw text; other kinds of a corpus count as prose."""

POINTERS = ("head", "opened", "closed")
"""Other tokens that matter to a token: its head, and the heads of the largest subtrees that start or end with it."""

MEASURES = ("head", "opened", "closed", "before", "after")
"""Distances to the head, the sizes of the two subtrees, distances to the start and to the end of the sentence."""

_LARGEST = 7
N_BUCKETS = 2 * _LARGEST + 1
"""Distances have a sign and are rounded to powers of two."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of some text as numbers."""

    symbols: NDArray[np.int32]
    """*Shape:* (tokens, columns)"""
    heads: IntArray
    """*Shape:* (tokens)"""
    starts_sentence: NDArray[np.bool_]
    """*Shape:* (tokens)"""

    def __len__(self) -> int:
        return len(self.heads)


def read_tokens(document: Document, symbols: "Symbols | OpenSymbols") -> Tokens:
    """The tokens of an annotated document."""
    return Tokens(
        symbols.number(rows(document)),
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
        yield (
            *letters(document.text[token.start : token.end]),
            token.tag,
            token.deprel,
            gap,
            kind if kind in KINDS else PROSE,
        )
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
    """Whether each token is the first of a sentence, as the first of a document always is."""
    return _first_in(document, document.sentences)


def _first_in(document: Document, spans: Sequence[Span]) -> list[bool]:
    starts = [span.start for span in spans]
    numbers = [bisect_right(starts, token.start) for token in document.tokens]
    return [number != before for number, before in zip(numbers, [-1, *numbers], strict=False)]


def edu_starts(document: Document) -> NDArray[np.bool_]:
    """Whether each token is the first of an EDU: what the network learns."""
    return np.array(_first_in(document, document.edus), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Symbols:
    """A vocabulary per column, in the order of `COLUMNS`; what it lacks is `<unk>`."""

    vocabularies: tuple[Vocabulary, ...]

    def number(self, rows: Iterable[tuple[str, ...]]) -> NDArray[np.int32]:
        """The symbols of tokens as numbers. *Shape:* (tokens, columns)"""
        columns = zip(self.vocabularies, zip(*rows, strict=True), strict=True)
        return np.array([vocabulary.numbers(column) for vocabulary, column in columns], dtype=np.int32).T

    def as_dict(self) -> dict[str, list[str]]:
        """Plain data for JSON."""
        return {name: list(v.symbols) for name, v in zip(COLUMNS, self.vocabularies, strict=True)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Symbols":
        """The inverse of `as_dict`."""
        try:
            return cls(tuple(Vocabulary(strings(data[name], name, SPECIALS)) for name in COLUMNS))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"symbols must have a list for each of {', '.join(COLUMNS)}, was: {error!r}") from error


class OpenSymbols:
    """Numbers every symbol it meets, so that a corpus is read once; `close` then keeps the frequent ones."""

    def __init__(self) -> None:
        self._numbers: list[dict[str, int]] = [{} for _ in COLUMNS]

    def number(self, rows: Iterable[tuple[str, ...]]) -> NDArray[np.int32]:
        """The symbols of tokens as numbers. *Shape:* (tokens, columns)"""
        found = [
            [numbers.setdefault(symbol, len(numbers)) for numbers, symbol in zip(self._numbers, row, strict=True)]
            for row in rows
        ]
        return np.array(found, dtype=np.int32).reshape(-1, len(COLUMNS))

    def close(self, numbered: Iterable[NDArray[np.int32]], min_count: int, limits: Mapping[str, int]) -> Symbols:
        """The vocabularies of symbols seen `min_count` times or more, of some columns only the most frequent."""
        counts = [np.zeros(len(numbers), np.int64) for numbers in self._numbers]
        for rows in numbered:
            for count, column in zip(counts, rows.T, strict=True):
                count += np.bincount(column, minlength=len(count))
        return Symbols(
            tuple(
                _vocabulary(dict(zip(numbers, count.tolist(), strict=True)), min_count, limits.get(name))
                for name, numbers, count in zip(COLUMNS, self._numbers, counts, strict=True)
            )
        )

    def renumbering(self, symbols: Symbols) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        """A function that turns numbers given here into those of closed vocabularies."""
        tables = [
            np.array(vocabulary.numbers(list(numbers)), dtype=np.int32)
            for vocabulary, numbers in zip(symbols.vocabularies, self._numbers, strict=True)
        ]
        return lambda rows: np.stack([table[column] for table, column in zip(tables, rows.T, strict=True)], axis=1)


def _vocabulary(counts: Mapping[str, int], min_count: int, limit: int | None) -> Vocabulary:
    kept = [symbol for symbol, count in counts.items() if count >= min_count and symbol not in SPECIALS]
    kept.sort(key=lambda symbol: (-counts[symbol], symbol))
    return Vocabulary((*SPECIALS, *kept[:limit]))


def structure(tokens: Tokens) -> tuple[IntArray, IntArray]:
    """Pointers to other tokens, and measures. *Shapes:* (tokens, pointers), (tokens, measures)"""
    first, last = subtree_spans(tokens.heads)
    here = np.arange(len(tokens))
    opened, closed = (largest_at(edges, last - first) for edges in (first, last))
    starts = np.flatnonzero(tokens.starts_sentence)
    stops = np.append(starts[1:], len(tokens))
    sentence = np.cumsum(tokens.starts_sentence) - 1
    distances = [
        tokens.heads - here,
        np.where(first[opened] == here, last[opened] + 1 - here, 0),
        np.where(last[closed] == here, here + 1 - first[closed], 0),
        here - starts[sentence],
        stops[sentence] - 1 - here,
    ]
    return np.stack([tokens.heads, opened, closed], axis=1), bucket(np.stack(distances, axis=1))


def bucket(distances: IntArray) -> IntArray:
    """0 for 0, then one number up to every power of two, for either sign: 1, 2–3, 4–7, … are 8, 9, 10, …"""
    sizes = np.minimum(np.frexp(np.abs(distances).astype(np.float64))[1], _LARGEST).astype(np.int64)
    return _LARGEST + np.sign(distances) * sizes


def subtree_spans(heads: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the last token of every token's subtree. Heads that form a cycle give spans without meaning."""
    first, last = np.arange(len(heads)), np.arange(len(heads))
    order, levels = _by_depth(heads)
    # The deepest first, so that a subtree is complete before its head looks at it.
    for start, stop in zip(levels[-2:0:-1], levels[:1:-1], strict=True):
        tokens = order[start:stop]
        np.minimum.at(first, heads[tokens], first[tokens])
        np.maximum.at(last, heads[tokens], last[tokens])
    return first, last


def _by_depth(heads: IntArray) -> tuple[IntArray, IntArray]:
    """The tokens from the roots down, and where each level starts."""
    depths = (heads != np.arange(len(heads))).astype(np.int64)
    ancestors = heads
    for _ in range(len(heads).bit_length()):
        if not depths[ancestors].any():
            break
        depths = depths + depths[ancestors]
        ancestors = ancestors[ancestors]
    order = np.argsort(depths, kind="stable")
    _, counts = np.unique(depths, return_counts=True)
    return order, np.concatenate([[0], np.cumsum(counts)])


def largest_at(edges: IntArray, sizes: IntArray) -> IntArray:
    """For every token the one with the largest subtree among those that have it as an edge; itself if there is none."""
    by_size = np.argsort(sizes, kind="stable")
    largest = np.arange(len(edges))
    # The last assignment wins: that of the largest.
    largest[edges[by_size]] = by_size
    return largest
