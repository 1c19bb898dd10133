"""Characters made safe to show, and the direction in which they are written."""

import re
from unicodedata import bidirectional

REPLACEMENT = "\ufffd"

_LINE_BREAKS = re.compile("\r\n|[\t\n\r\v\f\x85\u2028\u2029]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}


def printable(text: str) -> str:
    """The text with line breaks and tabs as spaces and what XML forbids or nobody can see as U+FFFD."""
    return _UNPRINTABLE.sub(REPLACEMENT, _LINE_BREAKS.sub(" ", text))


def inert(text: str) -> str:
    """The text with nothing in it that a terminal obeys: ESC becomes ␛, direction overrides become U+FFFD."""
    pictured = _LINE_BREAKS.sub(" ", text).translate(_CONTROL_PICTURES)
    return _REORDERING.sub(REPLACEMENT, printable(pictured))


def is_right_to_left(text: str) -> bool:
    """Whether more letters of the text are written from right to left than from left to right."""
    if text.isascii():
        return False
    balance = 0
    for character in text:
        direction = bidirectional(character)
        balance += (direction in ("R", "AL")) - (direction == "L")
    return balance > 0
