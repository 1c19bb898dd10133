"""Well-formed files, files with an oddity that is repaired, and the secondary edges and signals of `.rs4`."""

import codecs
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import CorpusWarning
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.measures import depth
from genrst.trees.node import SPAN, Leaf, Tree, Unit, preorder
from tests.formats.rs3_files import HEADER, PATH, group, read, rs3, segment
from tests.strategies import nary_trees


def satellites(nuclearity: str, *relations: str, children: tuple[Tree, ...] = ()) -> Unit:
    return Unit.from_relations(relations, nuclearity, children or [Leaf(edu) for edu in range(len(relations))])


ELABORATION = Unit("elaboration", "NS", (Leaf(0), Leaf(1)))
LIST = Unit("list", "NN", (Leaf(0), Leaf(1)))

TREES = {
    "satellite points to its nucleus": (
        [segment(1, 3, "span"), segment(2, 1, "elaboration"), group(3, "span")],
        ELABORATION,
    ),
    "satellite points to the span group": (
        [segment(1, 3, "span"), segment(2, 3, "elaboration"), group(3, "span")],
        ELABORATION,
    ),
    "no group around": ([segment(1), segment(2, 1, "elaboration")], ELABORATION),
    "unary groups": (
        [segment(1, 3, "span"), segment(2, 4, "elaboration"), group(3, "span", 4, "span"), group(4, "span")],
        ELABORATION,
    ),
    "multinuclear": ([segment(1, 3, "list"), segment(2, 3, "list"), group(3, "multinuc")], LIST),
    "satellites on both sides of one nucleus": (
        [segment(1, 2, "restatement"), segment(2, 4, "span"), segment(3, 2, "elaboration"), group(4, "span")],
        satellites("SNS", "restatement", SPAN, "elaboration"),
    ),
    "satellite of a group goes around those of the nucleus": (
        [segment(1, 2, "elaboration"), segment(2, 4, "span"), segment(3, 4, "elaboration"), group(4, "span")],
        Unit("elaboration", "NS", (Unit("elaboration", "SN", (Leaf(0), Leaf(1))), Leaf(2))),
    ),
    "satellites of a multinuclear group": (
        [segment(1, 5, "list"), segment(2, 5, "list"), segment(3, 5, "elaboration"), group(5, "multinuc")],
        Unit("elaboration", "NS", (LIST, Leaf(2))),
    ),
    "satellite between nuclei": (
        [segment(1, 5, "list"), segment(2, 5, "elaboration"), segment(3, 5, "list"), group(5, "multinuc")],
        satellites("NSN", "list", "elaboration", "list"),
    ),
    "relation of both kinds below a multinuclear group": (
        [segment(1, 3, "restatement"), segment(2, 3, "restatement"), group(3, "multinuc")],
        Unit("restatement", "NN", (Leaf(0), Leaf(1))),
    ),
    "relation of both kinds below a span group": (
        [segment(1, 3, "span"), segment(2, 3, "restatement"), group(3, "span")],
        Unit("restatement", "NS", (Leaf(0), Leaf(1))),
    ),
    "nuclei with different relations": (
        [segment(1, 3, "list"), segment(2, 3, "restatement"), group(3, "multinuc")],
        satellites("NN", "list", "restatement"),
    ),
    "undeclared relation below a multinuclear group": (
        [segment(1, 3, "same-unit"), segment(2, 3, "same-unit"), group(3, "multinuc")],
        Unit("same-unit", "NN", (Leaf(0), Leaf(1))),
    ),
    "undeclared relation that joins satellites elsewhere": (
        [
            segment(1, 5, "list"),
            segment(2, 5, "list"),
            segment(3, 5, "cause"),
            segment(4, 3, "cause"),
            group(5, "multinuc"),
        ],
        Unit("cause", "NS", (LIST, Unit("cause", "NS", (Leaf(2), Leaf(3))))),
    ),
    "segments are in the order of the file, not of their ids": (
        [segment(20, 30, "span"), segment("b", 20, "elaboration"), group(30, "span")],
        ELABORATION,
    ),
    "groups before segments": (
        [group(3, "multinuc"), segment(1, 3, "list"), segment(2, 3, "list")],
        LIST,
    ),
    "one segment": ([segment(1)], Leaf(0)),
    "one segment in a group": ([segment(1, 2, "span"), group(2, "span")], Leaf(0)),
}


