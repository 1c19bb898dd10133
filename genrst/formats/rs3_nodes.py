"""The nodes of `.rs3` and `.rs4` files, linked and repaired: segments and groups, each with what points to it.

Not here: which of the nodes are nuclei, and the tree (`genrst.formats.rs3_reader`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from genrst.errors import CorpusFormatError
from genrst.formats.rs3_xml import COMMENT, Element, Repairs

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
    """The segments in the order of the file, and their texts."""
    body = next((number for number, element in enumerate(elements) if element.name == "body"), None)
    if body is None:
        raise CorpusFormatError("a file must have a <body>, was: none", path)
    nodes: list[Rs3Node] = []
    texts: list[str] = []
    for element, text in _distinct(_segment_elements(elements, body, path), path, repairs):
        nodes.append(_node(element, SEGMENT, edu=len(nodes)))
        texts.append(text)
        if not text:
            repairs.note(str(nodes[-1]), "a segment without text, kept as an empty EDU")
    if not nodes:
        raise CorpusFormatError("the body must have at least one <segment>, was: none", path, elements[body].line)
    return nodes, texts


def read_groups(elements: Sequence[Element], path: Path, repairs: Repairs) -> list[Rs3Node]:
    """The groups in the order of the file."""
    groups = []
    for element, _ in _distinct([element for element in elements if element.name == GROUP], path, repairs):
        kind = element.attributes.get("type")
        if kind not in (SPAN_GROUP, MULTINUC_GROUP):
            raise CorpusFormatError(f"the type of a group must be span or multinuc, was: {kind}", path, element.line)
        groups.append(_node(element, kind))
    return groups


def _segment_elements(elements: Sequence[Element], body: int, path: Path) -> list[Element]:
    """The segments, after a check that no text stands outside them."""
    for element in elements:
        if element.name == SEGMENT and element.parent != "body":
            raise CorpusFormatError(f"a segment must stand in <body>, was: in <{element.parent}>", path, element.line)
        if element.parent == SEGMENT and element.name != COMMENT:
            raise CorpusFormatError(f"a segment must hold only text, was: <{element.name}>", path, element.line)
    for element in elements[body:]:
        if element.name not in (SEGMENT, COMMENT) and element.text:
            raise CorpusFormatError(f"text must stand in a segment, was: {element.text[:40]!r}", path, element.line)
    return [element for element in elements if element.name == SEGMENT]


def _distinct(elements: Sequence[Element], path: Path, repairs: Repairs) -> list[tuple[Element, str]]:
    """The elements and their texts without identical copies."""
    kept: dict[tuple[object, ...], tuple[Element, str]] = {}
    for element in elements:
        if "id" not in element.attributes:
            raise CorpusFormatError(f"a {element.name} must have an id, was: none", path, element.line)
        text = element.text
        if kept.setdefault((text, *sorted(element.attributes.items())), (element, text))[0] is not element:
            repairs.note(f"node {element.attributes['id']}", f"an identical copy of a {element.name}, left out")
    return list(kept.values())


def _node(element: Element, kind: str, edu: int = -1) -> Rs3Node:
    attributes = element.attributes
    parent = attributes.get("parent") or None
    return Rs3Node(attributes["id"], kind, element.line, parent, attributes.get("relname", ""), edu)


def link(nodes: Sequence[Rs3Node], path: Path, repairs: Repairs) -> list[Rs3Node]:
    """Fill in the children and drop the groups that hold nothing; returns the rest, parents before children."""
    by_id: dict[str, Rs3Node] = {}
    for node in nodes:
        if by_id.setdefault(node.id, node) is not node:
            first = by_id[node.id].line
            raise CorpusFormatError(f"ids must be unique, was: {node}, also in line {first}", path, node.line)
    own_parents = [node for node in nodes if node.parent == node.id and node.kind != SEGMENT]
    for node in own_parents:
        node.parent = None
    for node in nodes:
        if node.parent is not None:
            if node.parent not in by_id:
                raise CorpusFormatError(f"the parent of {node} must exist, was: {node.parent!r}", path, node.line)
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
    raise CorpusFormatError(f"parents must not form a circle, was: node {shown}", path, node.line)
