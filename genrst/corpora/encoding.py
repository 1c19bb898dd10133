"""Bytes to text, for every reader."""

import codecs
import warnings
from pathlib import Path

from genrst.errors import CorpusFormatError, CorpusWarning

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(content: bytes, path: Path, declared: str | None = None) -> str:
    """The text of a file: by its byte order mark, else as declared, else UTF-8, else ISO-8859-1 with a warning.

    Line ends become `\\n`.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _normalise(_decode_strictly(content[len(mark) :], encoding, path))
    if declared is not None:
        return _normalise(_decode_strictly(content, declared, path))
    if b"\0" in content:
        raise CorpusFormatError("a text file must hold text, was: binary data", path)
    try:
        return _normalise(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        warnings.warn(CorpusWarning(f"{path}: byte {error.start} is not UTF-8; read as ISO-8859-1"), stacklevel=2)
        return _normalise(content.decode("iso-8859-1"))


def _decode_strictly(content: bytes, encoding: str, path: Path) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise CorpusFormatError(f"the text must be {encoding}, was: {error}", path) from error


def _normalise(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
