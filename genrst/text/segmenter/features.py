"""An annotated document as numbers: what the network reads of each token.

Symbols (words, tags, …) are numbered by vocabularies; places in the dependency tree are numbers of other tokens;
distances and sizes are counted in powers of two.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.document import Document, Span
from genrst.errors import TreeError
from genrst.text.segmenter.symbols import Numbering
from genrst.text.segmenter.syntax import IntArray, largest_at, subtree_spans

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


def read_tokens(document: Document, symbols: Numbering) -> Tokens:
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
    """Whether each token is the first of a sentence; the first of a document is."""
    return _first_in(document, document.sentences)


def _first_in(document: Document, spans: Sequence[Span]) -> list[bool]:
    starts = [span.start for span in spans]
    numbers = [bisect_right(starts, token.start) for token in document.tokens]
    return [number != before for number, before in zip(numbers, [-1, *numbers], strict=False)]


def edu_starts(document: Document) -> NDArray[np.bool_]:
    """Whether each token is the first of an EDU: what the network learns."""
    return np.array(_first_in(document, document.edus), dtype=np.bool_)


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