@pytest.mark.parametrize(("body", "tree"), TREES.values(), ids=TREES.keys())
def test_tree(body: list[str], tree: Tree):
    document = read(*body)
    assert document.tree == tree
    assert document.id == "sample"
    assert len(document.edus) == sum(line.startswith("<segment") for line in body)


SPAN_PAIR = [segment(1, 3, "span"), segment(2, 1, "elaboration"), group(3, "span")]

REPAIRS = {
    "identical groups": (
        [*SPAN_PAIR, group(3, "span")],
        ELABORATION,
        "node 3: an identical copy of a group, left out",
    ),
    "identical segments": (
        [segment(1, 3, "list"), segment(2, 3, "list"), segment(2, 3, "list"), group(3, "multinuc")],
        LIST,
        "node 2: an identical copy of a segment, left out",
    ),
    "childless groups in a chain": (
        [*SPAN_PAIR, group(4, "span"), group(5, "span", 6, "span"), group(6, "multinuc", 1, "elaboration")],
        ELABORATION,
        "node 5 (and 2 more): a group without children, left out",
    ),
    "childless group that is its own parent": (
        [*SPAN_PAIR, group(4, "span", 4, "span")],
        ELABORATION,
        "node 4: a group without children, left out",
    ),
    "root that is its own parent": (
        [*SPAN_PAIR[:2], group(3, "span", 3, "span")],
        ELABORATION,
        "node 3: a group that is its own parent, read as a root",
    ),
    "span group with multinuclear children": (
        [segment(1, 3, "list"), segment(2, 3, "list"), group(3, "span")],
        LIST,
        "node 3: a span group with multinuclear children, read as multinuclear",
    ),
    "span group with two nuclei": (
        [segment(1, 4, "span"), segment(2, 4, "span"), segment(3, 4, "elaboration"), group(4, "span")],
        Unit("elaboration", "NS", (Unit("joint", "NN", (Leaf(0), Leaf(1))), Leaf(2))),
        "node 4: a span group with several nuclei, read as joint",
    ),
    "multinuclear group with one nucleus": (
        [segment(1, 3, "list"), segment(2, 3, "elaboration"), group(3, "multinuc")],
        ELABORATION,
        "node 3: a multinuclear group with one nucleus, read as that nucleus",
    ),
    "multinuclear group with satellites only": (
        [segment(1, 3, "elaboration"), segment(2, 3, "elaboration"), group(3, "multinuc")],
        Unit("elaboration", "NN", (Leaf(0), Leaf(1))),
        "node 3: a multinuclear group with satellites only, read as nuclei",
    ),
    "relation without a name": (
        [segment(1), '<segment id="2" parent="1">two</segment>'],
        Unit("", "NS", (Leaf(0), Leaf(1))),
        "node 2: a relation without a name",
    ),
}


@pytest.mark.parametrize(("body", "tree", "message"), REPAIRS.values(), ids=REPAIRS.keys())
def test_repair(body: list[str], tree: Tree, message: str):
    with pytest.warns(CorpusWarning) as record:
        assert read(*body).tree == tree
    assert [str(warning.message) for warning in record] == [f"{PATH}: {message}"]
    assert record[0].filename.endswith("rs3_files.py")


def test_nucleus_among_named_nuclei_takes_their_relation():
    tree = read(segment(1, 3, "span"), segment(2, 3, "list"), group(3, "multinuc")).tree
    assert tree == LIST


TEXTS = {
    "white space": ("\n  one\ttwo \r\n three&#10;four ", "one two three four"),
    "zero-width characters": ("\u200bone \u200dtwo\ufeff", "\u200bone \u200dtwo\ufeff"),
    "entities": ("a &amp; b &lt;c&gt; &quot;&#233;&quot;", 'a & b <c> "é"'),
    "double-escaped entities": ("&amp;quot;so&amp;quot;", "&quot;so&quot;"),
    "character data": ("<![CDATA[a & b < c &nope;]]>", "a & b < c &nope;"),
    "comment": ("one<!-- & --> two", "one two"),
}


