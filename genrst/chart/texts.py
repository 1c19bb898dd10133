"""From texts to EDUs and their vectors: the encoder reads the word pieces of a text once, and all else follows.

Where EDUs or sentences are not known, they are found in the states of the pieces: each word has a probability that an
EDU, and that a sentence starts with it. There is no spaCy here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.chart.examples import ChartExample, FloatArray, IntArray, Labels, join_pieces, make_example
from genrst.chart.network import ChartNetwork
from genrst.document import Document, Token, join_runs
from genrst.encoder.model import Model
from genrst.encoder.pieces import PieceTokenizer, pack_pieces
from genrst.text.raw import sentence_starts, with_edus
from genrst.text.speakers import with_speakers

MOST_POOLED, MOST_SEGMENTED = 1 << 10, 1 << 14
"""How many EDUs get vectors, and how many word pieces get probabilities at once."""


class EncodedText(NamedTuple):
    """A text with its EDUs and sentences, and the vectors of its EDUs. Shape: (EDUs, 2 · edu_size)"""

    document: Document
    example: ChartExample
    edus: Tensor


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a document, and where words stand in it."""

    numbers: IntArray
    starts: IntArray
    """The first character of each piece; of an EDU that is known, all pieces have its own."""
    words: Sequence[Token]
    """Those that an EDU or a sentence may start with: tokens, if there are any. EDUs, if these are known."""


class EncoderCache:
    """The encoder's states of the texts that were read last, so that asking about the same text again is fast.

    An annotator who corrects a tree has the rest parsed again around it.
    """

    most_pieces = 1 << 14
    """Of all texts together: 50 MB, if a state has 768 numbers of 32 bits."""

    def __init__(self) -> None:
        # Never changed, only replaced: threads need no lock, which a forked process might find closed forever.
        self._states: dict[bytes, Tensor] = {}

    def get(self, pieces: IntArray) -> Tensor | None:
        """The states of a text, if they are known."""
        return self._states.get(pieces.tobytes())

    def add(self, pieces: IntArray, states: Tensor) -> None:
        """Keep the states of a text, unless it is too long, and forget the oldest."""
        if len(pieces) > self.most_pieces:
            return
        # A part of a larger tensor would keep all of it.
        kept = {**self._states, pieces.tobytes(): states.clone()}
        while sum(map(len, kept.values())) > self.most_pieces:
            del kept[next(iter(kept))]
        self._states = kept


def encode_texts(
    model: Model[ChartNetwork, Labels], documents: Sequence[Document], cache: EncoderCache | None = None
) -> list[EncodedText]:
    """Encode documents; those that are not segmented get EDUs, those without sentences get sentences."""
    tokenizer = model.tokenizer
    assert tokenizer is not None
    found = [tokenize(document, tokenizer) for document in documents]
    states = _piece_states(model.network, [pieces.numbers for pieces in found], cache or EncoderCache())
    return [_encode(model, *parts) for parts in zip(documents, found, states, strict=True)]


def tokenize(document: Document, tokenizer: PieceTokenizer) -> Pieces:
    """The pieces of a document: of its EDUs if they are known, else of the whole text."""
    if document.is_segmented:
        numbers, lengths = join_pieces(tokenizer(document.edu_texts))
        starts = np.repeat([edu.start for edu in document.edus], lengths)
        return Pieces(numbers, starts, [Token(edu.start, edu.end, 0) for edu in document.edus])
    found = tokenizer.find(document.text or "")
    numbers, starts, ends, is_first = (np.array(column) for column in zip(*found, strict=True))
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(found)) - 1
    words = [Token(*span, 0) for span in zip(starts[firsts].tolist(), ends[lasts].tolist(), strict=True)]
    return Pieces(numbers, starts, document.tokens or words)


@torch.inference_mode()
def _piece_states(network: ChartNetwork, texts: Sequence[IntArray], cache: EncoderCache) -> list[Tensor]:
    """The states of the word pieces of texts."""
    found = [cache.get(pieces) for pieces in texts]
    new = [pieces for pieces, states in zip(texts, found, strict=True) if states is None]
    if not new:
        return [states for states in found if states is not None]
    read = network.edu_encoder.read(pack_pieces(new, network.edu_encoder.shape).to(network.device))
    parts = torch.split(read, [len(pieces) for pieces in new])
    for pieces, states in zip(new, parts, strict=True):
        cache.add(pieces, states)
    rest = iter(parts)
    return [next(rest) if states is None else states for states in found]


