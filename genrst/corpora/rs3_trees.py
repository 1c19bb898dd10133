"""Linked nodes of `.rs3` files to trees: who is a nucleus, what is one unit, where roots meet.

A node stands for its core (the EDU of a segment, the nucleus of a span group, the nuclei of a multinuclear group)
with the satellites that point to it around that core, all in one n-ary unit. A unit inside a unit therefore needs a
group around it, and groups that hold a lone nucleus leave no trace.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from genrst.corpora.rs3_nodes import MULTINUC_GROUP, SEGMENT, SPAN_GROUP, Node
from genrst.corpora.rs3_xml import Element, Repairs
from genrst.errors import CorpusFormatError
from genrst.trees.node import SPAN, Leaf, Tree, Unit

VIRTUAL_ROOT = "virtual-root"
"""The relation between roots that a reader was asked to join."""

JOINT = "joint"
"""The relation of nuclei that stand side by side in a file without a relation."""

Roots: TypeAlias = Literal["error", "join"]


class Part(NamedTuple):
    """A child of a unit to be."""

    node: Node
    tree: Tree
    letter: str
    relation: str

    def __str__(self) -> str:
        return f"{self.node} (EDUs {self.tree.start}–{self.tree.stop - 1})"


def multinuclear_relations(elements: Sequence[Element], nodes: Sequence[Node]) -> set[str]:
    """The relations that make nuclei below a multinuclear group.

    Those are the ones that the header declares so, if also for satellites, and of those that it does not mention the
    ones that only occur there.
    """
    declared: dict[str, set[str]] = {}
    for element in elements:
        if element.name == "rel":
            declared.setdefault(element.attributes.get("name", ""), set()).add(element.attributes.get("type", ""))
    inside: set[str] = set()
    outside: set[str] = set()
    for node in nodes:
        relations = {child.relation for child in node.children}
        (inside if node.kind == MULTINUC_GROUP else outside).update(relations)
    declared_so = {name for name, types in declared.items() if "multinuc" in types}
    return (declared_so | (inside - outside - declared.keys())) - {SPAN}


class TreeBuilder:
    """Builds the tree of one file, and then knows the EDUs (start, stop) of every node."""

    def __init__(self, multinuclear: set[str], path: Path, repairs: Repairs) -> None:
        self.ranges: dict[str, tuple[int, int]] = {}
        self._multinuclear = multinuclear
        self._path = path
        self._repairs = repairs

    def build(self, nodes: Sequence[Node], roots: Roots) -> Tree:
        """The tree over nodes that come from the top down."""
        tops = [node for node in nodes if node.parent is None]
        if len(tops) > 1 and roots == "error":
            names = ", ".join(node.id for node in tops[:10]) + (", …" if len(tops) > 10 else "")
            message = f"a tree must have one root, was: {len(tops)} unattached units: nodes {names}"
            raise CorpusFormatError(message, self._path, tops[1].line)
        trees: dict[str, Tree] = {}
        for node in reversed(nodes):
            trees[node.id] = self._tree(node, trees)
        if len(tops) == 1:
            return trees[tops[0].id]
        return self._unit([Part(node, trees[node.id], "N", VIRTUAL_ROOT) for node in tops])

    def _tree(self, node: Node, trees: dict[str, Tree]) -> Tree:
        """The core of a node and, around it, the satellites that point to the node."""
        nuclei = self._nuclei(node)
        chosen = {child.id for child in nuclei}
        satellites = [
            Part(child, trees[child.id], "S", child.relation) for child in node.children if child.id not in chosen
        ]
        if node.kind == SEGMENT:
            core: Tree = Leaf(node.edu)
        elif len(nuclei) == 1:
            core = trees[nuclei[0].id]
        else:
            core, satellites = self._multinuclear_core(nuclei, satellites, trees)
        tree = self._unit([Part(node, core, "N", SPAN), *satellites]) if satellites else core
        # A nucleus stands for itself in secondary edges and signals: with its satellites it is the group around it.
        named = core if node.parent is None or node.relation == SPAN else tree
        self.ranges[node.id] = named.start, named.stop
        return tree

    def _nuclei(self, node: Node) -> list[Node]:
        spans = [child for child in node.children if child.relation == SPAN]
        if node.kind == SEGMENT:
            if spans:
                message = f"a segment must hold no nucleus, was: {spans[0]} with relname span under {node}"
                raise CorpusFormatError(message, self._path, spans[0].line)
            return []
        named = [child for child in node.children if child.relation in self._multinuclear]
        if node.kind == SPAN_GROUP:
            return self._span_nuclei(node, spans, named)
        return self._multinuc_nuclei(node, spans + named)

    def _span_nuclei(self, node: Node, spans: list[Node], named: list[Node]) -> list[Node]:
        if not spans and not named:
            raise CorpusFormatError(f"a span group must hold a nucleus, was: {node} without", self._path, node.line)
        if not spans:
            self._repairs.note(str(node), "a span group with multinuclear children, read as multinuclear")
        elif len(spans) > 1:
            self._repairs.note(str(node), f"a span group with several nuclei, read as {JOINT}")
        return spans or named

    def _multinuc_nuclei(self, node: Node, nuclei: list[Node]) -> list[Node]:
        if not nuclei:
            self._repairs.note(str(node), "a multinuclear group with satellites only, read as nuclei")
            nuclei = node.children
        if len(nuclei) == 1:
            self._repairs.note(str(node), "a multinuclear group with one nucleus, read as that nucleus")
        return nuclei

    def _multinuclear_core(
        self, nuclei: list[Node], satellites: list[Part], trees: dict[str, Tree]
    ) -> tuple[Tree, list[Part]]:
        """The unit of the nuclei, with the satellites that stand between them; and the satellites that do not."""
        shared = next((child.relation for child in nuclei if child.relation != SPAN), JOINT)
        parts = [
            Part(child, trees[child.id], "N", shared if child.relation == SPAN else child.relation) for child in nuclei
        ]
        start = min(part.tree.start for part in parts)
        stop = max(part.tree.stop for part in parts)
        between = [part for part in satellites if start < part.tree.start < stop]
        around = [part for part in satellites if not start < part.tree.start < stop]
        return self._unit(parts + between), around

    def _unit(self, parts: list[Part]) -> Unit:
        parts = sorted(parts, key=lambda part: part.tree.start)
        for left, right in pairwise(parts):
            if left.tree.stop != right.tree.start:
                message = f"units must not interleave or leave gaps, was: {left} followed by {right}"
                raise CorpusFormatError(message, self._path, right.node.line)
        return Unit.from_relations(
            [part.relation for part in parts],
            "".join(part.letter for part in parts),
            [part.tree for part in parts],
        )
