from dataclasses import replace
from io import StringIO
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.characters import printable
from genrst.document import Document, Span
from genrst.rendering.svg import Style, render_svg
from genrst.trees.node import Leaf, Unit, preorder
from tests.rendering.samples import SCRIPTS, bridge, chain, row
from tests.strategies import documents

NAMESPACE = "{http://www.w3.org/2000/svg}"
TAGS = ("svg", "title", "style", "rect", "g", "path", "text")
HOSTILE = (
    "<script>alert(1)</script>",
    "a & b < c > d \" e ' f ]]> --> <!--",
    "\x00\x1b[31m\x07\x9b\ud800\udfff\ufffe\uffff",
    "</text></svg><svg onload='alert(1)'>",
    "&lt;script&gt; &#x1b; {url(javascript:alert(1))}",
)
styles = pytest.mark.parametrize("style", ["classic", "compact"])
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)


@pytest.mark.slow
@styles
@given(document=documents())
def test_every_node_is_a_group_with_its_text(style: Style, document: Document):
    assert document.tree is not None
    svg = _parse(render_svg(document, style))
    groups = {(int(group.attrib["data-start"]), int(group.attrib["data-stop"])): group for group in svg.iter(_tag("g"))}
    assert set(groups) == {(node.start, node.stop) for node in preorder(document.tree)}
    for edu, text in enumerate(map(printable, document.edu_texts)):
        shown = [element.text or "" for element in groups[edu, edu + 1] if element.get("class") == "text"]
        assert "".join("".join(shown).split()) == "".join(text.split())
        assert (groups[edu, edu + 1].findtext(_tag("title")) or "").endswith(text.strip())


@styles
@given(texts=st.lists(ANY_TEXT, min_size=2, max_size=2), relation=ANY_TEXT, name=ANY_TEXT)
def test_any_text_gives_well_formed_files(style: Style, texts: list[str], relation: str, name: str):
    document = Document.from_edus(name, texts, Unit(relation, "NS", (Leaf(0), Leaf(1))))
    svg = render_svg(document, style)
    svg.encode()
    _parse(svg)


@styles
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_inert(style: Style, hostile: str):
    tree = Unit(hostile, "NN", (Leaf(0), Leaf(1)))
    svg = _parse(render_svg(Document.from_edus(hostile, [hostile, hostile], tree), style))
    assert {element.tag for element in svg.iter()} == set(map(_tag, TAGS))
    assert not [name for element in svg.iter() for name in element.attrib if name.startswith("on") or "href" in name]


@styles
def test_the_file_is_self_contained(style: Style):
    svg = render_svg(bridge(), style)
    assert svg.startswith("<svg xmlns=")
    assert svg.count("http") == 1
    assert "prefers-color-scheme:dark" in svg
    assert "unit 88%" in svg


@styles
def test_right_to_left_lines_say_so(style: Style):
    texts = _parse(render_svg(row(SCRIPTS["hebrew"]), style)).findall(f"{_tag('g')}/{_tag('text')}")
    assert all((element.get("direction") == "rtl") == (element.get("class") == "text") for element in texts)


def test_right_aligned_lines_start_at_the_right_in_both_directions():
    svg = _parse(render_svg(row([*SCRIPTS["hebrew"], "English"]), "compact"))
    anchors = {element.text: element.get("text-anchor") for element in svg.iter(_tag("text"))}
    assert anchors["כן"] == "start"
    assert anchors["English"] == "end"


@pytest.mark.slow
@styles
def test_deep_trees_are_not_deep_files(style: Style):
    svg = render_svg(chain(2000, is_right=True), style)
    assert len(svg) < 5_000_000
    level = deepest = 0
    for event, _ in ElementTree.iterparse(StringIO(svg), ["start", "end"]):
        level += 1 if event == "start" else -1
        deepest = max(deepest, level)
    assert deepest == 3


def _tag(name: str) -> str:
    return NAMESPACE + name


def _parse(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_pictures_wider_than_a_page_are_compact():
    narrow, wide = (Document.from_edus("text", ["word"] * n_edus) for n_edus in (12, 13))
    assert render_svg(narrow) == render_svg(narrow, "classic")
    assert render_svg(wide) == render_svg(wide, "compact")


@styles
def test_headings_are_bold_and_paragraphs_apart(style: Style):
    text = Document.from_edus("text", ["Title", "One,", "two.", "Three."], paragraph_starts=[1, 3])
    labels = ("head", "p", "p")
    paragraphs = tuple(Span(one.start, one.end, label) for one, label in zip(text.paragraphs, labels, strict=True))
    svg = render_svg(replace(text, paragraphs=paragraphs), style)
    assert svg.count('class="text strong"') == 1
    assert svg.count('class="rule"') == (2 if style == "compact" else 0)
