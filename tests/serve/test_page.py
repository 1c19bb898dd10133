"""The workbench as an annotator uses it, in a browser."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from genrst.document import Document
from genrst.formats.files import read_documents
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.formats.rs3_writer import write_rs3
from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.serve.app import make_app
from genrst.serve.middleware import Access
from genrst.trees.node import Leaf, Unit
from tests.serve.bench import Bench, bare, serving, units

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")]

ROOT = Path(__file__).parent.parent.parent
TEXT = """The ferry returns. The harbour ferry will carry passengers again from Monday, although only half of its old
timetable is restored, the port authority said. The service stopped two years ago when a storm damaged the pier.

Repairs took longer than planned because divers found cracks, and the bill rose. Shop owners welcomed the news."""


def find(document: dict[str, Any], *, least: int = 2, is_inner: bool = True) -> tuple[int, int]:
    """A unit of at least so many EDUs, not the whole document."""
    n = len(document["edus"])
    return next(
        span for span, *_ in units(document["tree"]) if span[1] - span[0] >= least and not (is_inner and span == (0, n))
    )


def label(document: dict[str, Any], span: tuple[int, int]) -> tuple[str, str]:
    return next((relation, nuclearity) for one, relation, nuclearity in units(document["tree"]) if one == span)


def test_paste_relabel_freeze_and_ask_again(bench: Bench):
    before = bench.parse(TEXT)
    assert before["text"] == TEXT
    span = find(before, least=3)
    bench.select(span)
    bench.relabel("joint")
    bench.select(span)
    bench.press("n")
    corrected = bench.document
    assert label(corrected, span)[0] == "joint"
    assert label(corrected, span)[1] != label(before, span)[1]
    assert {tuple(one["edus"]) for one in corrected["constraints"]} == {span}

    frozen = find(corrected, least=2)
    bench.select(frozen)
    bench.press("Z")
    kept = {unit for unit in units(bench.document["tree"]) if frozen[0] <= unit[0][0] and unit[0][1] <= frozen[1]}
    bench.ask_again()
    after = bench.document
    assert kept <= set(units(after["tree"]))
    assert label(after, span) == label(corrected, span)
    marked = bench.page.locator(".areas rect.changed").count()
    assert marked == len(set(units(after["tree"])) - set(units(corrected["tree"])))
    document_from_dict(after)


def test_ask_again_equals_the_parser_under_the_same_constraints(bench: Bench, chart: Parser):
    document = bench.parse(TEXT)
    span = find(document, least=4)
    bench.select(span)
    bench.press("x")
    assert bench.document["constraints"] == [{"edus": list(span), "is_unit": False}]
    bench.ask_again()
    given = document_from_dict({**bench.document, "tree": None})
    expected = document_to_dict(next(iter(chart.pipe([given]))))  # type: ignore[arg-type]
    assert units(bench.document["tree"]) == units(cast("dict[str, Any]", expected["tree"]))
    assert span not in [one for one, *_ in units(bench.document["tree"])]


def shown_targets(bench: Bench) -> list[tuple[int, int]]:
    marked = bench.page.locator(".areas rect.target").all()
    return [(int(one.get_attribute("data-start") or 0), int(one.get_attribute("data-stop") or 0)) for one in marked]


def focused(bench: Bench) -> tuple[int, int]:
    start, stop = bench.page.evaluate(
        "() => [document.activeElement.dataset.start, document.activeElement.dataset.stop]"
    )
    return int(start), int(stop)


BIRDS = ["Birds sing,", "bees hum,", "frogs croak,", "as it is May,", "and warm."]
NESTED = Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Unit("joint", "NN", (Leaf(2), Leaf(3)))))))
DEEP = Unit("elaboration", "NS", (NESTED, Leaf(4)))


def open_document(bench: Bench, document: Document) -> None:
    """Open a file that was chosen."""
    content = json.dumps(document_to_dict(document)).encode()
    with bench.drawn():
        bench.page.set_input_files("#file", {"name": "x.json", "mimeType": "text/plain", "buffer": content})


def test_attach_by_keyboard_also_higher(bench: Bench):
    """The source and its targets are marked; what is left of a unit around the source is a target, too."""
    open_document(bench, Document.from_edus("birds", BIRDS, DEEP))
    bench.select((3, 4))
    bench.page.keyboard.press("r")
    assert bench.page.locator(".areas rect.source").get_attribute("data-start") == "3"
    assert shown_targets(bench) == [(0, 4), (1, 4), (4, 5)]
    assert "attach EDU 4 to" in bench.said
    walk = [focused(bench)]
    for _ in range(3):
        bench.page.keyboard.press("ArrowDown")
        walk.append(focused(bench))
    assert walk == [(4, 5), (1, 4), (0, 4), (4, 5)], "the nearest first, and round"
    bench.page.keyboard.press("Escape")
    assert shown_targets(bench) == []
    assert focused(bench) == (3, 4)
    bench.page.keyboard.press("r")
    bench.page.keyboard.press("ArrowUp")
    bench.press("Enter")
    inner = Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Leaf(2)))))
    expected = Unit("elaboration", "NS", (Unit("joint", "NN", (inner, Leaf(3))), Leaf(4)))
    assert document_from_dict(bench.document).tree == expected
    assert "attached to 1–3" in bench.said


def test_attach_by_dragging(bench: Bench):
    open_document(bench, Document.from_edus("birds", BIRDS, DEEP))

    def middle(span: tuple[int, int]) -> tuple[float, float]:
        box = bench.rect(span).bounding_box()
        assert box is not None
        return box["x"] + 6, box["y"] + box["height"] / 2

    bench.page.mouse.move(*middle((3, 4)))
    bench.page.mouse.down()
    bench.page.mouse.move(*middle((2, 3)), steps=4)
    assert shown_targets(bench) == [(0, 4), (1, 4), (4, 5)]
    bench.page.mouse.up()
    assert bench.said == "nothing changed", "that is where it is already"
    bench.page.mouse.move(*middle((3, 4)))
    bench.page.mouse.down()
    bench.page.mouse.move(*middle((4, 5)), steps=4)
    assert bench.page.locator(".areas rect.over").get_attribute("data-start") == "4"
    with bench.drawn():
        bench.page.mouse.up()
    assert (3, 5) in [span for span, *_ in units(bench.document["tree"])]
    bench.press("Control+z")
    assert document_from_dict(bench.document).tree == DEEP, "it was one step"


def test_edus_are_split_moved_and_joined(bench: Bench):
    document = bench.parse(TEXT)
    n = len(document["edus"])
    texts = [document["text"][edu["start"] : edu["end"]] for edu in document["edus"]]
    edu = next(number for number, text in enumerate(texts) if number and len(text.split()) > 3)
    bench.select((edu, edu + 1))
    bench.click("#panel .cut >> nth=1")
    split = bench.document
    assert len(split["edus"]) == n + 1
    assert split["text"][split["edus"][edu]["start"] : split["edus"][edu]["end"]].split() == texts[edu].split()[:2]
    document_from_dict(split)

    bench.select((edu + 1, edu + 2))
    bench.press("[")
    moved = bench.document["edus"]
    assert split["text"][moved[edu]["start"] : moved[edu]["end"]].split() == texts[edu].split()[:1]
    bench.press("]")
    assert bench.document["edus"] == split["edus"]

    bench.select((edu, edu + 1))
    bench.press("e")
    assert bench.document["edus"] == document["edus"]
    assert bare(bench.document["tree"]) == bare(document["tree"])


def test_undo_ten_times_and_redo(bench: Bench):
    document = bench.parse(TEXT)
    bench.select(find(document))
    states = [document]
    for key in "nnznZnjxnZ"[:10]:
        bench.page.keyboard.press(key)
        bench.page.wait_for_timeout(150)
        states.append(bench.document)
        if not bench.page.is_visible("#panel"):
            bench.select(find(bench.document))
    distinct = [state for state, before in zip(states[1:], states, strict=False) if state != before]
    for _ in distinct:
        bench.press("Control+z")
    assert bench.document == document
    for _ in distinct:
        bench.press("Control+y")
    assert bench.document == states[-1]


def test_edits_are_seen_before_they_are_drawn(bench: Bench):
    """What is gone vanishes at once, and what was drawn before needs no service."""
    document = bench.parse(TEXT)
    start, stop = find(document, least=3)
    unit = f'#trees .node[data-start="{start}"][data-stop="{stop}"]'
    nodes = "() => [...document.querySelectorAll('#trees .node')].map((node) => node.innerHTML.trim()).sort()"
    whole = bench.page.evaluate(nodes)
    bench.select((start, stop))
    bench.page.route("**/v1/render", lambda route: None)  # waits
    bench.page.keyboard.press("x")
    is_gone = "(unit) => getComputedStyle(document.querySelector(unit)).display === 'none'"
    bench.page.wait_for_function(is_gone, arg=unit)
    bench.page.keyboard.press("Control+z")
    bench.page.wait_for_function(f"(unit) => !({is_gone})(unit)", arg=unit)
    bench.page.unroute("**/v1/render")  # goes on
    bench.page.wait_for_timeout(300)
    assert not bench.page.evaluate(is_gone, unit), "a drawing that comes too late is not shown"
    bench.press("Control+y")
    assert bench.page.locator(unit).count() == 0
    bench.press("Control+z")
    assert bench.page.evaluate(nodes) == whole


def test_least_certain_and_alternatives(bench: Bench):
    document = bench.parse(TEXT)
    probabilities: list[float] = []

    def collect(node: dict[str, Any]) -> None:
        if "edu" not in node:
            probabilities.append(node["probability"])
            for child in node["children"]:
                collect(child)

    collect(document["tree"])
    bench.press("p")
    assert bench.page.get_attribute("#colours", "aria-pressed") == "true"
    bench.page.keyboard.press("u")
    assert f"p {min(probabilities):.2f}" in bench.said
    bench.page.keyboard.press("u")
    assert f"p {sorted(probabilities)[1]:.2f}" in bench.said

    span = find(document, least=3)
    bench.select(span)
    with bench.drawn():
        bench.page.click("#alternatives")
    rows = bench.page.locator("#choices li").all_inner_texts()
    assert len(set(rows)) == len(rows) > 1, "each says what is different in it"
    assert all(re.match(r"(< 1%|\d+%) · ", row) for row in rows)
    assert bench.document["tree"] == document["tree"]
    previews = bench.page.locator("#trees svg").inner_html()
    bench.press("ArrowDown")
    assert bench.page.locator("#trees svg").inner_html() != previews, "each is shown before it is taken"
    bench.press("Escape")
    assert bench.document["tree"] == document["tree"]
    assert focused(bench) == span
    with bench.drawn():
        bench.page.keyboard.press("k")
    bench.press("Enter")
    now = " ".join(label(bench.document, span))
    assert bench.document["tree"] != document["tree"]
    assert f"{span[0] + 1}–{span[1]} {now}" in rows[0] or now == " ".join(label(document, span))
    outside = [unit for unit in units(document["tree"]) if not (span[0] <= unit[0][0] and unit[0][1] <= span[1])]
    assert [unit for unit in units(bench.document["tree"]) if unit in outside] == outside


def test_compare_and_summary(bench: Bench, tmp_path: Path):
    document = bench.parse(TEXT)
    bench.select(find(document))
    bench.press("n")
    bench.page.keyboard.press("d")
    bench.click("#against-first")
    assert bench.page.locator("#trees svg.genrst").count() == 2
    assert "different nuclearity: 1" in bench.page.inner_text(".facts")
    bench.press("d")
    assert bench.page.locator("#trees svg.genrst").count() == 1

    other = tmp_path / "other.rs3"
    other.write_text(write_rs3(document_from_dict(document)), encoding="utf-8")
    bench.page.keyboard.press("d")
    with bench.drawn():
        bench.page.set_input_files("#against-file", other)
    assert bench.page.locator("#trees svg.genrst").count() == 2
    bench.press("d")

    bench.page.click("summary >> text=View")
    bench.page.fill("#share", "20")
    shown = bench.page.locator("#text .edu:not(.untold)").count()
    assert bench.page.inner_text("#told") == f"{shown} of {len(document['edus'])} EDUs"
    assert shown == max(1, round(len(document["edus"]) * 0.2))


def test_reload_keeps_the_work(bench: Bench):
    document = bench.parse(TEXT)
    bench.select(find(document))
    bench.press("n")
    before = bench.document
    with bench.drawn():
        bench.page.reload()
    assert bench.document == before
    bench.press("Control+z")
    assert bench.document == document


def test_every_export_reads_back(bench: Bench, tmp_path: Path):
    document = document_from_dict(bench.parse(TEXT))
    assert bench.download("svg", tmp_path).read_text(encoding="utf-8").startswith("<svg")
    assert bench.download("png", tmp_path).read_bytes().startswith(b"\x89PNG")
    for format_name in ("json", "rs3", "rs4", "dis"):
        (again,) = read_documents(bench.download(format_name, tmp_path))
        assert again.tree == document.tree
        assert [text.split() for text in again.edu_texts] == [text.split() for text in document.edu_texts]


def test_a_dropped_file_opens(bench: Bench):
    tree = Unit("why", "NS", (Unit("list", "NNN", (Leaf(0), Leaf(1), Leaf(2))), Leaf(3)))
    content = write_rs3(
        Document.from_edus("birds", ["Birds sing,", "bees hum,", "frogs croak,", "as it is May."], tree)
    )
    transfer = bench.page.evaluate_handle(
        "(content) => { const one = new DataTransfer(); one.items.add(new File([content], 'birds.rs3')); return one; }",
        content,
    )
    with bench.drawn():
        bench.page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    assert bench.document["id"] == "birds"
    assert document_from_dict(bench.document).tree == tree
    opened = bare(bench.document["tree"])
    # A tree of a person is frozen. Units of several parts, and unknown relations, stay as they are.
    bench.page.keyboard.press("a")
    bench.wait_said("the whole tree is frozen")
    bench.select((0, 4))
    bench.press("z")
    bench.ask_again()
    assert "list" in json.dumps(bench.document["tree"])
    bench.press("Control+z")
    assert bare(bench.document["tree"]) == opened


def test_keyboard_only_once_through(bench: Bench):
    bench.page.wait_for_function("() => document.activeElement.id === 'paste'")
    bench.page.keyboard.insert_text(TEXT)
    bench.page.keyboard.press("Tab")
    bench.press("Enter")
    bench.page.wait_for_function("() => document.querySelector('#start').hidden")
    document = bench.document
    assert focused(bench) == (0, len(document["edus"])), "after parsing, the focus is in the tree"
    bench.page.keyboard.press("ArrowRight")
    start, stop = focused(bench)
    if stop - start == 1:
        bench.page.keyboard.press("ArrowDown")
    bench.press("n", "z", "z")
    bench.ask_again()
    while bench.page.is_enabled("#undo"):
        bench.press("Control+z")
    assert bench.document == document


HOSTILE = """<img src=x onerror=alert(1)> says <script>alert(2)</script>, because "><svg onload=alert(3)> it can.
It <b>really</b> can, and nobody minds."""


def test_html_is_inert(bench: Bench):
    bench.parse(HOSTILE)
    document = bench.document
    document["id"] = "<img src=x onerror=alert(4)>"
    document["tree"]["relation"] = "<img src=x onerror=alert(5)>"
    path = json.dumps(document)
    bench.page.click("#new")
    with bench.drawn():
        bench.page.set_input_files("#file", {"name": "x.json", "mimeType": "text/plain", "buffer": path.encode()})
    bench.select((0, len(document["edus"])))
    bench.page.wait_for_timeout(100)
    assert bench.page.locator("img").count() == 0
    assert bench.page.evaluate("() => document.querySelectorAll('script').length") == 2
    assert bench.page.inner_text("#relation-0") == "<img src=x onerror=alert(5)>"


def test_the_policy_blocks_an_injected_script(bench: Bench):
    bench.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.stolen = true";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<p onclick='window.stolen = true' id='bait'>x</p>");
            document.querySelector("#bait").click();
        }"""
    )
    assert bench.page.evaluate("() => window.stolen") is None
    assert bench.page.evaluate("() => fetch('https://example.org/').then(() => 'sent', () => 'blocked')") == "blocked"
    assert any("Content Security Policy" in line for line in bench.complaints)
    bench.complaints.clear()
    bench.requests.clear()


