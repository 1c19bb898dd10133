"""A raw text as a document that is neither annotated nor split into EDUs, and whether it looks English.

Only a warning depends on the language. Not here: paragraphs (`genrst.text.layout`) and EDUs (`genrst.segmenter`).
"""

import re
from itertools import islice
from unicodedata import category

from genrst.document import Document, Span
from genrst.errors import TreeError
from genrst.text.layout import paragraphs

# Frequent in English, and seldom words of its neighbours: Dutch has `is`, `was` and `we`, Danish `for`, `at` and `i`.
_FREQUENT = re.compile(
    "the|of|and|to|that|it|with|this|have|are|not|you|from|which|they|his|but|or|been|their|would|your|she|if|who|what|"
    "there|when"
)
_MIN_WORDS = 40
_MIN_SHARE = 0.05  # of frequent words; of all stretches of 40 words in GUM, 3 in 5,000 have fewer: lists of names
_MAX_WORDS = 2000
_MAX_CHARACTERS = 20_000
_WORD = re.compile(r"[^\W\d_]{1,30}")


def unsegmented(id: str, text: str) -> Document:
    """The document of a raw text: its paragraphs, and one EDU from the first to the last visible character."""
    check_words(id, text)
    found = paragraphs(text)
    return Document(id, text, (Span(found[0].start, found[-1].end),), paragraphs=found, is_segmented=False)


def check_words(id: str, text: str) -> None:
    """Raise an error if nothing in a text is visible.

    Not visible are white space, control characters, byte order marks, joiners, lone surrogates and lone accents.
    """
    if all(category(character)[0] in "CMZ" for character in text):
        raise TreeError(f"{id}: a text must have a word, was: {text[:30]!r}")


def looks_english(text: str) -> bool:
    """Whether a text may be English: it has Latin letters and, unless it is short, some of the commonest words."""
    words = [match[0].lower() for match in islice(_WORD.finditer(text[:_MAX_CHARACTERS]), _MAX_WORDS)]
    letters = "".join(words)
    if 2 * len(letters.encode("ascii", "ignore")) < len(letters):
        return False
    n_frequent = sum(_FREQUENT.fullmatch(word) is not None for word in words)
    return len(words) < _MIN_WORDS or n_frequent >= _MIN_SHARE * len(words)
