"""Read the nodes of `.rs3` and `.rs4` files: parse the XML, then link and repair the nodes.

A node is a segment or a group, with the nodes that point to it. Because input files are not trusted, document types,
and with them entities, are rejected. `genrst.formats.rs3_reader` finds the nuclei and builds the tree.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from genrst.errors import CorpusFormatError, CorpusWarning
from genrst.formats.plain import collapse_spaces
from genrst.io import decode

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow."""

COMMENT = "#comment"
"""The element name of comments."""

_DECLARED_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_COMMENT_OR_CDATA = r"<!(?:--(?:.*?-->|.*)|\[CDATA\[(?:.*?\]\]>|.*))"
_BROKEN_REFERENCE = r"&(?!#[0-9]+;|#x[0-9a-fA-F]+;|(?:amp|lt|gt|quot|apos);)(?:([A-Za-z]\w*);)?"
_REPAIRABLE = re.compile(f"{_COMMENT_OR_CDATA}|{_BROKEN_REFERENCE}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Element:
    """An XML element: its name, the name of its parent element, its attributes, its line and its own text."""

    name: str
    parent: str
    attributes: dict[str, str]
    line: int
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text, with every run of white space as one space, and stripped at the ends."""
        return collapse_spaces("".join(self.pieces))


class Repairs:
    """The repairs in one file. Once the file is read, there is one warning per kind, which names the first place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: defaultdict[str, list[str]] = defaultdict(list)

    def note(self, place: str, kind: str) -> None:
        """Record a repair: its place, such as `node 12`, and what was done."""
        self._places[kind].append(place)

    def warn(self) -> None:
        """Issue a warning per kind of repair, attributed to the caller of the calling function."""
        for kind, places in self._places.items():
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            warnings.warn(CorpusWarning(f"{self._path}: {places[0]}{more}: {kind}"), stacklevel=3)


def parse_xml(content: bytes, path: Path, repairs: Repairs) -> list[Element]:
    """Return all elements of a file in the order of their start tags, after repairing stray `&`."""
    declared = _DECLARED_ENCODING.match(content)
    text = decode(content, path, declared[1].decode("ascii") if declared else None)
    if forbidden := FORBIDDEN.search(text):
        line = text.count("\n", 0, forbidden.start()) + 1
        raise CorpusFormatError(f"XML does not allow the character U+{ord(forbidden[0]):04X}", path, line)
    parser = expat.ParserCreate("utf-8")
    elements = _collect_elements(parser, path)
    try:
        parser.Parse(_mend_references(text, repairs).encode("utf-8"), True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise CorpusFormatError(f"the XML is not well-formed: {problem}", path, error.lineno) from error
    return elements


def _mend_references(text: str, repairs: Repairs) -> str:
    """Escape each `&` that does not start a reference, and replace the named characters of HTML by numbers."""
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
    """Return a list that the parser will fill with its elements."""
    elements: list[Element] = []
    around: list[Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        parent = around[-1].name if around else ""
        around.append(Element(name, parent, attributes, parser.CurrentLineNumber))
        elements.append(around[-1])

    def refuse(*_declaration: object) -> None:
        message = "the file must not declare a document type or entities (<!DOCTYPE)"
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


SEGMENT = "segment"
GROUP = "group"
SPAN_GROUP = "span"
MULTINUC_GROUP = "multinuc"


@dataclass(slots=True, eq=False, repr=False)
class Rs3Node:
    """A segment or group. `kind` is `segment`, `span` or `multinuc`; `relation` is the relation to the parent."""

    id: str
    kind: str
    line: int
    parent: str | None
    relation: str
    edu: int = -1
    children: "list[Rs3Node]" = field(default_factory=list)

    def __str__(self) -> str:
        return f"node {self.id}"


def read_segments(elements: Sequence[Element], path: Path, repairs: Repairs) -> tuple[list[Rs3Node], list[str]]:
    """Return the segments in the order of the file, and their texts."""
    body = next((number for number, element in enumerate(elements) if element.name == "body"), None)
    if body is None:
        raise CorpusFormatError("the file has no <body>", path)
    nodes: list[Rs3Node] = []
    texts: list[str] = []
    for element, text in _distinct(_segment_elements(elements, body, path), path, repairs):
        nodes.append(_node(element, SEGMENT, edu=len(nodes)))
        texts.append(text)
        if not text:
            repairs.note(str(nodes[-1]), "a segment without text, kept as an empty EDU")
    if not nodes:
        raise CorpusFormatError("the <body> must have at least one <segment>", path, elements[body].line)
    return nodes, texts


def read_groups(elements: Sequence[Element], path: Path, repairs: Repairs) -> list[Rs3Node]:
    """Return the groups in the order of the file."""
    groups = []
    for element, _ in _distinct([element for element in elements if element.name == GROUP], path, repairs):
        kind = element.attributes.get("type")
        if kind not in (SPAN_GROUP, MULTINUC_GROUP):
            raise CorpusFormatError(f"the type of a group must be span or multinuc, got {kind}", path, element.line)
        groups.append(_node(element, kind))
    return groups


def _segment_elements(elements: Sequence[Element], body: int, path: Path) -> list[Element]:
    """Return the segments, after checking that there is no text outside them."""
    for element in elements:
        if element.name == SEGMENT and element.parent != "body":
            raise CorpusFormatError(
                f"a segment must be in the <body>, got one in <{element.parent}>", path, element.line
            )
        if element.parent == SEGMENT and element.name != COMMENT:
            raise CorpusFormatError(f"a segment may hold only text, got <{element.name}>", path, element.line)
    for element in elements[body:]:
        if element.name not in (SEGMENT, COMMENT) and element.text:
            raise CorpusFormatError(f"text must be inside a segment, got {element.text[:40]!r}", path, element.line)
    return [element for element in elements if element.name == SEGMENT]


def _distinct(elements: Sequence[Element], path: Path, repairs: Repairs) -> list[tuple[Element, str]]:
    """Return the elements and their texts, without identical copies."""
    kept: dict[tuple[object, ...], tuple[Element, str]] = {}
    for element in elements:
        if "id" not in element.attributes:
            raise CorpusFormatError(f"this {element.name} has no id", path, element.line)
        text = element.text
        if kept.setdefault((text, *sorted(element.attributes.items())), (element, text))[0] is not element:
            repairs.note(f"node {element.attributes['id']}", f"an identical copy of a {element.name}, left out")
    return list(kept.values())


def _node(element: Element, kind: str, edu: int = -1) -> Rs3Node:
    attributes = element.attributes
    parent = attributes.get("parent") or None
    return Rs3Node(attributes["id"], kind, element.line, parent, attributes.get("relname", ""), edu)


def link(nodes: Sequence[Rs3Node], path: Path, repairs: Repairs) -> list[Rs3Node]:
    """Fill in the children and drop empty groups. Return the remaining nodes, parents before children."""
    by_id: dict[str, Rs3Node] = {}
    for node in nodes:
        if by_id.setdefault(node.id, node) is not node:
            first = by_id[node.id].line
            raise CorpusFormatError(f"ids must be unique, but {node} is also in line {first}", path, node.line)
    own_parents = [node for node in nodes if node.parent == node.id and node.kind != SEGMENT]
    for node in own_parents:
        node.parent = None
    for node in nodes:
        if node.parent is not None:
            if node.parent not in by_id:
                raise CorpusFormatError(f"the parent of {node} does not exist: {node.parent!r}", path, node.line)
            by_id[node.parent].children.append(node)
            if not node.relation:
                repairs.note(str(node), "a relation without a name")
    _drop_empty_groups(by_id, repairs)
    for node in own_parents:
        if node.id in by_id:
            repairs.note(str(node), "a group that is its own parent, read as a root")
    return _from_the_top(by_id, path)


def _drop_empty_groups(by_id: dict[str, Rs3Node], repairs: Repairs) -> None:
    pending = [node for node in by_id.values() if node.kind != SEGMENT and not node.children]
    left = {node.id: len(node.children) for node in by_id.values()}
    dropped: set[str] = set()
    while pending:
        node = pending.pop()
        del by_id[node.id]
        dropped.add(node.id)
        repairs.note(str(node), "a group without children, left out")
        parent = by_id.get(node.parent or "")
        if parent is not None:
            left[parent.id] -= 1
            if parent.kind != SEGMENT and not left[parent.id]:
                pending.append(parent)
    if dropped:
        for node in by_id.values():
            node.children = [child for child in node.children if child.id not in dropped]


def _from_the_top(by_id: dict[str, Rs3Node], path: Path) -> list[Rs3Node]:
    pending = [node for node in reversed(by_id.values()) if node.parent is None]
    reached: list[Rs3Node] = []
    while pending:
        node = pending.pop()
        reached.append(node)
        pending.extend(node.children)
    if len(reached) < len(by_id):
        ids = {node.id for node in reached}
        _refuse_cycle(next(node for node in by_id.values() if node.id not in ids), by_id, path)
    return reached


def _refuse_cycle(node: Rs3Node, by_id: dict[str, Rs3Node], path: Path) -> NoReturn:
    chain: dict[str, Rs3Node] = {}
    while node.id not in chain and node.parent is not None:
        chain[node.id] = node
        node = by_id[node.parent]
    names = list(chain)[list(chain).index(node.id) :]
    shown = " → ".join([*names[:5], "…" if len(names) > 5 else node.id])
    raise CorpusFormatError(f"parents must not form a cycle, got node {shown}", path, node.line)
