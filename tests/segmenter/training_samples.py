"""A made-up language in which EDUs start at some words, prepared without spaCy."""

import random
from dataclasses import replace

import numpy as np

from genrst.document import Document
from genrst.segmenter.data import SegmenterExample, SegmenterPrepared
from genrst.segmenter.features import Symbols, edu_starts, read_tokens, sentence_starts, with_edus
from tests.segmenter.samples import count_symbols, make_document

STARTERS = ("because", "which")
OTHERS = ("boats", "leak", "storms", "came", "slowly", "there")


def make_text(seed: int) -> Document:
    """Thirty words; one in four starts an EDU."""
    rng = random.Random(seed)
    words = [rng.choice(STARTERS if rng.random() < 0.25 else OTHERS) for _ in range(30)]
    document = replace(make_document(words, rng), id=f"text-{seed}")
    starts = [is_start or word in STARTERS for word, is_start in zip(words, sentence_starts(document), strict=True)]
    return with_edus(document, np.array(starts))


def prepare_texts(n_train: int = 12, n_silver: int = 0) -> SegmenterPrepared:
    train, dev, silver = (
        [make_text(seed) for seed in range(first, first + count)]
        for first, count in ((0, n_train), (100, 4), (200, n_silver))
    )
    symbols = count_symbols([*train, *silver])
    sets = {"train": train, "train_raw": train[:3], "silver": silver, "dev": dev, "dev_raw": dev[:2]}
    return SegmenterPrepared(
        symbols, {name: [make_example(document, symbols) for document in found] for name, found in sets.items()}, None
    )


def make_example(document: Document, symbols: Symbols) -> SegmenterExample:
    return SegmenterExample(read_tokens(document, symbols), edu_starts(document), len(document.edus))
