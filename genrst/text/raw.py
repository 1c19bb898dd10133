"""A raw text as a document that is not yet annotated nor split into EDUs.

A cheap look whether a text is English, for a warning; nothing else depends on it.
"""

import re
from itertools import islice
from unicodedata import category

from genrst.document import Document, Span
from genrst.errors import TreeError
from genrst.text.layout import paragraphs


def unsegmented(id: str, text: str) -> Document:
    """The document of a raw text: its paragraphs, and one EDU from the first to the last character in sight."""
    check_words(id, text)
    found = paragraphs(text)
    return Document(id, text, (Span(found[0].start, found[-1].end),), paragraphs=found)


def check_words(id: str, text: str) -> None:
    """Raise an error if there is nothing to see in a text."""
    if not any(map(_is_visible, text)):
        raise TreeError(f"{id}: a text must have a word, was: {text[:30]!r}")


def _is_visible(character: str) -> bool:
    """Not white space, a control character, a byte order mark, a joiner, half a surrogate pair or a lone accent."""
    return category(character)[0] not in "CMZ"


LEAST_WORDS = 40
LEAST_SHARE = 0.05
"""Of the words below. Of all stretches of 40 words in GUM, 3 in 5,000 have fewer: lists of names."""

# Frequent in English, and seldom words of its neighbours: Dutch has `is`, `was` and `we`, Danish `for`, `at` and `i`.
_FREQUENT = re.compile(
    "the|of|and|to|that|it|with|this|have|are|not|you|from|which|they|his|but|or|been|their|would|your|she|if|who|what|"
    "there|when"
)
_WORD = re.compile(r"[^\W\d_]{1,30}")
_MOST_WORDS = 2000
_MOST_CHARACTERS = 20_000


def looks_english(text: str) -> bool:
    """Whether a text may be English: it has Latin letters and, if it is no short one, some of the commonest words."""
    words = [match[0].lower() for match in islice(_WORD.finditer(text[:_MOST_CHARACTERS]), _MOST_WORDS)]
    letters = "".join(words)
    if 2 * len(letters.encode("ascii", "ignore")) < len(letters):
        return False
    return len(words) < LEAST_WORDS or _count_frequent(words) >= LEAST_SHARE * len(words)


def _count_frequent(words: list[str]) -> int:
    return sum(_FREQUENT.fullmatch(word) is not None for word in words)
