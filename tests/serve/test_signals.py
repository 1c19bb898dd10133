"""Signals and secondary edges on the workbench: what is done to them, and how the panel lets an annotator do it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from genrst.document import Document, SecondaryEdge, Signal, Span, Token, signal_spans
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.trees.node import Leaf, Unit
from tests.rendering.samples import marked_bridge
from tests.serve.bench import Bench

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Call = Callable[..., Any]

NAMES = [
    *("addedSignal", "changedSignal", "removedSignal", "toggledWord", "addedEdge", "changedEdge", "removedEdge"),
    *("sameWords", "joinEdus", "splitEdu", "moveStart", "layersOf", "dissolved"),
]


@pytest.fixture(scope="module")
def call(browser: "Browser") -> Iterator[Call]:
    """Calls a function of `signals.js`; what it throws is a text."""
    folder = files("genrst.serve").joinpath("workbench")
    names = ("edits.js", "segments.js", "notes.js", "signals.js")
    sources = [part.read_text(encoding="utf-8") for part in map(folder.joinpath, names) if part.is_file()]
    page = browser.new_page()
    newline = "\n"
    page.evaluate(f"() => {{ {newline.join(sources)} window.edits = {{ {', '.join(NAMES)} }}; }}")
    script = """([name, values]) => {
        try { return window.edits[name](...values); } catch (error) { return `refused: ${error.message}`; }
    }"""
    yield lambda name, *values: page.evaluate(script, [name, list(values)])
    page.close()


BRIDGE = document_to_dict(marked_bridge())


def signals(result: Json) -> tuple[Signal, ...]:
    return document_from_dict(result).signals


def words(document: Document) -> list[list[str]]:
    """The words of each signal, without white space."""
    text = document.text or ""
    return [["".join(text[span.start : span.end].split()) for span in spans] for spans in signal_spans(document)]


def test_signals_are_added_changed_and_removed(call: Call):
    before = marked_bridge().signals
    new = {"unit": [4, 6], "type": "dm", "subtype": "dm", "tokens": []}
    added = call("addedSignal", BRIDGE, new)
    assert signals(added) == (*before, Signal((4, 6), "dm", "dm"))
    assert signals(call("addedSignal", {**BRIDGE, "signals": None}, new)) == (Signal((4, 6), "dm", "dm"),)
    marked = call("toggledWord", call("toggledWord", added, 6, 27), 6, 25)
    assert signals(marked)[6].tokens == (25, 27)
    assert signals(call("toggledWord", marked, 6, 25))[6].tokens == (27,)
    moved = call("changedSignal", BRIDGE, 2, {"unit": [0, 1], "type": "lexical", "subtype": "indicative_word"})
    assert signals(moved)[2] == Signal((0, 1), "lexical", "indicative_word", (15, 20))
    assert signals(call("removedSignal", BRIDGE, 0)) == before[1:]
    assert call("changedSignal", BRIDGE, 2, {"unit": [1, 3]}) == "refused: there is no unit over EDUs 2–3"
    assert call("addedSignal", BRIDGE, {**new, "unit": [0, 3]}) == "refused: there is no unit over EDUs 1–3"
    assert document_from_dict(BRIDGE).signals == before, "nothing is changed in place"


def test_edges_take_their_signals_along(call: Call):
    edge = {"source": [0, 2], "target": [5, 6], "relation": "cause"}
    added = document_from_dict(call("addedEdge", BRIDGE, edge))
    assert added.secondary_edges[1:] == (SecondaryEdge((0, 2), (5, 6), "cause"),)
    moved = document_from_dict(call("changedEdge", BRIDGE, 0, {"target": [0, 1]}))
    assert moved.secondary_edges == (SecondaryEdge((4, 5), (0, 1), "contrast"),)
    assert moved.signals[5] == Signal((4, 5), "orphan", "orphan", (27,), "", (0, 1))
    assert moved.signals[:5] == marked_bridge().signals[:5]
    relabelled = document_from_dict(call("changedEdge", BRIDGE, 0, {"relation": "cause"}))
    assert relabelled.secondary_edges[0].relation == "cause"
    removed = document_from_dict(call("removedEdge", BRIDGE, 0))
    assert (removed.secondary_edges, removed.signals) == ((), marked_bridge().signals[:5])
    same = "refused: these units already have a secondary edge"
    assert call("addedEdge", BRIDGE, {**edge, "source": [4, 5], "target": [2, 4]}) == same
    itself = "refused: a secondary edge must connect two different units"
    assert call("changedEdge", BRIDGE, 0, {"target": [4, 5]}) == itself
    assert call("addedEdge", BRIDGE, {**edge, "target": [1, 3]}) == "refused: there is no unit over EDUs 2–3"


def test_words_stay_the_same_when_edus_change(call: Call):
    """Where EDUs meet inside a word, joining them makes two words one."""
    tree = Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2)))
    document = Document("x", "well-known, but 🙂 not old", (Span(0, 5), Span(5, 17), Span(18, 25)), tree)
    marked = replace(document, signals=(Signal((2, 3), "dm", "dm", (1, 3, 4)), Signal((0, 1), "dm", "dm", (2, 6))))
    assert words(marked) == [["well", "but🙂"], ["known", "old"]]
    before = document_to_dict(marked)
    after = document_from_dict(call("sameWords", before, call("joinEdus", before, 0)))
    assert after.signals[0].tokens == (1, 2, 3)
    assert words(after) == [["well-known,but🙂"], ["well-known", "old"]]
    split = document_from_dict(call("sameWords", before, call("splitEdu", before, 1, 1)))
    assert words(split) == words(marked)
    tokens = tuple(Token(start, end, 0) for start, end in ((0, 10), (10, 11), (12, 15)))
    with_tokens = document_to_dict(replace(marked, tokens=tokens))
    joined = call("joinEdus", with_tokens, 0)
    assert call("sameWords", with_tokens, joined)["signals"] == joined["signals"], "tokens stay as they are"


def test_only_documents_with_signals_send_them(call: Call):
    assert call("layersOf", {"signals": [], "text": "x"}) == {}
    assert set(call("layersOf", BRIDGE)) == {"signals", "secondary_edges"}


def test_the_panel(bench: Bench):
    """Words light up, a signal and an edge are made, moved and removed, and undone."""
    content = json.dumps(BRIDGE).encode()
    with bench.drawn():
        bench.page.set_input_files("#file", {"name": "x.json", "mimeType": "text/plain", "buffer": content})
    bench.select((2, 4))
    assert bench.page.locator("#text .lit").all_inner_texts() == ["although", "had warned", "that"]
    names = bench.page.locator("#why .signal:not(.edge-row) > button:first-child").all_inner_texts()
    assert names == ["“had warned”", "“although that”", "“still”"]
    assert "5 ⇢" in bench.page.inner_text("#why .edge-row")
    bench.click("#add-signal")
    bench.click("#word-23")
    assert bench.document["signals"][-1] == {"unit": [2, 4], "type": "dm", "subtype": "dm", "tokens": [23]}
    with bench.drawn():
        bench.page.select_option("#signal-6", "lexical indicative_word")
    bench.page.click("#move-signal-6")
    with bench.drawn():
        bench.rect((4, 6)).click(position={"x": 3, "y": 3})
    assert bench.document["signals"][-1]["unit"] in ([4, 6], [4, 5])
    assert bench.document["signals"][-1]["subtype"] == "indicative_word"
    bench.select((0, 1))
    bench.page.click("#add-edge")
    bench.select((5, 6))
    with bench.drawn():
        bench.page.keyboard.press("Enter")
    edge = bench.document["secondary_edges"][-1]
    assert (edge["source"], edge["target"]) == ([0, 1], [5, 6])
    assert bench.page.locator('.node[data-start="0"][data-stop="1"] .beside[data-target="5-6"]').count() == 1
    bench.page.click("#edge-1")
    bench.page.keyboard.insert_text("joint")
    bench.press("Enter")
    assert bench.document["secondary_edges"][-1]["relation"] == "joint"
    bench.click("#remove-edge-1")
    assert bench.said == "edge removed with 1 signal; undo restores them"
    assert len(bench.document["secondary_edges"]) == 1
    bench.press("Control+z")
    assert len(bench.document["secondary_edges"]) == 2
    bench.select((0, 1))
    bench.page.click("#move-edge-1")
    bench.page.keyboard.press("Escape")
    assert bench.said == "nothing changed"
    document_from_dict(bench.document)
