"""The XML layer of `.rs3` and `.rs4` files: bytes to a flat list of elements with their lines.

Not here: what the elements mean (`genrst.formats.rs3_nodes`). Files come from anywhere, so document types, and with
them entities, are refused.
"""

import re
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from xml.parsers import expat

from genrst.errors import CorpusFormatError, CorpusWarning
from genrst.formats.edu_text import collapse_spaces
from genrst.io import decode

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow."""

COMMENT = "#comment"
"""The name of an element that is a comment."""

_DECLARED_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_COMMENT_OR_CDATA = r"<!(?:--(?:.*?-->|.*)|\[CDATA\[(?:.*?\]\]>|.*))"
_BROKEN_REFERENCE = r"&(?!#[0-9]+;|#x[0-9a-fA-F]+;|(?:amp|lt|gt|quot|apos);)(?:([A-Za-z]\w*);)?"
_REPAIRABLE = re.compile(f"{_COMMENT_OR_CDATA}|{_BROKEN_REFERENCE}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Element:
    """An XML element: its name and that of the element around it, its attributes, its line, its own text."""

    name: str
    parent: str
    attributes: dict[str, str]
    line: int
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text with every run of white space, line breaks included, as one space and none at the edges."""
        return collapse_spaces("".join(self.pieces))


class Repairs:
    """What was repaired in one file: one warning per kind, with the first place, once the file turns out readable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: defaultdict[str, list[str]] = defaultdict(list)

    def note(self, place: str, kind: str) -> None:
        """Remember a repair, for example `node 12` and what was done to it."""
        self._places[kind].append(place)

    def warn(self) -> None:
        """Issue a warning per kind of repair, as if from the caller of the calling function."""
        for kind, places in self._places.items():
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            warnings.warn(CorpusWarning(f"{self._path}: {places[0]}{more}: {kind}"), stacklevel=3)


def parse_xml(content: bytes, path: Path, repairs: Repairs) -> list[Element]:
    """All elements of a file in the order of their start tags, after mending stray `&`."""
    declared = _DECLARED_ENCODING.match(content)
    text = decode(content, path, declared[1].decode("ascii") if declared else None)
    if forbidden := FORBIDDEN.search(text):
        line = text.count("\n", 0, forbidden.start()) + 1
        raise CorpusFormatError(f"a character must be one that XML allows, was: U+{ord(forbidden[0]):04X}", path, line)
    parser = expat.ParserCreate("utf-8")
    elements = _collect_elements(parser, path)
    try:
        parser.Parse(_mend_references(text, repairs).encode("utf-8"), True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise CorpusFormatError(f"the XML must be well-formed, was: {problem}", path, error.lineno) from error
    return elements


def _mend_references(text: str, repairs: Repairs) -> str:
    """The text with `&` escaped where it starts no reference, and named characters of HTML as numbers."""
    offsets: list[int] = []

    def mend(match: re.Match[str]) -> str:
        if match[0].startswith("<"):
            return match[0]
        offsets.append(match.start())
        characters = html5.get(f"{match[1]};", "")
        return "".join(f"&#{ord(character)};" for character in characters) or f"&amp;{match[0][1:]}"

    mended = _REPAIRABLE.sub(mend, text) if "&" in text else text
    if offsets:
        line = text.count("\n", 0, offsets[0]) + 1
        repairs.note(f"line {line}", f"{len(offsets)} bare & or unknown entities kept as text")
    return mended


def _collect_elements(parser: expat.XMLParserType, path: Path) -> list[Element]:
    """The list that the parser will fill."""
    elements: list[Element] = []
    around: list[Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        parent = around[-1].name if around else ""
        around.append(Element(name, parent, attributes, parser.CurrentLineNumber))
        elements.append(around[-1])

    def refuse(*_declaration: object) -> None:
        message = "a file must not declare a document type or entities, was: <!DOCTYPE"
        raise CorpusFormatError(message, path, parser.CurrentLineNumber)

    def comment(text: str) -> None:
        parent = around[-1].name if around else ""
        elements.append(Element(COMMENT, parent, {}, parser.CurrentLineNumber, [text]))

    parser.buffer_text = True
    parser.CommentHandler = comment
    parser.StartElementHandler = start
    parser.CharacterDataHandler = lambda data: around[-1].pieces.append(data)
    parser.EndElementHandler = lambda name: around.pop()
    parser.StartDoctypeDeclHandler = refuse
    return elements