def test_a_key_is_asked_for(browser: "Browser", chart: Parser):
    with (
        serving(make_app([chart], access=Access(key="0123456789abcdef"))) as address,
        browser.new_context() as context,
    ):
        bench = Bench(context.new_page(), address)
        bench.page.wait_for_selector("#key")
        assert "API key" in bench.said
        bench.page.fill("#key-value", "0123456789abcdef")
        bench.page.press("#key-value", "Enter")
        bench.page.wait_for_selector("#key", state="hidden")
        bench.complaints.clear()
        bench.parse(TEXT)
        bench.check()


def test_the_shipped_model_and_pictures_for_the_docs(browser: "Browser"):
    """One correction after another, each followed by the parser. GENRST_PICTURES=1 keeps what it looks like."""
    with (
        serving(make_app([load(device="cpu")])) as address,
        browser.new_context(viewport={"width": 1180, "height": 760}) as context,
    ):
        bench = Bench(context.new_page(), address)
        document = bench.parse((ROOT / "examples" / "library.txt").read_text(encoding="utf-8"))
        last = next(span for span, *_ in units(document["tree"]) if 3 < span[1] - span[0] < 9 and span[0] > 0)
        bench.select(last)
        photograph(bench, "select")
        bench.page.keyboard.press("l")
        bench.page.keyboard.insert_text("cause")
        photograph(bench, "palette")
        bench.page.keyboard.press("Escape")
        bench.press("Z")
        bench.select(find(document, least=2))
        bench.press("x")
        before = bench.document
        bench.press("a")
        photograph(bench, "ask")
        bench.press("Enter")
        after = bench.document
        kept = [unit for unit in units(before["tree"]) if last[0] <= unit[0][0] and unit[0][1] <= last[1]]
        assert set(kept) <= set(units(after["tree"]))
        assert "changed" in bench.said
        bench.page.keyboard.press("d")
        bench.click("#against-first")
        photograph(bench, "compare")
        bench.check()


def photograph(bench: Bench, name: str) -> None:
    if os.environ.get("GENRST_PICTURES"):
        from PIL import Image

        bench.page.mouse.move(0, 0)
        bench.page.wait_for_timeout(500)
        bench.page.screenshot(path=(path := ROOT / "docs" / "images" / f"workbench-{name}.png"))
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


def test_errors_are_said_and_lose_nothing(bench: Bench):
    bench.page.click("#parse")
    assert bench.said == "paste a text first"
    document = bench.parse(TEXT)
    bench.page.click("#new")
    bench.page.set_input_files("#file", {"name": "x.rs3", "mimeType": "text/plain", "buffer": b"<rst"})
    bench.page.wait_for_function("() => document.querySelector('#said.error')")
    assert re.match(r"document\.rs3:1: the XML is not well-formed", bench.said)
    bench.page.click("#cancel")
    assert bench.document == document
    bench.page.route("**/v1/parse", lambda route: route.abort())
    bench.page.keyboard.press("a")
    bench.page.wait_for_function("() => document.querySelector('#said').textContent.includes('does not respond')")
    assert bench.document == document
    assert len(bench.complaints) == 2
    bench.complaints.clear()
