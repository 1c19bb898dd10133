import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.characters import printable
from genrst.document import Document, Span
from genrst.errors import UsageError
from genrst.rendering.page import html_text, inert_json, render_html
from genrst.rendering.svg import Style
from genrst.trees.node import Leaf, Unit, preorder
from tests.rendering.page_parser import ParsedPage, parse_page
from tests.rendering.samples import SCRIPTS, bridge, chain, row
from tests.rendering.test_svg import ANY_TEXT, HOSTILE
from tests.strategies import documents

styles = pytest.mark.parametrize("style", ["compact", "classic"])
PLAIN = parse_page(render_html(bridge()))
LOADING = {"src", "href", "xlink:href", "action", "formaction", "background", "ping", "srcset", "data"}


@pytest.mark.slow
@styles
@given(document=documents())
def test_the_data_is_the_tree(style: Style, document: Document):
    assert document.tree is not None
    tree, *_ = parse_page(render_html(document, style)).data
    nodes = list(preorder(document.tree))
    assert [(node["start"], node["stop"]) for node in tree["nodes"]] == [(node.start, node.stop) for node in nodes]
    for number, record in enumerate(tree["nodes"]):
        if record["parent"] < 0:
            assert number == 0
        else:
            parent = nodes[record["parent"]]
            assert isinstance(parent, Unit)
            assert nodes[number] in parent.children
    assert tree["axis"] == ("x" if style == "classic" else "y")


@pytest.mark.slow
@given(document=documents())
def test_the_text_is_all_there(document: Document):
    page = parse_page(render_html(document))
    assert page.prose.split() == printable(document.text or "").split()
    assert [page.edus[edu] for edu in range(len(document.edus))] == [printable(text) for text in document.edu_texts]


@styles
@given(texts=st.lists(ANY_TEXT, min_size=2, max_size=2), relation=ANY_TEXT, name=ANY_TEXT)
def test_any_text_is_inert(style: Style, texts: list[str], relation: str, name: str):
    document = Document.from_edus(name, texts, Unit(relation, "NS", (Leaf(0), Leaf(1))))
    check_inert(render_html(document, style))


@styles
@pytest.mark.parametrize("hostile", [*HOSTILE, "</script><script>alert(1)</script>", "<!--<script>", "{{script}}"])
def test_hostile_texts_are_inert(style: Style, hostile: str):
    tree = Unit(hostile, "NN", (Leaf(0), Leaf(1)))
    page = check_inert(render_html(Document.from_edus(hostile, [hostile, hostile], tree), style))
    assert printable(hostile) in page.data[0]["nodes"][1]["title"]


def check_inert(html: str) -> ParsedPage:
    html.encode()
    page = parse_page(html)
    assert page.tags <= PLAIN.tags
    assert len(page.scripts) == 2
    assert page.scripts[1] == PLAIN.scripts[1]
    assert {name for name, _ in page.attributes} <= {name for name, _ in PLAIN.attributes} | {"direction"}
    return page


@given(
    st.recursive(ANY_TEXT | st.integers() | st.none(), lambda part: st.lists(part) | st.dictionaries(ANY_TEXT, part))
)
def test_json_inside_a_page(value: object):

    text = inert_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set(text) & set("<>&'")


@styles
def test_the_page_loads_nothing(style: Style):
    html = render_html(bridge(), style)
    page = parse_page(html)
    assert not {name for name, _ in page.attributes} & LOADING
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in html
    assert "@import" not in html
    assert set(re.findall(r"\w+://[^\"'\s]*", html)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_our_script_and_nothing_else():
    page = parse_page(render_html(bridge()))
    digest = b64encode(sha256(page.scripts[1].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_tooltips_tell_offsets_relation_nuclearity_and_probability():
    tree, _ = PLAIN.data
    assert tree["nodes"][2]["title"] == "EDUs 1–2 · purpose NS · nucleus · unit 88%\ncharacters 0–74"


def test_paragraphs_are_those_of_the_document():
    edus = ["One.", "Two.", "Three."]
    html = render_html(Document.from_edus("three", edus, paragraph_starts={2}))
    assert html.count('<p dir="auto">') == 2
    blank = Document("blank", "One.\n \nTwo.", (Span(0, 4), Span(7, 11)))
    assert render_html(blank).count('<p dir="auto">') == 2


def test_an_edu_across_paragraphs_is_shown_in_parts():
    text = "Apples, pears\n\nand plums."
    html = render_html(Document("fruit", text, (Span(0, 7), Span(8, 25))))
    assert {edu: text.split() for edu, text in parse_page(html).edus.items()} == {
        0: ["Apples,"],
        1: ["pears", "and", "plums."],
    }
    assert html.count('data-edu="1"') == 2
    assert html.count("<sup>2</sup>") == 1


@styles
def test_documents_without_text_or_tree(style: Style):
    bare = Document("bare", None, (Span(0, 4), Span(5, 9)), Unit("joint", "NN", (Leaf(0), Leaf(1))))
    page = parse_page(render_html(bare, style))
    assert page.edus == {0: "EDU 1", 1: "EDU 2"}
    page = parse_page(render_html(Document.from_edus("flat", ["One.", "Two."]), style))
    assert [record["parent"] for record in page.data[0]["nodes"]] == [-1, -1]
    assert "no tree" in render_html(Document.from_edus("flat", ["One.", "Two."]), style)
    empty = Document("empty", "", (Span(0, 0), Span(0, 0)), Unit("joint", "NN", (Leaf(0), Leaf(1))))
    assert len(parse_page(render_html(empty, style)).data[0]["nodes"]) == 3


@styles
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script(style: Style, script: str):
    document = row(SCRIPTS[script])
    page = parse_page(render_html(document, style))
    assert page.data[0]["mirrored"] == (script in ("arabic", "hebrew"))
    assert [page.edus[edu] for edu in range(3)] == document.edu_texts


@pytest.mark.slow
@styles
@pytest.mark.parametrize("is_right", [True, False])
def test_deep_trees(style: Style, is_right: bool):
    html = render_html(chain(2000, is_right), style)
    assert len(html) < 10_000_000


def test_unknown_styles_are_errors():
    with pytest.raises(UsageError, match="got 'fancy'"):
        render_html(bridge(), "fancy")  # type: ignore[arg-type]


def test_html_text_shows_just_the_text():
    assert html_text("a<b>&\"'\x1b") == "a&lt;b&gt;&amp;&quot;&#x27;\ufffd"
