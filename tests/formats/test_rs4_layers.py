"""Secondary edges and signals: nodes become ranges of EDUs and nodes again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import CorpusWarning
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.node import preorder
from tests.formats.rs3_files import PATH, group, read, segment
from tests.strategies import nary_trees

# EDU 0 is the nucleus of group 5 (EDUs 0 and 1), which is in a list with EDU 2, the nucleus of EDU 3 without a group.
BODY = [
    *(segment(1, 5, "span"), segment(2, 1, "elaboration"), segment(3, 6, "list"), segment(4, 3, "elaboration")),
    *(group(5, "span", 6, "list"), group(6, "multinuc")),
]


def edge(source: str, target: str) -> str:
    return f'<secedge id="{source}-{target}" source="{source}" target="{target}" relname="cause"/>'


def signal(source: str, tokens: str = "") -> str:
    return f'<signal source="{source}" type="dm" subtype="but" tokens="{tokens}"/>'


def test_secondary_edges():
    document = read(*BODY, "<secedges>", edge("1", "5"), edge("3", "6"), "</secedges>")
    assert document.secondary_edges == (
        SecondaryEdge((0, 1), (0, 2), "cause"),
        SecondaryEdge((2, 4), (0, 4), "cause"),
    )


def test_signals():
    status = '<signal source="2" type="a" subtype="b" tokens="" status="gold"/>'
    layers = [edge("2", "5"), "<signals>", signal("5", "1,20"), status, signal("2-5", "3"), "</signals>"]
    document = read(*BODY, *layers)
    assert document.signals == (
        Signal((0, 2), "dm", "but", (1, 20)),
        Signal((1, 2), "a", "b", (), "gold"),
        Signal((1, 2), "dm", "but", (3,), target=(0, 2)),
    )


@pytest.mark.parametrize("broken", [signal("9"), signal("1-9"), signal("1", "x"), signal("1", "9" * 5000), "<signal/>"])
def test_unusable_signal_is_left_out(broken: str):
    with pytest.warns(CorpusWarning, match="a signal of an unknown node or with wrong token numbers, left out"):
        document = read(*BODY, broken, signal("2"))
    assert document.signals == (Signal((1, 2), "dm", "but"),)


def test_unusable_edge_is_left_out():
    with pytest.warns(CorpusWarning, match="node 1-9: a secondary edge between unknown nodes, left out"):
        document = read(*BODY, edge("1", "9"), edge("1", "2"))
    assert document.secondary_edges == (SecondaryEdge((0, 1), (1, 2), "cause"),)


def test_without_tree_nothing_is_read():
    document = read(*BODY, edge("1", "9"), signal("9"), with_tree=False)
    assert not document.secondary_edges
    assert not document.signals


@st.composite
def annotated_documents(draw: st.DrawFn) -> Document:
    """A document with signals and secondary edges between any of its nodes."""
    tree = draw(nary_trees())
    places = st.sampled_from([(node.start, node.stop) for node in preorder(tree)])
    names = st.sampled_from(["dm", "<&>", "", "two words"])
    edges = draw(st.lists(st.builds(SecondaryEdge, places, places, names), max_size=4))
    tokens = st.lists(st.integers(0, 99), max_size=3).map(tuple)
    signals = draw(st.lists(st.builds(Signal, places, names, names, tokens, names), max_size=4))
    if edges:
        of_edge = draw(st.sampled_from(edges))
        signals.append(Signal(of_edge.source, "dm", "but", (1,), "", of_edge.target))
    document = Document.from_edus("sample", [f"edu {edu}" for edu in range(tree.stop)], tree)
    return replace(document, secondary_edges=tuple(edges), signals=tuple(signals))


@given(annotated_documents())
def test_round_trip(document: Document):
    assert read_rs3(write_rs4(document).encode(), PATH) == document
    assert "signal" not in write_rs3(document)


def test_header_lists_types_of_signals_and_relations_of_edges():
    document = read(*BODY, edge("1", "2"), signal("1"), signal("2"), '<signal source="2" type="dm" subtype="and"/>')
    text = write_rs4(document)
    assert '<sig type="dm" subtypes="and;but"/>' in text
    assert '<rel name="cause" type="rst"/>' in text


def test_ranges_that_are_no_unit_are_left_out():
    document = read(*BODY)
    document = replace(document, signals=(Signal((1, 3), "a", "b"), Signal((1, 2), "a", "b")))
    with pytest.warns(
        CorpusWarning, match="^sample: 1 secondary edges or signals at EDUs that are not a unit were left out"
    ):
        text = write_rs4(document)
    assert text.count("<signal ") == 1
