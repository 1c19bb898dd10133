"""Read plain text, Markdown, HTML, PDF, Word and e-mail files into plain text that keeps their layout.

Plain text and e-mail need only the standard library. HTML, PDF and Word files need the "files" extra. Markdown is
converted only if the extra is installed; otherwise it is read as plain text.
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from genrst.errors import CorpusFormatError, GenrstError, MissingDependencyError
from genrst.formats.readers.blocks import one_line, to_text
from genrst.io import decode, read_bytes


class _Format(NamedTuple):
    name: str
    reader: str
    """The module in `genrst.formats.readers` that reads the format into blocks."""
    needs: str | None = None
    """The package that the reader requires."""


_HTML = _Format("HTML", "html", "trafilatura")
FORMATS = {
    ".html": _HTML,
    ".htm": _HTML,
    ".pdf": _Format("PDF", "pdf", "pypdf"),
    ".docx": _Format("Word", "word", "docx"),
    ".eml": _Format("e-mail", "mail"),
}
"""The formats other than plain text."""
_MARKDOWN = (".md", ".markdown")

_SIGNS = {b"%pdf-": ".pdf", b"<!doctype html": ".html", b"<html": ".html"}
"""The first bytes that identify a format, regardless of the suffix of the file."""
_HINTS = {
    b"\xd0\xcf\x11\xe0": "is an old Office file; save it as .docx",
    b"{\\rtf": "is rich text; save it as .docx",
    b"\x89PNG": "is a picture; recognise its text first, for example with tesseract",
    b"\xff\xd8\xff": "is a picture; recognise its text first, for example with tesseract",
    b"GIF8": "is a picture; recognise its text first, for example with tesseract",
    b"PK\x03\x04": "is an archive; unpack it first",
}


def read_text(path: str | Path) -> str:
    """Return the text of a file in any of these formats, with its layout written in plain text.

    EDUs are spans of this text. Headings begin with `#`, list items with `-` or a number, quotations with `>`. Code is
    enclosed in fences, and the cells of tables are separated by bars.
    """
    path = Path(path)
    return text_of(read_bytes(path), path)


def text_of(content: bytes, path: Path) -> str:
    """Return the text of a file with this content. The path determines the format and appears in messages."""
    suffix = path.suffix.lower()
    if (start := content[:64].lstrip().lower()) and suffix not in FORMATS:
        suffix = next((found for sign, found in _SIGNS.items() if start.startswith(sign)), suffix)
    found = FORMATS.get(suffix)
    if suffix != ".docx" and (hint := next((hint for sign, hint in _HINTS.items() if content.startswith(sign)), None)):
        raise CorpusFormatError(f"the file {hint}", path)
    if found is None:
        text = decode(content, path)
        if suffix not in _MARKDOWN or not find_spec("markdown_it"):
            return text
        from genrst.formats.readers.markdown import read_markdown

        return to_text(read_markdown(text))
    if found.needs and not find_spec(found.needs):
        raise MissingDependencyError(
            f"{path}: {found.name} files need the \"files\" extra: pip install 'genrst[files]'"
        )
    logging.getLogger(found.needs or "email").setLevel(logging.CRITICAL)  # errors are reported by the exception alone
    try:
        text = to_text(import_module(f"genrst.formats.readers.{found.reader}").read(content, path))
    except GenrstError:
        raise
    except Exception as error:  # for damaged files, the libraries raise all kinds of exceptions
        reason = f"{type(error).__name__}: {one_line(str(error))}".removesuffix(": ")
        raise CorpusFormatError(f"the {found.name} file is damaged ({reason})", path) from error
    if not text.strip():
        raise CorpusFormatError(f"the {found.name} file has no text", path)
    return text
