"""Characters made safe to show: in a picture, on a line of a terminal, in a message.

Names of relations, ids and files come from others, and a terminal obeys what it is sent: colours, titles, cursors,
the clipboard. What is printed passes `inert`; what a picture shows passes `printable`.
"""

import re

_REPLACEMENT = "\ufffd"

_LINE_BREAKS = re.compile("\r\n|[\t\n\r\v\f\x85\u2028\u2029]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}

LONGEST_MESSAGE = 1000
"""Characters of a message; of a longer one the middle is left out."""
_END_OF_MESSAGE = 300


def printable(text: str) -> str:
    """The text with line breaks and tabs as spaces and what XML forbids or nobody can see as U+FFFD."""
    return _UNPRINTABLE.sub(_REPLACEMENT, _LINE_BREAKS.sub(" ", text))


def inert(text: str) -> str:
    """The text with nothing in it that a terminal obeys: ESC becomes ␛, direction overrides become U+FFFD."""
    pictured = _LINE_BREAKS.sub(" ", text).translate(_CONTROL_PICTURES)
    return _REORDERING.sub(_REPLACEMENT, printable(pictured))


def escape_json(text: str) -> str:
    """JSON with nothing in it that a terminal obeys: such characters are escaped, so that its value is the same."""
    unsafe = "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    return re.sub(unsafe, lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(message: str) -> str:
    """A message as a line of bounded length that a terminal does not obey; bytes of a file name that are no UTF-8 are
    written as escapes.
    """
    text = inert(message.strip("\n").encode("utf-8", "backslashreplace").decode())
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[: LONGEST_MESSAGE - _END_OF_MESSAGE - 1]}…{text[-_END_OF_MESSAGE:]}"
