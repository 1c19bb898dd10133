"""Read `.rs3` and `.rs4` files from RSTTool, rstWeb and the corpora made with them.

`genrst.formats.rs3_nodes` reads the XML and links the nodes; this module builds the tree. A node has a core (the EDU of
a segment, the nucleus of a span group, the nuclei of a multinuclear group) and satellites that point to it; core and
satellites form one n-ary unit. A nested unit therefore needs a group around it, and groups with a lone nucleus
disappear. The secondary edges and signals of `.rs4` files refer to nodes, which become ranges of EDUs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import CorpusFormatError
from genrst.formats.rs3_kept import Attributes, Kept, describe, foreign_elements, unknown
from genrst.formats.rs3_nodes import (
    GROUP,
    MULTINUC_GROUP,
    SEGMENT,
    Element,
    Repairs,
    Rs3Node,
    link,
    parse_xml,
    read_groups,
    read_segments,
)
from genrst.formats.rs3_writer import Numbering, signal_types
from genrst.trees.node import JOINT, SPAN, Leaf, Tree, Unit

VIRTUAL_ROOT = "virtual-root"
"""The relation that joins several roots."""

Roots: TypeAlias = Literal["error", "join"]
_Range: TypeAlias = tuple[int, int]

_NUMBER = re.compile("[0-9]{1,9}")


def read_rs3(content: bytes, path: Path, *, roots: Roots = "error", with_tree: bool = True) -> Document:
    """Read an `.rs3` or `.rs4` file from its bytes. The path appears in messages.

    The tree is None if no node has a parent. With `with_tree=False`, the tree is None too, and only the segments are
    read. Several roots are an error, unless `roots` is `join`: then they become the nuclei of a `virtual-root`.
    """
    repairs = Repairs(path)
    elements = parse_xml(content, path, repairs)
    segments, texts = read_segments(elements, path, repairs)
    document = Document.from_edus(path.stem, texts)
    if with_tree:
        nodes = link(segments + read_groups(elements, path, repairs), path, repairs)
        builder = _TreeBuilder(_multinuclear_relations(elements, nodes), path, repairs)
        is_segmented_only = len(nodes) > 1 and all(node.parent is None for node in nodes)
        tree = None if is_segmented_only else builder.build(nodes, roots)
        edges, signals = _read_layers(elements, builder.ranges, repairs)
        document = replace(document, tree=tree, secondary_edges=edges, signals=signals)
        document = replace(document, metadata=_keep(document, elements, builder.ranges).metadata())
    else:
        kept = _keep(document, elements, {})
        document = replace(document, metadata=Kept(kept.segments, elements=kept.elements).metadata())
    repairs.warn()
    return document


def _keep(document: Document, elements: Sequence[Element], ranges: dict[str, _Range]) -> Kept:
    """Return the parts of the file that are not in the document and that genrst would not write anyway."""
    plain = Numbering(document, Kept())
    kept = Kept(elements=foreign_elements(elements))
    kept.segments, kept.groups = _names(elements, ranges, plain)
    # Where the file has no id, use the one that will be written, so that both files read the same.
    ours = plain.named(kept)
    known = {(start, stop) for start, stop, _, _ in kept.groups}
    kept.segments = ours.segments()
    kept.groups += [one for one in ours.unit_groups() if one[:2] not in known]
    if (kept.segments, kept.groups) == (plain.segments(), plain.unit_groups()):
        kept.segments, kept.groups = [], []
    relations = [element for element in elements if element.name == "rel"]
    declared = [(one.attributes.get("name", ""), one.attributes.get("type", ""), unknown(one)) for one in relations]
    beside = {(edge.relation, "rst") for edge in document.secondary_edges}
    if {(name, kind) for name, kind, _ in declared} - beside != plain.declared - beside or any(map(unknown, relations)):
        kept.relations = declared
    types = [(one["type"], one.get("subtypes", "")) for one in _attributes(elements, "sig") if "type" in one]
    types = signal_types(document.signals, types)
    kept.signal_types = types if types != signal_types(document.signals, []) else []
    layers = [element for element in elements if element.name in ("secedge", "signal") and unknown(element)]
    kept.attributes = [(describe(one.name, one.attributes), unknown(one)) for one in layers]
    return kept


def _names(
    elements: Sequence[Element], ranges: dict[str, _Range], plain: Numbering
) -> tuple[list[tuple[str, Attributes]], list[tuple[int, int, str, Attributes]]]:
    """Return the segments and the groups around units; if there are several around the same unit, the first one."""
    segments = [(one.attributes.get("id", ""), unknown(one)) for one in elements if one.name == SEGMENT]
    groups: dict[_Range, tuple[str, Attributes]] = {}
    for element in elements:
        name = element.attributes.get("id", "")
        start, stop = ranges.get(name, (0, 0))
        if element.name == GROUP and stop > start + 1 and (start, stop) in plain.ids:
            groups.setdefault((start, stop), (name, unknown(element)))
    return segments, [(*place, *named) for place, named in groups.items()]


def _multinuclear_relations(elements: Sequence[Element], nodes: Sequence[Rs3Node]) -> set[str]:
    """Return the relations that join the nuclei of multinuclear groups.

    These are all relations that the header declares as multinuclear, even if it also declares them for satellites, and
    the undeclared relations that occur only in multinuclear groups.
    """
    declared: dict[str, set[str]] = {}
    for attributes in _attributes(elements, "rel"):
        declared.setdefault(attributes.get("name", ""), set()).add(attributes.get("type", ""))
    inside: set[str] = set()
    outside: set[str] = set()
    for node in nodes:
        relations = {child.relation for child in node.children}
        (inside if node.kind == MULTINUC_GROUP else outside).update(relations)
    multinuclear = {name for name, types in declared.items() if "multinuc" in types}
    return (multinuclear | (inside - outside - declared.keys())) - {SPAN}


class _Part(NamedTuple):
    """A child of a unit under construction."""

    node: Rs3Node
    tree: Tree
    letter: str
    relation: str

    def __str__(self) -> str:
        return f"{self.node} (EDUs {self.tree.start}–{self.tree.stop - 1})"


class _TreeBuilder:
    """Builds the tree of one file, and records the EDUs (start, stop) of every node."""

    def __init__(self, multinuclear: set[str], path: Path, repairs: Repairs) -> None:
        self.ranges: dict[str, _Range] = {}
        self._multinuclear = multinuclear
        self._path = path
        self._repairs = repairs

    def build(self, nodes: Sequence[Rs3Node], roots: Roots) -> Tree:
        """Build the tree over the nodes, which are given parents first."""
        tops = [node for node in nodes if node.parent is None]
        if len(tops) > 1 and roots == "error":
            names = ", ".join(node.id for node in tops[:10]) + (", …" if len(tops) > 10 else "")
            message = f"a tree must have one root, got {len(tops)} unattached units: nodes {names}"
            hint = '--roots join (in Python roots="join") joins them'
            raise CorpusFormatError(f"{message}; {hint}", self._path, tops[1].line)
        trees: dict[str, Tree] = {}
        for node in reversed(nodes):
            trees[node.id] = self._tree(node, trees)
        if len(tops) == 1:
            return trees[tops[0].id]
        return self._unit([_Part(node, trees[node.id], "N", VIRTUAL_ROOT) for node in tops])

    def _tree(self, node: Rs3Node, trees: dict[str, Tree]) -> Tree:
        """Return the core of a node, with the satellites that point to the node around it."""
        nuclei = self._nuclei(node)
        chosen = {child.id for child in nuclei}
        satellites = [
            _Part(child, trees[child.id], "S", child.relation) for child in node.children if child.id not in chosen
        ]
        if node.kind == SEGMENT:
            core: Tree = Leaf(node.edu)
        elif len(nuclei) == 1:
            core = trees[nuclei[0].id]
        else:
            core, satellites = self._multinuclear_core(nuclei, satellites, trees)
        tree = self._unit([_Part(node, core, "N", SPAN), *satellites]) if satellites else core
        # In secondary edges and signals, a nucleus stands for itself, and the group around it includes its satellites.
        named = core if node.parent is None or node.relation == SPAN else tree
        self.ranges[node.id] = named.start, named.stop
        return tree

    def _nuclei(self, node: Rs3Node) -> list[Rs3Node]:
        """Return the children that are nuclei, after repairs."""
        spans = [child for child in node.children if child.relation == SPAN]
        if node.kind == SEGMENT:
            if spans:
                message = f"a segment must not contain a nucleus, got {spans[0]} with relname span under {node}"
                raise CorpusFormatError(message, self._path, spans[0].line)
            return []
        named = [child for child in node.children if child.relation in self._multinuclear]
        if node.kind == MULTINUC_GROUP:
            return self._multinuc_nuclei(node, spans + named)
        if not spans and not named:
            raise CorpusFormatError(f"a span group must contain a nucleus, but {node} has none", self._path, node.line)
        if not spans:
            self._repairs.note(str(node), "a span group with multinuclear children, read as multinuclear")
        elif len(spans) > 1:
            self._repairs.note(str(node), f"a span group with several nuclei, read as {JOINT}")
        return spans or named

    def _multinuc_nuclei(self, node: Rs3Node, nuclei: list[Rs3Node]) -> list[Rs3Node]:
        if not nuclei:
            self._repairs.note(str(node), "a multinuclear group with satellites only, read as nuclei")
            nuclei = node.children
        if len(nuclei) == 1:
            self._repairs.note(str(node), "a multinuclear group with one nucleus, read as that nucleus")
        return nuclei

    def _multinuclear_core(
        self, nuclei: list[Rs3Node], satellites: list[_Part], trees: dict[str, Tree]
    ) -> tuple[Tree, list[_Part]]:
        """Return the unit of the nuclei, including satellites between them, and the satellites around it."""
        shared = next((child.relation for child in nuclei if child.relation != SPAN), JOINT)
        parts = [
            _Part(child, trees[child.id], "N", shared if child.relation == SPAN else child.relation) for child in nuclei
        ]
        start = min(part.tree.start for part in parts)
        stop = max(part.tree.stop for part in parts)
        between = [part for part in satellites if start < part.tree.start < stop]
        around = [part for part in satellites if not start < part.tree.start < stop]
        return self._unit(parts + between), around

    def _unit(self, parts: list[_Part]) -> Unit:
        parts = sorted(parts, key=lambda part: part.tree.start)
        for left, right in pairwise(parts):
            if left.tree.stop != right.tree.start:
                message = f"units must not interleave or leave gaps, got {left} followed by {right}"
                raise CorpusFormatError(message, self._path, right.node.line)
        return Unit.from_relations(
            [part.relation for part in parts],
            "".join(part.letter for part in parts),
            [part.tree for part in parts],
        )


def _read_layers(
    elements: Sequence[Element], ranges: dict[str, _Range], repairs: Repairs
) -> tuple[tuple[SecondaryEdge, ...], tuple[Signal, ...]]:
    """Read the secondary edges and signals of a file. Those that refer to unknown nodes are left out."""
    edges: list[SecondaryEdge] = []
    edge_by_id: dict[str, SecondaryEdge] = {}
    for attributes in _attributes(elements, "secedge"):
        source, target = attributes.get("source", ""), attributes.get("target", "")
        if source in ranges and target in ranges:
            edges.append(SecondaryEdge(ranges[source], ranges[target], attributes.get("relname", "")))
            edge_by_id[attributes.get("id", f"{source}-{target}")] = edges[-1]
        else:
            repairs.note(f"node {source}-{target}", "a secondary edge between unknown nodes, left out")
    signals = []
    for attributes in _attributes(elements, "signal"):
        signal = _signal(attributes, ranges, edge_by_id)
        if signal is not None:
            signals.append(signal)
        else:
            place = f"node {attributes.get('source', '')}"
            repairs.note(place, "a signal of an unknown node or with wrong token numbers, left out")
    return tuple(edges), tuple(signals)


def _attributes(elements: Sequence[Element], name: str) -> Iterator[dict[str, str]]:
    return (element.attributes for element in elements if element.name == name)


def _signal(attributes: dict[str, str], ranges: dict[str, _Range], edges: dict[str, SecondaryEdge]) -> Signal | None:
    source = attributes.get("source", "")
    tokens = attributes.get("tokens", "").replace(",", " ").split()
    edge = None if source in ranges else edges.get(source)
    unit = edge.source if edge is not None else ranges.get(source)
    if unit is None or not all(map(_NUMBER.fullmatch, tokens)):
        return None
    return Signal(
        unit,
        attributes.get("type", ""),
        attributes.get("subtype", ""),
        tuple(map(int, tokens)),
        attributes.get("status", ""),
        edge.target if edge is not None else None,
    )
