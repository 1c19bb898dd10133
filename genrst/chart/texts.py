"""From texts to EDUs and their vectors. The encoder processes the word pieces of a text once.

Unknown EDUs and sentences are predicted from the encoder states: each word has a probability that an EDU, and that a
sentence, starts with it. spaCy is not needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genrst.chart.examples import FloatArray, boundaries
from genrst.chart.scorer import Scorer, States
from genrst.document import Document, Token, join_runs
from genrst.encoder.tokenizer import IntArray, PieceTokenizer, join_edus
from genrst.text.layout import edu_kinds
from genrst.text.raw import sentence_starts, with_edus
from genrst.text.speakers import with_speakers

MOST_POOLED, MOST_SEGMENTED = 1 << 10, 1 << 12
"""How many EDUs are pooled, and for how many word pieces start probabilities are computed, at once."""


class EncodedText(NamedTuple):
    """A text with its EDUs and sentences, and the arrays that trees are computed from."""

    document: Document
    kinds: IntArray
    """The kinds of EDU boundaries (`boundaries`). Shape: (EDUs + 1)"""
    edus: FloatArray
    """The vectors of EDUs. Shape: (EDUs, 2 · edu_size)"""
    border_p: FloatArray | None
    """The probability of each EDU border, including the end of the last one; None if EDUs were given.

    Shape: (EDUs + 1)
    """
    pieces: "Pieces"
    states: States
    """The encoder states of the pieces. Shape: (pieces, state_size)"""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a document, with the positions of its words."""

    numbers: IntArray
    starts: IntArray
    """The first character of each piece; all pieces of a given EDU have the EDU's first character."""
    words: Sequence[Token]
    """The words that an EDU or a sentence may start with: the EDUs if given, otherwise tokens if there are any."""


class EncoderCache:
    """A cache of the encoder states of recent texts, so that parsing the same text again is fast.

    This speeds up annotation, where every correction is followed by parsing the same text again.
    """

    most_pieces = 1 << 14
    """The maximum for all texts together: 50 MB if a state has 768 float32 numbers."""

    def __init__(self) -> None:
        # Replaced, never modified, so threads need no lock, which could stay locked forever in a forked process.
        self._states: dict[bytes, States] = {}

    def get(self, pieces: IntArray) -> States | None:
        """Return the states of a text if they are cached."""
        return self._states.get(pieces.tobytes())

    def add(self, pieces: IntArray, states: States) -> None:
        """Cache the states of a text unless it is too long, and drop the oldest ones."""
        if len(pieces) > self.most_pieces:
            return
        kept = {**self._states, pieces.tobytes(): states}
        while sum(map(len, kept.values())) > self.most_pieces:
            del kept[next(iter(kept))]
        self._states = kept


def encode_texts(scorer: Scorer, documents: Sequence[Document], cache: EncoderCache | None = None) -> list[EncodedText]:
    """Encode documents; EDUs and sentences are added where they are missing."""
    found = [tokenize(document, scorer.tokenizer) for document in documents]
    # On a GPU, rounding depends on the whole batch, so cached texts must not be left out of it.
    known = cache if cache is not None and scorer.device == "cpu" else EncoderCache()
    states = _piece_states(scorer, [pieces.numbers for pieces in found], known)
    return [_encode(scorer, *parts) for parts in zip(documents, found, states, strict=True)]


def tokenize(document: Document, tokenizer: PieceTokenizer) -> Pieces:
    """Return the pieces of a document: of its EDUs if given, otherwise of the whole text."""
    if document.is_segmented:
        numbers, lengths = join_edus(tokenizer(document.edu_texts))
        starts = np.repeat([edu.start for edu in document.edus], lengths)
        return Pieces(numbers, starts, [Token(edu.start, edu.end, 0) for edu in document.edus])
    found = tokenizer.find(document.text or "")
    numbers, starts, ends, is_first = (np.array(column) for column in zip(*found, strict=True))
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(found)) - 1
    words = [Token(*span, 0) for span in zip(starts[firsts].tolist(), ends[lasts].tolist(), strict=True)]
    return Pieces(numbers, starts, document.tokens or words)


def piece_starts(text: EncodedText, tokenizer: PieceTokenizer) -> IntArray:
    """Return the first character of each piece, even if EDUs were given."""
    if text.border_p is not None:
        return text.pieces.starts
    edus = zip(text.document.edus, text.document.edu_texts, strict=True)
    return np.array([edu.start + piece.start for edu, words in edus for piece in tokenizer.find(words)])


