"""Write `.rs3` and `.rs4` files, following the conventions of rstWeb.

A nucleus with satellites becomes a span group that holds the nucleus, and the satellites point to the nucleus. Several
nuclei become a multinuclear group whose children carry the relation. The formats cannot express satellites around
several nuclei of one unit, nor satellites between nuclei that would be read as nuclei; both are written as nested
units. Characters that XML does not allow, and relations called `span`, are errors. Everything else is read back equal.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import count
from reprlib import repr as shorten

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import UsageError
from genrst.formats.plain import edu_lines
from genrst.formats.rs3_kept import Attributes, Kept, describe, node_names
from genrst.formats.rs3_nodes import FORBIDDEN, GROUP, MULTINUC_GROUP, SPAN_GROUP
from genrst.formats.signals import layers_at
from genrst.trees.binarise import attach_inner_satellites
from genrst.trees.node import SPAN, Tree, Unit, fold, units
from genrst.trees.relations import detect_inventory


def write_rs3(document: Document) -> str:
    """Return the text of an `.rs3` file: relations, segments, groups. Without a tree, segments have no parents."""
    numbering = Numbering(document, Kept.of(document))
    return _file(document, _relations(numbering, numbering.declared), _nodes(document, numbering, ".rs3"), ".rs3")


def write_rs4(document: Document) -> str:
    """Return the text of an `.rs4` file: an `.rs3` file with secondary edges and signals.

    Edges and signals whose EDUs do not form a unit, and signals of missing edges, are left out with a warning. As in
    rstWeb, words are separated by white space.
    """
    numbering = Numbering(document, Kept.of(document))
    nodes = numbering.ids.keys() if document.tree is not None else set()
    edges, signals = layers_at(document, nodes, has_signs=True)
    known = {name for name, _ in numbering.declared}
    beside = {(edge.relation, "rst") for edge in edges if edge.relation not in known}
    types = signal_types(signals, numbering.kept.signal_types)
    sigtypes = _section("sigtypes", (_element("sig", {"type": kind, "subtypes": names}) for kind, names in types))
    header = _relations(numbering, numbering.declared | beside) + sigtypes
    body = _nodes(document, numbering, ".rs4") + _secondary_edges(edges, numbering) + _signals(signals, numbering)
    return _file(document, header, body, ".rs4")


def _file(document: Document, header: list[str], body: list[str], suffix: str) -> str:
    kept = Kept.of(document)
    header, body = _foreign(kept, "header") + header, body + _foreign(kept, "body")
    lines = ["<rst>", "\t<header>", *header, "\t</header>", "\t<body>", *body, "\t</body>", "</rst>", ""]
    text = "\n".join(lines)
    if found := FORBIDDEN.search(text):
        rule = f"{suffix} files cannot hold the character U+{ord(found[0]):04X}"
        raise UsageError(f"{document.id}: {rule}, which XML does not allow")
    return text


def _section(name: str, elements: Iterable[str]) -> list[str]:
    return [f"\t\t<{name}>", *(f"\t{element}" for element in elements), f"\t\t</{name}>"]


def _element(name: str, attributes: Mapping[str, object], text: str | None = None) -> str:
    from xml.sax.saxutils import escape, quoteattr  # imported here because it loads much of the standard library

    start = name + "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())
    return f"\t\t<{start}/>" if text is None else f"\t\t<{start}>{escape(text)}</{name}>"


def _relations(numbering: "Numbering", relations: set[tuple[str, str]]) -> list[str]:
    """Return the relations for the header, in the order of the original file if there was one."""
    kept = {(name, kind): attributes for name, kind, attributes in numbering.kept.relations}
    rows = [*kept.items(), *((relation, {}) for relation in sorted(relations - kept.keys()))]
    return _section(
        "relations", (_element("rel", {"name": name, "type": kind, **others}) for (name, kind), others in rows)
    )


def _foreign(kept: Kept, section: str) -> list[str]:
    """Return the kept comments and unknown elements of a section."""
    found = [(name, attributes, text) for place, name, attributes, text in kept.elements if place == section]
    return [
        _element(name, attributes, text or None) if name else f"\t\t<!-- {text.replace('--', '- -')} -->"
        for name, attributes, text in found
    ]


def _nodes(document: Document, numbering: "Numbering", suffix: str) -> list[str]:
    """Return the segments, then the groups in the order of the original file."""

    def attributes(number: int, kind: dict[str, object]) -> dict[str, object]:
        parent, relation = numbering.parents.get(number, (None, ""))
        place = {} if parent is None else {"parent": numbering.name(parent), "relname": relation}
        return {"id": numbering.name(number), **kind, **place, **numbering.others(number)}

    segments = [
        _element("segment", attributes(number, {}), text) for number, text in enumerate(edu_lines(document, suffix), 1)
    ]
    order = {name: place for place, (_, _, name, _) in enumerate(numbering.kept.groups)}
    groups = [
        _element(GROUP, attributes(number, {"type": numbering.groups[number]}))
        for number in sorted(numbering.groups, key=lambda number: order.get(numbering.name(number), len(order)))
    ]
    return segments + groups


def signal_types(signals: Sequence[Signal], kept: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the signal types with their subtypes, joined by semicolons: those of the original file, then new ones."""
    subtypes = dict(kept)
    for kind, name in sorted({(signal.type, signal.subtype) for signal in signals}):
        known = subtypes.get(kind)
        if known is None:
            subtypes[kind] = name
        elif f";{name};" not in f";{known};":  # a name may contain semicolons itself
            subtypes[kind] = f"{known};{name}"
    return list(subtypes.items())


