"""Documents made harder for a chart in training, so that it trusts no single thing (not the paper's).

Some word pieces are masked in every document. Some documents lose what is known of their layout, as files have it that
know no paragraphs; some lose their punctuation, as transcripts and chats have it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genrst.rnng.examples import Example
from genrst.rnng.transitions.boundaries import Kind
from genrst.training.run_config import TrainingConfig

Noise = Callable[[Example, np.random.Generator], Example]


def make_noise(config: TrainingConfig, mask: int | None, punctuation: Sequence[int]) -> Noise:
    """What is done to a document, with the random numbers of its turn; given the pieces that mean these."""

    def add(example: Example, generator: np.random.Generator) -> Example:
        # All are drawn, so that one kind of noise does not change another.
        losses = generator.random(3)
        if losses[0] < config.layout_noise:
            example = without_kinds(example) if losses[1] < 0.5 else without_paragraphs(example)
        if losses[2] < config.punctuation_noise:
            example = without_pieces(example, np.isin(example.pieces, punctuation))
        if mask is not None and config.piece_noise:
            is_masked = generator.random(len(example.pieces)) < config.piece_noise
            example = replace(example, pieces=np.where(is_masked, mask, example.pieces))
        return example

    return add


def without_kinds(example: Example) -> Example:
    """A document whose headings, items and turns of speakers are nothing but paragraphs, or sentences."""
    starts = _starts(example.syntax.paragraphs)
    kinds = [
        Kind.PARAGRAPH if starts[edu] else min(kind, Kind.SENTENCE) for edu, kind in enumerate(example.syntax.kinds)
    ]
    return replace(example, syntax=replace(example.syntax, kinds=[int(kind) for kind in kinds]))


def without_paragraphs(example: Example) -> Example:
    """A document of one paragraph: what started another, starts a sentence."""
    first, others = example.syntax.kinds[:1], example.syntax.kinds[1:]
    kinds = [int(Kind.PARAGRAPH) if kind else kind for kind in first]
    kinds += [min(kind, int(Kind.SENTENCE)) for kind in others]
    paragraphs = [0] * len(example.syntax.paragraphs)
    return replace(example, syntax=replace(example.syntax, kinds=kinds, paragraphs=paragraphs))


def _starts(numbers: Sequence[int]) -> list[bool]:
    return [True, *(left != right for left, right in pairwise(numbers))]


def without_pieces(example: Example, is_lost: NDArray[np.bool_]) -> Example:
    """A document without some of its word pieces; an EDU keeps its first if it would lose all."""
    edus = np.repeat(np.arange(example.n_edus), example.piece_lengths)
    n_kept = np.bincount(edus, weights=~is_lost, minlength=example.n_edus)
    first = np.cumsum(example.piece_lengths) - example.piece_lengths
    is_kept = ~is_lost
    is_kept[first[n_kept == 0]] = True
    lengths = np.bincount(edus[is_kept], minlength=example.n_edus)
    starts = example.starts
    if starts is not None:
        # What a lost piece would have started, the next one does.
        (kept,) = np.nonzero(is_kept)
        starts = np.maximum.reduceat(starts[: kept[-1] + 1], [0, *(kept[:-1] + 1)])
    return replace(example, pieces=example.pieces[is_kept], piece_lengths=lengths, starts=starts)
