"""Estimate the widths of characters without a font, and wrap text.

Widths are conservative: for ASCII, they are the larger of DejaVu Sans and Arial (which is as wide as Helvetica); for
other characters, a generous average per script. So a text fits into its box in any common sans-serif font, without
filling it exactly.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias
from unicodedata import bidirectional, category, east_asian_width, normalize

CharacterWidth: TypeAlias = Callable[[str], float]


_REMEMBERED = 8192
"""The number of cached measurements. While a tree is edited, the same texts are drawn repeatedly."""


@lru_cache(maxsize=_REMEMBERED)
def is_right_to_left(text: str) -> bool:
    """Whether most letters of the text are written from right to left."""
    if text.isascii():
        return False
    balance = 0
    for character in text:
        direction = bidirectional(character)
        balance += (direction in ("R", "AL")) - (direction == "L")
    return balance > 0


# Widths in thousandths of an em, from the space to the tilde.
_ASCII = (
    *(317, 400, 459, 837, 636, 950, 779, 274, 390, 390, 500, 837, 317, 360, 317, 336),
    *(636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 336, 336, 837, 837, 837, 556),
    *(1015, 684, 686, 722, 770, 666, 610, 777, 751, 294, 500, 666, 557, 862, 748, 787),
    *(666, 787, 722, 666, 610, 731, 684, 988, 685, 666, 685, 390, 336, 390, 837, 556),
    *(500, 612, 634, 549, 634, 615, 352, 634, 633, 277, 277, 579, 277, 974, 633, 611),
    *(634, 634, 411, 520, 392, 633, 591, 817, 591, 591, 524, 636, 336, 636, 837),
)
_COMMON = {"\xa0": 317, "–": 500, "‘": 318, "’": 318, "“": 518, "”": 518}
_HUGE = {"\u2e3a": 2000, "\u2e3b": 2900, "\ufdfd": 7300}
# The first character and the width of each script: Latin to Armenian, Hebrew, Arabic, Devanagari, other Indian scripts,
# Thai, other Asian scripts, punctuation, everything else, cuneiform, everything else.
_SCRIPTS = (0, 0x590, 0x600, 0x900, 0x980, 0xE00, 0xF00, 0x2000, 0x2070, 0x12000, 0x12550)
_SCRIPT_WIDTHS = (800, 640, 750, 720, 1050, 640, 1100, 700, 1100, 3000, 1100)
_LOWER_CASE = 680
_WIDE, _EMOJI = 1000, 1260

_JOINER = "\u200d"
_BREAKING_SPACES = frozenset(" \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u205f\u3000")
_MARKS_BY_USE = frozenset("\u0e33\u0eb3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")  # sara am, skin tones
_HYPHENS = frozenset("-‐–—/")


@lru_cache(maxsize=_REMEMBERED)
def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in a sans-serif font of this size."""
    return _total(text, advance) * size


@lru_cache(maxsize=65536)
def advance(character: str) -> float:
    """Return the width of a character, in em."""
    return _thousandths(character) / 1000


@lru_cache(maxsize=65536)
def columns(character: str) -> int:
    """Return the number of columns of a character in a terminal: 0, 1 or 2."""
    return 0 if _is_zero_width(character) else 2 if _is_wide(character) else 1


def _thousandths(character: str) -> int:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32]
    special = _COMMON.get(character) or _HUGE.get(character)
    if special:
        return special
    if _is_zero_width(character):
        return 0
    if _is_wide(character):
        return _EMOJI if category(character) == "So" else _WIDE
    base = normalize("NFD", character)[0]
    if base != character:
        return _thousandths(base)
    script = bisect_right(_SCRIPTS, ord(character)) - 1
    return _LOWER_CASE if script == 0 and character.islower() else _SCRIPT_WIDTHS[script]


