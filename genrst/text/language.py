"""A cheap look whether a text is English, for a warning; nothing else depends on it."""

import re
from itertools import islice

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
