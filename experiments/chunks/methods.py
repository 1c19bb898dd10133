"""Ways to cut a text into chunks. Each has one setting, its budget, which `tune` sets so that chunks have a mean size.

All see the same sentences, and none of their chunks overlap:

    fixed       so many words
    sentences   as many whole sentences as fit
    paragraphs  as many whole paragraphs as fit; one that does not fit is cut into sentences like a text by itself
    recursive   LangChain's splitter: paragraphs, then lines, then words, put together as long as they fit
    semantic    between the sentences where the vectors of their surroundings differ most
    discourse   `genrst.chunks`
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.chunks.questions import Span
from genrst.document import Document
from genrst.outputs.chunks import chunks
from genrst.outputs.summary import count_words

Cut: TypeAlias = Callable[[Document, int], list[Span]]
"""Cuts a document with a budget."""
Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Gives each text a vector of length 1."""


def fixed(document: Document, budget: int) -> list[Span]:
    """Windows of so many words."""
    words = [match.span() for match in re.finditer(r"\S+", document.text or "")]
    return [(words[start][0], words[start : start + budget][-1][1]) for start in range(0, len(words), budget)]


def sentences(document: Document, budget: int) -> list[Span]:
    """As many whole sentences as fit; one that does not fit is a chunk by itself."""
    return _packed(document, sentence_spans(document), budget)


def paragraphs(document: Document, budget: int) -> list[Span]:
    """As many whole paragraphs as fit; one that does not fit is packed by its sentences, apart from the others."""
    within: list[list[Span]] = [[]]
    for start, end in _runs(document, document.paragraph_of_edus()):
        if count_words((document.text or "")[start:end]) <= budget:
            within[-1].append((start, end))
        else:
            within += [[span for span in sentence_spans(document) if start <= span[0] < end], []]
    return [span for spans in within for span in _packed(document, spans, budget)]


def sentence_spans(document: Document) -> list[Span]:
    """The sentences of a document, by where their EDUs start and end."""
    return _runs(document, document.sentence_of_edus())


def _runs(document: Document, numbers: Sequence[int]) -> list[Span]:
    """Where EDUs of the same number start and end."""
    starts = [edu for edu in range(len(numbers)) if edu == 0 or numbers[edu] != numbers[edu - 1]]
    return [document.offsets(start, stop) for start, stop in pairwise([*starts, len(numbers)])]


def _packed(document: Document, spans: Sequence[Span], budget: int) -> list[Span]:
    """Neighbours put together as long as they fit."""
    text = document.text or ""
    found: list[Span] = []
    for start, end in spans:
        if found and count_words(text[found[-1][0] : end]) <= budget:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def recursive(document: Document, budget: int) -> list[Span]:
    """LangChain's `RecursiveCharacterTextSplitter` with its own separators, counting words."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=budget, chunk_overlap=0, length_function=count_words, add_start_index=True
    )
    pieces = splitter.create_documents([document.text or ""])
    starts = [int(piece.metadata["start_index"]) for piece in pieces]
    return [(start, start + len(piece.page_content)) for start, piece in zip(starts, pieces, strict=True)]


class Semantic:
    """Cuts at the largest differences between the vectors of neighbouring sentences.

    The vector of a sentence is that of itself with one sentence before and one after, as in LangChain's
    `SemanticChunker`. There is a chunk for so many words as the budget.
    """

    def __init__(self, embed: Embed) -> None:
        self.embed = embed
        self.known: dict[str, list[float]] = {}

    def __call__(self, document: Document, budget: int) -> list[Span]:
        """The chunks of a document."""
        text = document.text or ""
        spans = sentence_spans(document)
        n_chunks = min(max(round(count_words(text) / budget), 1), len(spans))
        drops = self._drops(text, spans)
        breaks = sorted(sorted(range(len(drops)), key=lambda gap: -drops[gap])[: n_chunks - 1])
        starts = [0, *(gap + 1 for gap in breaks), len(spans)]
        return [(spans[start][0], spans[stop - 1][1]) for start, stop in pairwise(starts)]

    def _drops(self, text: str, spans: Sequence[Span]) -> list[float]:
        if text not in self.known:
            last = len(spans) - 1
            around = [text[spans[max(n - 1, 0)][0] : spans[min(n + 1, last)][1]] for n in range(len(spans))]
            vectors = self.embed(around)
            self.known[text] = (1 - (vectors[:-1] * vectors[1:]).sum(axis=1)).tolist()
        return self.known[text]


def discourse(document: Document, budget: int) -> list[Span]:
    """By the tree of the document."""
    return [(chunk.start, chunk.end) for chunk in chunks(document, budget)]


def sizes(documents: Sequence[Document], found: Sequence[Sequence[Span]]) -> NDArray[np.int64]:
    """The words of every chunk."""
    texts = [document.text or "" for document in documents]
    return np.array([count_words(text[a:b]) for text, spans in zip(texts, found, strict=True) for a, b in spans])


def tune(documents: Sequence[Document], cut: Cut, target: int) -> tuple[int, list[list[Span]]]:
    """Find the budget whose chunks come nearest to a mean size, in words; and these chunks."""
    found: dict[int, tuple[float, list[list[Span]]]] = {}

    def mean(budget: int) -> float:
        if budget not in found:
            spans = [cut(document, budget) for document in documents]
            found[budget] = float(sizes(documents, spans).mean()), spans
        return found[budget][0]

    low, high = 1, 2 * target
    while mean(high) < target and high < 64 * target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mean(middle) < target else (low, middle)
    # The mean need not grow with every step of the budget.
    best = min(range(max(low - 3, 1), high + 4), key=lambda budget: abs(mean(budget) - target))
    return best, found[best][1]
