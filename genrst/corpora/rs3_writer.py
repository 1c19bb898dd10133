"""Writer of `.rs3` and `.rs4` files, as rstWeb reads them.

What these formats cannot express is written as units inside units (`genrst.corpora.rs3_layout`): satellites around
several nuclei of one unit, and satellites between nuclei that would read as nuclei. Everything else reads back equal.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from genrst.corpora.document import Document, SecondaryEdge, Signal
from genrst.corpora.rs3_layout import Layout
from genrst.corpora.rs3_xml import FORBIDDEN
from genrst.errors import CorpusWarning


def write_rs3(document: Document) -> str:
    """The text of an `.rs3` file: relations, segments, groups. Without a tree, segments have no parents."""
    layout = Layout(document.tree, len(document.edus))
    return _file(document, _relations(layout.relations), _nodes(document, layout))


def write_rs4(document: Document) -> str:
    """The text of an `.rs4` file: that of an `.rs3` file, with secondary edges and signals.

    Those between EDUs that are no unit of the tree are left out with a warning: the format has no place for them.
    """
    layout = Layout(document.tree, len(document.edus))
    nodes = layout.ids.keys()
    edges = [edge for edge in document.secondary_edges if {edge.source, edge.target} <= nodes]
    signals = [signal for signal in document.signals if {signal.unit, signal.target or signal.unit} <= nodes]
    n_left_out = len(document.secondary_edges) + len(document.signals) - len(edges) - len(signals)
    if n_left_out:
        message = f"{document.id}: {n_left_out} secondary edges or signals at EDUs that are no unit were left out"
        warnings.warn(CorpusWarning(message), stacklevel=2)
    known = {name for name, _ in layout.relations}
    beside = {(edge.relation, "rst") for edge in edges if edge.relation not in known}
    header = _relations(layout.relations | beside) + _signal_types(signals)
    body = _nodes(document, layout) + _secondary_edges(edges, layout) + _signals(signals, layout)
    return _file(document, header, body)


def _file(document: Document, header: list[str], body: list[str]) -> str:
    lines = ["<rst>", "\t<header>", *header, "\t</header>", "\t<body>", *body, "\t</body>", "</rst>", ""]
    text, n_replaced = FORBIDDEN.subn("\ufffd", "\n".join(lines))
    if n_replaced:
        message = f"{document.id}: {n_replaced} characters that XML does not allow were replaced by U+FFFD"
        warnings.warn(CorpusWarning(message), stacklevel=3)
    return text


def _section(name: str, elements: Iterable[str]) -> list[str]:
    return [f"\t\t<{name}>", *(f"\t{element}" for element in elements), f"\t\t</{name}>"]


def _element(name: str, attributes: Mapping[str, object], text: str | None = None) -> str:
    start = name + "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())
    return f"\t\t<{start}/>" if text is None else f"\t\t<{start}>{escape(text)}</{name}>"


def _relations(relations: set[tuple[str, str]]) -> list[str]:
    return _section("relations", (_element("rel", {"name": name, "type": kind}) for name, kind in sorted(relations)))


def _nodes(document: Document, layout: Layout) -> list[str]:
    def place(number: int) -> dict[str, object]:
        if number not in layout.parents:
            return {}
        parent, relation = layout.parents[number]
        return {"parent": parent, "relname": relation}

    segments = [
        _element("segment", {"id": number, **place(number)}, text) for number, text in enumerate(document.edu_texts, 1)
    ]
    groups = [
        _element("group", {"id": number, "type": kind, **place(number)}) for number, kind in layout.groups.items()
    ]
    return segments + groups


def _signal_types(signals: Sequence[Signal]) -> list[str]:
    subtypes: defaultdict[str, set[str]] = defaultdict(set)
    for signal in signals:
        subtypes[signal.type].add(signal.subtype)
    types = ({"type": kind, "subtypes": ";".join(sorted(names))} for kind, names in sorted(subtypes.items()))
    return _section("sigtypes", (_element("sig", attributes) for attributes in types))


def _secondary_edges(edges: Sequence[SecondaryEdge], layout: Layout) -> list[str]:
    elements = []
    for edge in edges:
        source, target = layout.ids[edge.source], layout.ids[edge.target]
        attributes = {"id": f"{source}-{target}", "source": source, "target": target, "relname": edge.relation}
        elements.append(_element("secedge", attributes))
    return _section("secedges", elements)


def _signals(signals: Sequence[Signal], layout: Layout) -> list[str]:
    elements = []
    for signal in signals:
        source = str(layout.ids[signal.unit])
        if signal.target is not None:
            source += f"-{layout.ids[signal.target]}"
        tokens = ",".join(map(str, signal.tokens))
        attributes = {"source": source, "type": signal.type, "subtype": signal.subtype, "tokens": tokens}
        elements.append(_element("signal", attributes | ({"status": signal.status} if signal.status else {})))
    return _section("signals", elements)
