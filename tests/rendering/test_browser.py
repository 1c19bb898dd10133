"""The pages as their readers meet them: Chromium opens them, points, walks, folds and zooms."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from xml.etree import ElementTree

import pytest

from genrst.document import Document
from genrst.rendering.difference import render_difference_html
from genrst.rendering.page import document_html, render_html
from genrst.rendering.svg import Style
from genrst.trees.node import Leaf, Tree, Unit, units
from tests.rendering.browser import OVERLAPS, Visit, open_browser
from tests.rendering.samples import BRIDGE, SCRIPTS, bridge, chain, marked_bridge, row
from tests.rendering.test_difference import other_bridge
from tests.seed import SEED

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open: TypeAlias = Callable[..., Visit]

RELATIONS = ("elaboration", "contrast", "cause", "organization-preparation", "evaluation-comment", "joint")
styles = pytest.mark.parametrize("style", ["compact", "classic"])


@pytest.fixture(scope="module")
def page() -> "Iterator[Page]":
    with open_browser() as page:
        yield page


@pytest.fixture
def visit(page: "Page", tmp_path: Path) -> Iterator[Open]:
    """Opens files, each in the place of the one before; none may have an error or ask for anything but itself."""
    visits: list[Visit] = []

    def open_file(html: str, scheme: str = "light") -> Visit:
        for one in visits[-1:]:
            one.close()
        folder = tmp_path / str(len(visits))
        folder.mkdir()
        visits.append(Visit(page, html, folder, "dark" if scheme == "dark" else "light"))
        return visits[-1]

    yield open_file
    for one in visits[-1:]:
        one.close()


def random_document(size: int, seed: int) -> Document:
    """An n-ary tree with satellites on both sides, and texts of different lengths."""
    dice = random.Random(seed)
    nodes: list[Tree] = [Leaf(edu) for edu in range(size)]
    while len(nodes) > 1:
        at = dice.randrange(len(nodes) - 1)
        children = tuple(nodes[at : at + dice.choice([2, 2, 2, 3])])
        nucleus = dice.randrange(len(children))
        nuclearity = "".join("N" if position == nucleus else "S" for position in range(len(children)))
        if dice.random() < 0.3:
            nuclearity = "N" * len(children)
        nodes[at : at + len(children)] = [Unit(dice.choice(RELATIONS), nuclearity, children)]
    words = " ".join(BRIDGE).split()
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 18))) for _ in range(size)]
    return Document.from_edus("random", texts, nodes[0])


PAGES: dict[str, Callable[[], str]] = {
    "own text": lambda: render_html(bridge()),
    "own text, classic": lambda: render_html(bridge(), "classic"),
    "random": lambda: render_html(random_document(40, 1)),
    "one EDU": lambda: render_html(row(["Alone."])),
    "deep": lambda: render_html(chain(150, is_right=True)),
    "difference": lambda: render_difference_html(bridge(), other_bridge()),
}


WALK = ["ArrowRight", "ArrowDown", "Enter", "ArrowDown", "ArrowLeft", "Enter", "ArrowUp", "End", "Home", "Enter"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_walked_folded_and_zoomed(visit: Open, name: str, scheme: str):
    one = visit(PAGES[name](), scheme)
    before, width = one.texts(), one.width()
    one.page.keyboard.press("+")
    assert one.width() == pytest.approx(1.2 * width, abs=1)
    one.page.locator(".areas rect").first.focus()
    one.press(*WALK)
    if name != "one EDU":
        assert one.texts() != before
    one.page.select_option("#levels", "Infinity")
    assert one.texts() == before
    assert one.overlaps() == []


@styles
def test_clicks_fold_and_unfold(visit: Open, style: Style):
    one = visit(render_html(bridge(), style))
    whole, size = one.shapes(), one.size()
    one.hover(0, 4)
    one.page.mouse.down()
    one.page.mouse.up()
    assert one.rect(0, 4).get_attribute("aria-expanded") == "false"
    texts = " ".join(one.texts())
    assert "The city council" in texts
    assert "shop owners" not in texts
    assert "Cyclists" in texts
    assert not one.rect(0, 1).is_visible()
    assert one.size() < size
    assert one.shapes() != whole
    assert one.overlaps() == []
    one.rect(0, 4).click()
    assert one.rect(0, 4).get_attribute("aria-expanded") == "true"
    assert (one.shapes(), one.size()) == (whole, size)


@styles
def test_folding_never_makes_texts_overlap(visit: Open, style: Style):
    for seed in range(SEED, SEED + 4):
        document = random_document(24, seed)
        assert document.tree is not None
        one = visit(render_html(document, style))
        dice = random.Random(seed)
        for _ in range(6):
            unit = dice.choice(list(units(document.tree)))
            rect = one.rect(unit.start, unit.stop)
            if rect.is_visible():
                rect.focus()
                one.page.keyboard.press("Enter")
                assert one.overlaps() == [], (seed, unit)
        for levels in ("1", "2", "3"):
            one.page.select_option("#levels", levels)
            assert one.overlaps() == [], (seed, levels)


def test_levels(visit: Open):
    one = visit(render_html(bridge()))
    one.page.select_option("#levels", "1")
    assert one.texts() == [
        "1–4 · The city council voted on Tuesday",
        "5–6 · Cyclists may still cross, and a ferry will run every ten…",
    ]
    one.page.select_option("#levels", "2")
    assert len(one.texts()) == 4


@styles
def test_pointing_at_the_tree_marks_the_text(visit: Open, style: Style):
    one = visit(render_html(bridge(), style))
    one.hover(2, 4)
    assert one.highlighted() == [2, 3]
    assert one.page.locator("#tip").text_content() == (
        "EDUs 3–4 · attribution SN · satellite: concession\ncharacters 75–138"
    )
    one.page.locator("#tip").wait_for(state="visible")
    one.hover(0, 2)
    assert one.highlighted() == [0, 1]
    assert "unit 88%" in (one.page.locator("#tip").text_content() or "")
    one.rect(4, 5).hover()
    assert one.highlighted() == [4]
    one.page.mouse.move(640, 20)
    assert one.highlighted() == []
    one.page.locator("#tip").wait_for(state="hidden")


@styles
def test_pointing_at_the_text_marks_the_tree(visit: Open, style: Style):
    one = visit(render_html(bridge(), style))
    marked = "() => [...document.querySelectorAll('.areas .on')].map((rect) => [rect.dataset.start, rect.dataset.stop])"
    one.page.locator('.edu[data-edu="3"]').hover()
    assert one.evaluate(marked) == [["3", "4"]]
    one.rect(2, 4).focus()
    one.page.keyboard.press("Enter")
    one.page.locator('.edu[data-edu="2"]').hover()
    assert one.evaluate(marked) == [["2", "4"]]
    assert one.highlighted() == [2]


def test_arrow_keys_walk_the_compact_tree(visit: Open):
    one = visit(render_html(bridge()))
    one.page.keyboard.press("Tab")
    while one.evaluate("() => document.activeElement.getAttribute('role')") != "treeitem":
        one.page.keyboard.press("Tab")
    assert one.focused() == (0, 6)
    assert one.press("ArrowRight") == (0, 4)
    assert one.press("ArrowRight") == (0, 2)
    assert one.press("ArrowDown") == (2, 4)
    assert one.press("ArrowRight", "ArrowDown") == (3, 4)
    assert one.press("ArrowDown") == (4, 6), "past the last child the walk goes on above"
    assert one.press("ArrowUp") == (0, 4)
    assert one.press("ArrowLeft", "ArrowLeft") == (0, 6)
    assert one.press("End") == (5, 6)
    assert one.press("Home") == (0, 6)
    assert one.highlighted() == [0, 1, 2, 3, 4, 5]
    assert one.press("ArrowRight", "Enter") == (0, 4)
    assert one.press("ArrowRight") == (0, 4), "the first step into a folded unit unfolds it"
    assert one.press("ArrowRight") == (0, 2)
    assert one.press(" ", "ArrowDown") == (2, 4)
    assert one.rect(0, 2).get_attribute("aria-expanded") == "false"


def test_arrow_keys_follow_the_drawing(visit: Open):
    classic = visit(render_html(bridge(), "classic"))
    classic.rect(0, 6).focus()
    assert classic.press("ArrowDown") == (0, 4)
    assert classic.press("ArrowRight") == (4, 6)
    assert classic.press("ArrowLeft", "ArrowUp") == (0, 6)
    hebrew = visit(render_html(row(SCRIPTS["hebrew"]), "compact"))
    hebrew.rect(0, 3).focus()
    assert hebrew.press("ArrowLeft") == (0, 1)
    assert hebrew.press("ArrowRight") == (0, 3)


def test_the_focus_can_be_seen_and_the_tree_is_described(visit: Open):
    one = visit(render_html(bridge()))
    one.rect(0, 4).focus()
    styles_of = "(rect) => [getComputedStyle(rect).stroke, getComputedStyle(rect).strokeWidth]"
    assert one.rect(0, 4).evaluate(styles_of) == ["rgb(33, 90, 192)", "2px"]
    assert one.rect(0, 6).evaluate(styles_of)[0] == "none"
    assert one.page.get_by_role("tree").count() == 1
    assert one.page.get_by_role("treeitem").count() == 11
    assert one.page.get_by_role("treeitem", expanded=True).count() == 5
    described = [one.rect(2, 4).get_attribute(f"aria-{name}") for name in ("level", "posinset", "setsize")]
    assert described == ["3", "2", "2"]
    assert one.evaluate("() => document.querySelectorAll('.areas rect[tabindex=\"0\"]').length") == 1


def test_the_text_can_be_walked_too(visit: Open):
    one = visit(render_html(bridge()))
    one.page.locator('.edu[data-edu="0"]').focus()
    one.page.keyboard.press("ArrowRight")
    assert one.highlighted() == [1]
    one.page.keyboard.press("End")
    assert one.highlighted() == [5]
    one.page.keyboard.press("Enter")
    assert one.focused() == (5, 6)


UNDER_POINTER = """([x, y]) => {
    const frame = document.querySelector("svg.genrst").getBoundingClientRect();
    return [(x - frame.x) / frame.width, (y - frame.y) / frame.height];
}"""


def test_zoom(visit: Open):
    one = visit(render_html(random_document(30, 3)))
    full = one.size()[0]
    one.page.keyboard.press("0")
    assert one.width() == pytest.approx(full, abs=1)
    one.page.locator("#larger").click()
    assert one.width() == pytest.approx(1.2 * full, abs=1)
    assert one.page.locator("#actual").text_content() == "120%"
    one.page.keyboard.press("-")
    assert one.width() == pytest.approx(full, abs=1)
    pointer = 200.0, 400.0
    one.page.mouse.move(*pointer)
    place = one.evaluate(UNDER_POINTER, pointer)
    one.page.keyboard.down("Control")
    one.page.mouse.wheel(0, -300)
    one.page.keyboard.up("Control")
    one.page.wait_for_function("() => document.getElementById('actual').textContent === '212%'")
    assert one.evaluate(UNDER_POINTER, pointer) == pytest.approx(place, abs=0.01), "the point under the pointer stays"
    one.page.locator("#actual").click()
    assert one.width() == pytest.approx(full, abs=1)
    one.page.keyboard.press("f")
    assert one.width() == pytest.approx(one.evaluate("() => document.getElementById('trees').clientWidth"), abs=20)


def test_the_text_can_be_hidden(visit: Open):
    one = visit(render_html(bridge()))
    one.page.keyboard.press("t")
    assert not one.page.locator("#text").is_visible()
    one.page.locator("#prose").click()
    assert one.page.locator("#text").is_visible()


def test_light_and_dark(visit: Open):
    papers = [
        visit(render_html(bridge()), scheme).evaluate("() => getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert papers == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


def test_differences_are_linked(visit: Open):
    one = visit(render_difference_html(bridge(), other_bridge()))
    marked = """() => [...document.querySelectorAll("svg.genrst")].map((svg) =>
        [...svg.querySelectorAll(".on")].map((rect) => `${rect.dataset.start}-${rect.dataset.stop}`))"""
    one.hover(2, 4)
    assert one.evaluate(marked) == [["2-4"], ["2-4"]]
    one.hover(0, 4)
    assert one.evaluate(marked) == [["0-4"], ["0-1", "1-2", "2-3", "3-4"]]
    assert (one.page.locator("#tip").text_content() or "").endswith("only in first")
    one.hover(4, 6, tree=1)
    assert one.evaluate(marked) == [["4-6"], ["4-6"]]
    one.rect(2, 4).focus()
    one.page.keyboard.press("Enter")
    assert [one.rect(2, 4, tree).get_attribute("aria-expanded") for tree in (0, 1)] == ["false", "false"]
    assert one.overlaps() == []


HOSTILE = (
    "</script><script>document.title = 'broken'; alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "{{data}} \"quotes\" 'and' `more` ${alert(1)} \\u003c",
    "\x00\x1b[31m\x07\u2028\u2029\ud800\ufeff",
)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_do_nothing(visit: Open, hostile: str):
    tree = Unit(hostile, "NS", (Leaf(0), Unit(hostile, "NN", (Leaf(1), Leaf(2)))))
    first = Document.from_edus(hostile, [hostile, hostile, "end"], tree)
    second = replace(first, tree=Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2))))
    difference = render_difference_html(first, second, names=(hostile, hostile))
    for html in (render_html(first), render_html(first, "classic"), difference):
        one = visit(html)
        assert one.evaluate("() => document.scripts.length") == 2
        assert one.evaluate("() => document.images.length") == 0
        one.rect(1, 3).focus()
        one.page.keyboard.press("Enter")
        one.rect(0, 1).hover()
        assert one.page.title() != "broken"


@styles
def test_a_tree_of_two_thousand_levels(visit: Open, style: Style):
    one = visit(render_html(chain(2000, is_right=False), style))
    assert one.page.get_by_role("treeitem").count() == 3999
    one.rect(0, 1).focus()
    assert one.press("ArrowUp" if style == "classic" else "ArrowLeft") == (0, 2)
    one.rect(0, 2000).focus()
    one.page.keyboard.press("Enter")
    assert len(one.texts()) == (2 if style == "classic" else 1)


@pytest.mark.parametrize(
    "document", [Document.from_edus("plain", list(BRIDGE)), replace(bridge(), text=None)], ids=["no tree", "no text"]
)
@styles
def test_documents_that_lack_something(visit: Open, style: Style, document: Document):
    one = visit(render_html(document, style))
    one.rect(2, 3).hover()
    assert one.highlighted() == [2]
    one.page.locator('.edu[data-edu="3"]').hover()
    assert one.evaluate("() => document.querySelector('.areas .on').dataset.start") == "3"


def test_a_notebook_shows_the_page_in_a_frame(visit: Open):
    one = visit(f"<!doctype html><title>notebook</title><link rel=icon href='data:,'>{document_html(bridge())}")
    one.requests[1:] = [url for url in one.requests[1:] if url != "about:srcdoc"]
    frame = one.page.frame_locator("iframe")
    frame.locator('.areas rect[data-start="0"][data-stop="6"]').focus()
    one.page.keyboard.press("Enter")
    assert frame.locator('.areas rect[data-start="0"][data-stop="6"]').get_attribute("aria-expanded") == "false"


@pytest.mark.slow
def test_the_other_style_saving_and_finding(visit: Open, tmp_path: Path):
    one = visit(render_html(random_document(30, 7)))
    page = one.page
    assert [view.get_attribute("data-style") for view in page.locator(".view").all()] == ["compact", "classic"]
    page.locator("#style").click()
    assert page.locator(".view").nth(1).is_visible()
    assert not page.locator(".view").nth(0).is_visible()
    assert page.locator("#style").inner_text() == "Compact"
    page.keyboard.press("c")
    assert page.locator(".view").nth(0).is_visible()
    with page.expect_download() as download:
        page.locator("#save").click()
    saved = tmp_path / "saved.svg"
    download.value.save_as(saved)
    assert ElementTree.parse(saved).getroot().tag.endswith("svg")
    assert "summary" not in re.sub("<style.*?</style>", "", saved.read_text(encoding="utf-8"), flags=re.DOTALL)
    page.keyboard.press("/")
    page.locator("#find").fill("no such words")
    assert one.highlighted() == []
    assert page.locator("#find").get_attribute("aria-invalid") == "true"


@pytest.mark.slow
def test_texts_move_to_the_tree_where_it_is_folded(visit: Open):
    one = visit(render_html(chain(30, is_right=True)))
    before = one.evaluate("document.querySelector('.text').getBoundingClientRect().left")
    one.page.locator("#levels").select_option("3")
    after = one.evaluate("document.querySelector('.node:not(.gone) .text').getBoundingClientRect().left")
    assert after < before - 100
    assert one.overlaps() == []
    one.page.locator("#levels").select_option("Infinity")
    assert one.evaluate("document.querySelector('.text').getBoundingClientRect().left") == pytest.approx(before, abs=1)


def test_words_light_up_with_their_relation(visit: Open):
    opened = visit(render_html(marked_bridge()))
    lit = "() => [...document.querySelectorAll('#text .lit')].map((word) => word.textContent)"
    opened.page.mouse.move(*place_of(opened, '.node[data-start="0"][data-stop="4"] .dot'))
    assert opened.page.evaluate(lit) == ["although", "had warned", "that"]
    opened.page.mouse.move(*place_of(opened, '.beside[data-target="2-4"] text'))
    assert opened.page.evaluate(lit) == ["still"]
    opened.page.mouse.move(5, 5)
    assert opened.page.evaluate(lit) == []
    opened.page.locator("#text .edu").nth(5).focus()
    assert opened.page.evaluate(lit) == ["and"]
    overlaps = opened.page.evaluate(OVERLAPS)
    assert not overlaps


def place_of(opened: Visit, selector: str) -> tuple[float, float]:
    box = opened.page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
