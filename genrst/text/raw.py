"""Documents from raw text: constraints on sentence starts, and a clean-up of predicted EDUs.

Every EDU has a letter or a digit. No EDU ends within the number of a heading, a time, the name of a speaker, code or a
table. Markdown and list marks are left outside EDUs. Given EDUs, as in a corpus, are never changed. Paragraphs are
found by `genrst.text.layout`.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from unicodedata import category

from genrst.document import Document, Span, Token
from genrst.errors import TreeError
from genrst.text.layout import MARK, WHOLE, content_start, ends_sentence, paragraphs

# Frequent in English but not in related languages: `is` and `we`, for example, are left out because Dutch has them.
_FREQUENT = re.compile(
    "the|of|and|to|that|it|with|this|have|are|not|you|from|which|they|his|but|or|been|their|would|your|she|if|who|what|"
    "there|when"
)
_MIN_WORDS = 40
_MIN_SHARE = 0.05  # of frequent words; 3 in 5,000 stretches of 40 words in GUM have fewer (lists of names)
_MAX_WORDS = 2000
_MAX_CHARACTERS = 20_000
_WORD = re.compile(r"[^\W\d_]{1,30}")
_NOTE = re.compile(r"\[(?:[0-9]{1,3}|\.\.\.|…)\]")
_ASIDE = re.compile(r"(?:[^\W\d_][^:\n]{0,40}:\s+)?\[[a-z]+(?: [a-z]+)?\]")  # `[laughs]`, `Tom: [laughs]`
_INDENT = 40  # the maximum number of spaces before the mark of a line
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_DASHES = frozenset("-–—")
_NUMBER = re.compile(r"\(?(?:[0-9]{1,2}|[a-zA-Z]|[ivx]{2,4})\)")  # the number of an item in running text: `(2)`, `b)`


def unsegmented(id: str, text: str) -> Document:
    """Return the document of a raw text, with its paragraphs and a single EDU that covers all visible characters."""
    check_words(id, text)
    found = paragraphs(text)
    return Document(id, text, (Span(found[0].start, found[-1].end),), paragraphs=found, is_segmented=False)


def check_words(id: str, text: str) -> None:
    """Raise an error if a text has no visible characters.

    White space, control characters, byte order marks, joiners, lone surrogates and lone accents are not visible.
    """
    if all(category(character)[0] in "CMZ" for character in text):
        raise TreeError(f"{id}: a text must have at least one word, got {text[:30]!r}")


def looks_english(text: str) -> bool:
    """Whether a text may be English: it has Latin letters and, unless it is short, some very frequent words."""
    words = [match[0].lower() for match in islice(_WORD.finditer(text[:_MAX_CHARACTERS]), _MAX_WORDS)]
    letters = "".join(words)
    if 2 * len(letters.encode("ascii", "ignore")) < len(letters):
        return False
    n_frequent = sum(_FREQUENT.fullmatch(word) is not None for word in words)
    return len(words) < _MIN_WORDS or n_frequent >= _MIN_SHARE * len(words)


def sentence_starts(document: Document, offsets: Sequence[int]) -> list[bool | None]:
    """Return whether the word at each offset starts a sentence, even after white space; None if unknown."""
    starts = [span.start for span in document.sentences or document.paragraphs]
    numbers = [bisect_right(starts, offset) for offset in offsets]
    is_first = [left != right for left, right in pairwise([0, *numbers])]
    if document.sentences:
        return [*is_first]
    if not document.paragraphs:
        return [None] * len(offsets)
    text = document.text or ""
    rules = [_Paragraph.of(text, span) for span in (Span(0, 0), *document.paragraphs)]
    return [
        first or (None if rules[number].allows_start(text, offset) else False)
        for first, number, offset in zip(is_first, numbers, offsets, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph, with rules for the sentences in it."""

    free: int
    """Where sentences may start: not within a heading, nor at the words after a mark (`1.`) or a name."""
    is_lower: bool
    """Whether it starts with a lower-case letter, so that its other sentences may as well."""

    @classmethod
    def of(cls, text: str, span: Span) -> "_Paragraph":
        content = content_start(text, span)
        if span.label == "head" or span.label in WHOLE:
            free = span.end
        else:
            free = content + 1 if content > span.start else content
        return cls(free, text[span.start : span.start + 1].islower())

    def allows_start(self, text: str, offset: int) -> bool:
        """Whether a sentence may start here: never with a footnote (`[1]`), rarely in lower case."""
        if offset < self.free or _NOTE.match(text, offset):
            return False
        before = text[max(offset - 5, 0) : offset].rstrip()
        return not text[offset : offset + 1].islower() or (self.is_lower and ends_sentence(before))


