"""From starts of EDUs to EDUs that look like some, whoever found the starts: a network or rules.

No EDU is without a letter or digit, none ends within the number of a heading, a time or the name of a speaker, and the
marks of Markdown and of lists stand outside. EDUs that are given, as in a corpus, never come here.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document, Span, Token, without_tree
from genrst.text.layout import MARK, content_start

_INDENT = 40  # the most spaces before the mark of a line
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_DASHES = frozenset("-–—")
_NUMBER = re.compile(r"\(?(?:[0-9]{1,2}|[a-zA-Z]|[ivx]{2,4})\)")  # of an item in running text: `(2)`, `b)`


def with_edus(document: Document, starts_edu: NDArray[np.bool_]) -> Document:
    """The document with EDUs that start at these tokens and end with the one before the next; its tree is gone."""
    starts = starts_edu.copy()
    text, tokens = document.text or "", document.tokens
    offsets = np.array([token.start for token in tokens])
    for paragraph in document.paragraphs:
        borders = [paragraph.start, content_start(text, paragraph)]
        starts[slice(*np.searchsorted(offsets, borders, side="right"))] = False
    words = np.flatnonzero(~_marks(text, tokens))
    # An EDU starts with the first word from its start on, and ends with the last word before the next.
    firsts = np.unique(np.searchsorted(words, np.flatnonzero(starts)))
    runs = np.split(words, firsts[(firsts > 0) & (firsts < len(words))]) if len(words) else [np.arange(len(tokens))]
    found = [Span(tokens[run[0]].start, tokens[run[-1]].end) for run in runs]
    return replace(without_tree(document), edus=_joined(document, found), is_segmented=True)


def _marks(text: str, tokens: Sequence[Token]) -> NDArray[np.bool_]:
    """Whether each token is part of a line's mark."""
    end = 0
    found = []
    for token in tokens:
        if token.start >= end and _starts_line(text, token.start) and (mark := MARK.match(text, token.start)):
            end = mark.end()
        found.append(token.end <= end)
    return np.array(found, dtype=np.bool_)


def _starts_line(text: str, start: int) -> bool:
    before = text[max(start - _INDENT, 0) : start].rstrip(" \t")[-1:]
    return not before or before in _LINE_ENDS


def _joined(document: Document, edus: Sequence[Span]) -> tuple[Span, ...]:
    """The EDUs; those without a word are joined to a neighbour, in their sentence or paragraph if possible.

    A bracket or quote belongs to the words that it touches, a dash or the number of an item to those after it.
    """
    text, draft = document.text or "", replace(document, edus=tuple(edus), tree=None)
    places = list(zip(draft.sentence_of_edus(), draft.paragraph_of_edus(), strict=True))
    nearness = [sum(map(int.__eq__, one, next)) for one, next in pairwise(places)]
    found: list[Span] = []
    is_open = False  # whether the last one waits for the next
    for edu, before, after in zip(edus, [-1, *nearness], [*nearness, -1], strict=True):
        is_number = _NUMBER.fullmatch(text, edu.start, edu.end) is not None
        is_wordless = is_number or not any(map(str.isalnum, text[edu.start : edu.end]))
        is_dash = set(text[edu.start : edu.end]) <= _DASHES
        goes_on = after > before or (after == before and is_dash) or (after > 0 and (is_number or _opens(text, edu)))
        if is_open or (is_wordless and not goes_on):
            found[-1:] = [Span(found[-1].start if found else edu.start, edu.end)]
            is_open = is_open and is_wordless
        else:
            found.append(edu)
            is_open = is_wordless
    return tuple(found)


def _opens(text: str, edu: Span) -> bool:
    """Whether it touches what follows, and not what stands before it."""
    return text[edu.start - 1 : edu.start].isspace() and not text[edu.end : edu.end + 1].isspace()