def _piece_states(scorer: Scorer, texts: Sequence[IntArray], cache: EncoderCache) -> list[States]:
    """Return the states of the word pieces of texts, from the cache or the encoder."""
    found = [cache.get(pieces) for pieces in texts]
    new = [number for number, states in enumerate(found) if states is None]
    if new:
        for number, states in zip(new, scorer.read([texts[number] for number in new]), strict=True):
            cache.add(texts[number], states)
            found[number] = states
    return found


def _encode(scorer: Scorer, document: Document, pieces: Pieces, states: States) -> EncodedText:
    is_found, p = not document.is_segmented, None
    if is_found or not document.sentences:
        p = _start_probabilities(scorer, pieces, states)
        document = _segment(document, pieces, p)
    kinds = edu_kinds(document)
    border_p = _border_p(document, pieces, p) if is_found and p is not None else None
    numbers, is_inside = _edus_of_pieces(document, pieces)
    lengths = np.bincount(numbers[is_inside], minlength=len(document.edus))
    if not lengths.all():
        # An EDU of characters that the tokenizer skips gets its own piece when the segmented text is encoded again.
        return encode_texts(scorer, [document])[0]._replace(border_p=border_p)
    around = boundaries(kinds)
    edus = _pool(scorer, states, np.flatnonzero(is_inside), lengths, around)
    return EncodedText(document, around, edus, border_p, pieces, states)


def _pool(scorer: Scorer, states: States, inside: IntArray, lengths: IntArray, kinds: IntArray) -> FloatArray:
    """Return the vectors of EDUs, computed in blocks, because the states of a long text need much memory.

    Shape: (pieces, hidden_size), (pieces in EDUs), (EDUs), (EDUs + 1) → (EDUs, 2 · edu_size)
    """
    ends, parts = np.append(0, np.cumsum(lengths)), []
    for first in range(0, len(lengths), MOST_POOLED):
        last = min(first + MOST_POOLED, len(lengths))
        rows = inside[ends[first] : ends[last]]
        parts.append(scorer.pool(states, rows, lengths[first:last], kinds[first : last + 1]))
    return np.concatenate(parts)


def _edus_of_pieces(document: Document, pieces: Pieces) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the EDU at or before each piece, and whether the piece is in it; bullets, for example, are in no EDU."""
    starts, ends = (np.array(part) for part in zip(*((edu.start, edu.end) for edu in document.edus), strict=True))
    numbers = np.searchsorted(starts, pieces.starts, side="right") - 1
    # An EDU without any characters also has a piece.
    is_inside = (numbers >= 0) & ((pieces.starts < ends[numbers]) | (pieces.starts == starts[numbers]))
    return numbers, is_inside


def _start_probabilities(scorer: Scorer, pieces: Pieces, states: States) -> FloatArray:
    """Return the probabilities that an EDU, and that a sentence, starts with each word, from its first piece.

    Shape: → (words, 2)
    """
    starts = range(0, len(states), MOST_SEGMENTED)
    p = np.concatenate([scorer.start_p(states[start : start + MOST_SEGMENTED]) for start in starts])
    first = np.searchsorted(pieces.starts, [word.start for word in pieces.words])
    found: FloatArray = p[np.minimum(first, len(p) - 1)]
    return found


def _border_p(document: Document, pieces: Pieces, p: FloatArray) -> FloatArray:
    """Return the probability of each EDU border; it is 1 at the start of a paragraph. Shape: → (EDUs + 1)"""
    starts = [word.start for word in pieces.words]
    words = np.searchsorted(starts, [edu.start for edu in document.edus], side="right") - 1
    is_known = np.diff(document.paragraph_of_edus(), prepend=-1) != 0
    found: FloatArray = np.append(np.where(is_known, 1, p[words].max(axis=1)), 1).astype(np.float32)
    return found


def _segment(document: Document, pieces: Pieces, p: FloatArray) -> Document:
    """Return the document with EDUs and sentences."""
    starts = [word.start for word in pieces.words]
    facts = zip(sentence_starts(document, starts), p[:, 1] > 0.5, strict=True)
    is_sentence = np.array([is_likely if known is None else known for known, is_likely in facts])
    is_sentence[0] = True
    if not document.is_segmented:
        tokenised = replace(document, tokens=tuple(pieces.words))
        document = replace(with_edus(tokenised, (is_sentence | (p[:, 0] > 0.5)).tolist()), tokens=document.tokens)
    if document.sentences:
        return document
    # Each EDU belongs to the sentence of its first word.
    of_words = np.cumsum(is_sentence)
    numbers = of_words[np.searchsorted(starts, [edu.start for edu in document.edus], side="right") - 1]
    firsts = [0, *(edu for edu, (left, right) in enumerate(pairwise(numbers), start=1) if left != right)]
    found = with_speakers(join_runs(document.edus, firsts), document.text or "", document.paragraphs)
    return replace(document, sentences=found)