def with_edus(document: Document, starts_edu: Sequence[bool]) -> Document:
    """Return the document with EDUs that start at these tokens, after the clean-up, and without a tree."""
    starts = list(starts_edu)
    text, tokens = document.text or "", document.tokens
    offsets = [token.start for token in tokens]
    for paragraph in document.paragraphs:
        borders = paragraph.start, paragraph.end if paragraph.label in WHOLE else content_start(text, paragraph)
        for token in range(*(bisect_right(offsets, border) for border in borders)):
            starts[token] = False
    words = [number for number, is_mark in enumerate(_marks(text, tokens)) if not is_mark] or list(range(len(tokens)))
    # An EDU starts with the first word at or after its start, and ends with the last word before the next EDU.
    firsts = {bisect_left(words, number) for number, is_start in enumerate(starts) if is_start} - {0, len(words)}
    runs = pairwise([0, *sorted(firsts), len(words)])
    found = [Span(tokens[words[first]].start, tokens[words[stop - 1]].end) for first, stop in runs]
    edus = _joined(document, found)
    bare = replace(document, tree=None, signals=(), secondary_edges=(), log_probability=None, model=None)
    return replace(bare, edus=edus, is_segmented=True)


def _marks(text: str, tokens: Sequence[Token]) -> list[bool]:
    """Return whether each token is part of a line's mark."""
    end = 0
    found = []
    for token in tokens:
        if token.start >= end and _starts_line(text, token.start) and (mark := MARK.match(text, token.start)):
            end = mark.end()
        found.append(token.end <= end)
    return found


def _starts_line(text: str, start: int) -> bool:
    before = text[max(start - _INDENT, 0) : start].rstrip(" \t")[-1:]
    return not before or before in _LINE_ENDS


def _joined(document: Document, edus: Sequence[Span]) -> tuple[Span, ...]:
    """Join EDUs without words, or such as `[laughs]`, to a neighbour, in their sentence or paragraph if possible.

    A bracket or quote joins the words that it touches, a dash or an item number the words after it.
    """
    text, draft = document.text or "", replace(document, edus=tuple(edus), tree=None)
    places = list(zip(draft.sentence_of_edus(), draft.paragraph_of_edus(), strict=True))
    nearness = [sum(map(int.__eq__, one, next)) for one, next in pairwise(places)]
    n_edus = Counter(paragraph for _, paragraph in places)
    found: list[Span] = []
    is_open = False  # whether the last EDU must be joined to the next
    for edu, place, before, after in zip(edus, places, [-1, *nearness], [*nearness, -1], strict=True):
        is_number = _NUMBER.fullmatch(text, edu.start, edu.end) is not None
        is_aside = n_edus[place[1]] > 1 and _ASIDE.fullmatch(text, edu.start, edu.end) is not None
        is_wordless = is_number or is_aside or not any(map(str.isalnum, text[edu.start : edu.end]))
        is_dash = set(text[edu.start : edu.end]) <= _DASHES
        touches_next = text[edu.start - 1 : edu.start].isspace() and not text[edu.end : edu.end + 1].isspace()
        goes_on = after > before or (after == before and is_dash) or (after > 0 and (is_number or touches_next))
        if is_open or (is_wordless and not goes_on):
            found[-1:] = [Span(found[-1].start if found else edu.start, edu.end)]
            is_open = is_open and is_wordless
        else:
            found.append(edu)
            is_open = is_wordless
    return tuple(found)