def _secondary_edges(edges: Sequence[SecondaryEdge], numbering: "Numbering") -> list[str]:
    elements = []
    for edge in edges:
        source, target = (numbering.name(numbering.ids[unit]) for unit in (edge.source, edge.target))
        attributes = {"id": f"{source}-{target}", "source": source, "target": target, "relname": edge.relation}
        elements.append(numbering.layer("secedge", attributes))
    return _section("secedges", elements)


def _signals(signals: Sequence[Signal], numbering: "Numbering") -> list[str]:
    elements = []
    for signal in signals:
        source = numbering.name(numbering.ids[signal.unit])
        if signal.target is not None:
            source += f"-{numbering.name(numbering.ids[signal.target])}"
        tokens = ",".join(map(str, signal.tokens))
        attributes = {"source": source, "type": signal.type, "subtype": signal.subtype, "tokens": tokens}
        elements.append(numbering.layer("signal", attributes | ({"status": signal.status} if signal.status else {})))
    return _section("signals", elements)


class Numbering:
    """The numbered nodes of a file: EDUs from 1, then groups.

    `ids` maps the EDUs (start, stop) of every unit to its node, `groups` every group to its type, and `parents` every
    node except the root to its parent and relation. `relations` are the relations of the tree with their types,
    `declared` those of the header. `names` maps every node to its id and other attributes in the file.
    """

    def __init__(self, document: Document, kept: Kept) -> None:
        tree = document.tree
        self.kept = kept
        self.ids = {(edu, edu + 1): edu + 1 for edu in range(len(document.edus))}
        self.groups: dict[int, str] = {}
        self.parents: dict[int, tuple[int, str]] = {}
        self.relations: set[tuple[str, str]] = set()
        if tree is not None:
            _check_spans(tree, document.id)
            self.relations = set(_relations_of(tree))
        self.declared = self.relations | _menu(self.relations, kept)
        if tree is not None:
            self._multinuclear = {name for name, kind in self.declared if kind == MULTINUC_GROUP}
            self._place(fold(tree, lambda leaf: leaf, partial(_expressible, self._multinuclear)))
        self._numbers = [*range(1, len(document.edus) + 1), *self.groups]
        self.names = node_names(kept, self.ids, self._numbers)

    def named(self, kept: Kept) -> "Numbering":
        """Return the same nodes with the ids of a file."""
        result = copy(self)
        result.kept, result.names = kept, node_names(kept, self.ids, self._numbers)
        return result

    def name(self, number: int) -> str:
        """Return the id of a node in the file."""
        return self.names[number][0]

    def others(self, number: int) -> dict[str, str]:
        """Return the other attributes of a node in the file."""
        return self.names[number][1]

    def segments(self) -> list[tuple[str, Attributes]]:
        """Return the ids and other attributes of the EDUs in the file."""
        return [self.names[number] for (start, stop), number in self.ids.items() if stop == start + 1]

    def unit_groups(self) -> list[tuple[int, int, str, Attributes]]:
        """Return the EDUs (start, stop) of the groups around units, with their ids and other attributes in the file."""
        return [(*place, *self.names[number]) for place, number in self.ids.items() if number in self.groups]

    def layer(self, element: str, attributes: dict[str, str]) -> str:
        """Return the element of a secondary edge or signal, with its other attributes in the file."""
        return _element(element, attributes | dict(self.kept.attributes).get(describe(element, attributes), {}))

    def _place(self, tree: Tree) -> None:
        numbers = count(len(self.ids) + 1)
        for unit in units(tree):
            self.ids[unit.start, unit.stop] = number = next(numbers)
            self.groups[number] = SPAN_GROUP if unit.nuclearity.count("N") == 1 else MULTINUC_GROUP
        for unit in units(tree):
            if unit.nuclearity.count("N") == 1:
                self._place_span(unit, numbers)
            else:
                self._point_to(self.ids[unit.start, unit.stop], unit, "NS")

    def _place_span(self, unit: Unit, numbers: Iterator[int]) -> None:
        nucleus = unit.children[unit.nuclearity.index("N")]
        group, target = self.ids[unit.start, unit.stop], self.ids[nucleus.start, nucleus.stop]
        if self.groups.get(target) == MULTINUC_GROUP and self._multinuclear.intersection(unit.relations):
            # Without a group in between, this satellite would be read as another nucleus of the multinuclear group.
            between = next(numbers)
            self.groups[between] = SPAN_GROUP
            self.parents[target] = between, SPAN
            target = between
        self.parents[target] = group, SPAN
        self._point_to(target, unit, "S")

    def _point_to(self, target: int, unit: Unit, letters: str) -> None:
        for letter, relation, child in zip(unit.nuclearity, unit.relations, unit.children, strict=True):
            if letter in letters:
                self.parents[self.ids[child.start, child.stop]] = target, relation


