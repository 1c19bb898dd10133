"""Passages that can be read alone: whole sentences, in the order in which a summary takes them.

The most important sentence comes first. A sentence is as important as its most important EDU. Headings, bylines,
headers, greetings, code, tables and short list items do not count as sentences. A sentence that begins with a word such
as *this* or *however* comes after the one before it.
"""

import re
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

from genrst.document import Document, require_tree
from genrst.trees.measures import importance

FRAGMENT_WORDS = 8
"""Up to this many words without final punctuation are not a sentence but a title, a byline or a greeting."""
UNREADABLE = frozenset({"head", "header", "code", "table", "signature"})
"""The kinds of paragraphs that are not prose."""

_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_LEANING = re.compile(
    r"(?:this|these|that|those|it|its|he|she|they|his|her|their|such|however|but|so|therefore|thus|hence|then|also|"
    r"moreover|furthermore|besides|instead|otherwise|still|yet|and|or|nevertheless|nonetheless|consequently|similarly)\b",
    re.IGNORECASE,
)
"""The openings of sentences that depend on the sentence before."""


def reading_order(document: Document, *, everything: bool = False) -> list[range]:
    """Return the sentences of a document as ranges of EDUs, in the order in which a summary takes them.

    With `everything`, headings and the like are included.
    """
    found = [*_sentences(document)]
    readable = found if everything else [*_readable(document, found)] or found
    scores = importance(require_tree(document))
    rank = {number: (-max(scores[one.start : one.stop]), number) for number, one in enumerate(readable)}
    leaning = {
        number
        for number, (before, one) in enumerate(pairwise(readable), start=1)
        if before.stop == one.start and _LEANING.match(document.edu_texts[one.start])
    }
    ready = [rank[number] for number in rank if number not in leaning]
    heapify(ready)
    order = []
    while ready:
        _, number = heappop(ready)
        order.append(readable[number])
        if number + 1 in leaning:
            heappush(ready, rank[number + 1])
    return order


def _sentences(document: Document) -> Iterator[range]:
    """Yield the EDUs of each sentence; if sentences are unknown, final punctuation ends them."""
    texts = document.edu_texts
    sentences, paragraphs = document.sentence_of_edus(), document.paragraph_of_edus()
    start = 0
    for edu in range(1, len(texts) + 1):
        is_end = edu == len(texts) or paragraphs[edu] != paragraphs[edu - 1]
        is_end = is_end or (sentences[edu] != sentences[edu - 1] if document.sentences else _ends(texts[edu - 1]))
        if is_end:
            yield range(start, edu)
            start = edu


def _ends(text: str) -> bool:
    return not text or _END.search(text) is not None


def _readable(document: Document, sentences: Sequence[range]) -> Iterator[range]:
    """Yield the sentences that are prose, or all of them if the document has no text."""
    paragraphs = document.paragraph_of_edus()
    for sentence in sentences:
        label = document.paragraphs[paragraphs[sentence.start]].label if document.paragraphs else ""
        text = document.slice(sentence.start, sentence.stop)
        is_sentence = text is None or _ends(text) or len(text.split()) > FRAGMENT_WORDS
        if is_sentence and label not in UNREADABLE:
            yield sentence
