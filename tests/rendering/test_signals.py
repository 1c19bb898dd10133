"""Signals and secondary edges in pictures: the right words light up, and nothing covers anything."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal, Span, Token, signal_spans
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.rendering.difference import render_difference_svg
from genrst.rendering.folding import folding_layout
from genrst.rendering.labels import Range
from genrst.rendering.page import render_html
from genrst.rendering.signals import edge_titles, number_places, titles
from genrst.rendering.svg import Style, layout, render_svg
from genrst.rendering.terminal import render_text
from genrst.trees.node import preorder
from tests.rendering.geometry_checks import assert_inside, assert_sound
from tests.rendering.page_parser import parse_page
from tests.rendering.samples import bridge, marked_bridge
from tests.strategies import documents

styles = pytest.mark.parametrize("style", ["classic", "compact"])
NAMESPACE = "{http://www.w3.org/2000/svg}"


@st.composite
def marked_documents(draw: st.DrawFn) -> Document:
    """A document with signals, which may overlap and reach into several EDUs, and with secondary edges."""
    document = draw(documents())
    assert document.tree is not None
    places = st.sampled_from([(node.start, node.stop) for node in preorder(document.tree)])
    edges = draw(
        st.lists(st.builds(SecondaryEdge, places, places, st.sampled_from(["cause", "a " * 60, ""])), max_size=4)
    )
    tokens = st.lists(st.integers(0, 25), max_size=5).map(tuple)
    signals = draw(
        st.lists(st.builds(Signal, places, st.sampled_from(["dm", "lexical"]), st.just("x"), tokens), max_size=5)
    )
    signals += [Signal(edge.source, "orphan", "orphan", draw(tokens), "", edge.target) for edge in edges]
    return replace(document, signals=tuple(signals), secondary_edges=tuple(edges))


def visible(text: str) -> str:
    return "".join(text.split())


def expected_words(document: Document) -> dict[str, str]:
    """The characters of all signals of each relation, by the class of its words."""
    found: dict[str, set[int]] = {f"w{number}": set() for number in number_places(document).values()}
    text, numbers = document.text or "", number_places(document)
    for signal, spans in zip(document.signals, signal_spans(document), strict=True):
        found[f"w{numbers[signal.unit, signal.target]}"].update(
            at for span in spans for at in range(span.start, span.end)
        )
    return {name: visible("".join(text[at] for at in sorted(places))) for name, places in found.items()}


@pytest.mark.slow
@styles
@given(document=marked_documents())
def test_words_have_the_classes_of_their_relations(style: Style, document: Document):
    expected = expected_words(document)
    svg = ElementTree.fromstring(render_svg(document, style))
    groups = {int(g.attrib["data-start"]): g for g in svg.iter(f"{NAMESPACE}g") if is_leaf(g)}
    spans = [span for edu in sorted(groups) for span in groups[edu].iter(f"{NAMESPACE}tspan")]
    found = {
        name: "".join(span.text or "" for span in spans if name in span.attrib["class"].split()) for name in expected
    }
    assert {name: visible(text) for name, text in found.items()} == expected
    markers = visible("".join(span.text or "" for span in spans if "marker" in span.attrib["class"].split()))
    assert set(markers) <= set("".join(expected.values()))


def is_leaf(group: ElementTree.Element) -> bool:
    start, stop = (int(group.get(name, "-9")) for name in ("data-start", "data-stop"))
    return group.get("class") == "node" and stop == start + 1


@pytest.mark.slow
@styles
@given(document=marked_documents())
def test_edges_are_beside_the_picture_and_labels_do_not_meet(style: Style, document: Document):
    bare = layout(replace(document, secondary_edges=()), style)
    picture = layout(document, style)
    assert_sound(picture)
    assert picture.boxes[: len(bare.boxes)] == bare.boxes
    assert picture.shapes[: len(bare.shapes)] == bare.shapes
    for box in picture.boxes[len(bare.boxes) :]:
        assert (box.y if style == "classic" else box.x) >= (bare.height if style == "classic" else bare.width) - 16
    arrows = [shape for shape in picture.shapes[len(bare.shapes) :] if shape.kind == "arrow"]
    ends = [(arrow.node, arrow.target, arrow.relation) for arrow in arrows]
    assert sorted(map(str, ends)) == sorted(str((e.source, e.target, e.relation)) for e in document.secondary_edges)
    assert_inside(folding_layout(document, style).picture)


def test_edges_from_right_to_left():
    document = replace(marked_bridge(), text=(marked_bridge().text or "").replace("Cyclists", "רוכבים!!"))
    rtl = replace(
        document, text="".join("א" if character.isalpha() else character for character in document.text or "")
    )
    compact = layout(rtl, "compact")
    assert_sound(compact)
    assert all(x < compact.width / 2 for shape in compact.shapes if shape.target for x, _ in shape.points)


def test_tooltips_say_why():
    found, plain = titles(marked_bridge()), titles(bridge())
    reason = 'concession ← "although … that", indicative word "had warned"'
    assert found[2, 4] == f"{plain[2, 4]}\n{reason}"
    assert found[0, 4] == f"{plain[0, 4]}\n{reason}"
    assert found[4, 6].splitlines()[2:] == ["elaboration ← layout", 'joint ← "and"']
    assert found[4, 5] == plain[4, 5], "what marks an edge is in the tooltip of the edge"
    assert edge_titles(marked_bridge()) == {((4, 5), (2, 4)): '5 ⇢ 3–4 contrast ← "still"'}
    svg = render_svg(marked_bridge())
    assert '<title>5 ⇢ 3–4 contrast ← "still"</title>' in svg


def test_units_that_are_not_in_the_tree_and_words_that_are_not_in_the_text_do_no_harm():
    gone: Range = (1, 3)
    signals = (
        Signal(gone, "dm", "dm", (1,)),
        Signal((0, 1), "dm", "dm", (0, 999)),
        Signal((1, 2), "dm", "dm", (), "", gone),
    )
    document = replace(bridge(), signals=signals, secondary_edges=(SecondaryEdge(gone, (0, 1), "x"),))
    assert '<tspan class="word w0 marker">The</tspan>' in render_svg(document)
    assert "path.edge" not in render_svg(document)
    assert titles(document)[0, 1].endswith("\nspan ← dm")
    for bare in (replace(document, text=None), replace(document, tree=None)):
        assert render_svg(bare).startswith("<svg")
        assert parse_page(render_html(bare)) is not None


def test_words_of_a_page():
    page = render_html(marked_bridge())
    assert '<sup>3</sup><span class="word w1 marker">although</span> shop owners <span class="word w1">had ' in page
    (data, _) = parse_page(page).data
    words = {(node["start"], node["stop"]): node.get("words") for node in data["nodes"]}
    assert words[2, 4] == [1]
    assert words[0, 4] == [1]
    assert words[4, 6] == [2, 3]
    assert words[0, 1] is None
    assert data["edges"] == [{"source": "4-5", "target": "2-4", "words": [4]}]
    assert "pointerleave" in page
    assert "wordsAt" in page
    assert "wordsAt" not in render_html(bridge()), "pages without signals are as they were"


@pytest.mark.slow
@given(document=marked_documents(), data=st.data())
def test_tokens_may_be_anywhere(document: Document, data: st.DataObject):
    """Files of others may have them out of order, across EDUs and beyond the text."""
    places = st.integers(0, 60)
    starts = data.draw(st.lists(st.tuples(places, places), min_size=1, max_size=12))
    tokens = tuple(Token(start, start + length, 0) for start, length in starts)
    wild = replace(document, tokens=tokens, text=data.draw(st.sampled_from([document.text, None])))
    assert render_svg(wild, "compact").count("<svg") == 1
    assert render_html(wild).count("<html") == 1
    assert render_text(wild, why=True)
    assert document_from_dict(document_to_dict(wild)) == wild


def test_an_edu_of_white_space():
    document = Document(
        "x", "a  b", (Span(0, 1), Span(1, 3), Span(3, 4)), signals=(Signal((0, 1), "dm", "dm", (1, 2)),)
    )
    assert render_svg(document, "compact").count("<tspan") == 2


def test_differences_show_neither():
    drawn = render_difference_svg(marked_bridge(), marked_bridge())
    assert drawn == render_difference_svg(bridge(), bridge())
