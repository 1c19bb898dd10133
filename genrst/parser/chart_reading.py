"""Texts as a chart reads them: its encoder reads the word pieces of a text once, and everything follows from that.

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

from genrst.chart.network import ChartNetwork
from genrst.chart.storage import ChartModel
from genrst.document import Document, Span, join_runs, without_tree
from genrst.model.encoder.files import PieceTokenizer
from genrst.model.encoder.pretrained import PretrainedEncoder
from genrst.model.encoder.windows import pack_pieces
from genrst.model.examples import Example, prepare_pieces
from genrst.text.annotate import sentence_starts
from genrst.text.speakers import speech_start, with_speakers

Probabilities = NDArray[np.float32]
"""That an EDU, and that a sentence starts with each piece. Shape: (pieces, 2)"""


class ReadText(NamedTuple):
    """A text with its EDUs and sentences, and the states of its word pieces."""

    document: Document
    example: Example
    states: Tensor


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a document and the characters where they start."""

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    may_start: NDArray[np.bool_]
    """Whether an EDU may start with a piece. If EDUs are known, it does."""


def read_texts(model: ChartModel, documents: Sequence[Document]) -> list[ReadText]:
    """Read documents; those that are not segmented get EDUs, those without sentences get sentences."""
    network, tokenizer = model.network, model.tokenizer
    assert tokenizer is not None
    found = [find_pieces(document, tokenizer) for document in documents]
    states = read_pieces(network, [pieces.numbers for pieces in found])
    return [_read(network, *parts) for parts in zip(documents, found, states, strict=True)]


@torch.inference_mode()
def read_pieces(network: ChartNetwork, texts: Sequence[NDArray[np.int64]]) -> Sequence[Tensor]:
    """The states of the word pieces of texts."""
    assert isinstance(network.edu_encoder, PretrainedEncoder)
    states = network.read(pack_pieces(texts, network.edu_encoder.shape).to(network.device))
    return states.split([len(pieces) for pieces in texts])  # type: ignore[no-any-return,no-untyped-call]


def find_pieces(document: Document, tokenizer: PieceTokenizer) -> Pieces:
    """The pieces of a document: of its EDUs if they are known, else of the whole text."""
    text = document.text or ""
    if document.is_segmented:
        of_edus = tokenizer(document.edu_texts)
        numbers = np.array([piece for pieces in of_edus for piece in pieces], dtype=np.int64)
        lengths = np.array([len(pieces) for pieces in of_edus])
        is_first = np.zeros(len(numbers), dtype=np.bool_)
        is_first[np.cumsum(lengths) - lengths] = True
        starts = np.repeat([edu.start for edu in document.edus], lengths)
        return Pieces(numbers, starts, is_first)
    read = tokenizer.read(text)
    numbers, starts, is_word = (np.array(column) for column in zip(*read, strict=True))
    if document.tokens:
        is_word &= np.isin(starts, [token.start for token in document.tokens])
    for paragraph in document.paragraphs:
        if paragraph.label == "sp":
            # The name of a speaker belongs to the first EDU of the turn.
            borders = [paragraph.start, speech_start(text, paragraph.start)]
            is_word[slice(*np.searchsorted(starts, borders, side="right"))] = False
    is_word[0] = True
    return Pieces(numbers.astype(np.int64), starts, is_word)


def _read(network: ChartNetwork, document: Document, pieces: Pieces, states: Tensor) -> ReadText:
    if not (document.is_segmented and document.sentences):
        assert network.segments is not None
        document, is_first = _segment(document, pieces, _probabilities(network, states))
    else:
        is_first = pieces.may_start
    (first,) = np.nonzero(is_first)
    lengths = np.diff([*first, len(pieces.numbers)])
    return ReadText(document, prepare_pieces(document, pieces.numbers, lengths), states)


@torch.inference_mode()
def _probabilities(network: ChartNetwork, states: Tensor) -> Probabilities:
    assert network.segments is not None
    found: Probabilities = torch.sigmoid(network.segments(states).float()).cpu().numpy()
    return found


def _segment(document: Document, pieces: Pieces, p: Probabilities) -> tuple[Document, NDArray[np.bool_]]:
    """The document with EDUs and sentences, and whether an EDU starts with each piece."""
    (words,) = np.nonzero(pieces.may_start)
    starts = pieces.starts[words]
    facts = zip(sentence_starts(document, starts.tolist()), p[words, 1] > 0.5, strict=True)
    is_sentence = np.array([is_likely if known is None else known for known, is_likely in facts])
    is_sentence[0] = True
    is_edu = np.ones_like(is_sentence) if document.is_segmented else is_sentence | (p[words, 0] > 0.5)
    if not document.is_segmented:
        is_edu = _with_words(document, starts, is_edu)
        document = replace(without_tree(document), edus=_spans(document, starts[is_edu]), is_segmented=True)
    if not document.sentences:
        # A sentence starts with an EDU.
        numbers = np.flatnonzero(is_sentence[is_edu])
        sentences = with_speakers(join_runs(document.edus, numbers.tolist()), document.text or "", document.paragraphs)
        document = replace(document, sentences=sentences)
    is_first = np.zeros(len(pieces.numbers), dtype=np.bool_)
    is_first[words[is_edu]] = True
    return document, is_first


def _spans(document: Document, starts: NDArray[np.int64]) -> tuple[Span, ...]:
    """EDUs from one start to the next, without white space around them; nothing visible is left out."""
    whole, text = document.edus[0], document.text or ""
    borders = [whole.start, *starts[1:].tolist(), whole.end]
    return tuple(Span(start, start + len(text[start:stop].rstrip())) for start, stop in pairwise(borders))


def _with_words(document: Document, starts: NDArray[np.int64], is_edu: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where EDUs start if each must have a letter or digit: one that has none is a part of the one before it."""
    text = document.text or ""
    borders = [*starts[is_edu].tolist(), document.edus[0].end]
    has_words = [any(map(str.isalnum, text[start:stop])) for start, stop in pairwise(borders)]
    # Marks at the very beginning belong to the first EDU with words.
    first = has_words.index(True) if True in has_words else 0
    kept = [number == 0 or (has and number != first) for number, has in enumerate(has_words)]
    is_edu = is_edu.copy()
    is_edu[is_edu] = kept
    return is_edu