def _encode(model: Model[ChartNetwork, Labels], document: Document, pieces: Pieces, states: Tensor) -> EncodedText:
    if not (document.is_segmented and document.sentences):
        document = _segment(document, pieces, _start_probabilities(model.network, pieces, states))
    numbers, is_inside = _edus_of_pieces(document, pieces)
    lengths = np.bincount(numbers[is_inside], minlength=len(document.edus))
    if not lengths.all():
        # An EDU of signs that the tokenizer passes over has a piece of its own when it is read again.
        return encode_texts(model, [document])[0]
    example = make_example(document, pieces.numbers[is_inside], lengths)
    return EncodedText(document, example, _pool(model.network, states, np.flatnonzero(is_inside), lengths))


@torch.inference_mode()
def _pool(network: ChartNetwork, states: Tensor, inside: IntArray, lengths: IntArray) -> Tensor:
    """The vectors of EDUs, some at a time: of a long text, the states are the largest thing that there is.

    Shape: (pieces, hidden_size), (pieces in EDUs), (EDUs) → (EDUs, 2 · edu_size)
    """
    ends, parts = np.append(0, np.cumsum(lengths)), []
    for first in range(0, len(lengths), MOST_POOLED):
        last = min(first + MOST_POOLED, len(lengths))
        rows, own = torch.from_numpy(inside[ends[first] : ends[last]]), torch.from_numpy(lengths[first:last])
        own_states = states.index_select(0, rows.to(states.device))
        parts.append(network.edu_encoder.pool(own_states, own.to(states.device)))
    return torch.cat(parts)


def _edus_of_pieces(document: Document, pieces: Pieces) -> tuple[IntArray, NDArray[np.bool_]]:
    """The EDU at or before each piece, and whether it is inside: bullets and the like are in none."""
    starts, ends = (np.array(part) for part in zip(*((edu.start, edu.end) for edu in document.edus), strict=True))
    numbers = np.searchsorted(starts, pieces.starts, side="right") - 1
    # An EDU without any characters has a piece, too.
    is_inside = (numbers >= 0) & ((pieces.starts < ends[numbers]) | (pieces.starts == starts[numbers]))
    return numbers, is_inside


@torch.inference_mode()
def _start_probabilities(network: ChartNetwork, pieces: Pieces, states: Tensor) -> FloatArray:
    """That an EDU, and that a sentence starts with each word: with the first piece from its start on.

    Shape: → (words, 2)
    """
    logits = torch.cat([network.segments(part).float() for part in states.split(MOST_SEGMENTED)])  # type: ignore[no-untyped-call]
    p: FloatArray = torch.sigmoid(logits).cpu().numpy()
    first = np.searchsorted(pieces.starts, [word.start for word in pieces.words])
    return p[np.minimum(first, len(p) - 1)]


def _segment(document: Document, pieces: Pieces, p: FloatArray) -> Document:
    """The document with EDUs and sentences."""
    starts = [word.start for word in pieces.words]
    facts = zip(sentence_starts(document, starts), p[:, 1] > 0.5, strict=True)
    is_sentence = np.array([is_likely if known is None else known for known, is_likely in facts])
    is_sentence[0] = True
    if not document.is_segmented:
        tokenised = replace(document, tokens=tuple(pieces.words))
        document = replace(with_edus(tokenised, (is_sentence | (p[:, 0] > 0.5)).tolist()), tokens=document.tokens)
    if document.sentences:
        return document
    # Every EDU is in the sentence of its first word, and the first of these starts it.
    of_words = np.cumsum(is_sentence)
    numbers = of_words[np.searchsorted(starts, [edu.start for edu in document.edus], side="right") - 1]
    firsts = [0, *(edu for edu, (left, right) in enumerate(pairwise(numbers), start=1) if left != right)]
    found = with_speakers(join_runs(document.edus, firsts), document.text or "", document.paragraphs)
    return replace(document, sentences=found)
