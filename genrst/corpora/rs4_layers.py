"""What `.rs4` files say beside the tree: secondary edges and signals, between nodes given as ranges of EDUs."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from genrst.corpora.document import SecondaryEdge, Signal
from genrst.corpora.rs3_xml import Element, Repairs

Range: TypeAlias = tuple[int, int]

_NUMBER = re.compile("[0-9]{1,9}")


def read_layers(
    elements: Sequence[Element], ranges: dict[str, Range], repairs: Repairs
) -> tuple[tuple[SecondaryEdge, ...], tuple[Signal, ...]]:
    """The secondary edges and the signals of a file; those that name unknown nodes are left out."""
    edges: list[SecondaryEdge] = []
    edge_by_id: dict[str, SecondaryEdge] = {}
    for element in _named(elements, "secedge"):
        ids = element.get("source", ""), element.get("target", "")
        if ids[0] in ranges and ids[1] in ranges:
            edges.append(SecondaryEdge(ranges[ids[0]], ranges[ids[1]], element.get("relname", "")))
            edge_by_id[element.get("id", "-".join(ids))] = edges[-1]
        else:
            repairs.note(f"node {'-'.join(ids)}", "a secondary edge between unknown nodes, left out")
    signals = []
    for element in _named(elements, "signal"):
        signal = _signal(element, ranges, edge_by_id)
        if signal is not None:
            signals.append(signal)
        else:
            place = f"node {element.get('source', '')}"
            repairs.note(place, "a signal of an unknown node or with wrong token numbers, left out")
    return tuple(edges), tuple(signals)


def _named(elements: Sequence[Element], name: str) -> Iterator[dict[str, str]]:
    return (element.attributes for element in elements if element.name == name)


def _signal(attributes: dict[str, str], ranges: dict[str, Range], edges: dict[str, SecondaryEdge]) -> Signal | None:
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