@pytest.mark.parametrize(("written", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_text(written: str, text: str):
    assert read(segment(1, text=written)).edu_texts == [text]


MENDED = {
    "bare": ("Q & A", "Q & A", 1),
    "at the end": ("A&", "A&", 1),
    "without semicolon": ("AT&T, R&amp;D, &#x26", "AT&T, R&D, &#x26", 2),
    "named character": ("caf&eacute;&hellip;", "café…", 2),
    "unknown name": ("&foo; &amp;", "&foo; &", 1),
}


@pytest.mark.parametrize(("written", "text", "count"), MENDED.values(), ids=MENDED.keys())
def test_mended_reference(written: str, text: str, count: int):
    message = f"{PATH}: line 4: {count} bare & or unknown entities kept as text"
    with pytest.warns(CorpusWarning, match=f"^{re.escape(message)}$"):
        assert read(segment(1, text=written)).edu_texts == [text]


def test_empty_segment_is_kept():
    with pytest.warns(CorpusWarning, match=r"node 2 \(and 1 more\): a segment without text, kept as an empty EDU"):
        document = read(
            segment(1, 4, "list"), segment(2, 4, "list", ""), segment(3, 4, "list", " "), group(4, "multinuc")
        )
    assert document.edu_texts == ["edu 1", "", ""]
    assert document.tree == Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2)))


def test_byte_order_marks_and_declared_encodings():
    text = rs3(segment(1, text="déjà")).decode()
    latin = f'<?xml version="1.0" encoding="ISO-8859-1"?>{text}'.encode("iso-8859-1")
    for content in (codecs.BOM_UTF8 + text.encode(), codecs.BOM_UTF16_LE + text.encode("utf-16-le"), latin):
        assert read_rs3(content, PATH).edu_texts == ["déjà"]


def test_carriage_returns():
    document = read_rs3(rs3(*SPAN_PAIR).replace(b"\n", b"\r\n"), PATH)
    assert document == read(*SPAN_PAIR)


def test_several_roots_join():
    body = [
        segment(1, 5, "list"),
        segment(2, 5, "list"),
        segment(3),
        segment(4, 3, "elaboration"),
        group(5, "multinuc"),
    ]
    tree = read(*body, roots="join").tree
    assert tree == Unit("virtual-root", "NN", (LIST, Unit("elaboration", "NS", (Leaf(2), Leaf(3)))))


def test_only_segmented():
    document = read(segment(1), segment(2))
    assert document.tree is None
    assert document.edu_texts == ["edu 1", "edu 2"]
    assert read(segment(1), segment(2), roots="join").tree is None


def test_without_tree_structure_does_not_matter():
    body = [segment(1, 9, "list"), segment(1, 2, "span", "other"), segment(3, 3, "list"), group(4, "nonsense")]
    document = read(*body, with_tree=False)
    assert document.tree is None
    assert document.edu_texts == ["edu 1", "other", "edu 3"]


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2_000, 10_000])
def test_deep_tree(levels: int):
    body = [segment(1, "g1", "span")]
    for level in range(1, levels + 1):
        parent = f"g{level + 1}" if level < levels else ""
        body += [segment(level + 1, f"g{level}", "elaboration"), group(f"g{level}", "span", parent, "span")]
    start = time.process_time()
    tree = read(*body).tree
    assert tree is not None
    assert depth(tree) == levels
    assert time.process_time() - start < 10


def test_header_may_be_missing():
    assert read(segment(1, 3, "list"), segment(2, 3, "list"), group(3, "multinuc"), header="").tree == LIST
    assert read(segment(1, 3, "list"), segment(2, 3, "list"), group(3, "multinuc"), header=HEADER).tree == LIST


# Secondary edges and signals: nodes become ranges of EDUs and nodes again.

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
        CorpusWarning, match="^sample: left out 1 secondary edges or signals whose EDUs do not form a unit"
    ):
        text = write_rs4(document)
    assert text.count("<signal ") == 1