def _menu(relations: set[tuple[str, str]], kept: Kept) -> set[tuple[str, str]]:
    """Return the relations for the menus of rstWeb: those of the original file, or all of an inventory.

    rstWeb builds its menus from the header, and needs at least one multinuclear relation there.
    """
    menu = {(name, kind) for name, kind, _ in kept.relations}
    if not menu:
        used = {name.lower() for name, _ in relations}
        inventory = detect_inventory(used)
        is_fine = any(name in inventory.relations and name not in inventory.coarse_relations for name in used)
        menu = {
            (one.name if is_fine else one.coarse, kind) for one in inventory.relations.values() for kind in one.kinds
        }
    if not any(kind == MULTINUC_GROUP for _, kind in menu | relations):
        menu |= {("joint", MULTINUC_GROUP)}
    return menu


def _check_spans(tree: Tree, document_id: str) -> None:
    for unit in units(tree):
        for letter, relation in zip(unit.nuclearity, unit.relations, strict=True):
            is_lone_nucleus = letter == "N" and unit.nuclearity.count("N") == 1
            if is_lone_nucleus != (relation == SPAN):
                rule = "to be written as .rs3 or .rs4, a lone nucleus, and nothing else, must be called span"
                raise UsageError(f"{document_id}: {rule}, got {shorten(relation)} in a unit {unit.nuclearity[:20]}")


def _relations_of(tree: Tree) -> Iterator[tuple[str, str]]:
    for unit in units(tree):
        is_shared = unit.nuclearity.count("N") > 1
        for letter, relation in zip(unit.nuclearity, unit.relations, strict=True):
            if letter == "S":
                yield relation, "rst"
            elif is_shared:
                yield relation, MULTINUC_GROUP


def _expressible(multinuclear: set[str], unit: Unit, children: list[Tree]) -> Tree:
    """Return an equivalent unit that the format can express.

    If there are satellites around several nuclei, the nuclei become a unit of their own. Satellites between nuclei
    stay, unless they would be read as nuclei because their relation joins nuclei elsewhere: then each attaches to the
    nucleus on its left, as in `genrst.trees.binarise`.
    """
    letters, relations = unit.nuclearity, unit.relations
    first, stop = letters.index("N"), letters.rindex("N") + 1
    core = children[first]
    if stop - first > 1:
        core = _join_nuclei(multinuclear, letters[first:stop], relations[first:stop], children[first:stop])
    if stop - first == len(letters):
        return core
    return Unit.from_relations(
        (*relations[:first], SPAN, *relations[stop:]),
        f"{letters[:first]}N{letters[stop:]}",
        (*children[:first], core, *children[stop:]),
    )


def _join_nuclei(multinuclear: set[str], letters: str, relations: Sequence[str], children: Sequence[Tree]) -> Tree:
    if any(letter == "S" and relation in multinuclear for letter, relation in zip(letters, relations, strict=True)):
        relations, children = attach_inner_satellites(letters, relations, children)
        letters = "N" * len(children)
    return Unit.from_relations(relations, letters, children)
