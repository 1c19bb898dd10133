"""Make text safe to show in a picture, in a terminal or in a message.

Relation names, ids and file names are untrusted input, and a terminal executes the control sequences in it: they can
change colours, titles, cursors and the clipboard. Printed text goes through `inert`, text in pictures through
`printable`.
"""

import re

_REPLACEMENT = "\ufffd"

_LINE_BREAKS = re.compile("\r\n|[\t\n\r\v\f\x85\u2028\u2029]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}

LONGEST_MESSAGE = 1000
"""The longest message, in characters; the middle of a longer one is left out."""
_END_OF_MESSAGE = 300


def printable(text: str) -> str:
    """Replace line breaks and tabs by spaces, and invisible characters and those that XML forbids by U+FFFD."""
    return _UNPRINTABLE.sub(_REPLACEMENT, _LINE_BREAKS.sub(" ", text))


def inert(text: str) -> str:
    """Replace everything that a terminal would execute: ESC becomes ␛, direction overrides become U+FFFD."""
    pictured = _LINE_BREAKS.sub(" ", text).translate(_CONTROL_PICTURES)
    return _REORDERING.sub(_REPLACEMENT, printable(pictured))


def escape_json(text: str) -> str:
    """Escape everything in a JSON text that a terminal would execute. The value of the JSON stays the same."""
    unsafe = "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    return re.sub(unsafe, lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(message: str) -> str:
    """Return a message as a single safe line of limited length.

    Bytes of a file name that are not valid UTF-8 are written as escapes.
    """
    text = inert(message.strip("\n").encode("utf-8", "backslashreplace").decode())
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[: LONGEST_MESSAGE - _END_OF_MESSAGE - 1]}…{text[-_END_OF_MESSAGE:]}"