def _is_zero_width(character: str) -> bool:
    if character.isascii():
        return False
    # In decomposed Korean, vowels and final consonants are combined with the first consonant. Arabic number signs do
    # not combine.
    if "\u1160" <= character <= "\u11ff":
        return True
    return category(character) in ("Mn", "Me", "Cf") and not "\u0600" <= character <= "\u0605"


def _is_wide(character: str) -> bool:
    return not character.isascii() and east_asian_width(character) in "WF"


def wrap(text: str, width: float, character_width: CharacterWidth = advance) -> list[str]:
    """Wrap a text to lines of at most this width. Only white space at the breaks is removed.

    Lines break at spaces, after hyphens and between East Asian characters. A word that is too long for a line is
    broken, if possible not between a letter and its marks.

    >>> wrap("well-known words of the world", 11, columns)
    ['well-known', 'words of', 'the world']
    """
    return list(_wrapped(text, width, character_width))


@lru_cache(maxsize=_REMEMBERED)
def _wrapped(text: str, width: float, character_width: CharacterWidth) -> tuple[str, ...]:
    lines: list[str] = []
    line, used = "", 0.0
    for space, word in _words(text):
        gap = _total(space, character_width) if line else 0.0
        size = _total(word, character_width)
        if line and used + gap + size <= width:
            line, used = line + space + word, used + gap + size
            continue
        if line:
            lines.append(line)
        *full, line = _break(word, width, character_width) if size > width else [word]
        lines.extend(full)
        used = _total(line, character_width)
    return (*lines, line) if line else tuple(lines)


def shorten(lines: list[str], limit: int, width: float, character_width: CharacterWidth = advance) -> list[str]:
    """Return the first lines of a wrapped text, ending in an ellipsis if there are more."""
    if len(lines) <= limit:
        return lines
    last = lines[limit - 1]
    while last and _total(last + "…", character_width) > width:
        last = last[:-1]
    return [*lines[: limit - 1], last + "…"]


def _total(text: str, character_width: CharacterWidth) -> float:
    return sum(map(character_width, text))


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces that should not be broken, each with the white space before it."""
    space = word = ""
    for character in text:
        if character not in _BREAKING_SPACES:
            word += character
            continue
        if word:
            yield from _pieces(space, word)
            space = word = ""
        space += character
    if word:
        yield from _pieces(space, word)


def _pieces(space: str, word: str) -> Iterator[tuple[str, str]]:
    if word.isascii() and "-" not in word and "/" not in word:
        yield space, word
        return
    parts = _clusters(word)
    piece = parts[0]
    for left, right in pairwise(parts):
        if _may_break(left, right):
            yield space, piece
            space, piece = "", right
        else:
            piece += right
    yield space, piece


def _clusters(word: str) -> list[str]:
    """Divide a word into grapheme clusters: a letter and its marks, an emoji and its modifiers."""
    clusters: list[str] = []
    for character in word:
        if clusters and (_is_mark(character) or clusters[-1][-1] == _JOINER):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _is_mark(character: str) -> bool:
    return not character.isascii() and (
        _is_zero_width(character) or category(character) == "Mc" or character in _MARKS_BY_USE
    )


def _may_break(left: str, right: str) -> bool:
    if left[0] in _HYPHENS:
        return right[0].isalpha()
    if not (_is_wide(left[0]) or _is_wide(right[0])):
        return False
    # A line must not begin with a closing mark or end with an opening one.
    return category(right[0]) not in ("Pe", "Pf", "Po") and category(left[0]) not in ("Ps", "Pi")


def _break(word: str, width: float, character_width: CharacterWidth) -> list[str]:
    """Break a word that is too long for a line."""
    lines: list[str] = []
    line, used = "", 0.0
    for cluster in _clusters(word):
        size = _total(cluster, character_width)
        for part in [cluster] if size <= width else cluster:
            size = _total(part, character_width)
            if line and used + size > width:
                lines.append(line)
                line, used = "", 0.0
            line, used = line + part, used + size
    return [*lines, line]
