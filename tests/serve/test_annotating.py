"""Editing as people expect it: the palette, asking first, notes, keys, and a page that fits."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from genrst.document import Document, SecondaryEdge, Signal
from genrst.formats.files import read, write
from genrst.formats.json_format import document_from_dict
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files
from genrst.serve.app import make_app
from genrst.trees.relations import load_glossary
from tests.serve.bench import OFFERED, SETTLED, Bench, bare, serving, units
from tests.serve.test_page import BIRDS, DEEP, TEXT, find, focused, label, open_document

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")]

PERSON = Document.from_edus("birds", BIRDS, DEEP)
MADE = replace(PERSON, model="en")


@pytest.fixture
def rain(browser: "Browser", chart: Parser, tmp_path: Path) -> Iterator[Bench]:
    """The page of `genrst annotate` on a file of rstWeb."""
    write(PERSON, tmp_path / "birds.rs4")
    files = Files()
    files.add(tmp_path / "birds.rs4")
    with serving(make_app([chart], files=files)) as address, browser.new_context() as context:
        bench = Bench(context.new_page(), address)
        bench.page.wait_for_function(SETTLED)
        yield bench
        bench.check()


def options(bench: Bench) -> list[str]:
    return bench.page.locator("#palette-list li b").all_inner_texts()


def n_steps(bench: Bench) -> int:
    return len(bench.stored["past"])


def test_the_palette(bench: Bench):
    """Typing never does anything but search; Enter takes a relation in one step, Escape none."""
    open_document(bench, MADE)
    before = bench.document
    bench.select((1, 4))
    bench.page.keyboard.press("l")
    assert bench.page.evaluate("() => document.activeElement.getAttribute('role')") == "combobox"
    active = bench.page.locator('#palette-list [aria-selected="true"]')
    assert active.locator("b").inner_text() == "causal", "what it is now"
    for key in ("a", "ArrowDown", "ArrowDown", "ArrowUp", "j", "x"):
        bench.page.keyboard.press(key)
    assert bench.document == before
    bench.page.keyboard.press("Escape")
    assert not bench.page.is_visible("#palette")
    assert bench.document == before
    assert focused(bench) == (1, 4)

    bench.page.keyboard.press("l")
    bench.page.keyboard.insert_text("guides")
    assert options(bench) == ["guides"], "a relation of one's own"
    bench.page.fill("#palette-input", "weight")
    assert options(bench)[0] == "joint", "by its definition"
    definition, example = load_glossary()["joint"]
    row = bench.page.inner_text("#palette-list li >> nth=0")
    assert definition.removeprefix("– ") in row
    assert example in row
    bench.press("Enter")
    assert label(bench.document, (1, 4))[0] == "joint"
    assert n_steps(bench) == 1
    assert "2–4: joint NS" in bench.said
    bench.press("Control+z")
    assert bench.document == before

    bench.select((4, 5))
    bench.relabel("joint")
    assert label(bench.document, (0, 5))[0] == "joint", "that of an EDU is the one to its parent"


def test_asking_again_shows_what_would_change_and_asks(bench: Bench):
    document = bench.parse(TEXT)
    span = find(document, least=4)
    bench.select(span)
    bench.press("x")
    before = bench.document
    bench.press("a")
    bench.page.wait_for_function(OFFERED)
    assert bench.document == before
    title = bench.page.inner_text("#choices h2")
    n = int(title.split()[0])
    assert title == f"{n} of {len(units(before['tree']))} units would change"
    assert bench.page.locator(".areas rect.changed").count() == n
    bench.press("Escape")
    assert bench.document == before
    assert bench.page.locator(".areas rect.changed").count() == 0
    bench.ask_again()
    assert len(set(units(bench.document["tree"])) - set(units(before["tree"]))) == n
    bench.page.keyboard.press("a")
    bench.wait_said("finds nothing to change")


def test_a_tree_of_a_person_is_frozen(rain: Bench, tmp_path: Path):
    """It is changed only where it was thawed; its file says nothing of it, and saving does not complain."""
    rain.page.keyboard.press("a")
    rain.wait_said("the whole tree is frozen")
    assert bare(rain.document["tree"]) == bare(document_tree(PERSON))
    rain.select((2, 4))
    rain.press("n")
    rain.page.keyboard.press("a")
    rain.wait_said("the whole tree is frozen")
    rain.page.keyboard.press("s")
    rain.wait_said("saved to birds.rs4")
    assert "left out" not in rain.said
    assert read(tmp_path / "birds.rs4").constraints == ()
    rain.select((1, 4))
    rain.press("Z")
    others = [unit for unit in units(rain.document["tree"]) if unit[0] in ((0, 5), (0, 4))]
    rain.ask_again()
    assert [unit for unit in units(rain.document["tree"]) if unit in others] == others


def document_tree(document: Document) -> dict[str, Any]:
    from genrst.formats.json_format import tree_to_dict

    assert document.tree is not None
    return tree_to_dict(document.tree)


def test_comments_and_flags(rain: Bench, tmp_path: Path):
    rain.select((1, 4))
    rain.press("g")
    rain.page.keyboard.press("m")
    rain.page.keyboard.insert_text("a cause? or\n<b>not</b>")
    with rain.drawn():
        rain.page.keyboard.press("Control+Enter")
    rain.select((4, 5))
    rain.page.keyboard.press("m")
    rain.page.keyboard.insert_text("odd")
    rain.page.keyboard.press("Escape")
    rain.select((0, 5))
    rain.page.keyboard.press("G")
    assert focused(rain) == (1, 4)
    assert "⚑ flagged: a cause? or" in rain.page.inner_text("#panel h2")
    assert "⚑ flagged" in (rain.rect((1, 4)).get_attribute("aria-label") or "")
    rain.page.keyboard.press("s")
    rain.wait_said("saved")
    notes = [{"edus": [1, 4], "flag": True, "text": "a cause? or\n<b>not</b>"}]
    (tmp_path / "copy.rs4").write_bytes((tmp_path / "birds.rs4").read_bytes())
    found = json.loads(read(tmp_path / "copy.rs4").metadata["notes"])
    assert found == [{key: notes[0][key] for key in ("edus", "text", "flag")}]
    rain.press("g")
    assert rain.page.locator("rect.flagged").count() == 0
    assert rain.page.locator("rect.noted").count() == 1


def test_what_an_edit_drops_is_told(bench: Bench):
    signals = (Signal((2, 3), "dm", "dm", (4,)),)
    edges = (SecondaryEdge((1, 4), (0, 1), "causal"),)
    open_document(bench, replace(MADE, signals=signals, secondary_edges=edges))
    bench.select((1, 4))
    bench.press("x")
    assert "also removed, because their units are gone: 1 secondary edge; undo restores them" in bench.said
    bench.press("Control+z")
    assert document_from_dict(bench.document).secondary_edges == edges


def test_lines_that_were_said_do_not_stay(bench: Bench):
    open_document(bench, MADE)
    before = bench.document
    bench.select((1, 4))
    for key, refusal in (
        ("e", "this unit has several EDUs"),
        ("[", "this unit has several EDUs"),
        ("G", "no comments or flags"),
    ):
        bench.page.keyboard.press(key)
        assert refusal in bench.said
    assert bench.document == before
    bench.page.keyboard.press("+")
    assert bench.said == ""
    bench.select((1, 2))
    bench.page.keyboard.press("n")
    assert "an EDU has no nuclearity" in bench.said


def test_keys_are_shown(bench: Bench):
    open_document(bench, MADE)
    bench.page.keyboard.press("?")
    keys = bench.page.inner_text("header details[open] dl")
    for key in ("Ctrl S", "r, j, x", "m, g, G", "a, k"):
        assert key in keys
    bench.page.keyboard.press("Escape")
    assert bench.page.locator("header details[open]").count() == 0
    assert focused(bench) == (0, 5)
    bench.page.click("summary >> text=View")
    bench.page.click("summary >> text=More")
    assert bench.page.locator("header details[open]").count() == 1
    bench.page.click("#trees", position={"x": 5, "y": 300})
    assert bench.page.locator("header details[open]").count() == 0


def test_keyboard_only_from_the_first_key(rain: Bench, tmp_path: Path):
    """With `genrst annotate`, from its page to a saved file."""
    assert focused(rain) == (0, 5)
    rain.page.keyboard.press("ArrowRight")
    assert focused(rain) == (0, 4)
    rain.relabel("causal")
    rain.page.keyboard.press("ArrowRight")
    rain.page.keyboard.press("r")
    rain.press("Enter")
    rain.press("Control+z")
    assert focused(rain) == (0, 1), "where it was"
    rain.page.keyboard.press("ArrowDown")
    rain.press("n")
    edited = document_from_dict(rain.document).tree
    rain.page.keyboard.press("Control+s")
    rain.wait_said("saved")
    assert read(tmp_path / "birds.rs4").tree == edited != DEEP
    assert focused(rain)


def sizes(bench: Bench, *selectors: str) -> list[float]:
    script = "(selector) => document.querySelector(selector).getBoundingClientRect().height"
    return [bench.page.evaluate(script, selector) for selector in selectors]


def test_the_toolbar_is_one_row(rain: Bench):
    rain.page.set_viewport_size({"width": 1180, "height": 760})
    header, tree = sizes(rain, "header", "#trees")
    assert header < 50
    assert tree > 0.7 * 760
    for name in ("Open…", "Save", "Re-parse", "Undo", "View", "More", "Keys"):
        assert rain.page.locator("header").get_by_text(name, exact=True).is_visible()
    assert rain.page.evaluate("() => document.querySelector('header').scrollWidth <= innerWidth")


def test_phone_width_dark_and_right_to_left(bench: Bench):
    bench.page.set_viewport_size({"width": 390, "height": 800})
    bench.page.emulate_media(color_scheme="dark")
    document = bench.parse("هطل المطر طوال اليوم، لذلك بقينا في المنزل. لم يمانع أحد في ذلك. كان اليوم جميلا مع ذلك.")
    assert bench.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert bench.page.evaluate("() => getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert bench.page.locator("svg.genrst.mirrored").count() == 1
    bench.select((0, len(document["edus"])))
    assert bench.page.is_visible("#panel")
    header, tree = sizes(bench, "header", "#trees")
    assert header < 50
    assert tree > 0.45 * 800
    for name in ("View", "More", "Keys"):
        bench.page.click(f"summary >> text={name}")
        box = bench.page.locator("header details[open] > :last-child").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    bench.page.keyboard.press("Escape")
    bench.select((0, len(document["edus"])))
    bench.relabel("joint")
    bench.page.keyboard.press("Control+s")


def test_no_serious_finding_of_axe(bench: Bench):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = [axe.run(bench.page)]

    def look(*keys: str) -> None:
        for key in keys:
            bench.page.keyboard.press(key)
        bench.page.wait_for_timeout(50)
        found.append(axe.run(bench.page))

    document = bench.parse(TEXT)
    bench.select(find(document))
    look("g")
    look("l")
    look("Escape", "m")
    look("Escape", "r")
    bench.page.keyboard.press("Escape")
    bench.press("x")
    bench.press("a")
    look()
    bench.press("Escape")
    bench.select((1, 2))
    look("?")
    bench.page.keyboard.press("?")
    bench.page.click("#new")
    bench.page.fill("#paste", TEXT)
    bench.page.click("#parse")
    look()
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for result in found
        for one in result.response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
