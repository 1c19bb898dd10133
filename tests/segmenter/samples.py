"""Annotated documents made up by chance, without spaCy, segmenters that know their symbols, and data to train one."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from hypothesis import strategies as st

from genrst.document import Document, Span, Token
from genrst.segmenter.data import SegmenterExample, SegmenterPrepared
from genrst.segmenter.features import OpenSymbols, Symbols, edu_starts, read_tokens, sentence_starts
from genrst.segmenter.network import SegmenterConfig, WindowedText
from genrst.segmenter.segment import Segmenter, make_network
from genrst.text.raw import with_edus

SMALL = SegmenterConfig(
    word_size=6, affix_size=3, shape_size=2, syntax_size=4, pointer_size=5, hidden_size=7, dropout=0.2, window=9
)
TAGS = ("NN", "VBD", "VBG", "IN", ",", "_")
DEPRELS = ("ROOT", "nsubj", "advcl", "relcl", "ccomp", "cc", "conj", "punct", "pcomp", "new")
GAPS = ("", " ", "  ", "\n", "\n\n", "\t", "\u00a0", "\u2029")
FORMS = st.text(st.characters(exclude_categories=("Zs", "Zl", "Zp", "Cs"), exclude_characters="\n\r\t\v\f"), min_size=1)


@st.composite
def annotated_documents(draw: st.DrawFn, max_tokens: int = 25) -> Document:
    """Any words with any white space around them, in any sentences, with any trees, in any paragraphs."""
    words = draw(st.lists(FORMS, min_size=1, max_size=max_tokens))
    rng = random.Random(draw(st.integers(0, 10**6)))
    return make_document(words, rng)


def make_document(words: list[str], rng: random.Random) -> Document:
    """The words with chance annotation; EDUs are as if nobody had looked for them."""
    text = rng.choice(GAPS)
    spans = []
    for word in words:
        spans.append(Span(len(text), len(text) + len(word)))
        text += word + rng.choice(GAPS)
    sentence_starts = [0, *(number for number in range(1, len(words)) if rng.random() < 0.2)]
    paragraph_starts = [start for start in sentence_starts if rng.random() < 0.5]
    heads = make_heads(sentence_starts, len(words), rng)
    return Document(
        f"made up {rng.random()}",
        text,
        (Span(0, len(text)),),
        tokens=tuple(
            Token(span.start, span.end, head, rng.choice(DEPRELS), rng.choice(TAGS))
            for span, head in zip(spans, heads, strict=True)
        ),
        sentences=runs(spans, sentence_starts),
        paragraphs=tuple(Span(p.start, p.end, rng.choice(("p", "head", "sp"))) for p in runs(spans, paragraph_starts)),
    )


def make_heads(sentence_starts: list[int], n_tokens: int, rng: random.Random) -> list[int]:
    """A tree over each sentence."""
    heads = list(range(n_tokens))
    for start, stop in pairwise([*sentence_starts, n_tokens]):
        order = rng.sample(range(start, stop), stop - start)
        for position, token in enumerate(order[1:], start=1):
            heads[token] = rng.choice(order[:position])
    return heads


def runs(spans: list[Span], starts: list[int]) -> tuple[Span, ...]:
    return tuple(Span(spans[start].start, spans[stop - 1].end) for start, stop in pairwise([*starts, len(spans)]))


def count_symbols(documents: Iterable[Document], min_count: int = 1) -> Symbols:
    opened = OpenSymbols()
    return opened.close([read_tokens(document, opened).symbols for document in documents], min_count, {})


def make_segmenter(documents: Sequence[Document], config: SegmenterConfig = SMALL, seed: int = 0) -> Segmenter:
    """An untrained segmenter with strong opinions about some documents: as many starts as not."""
    torch.manual_seed(seed)
    symbols = count_symbols(documents)
    network = make_network(config, symbols).eval()
    text = WindowedText([read_tokens(document, symbols) for document in documents], config.window)
    with torch.no_grad():
        logits = torch.cat([network(batch) for batch in text.batches(10)])
        network.output.bias.sub_(logits.mean()).mul_(3 / logits.std())
        network.output.weight.mul_(3 / logits.std())
    return Segmenter(network, symbols)


STARTERS = ("because", "which")
OTHERS = ("boats", "leak", "storms", "came", "slowly", "there")


def make_text(seed: int) -> Document:
    """Thirty words of a made-up language; one in four starts an EDU."""
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
