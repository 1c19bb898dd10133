"""A folder in the browser: its files and their states, the project, and two annotators who become a third."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from genrst.document import Document, require_tree
from genrst.evaluation.report import evaluate
from genrst.formats.files import read, write
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files
from genrst.serve.annotation.folder import Folder, read_state, write_state
from genrst.serve.annotation.pairs import Pairs
from genrst.serve.annotation.project import read_project
from genrst.serve.app import make_app
from genrst.trees.node import Leaf, Tree, Unit, fold
from tests.serve.bench import SETTLED, Bench, serving
from tests.serve.test_page import ROOT, photograph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")]

TEXTS = ["It rained all day,", "so we stayed in", "and read.", "Nobody minded."]
FIRST = Unit("elaboration", "NS", (Unit("causal", "SN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2))))), Leaf(3)))
SECOND = Unit("evaluation", "NS", (Unit("joint", "NN", (Unit("causal", "NS", (Leaf(0), Leaf(1))), Leaf(2))), Leaf(3)))
PROJECT = """
guidelines = '''Rule 1: <b>read</b> the text.
Rule 2: read it again.'''

[[relations]]
name = "cause"
definition = "The satellite is why."
example = "We stayed in because it rained."

[[relations]]
name = "joint"
nuclearity = ["NN"]
"""


@pytest.fixture(scope="module")
def context(browser: "Browser") -> "Iterator[BrowserContext]":
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@contextmanager
def visiting(context: "BrowserContext", parser: Parser, folder: Folder) -> Iterator[Bench]:
    """The page of a folder, in a page of its own."""
    with serving(make_app([parser], files=folder.files, folder=folder)) as address:
        bench = Bench(page := context.new_page(), address)
        bench.page.wait_for_function(SETTLED)
        yield bench
        bench.check()
        page.close()


def write_rain(folder: Path, *names: str, tree: Unit = FIRST) -> None:
    for name in names:
        write(Document.from_edus(Path(name).stem, TEXTS, tree), folder / name)


def files_in(folder: Path) -> Files:
    files = Files()
    for path in sorted(folder.glob("*.rs3")):
        files.add(path)
    return files


def test_done_flagged_and_next(context: "BrowserContext", chart: Parser, tmp_path: Path):
    write_rain(tmp_path, "a.rs3", "b.rs3", "c.rs3")
    with visiting(context, chart, Folder(files_in(tmp_path))) as bench:
        page = bench.page
        assert page.inner_text("#folder-title") == "0 of 3 done"
        assert page.inner_text("#folder-list [aria-current] .name") == "a.rs3"
        bench.select((0, 3))
        bench.press("n")
        page.keyboard.press("D")
        bench.wait_said("1 of 3 done")
        assert read(tmp_path / "a.rs3").tree != FIRST, "what is done is saved"
        with bench.drawn():
            page.keyboard.press("N")
        assert bench.document["id"] == "b"
        page.keyboard.press("F")
        bench.wait_said("1 flagged")
        assert [read_state(tmp_path / f"{name}.rs3") for name in "abc"] == ["done", "flagged", "open"]
        assert not (tmp_path / "b.rs3.bak").exists(), "a flag saves nothing"
        with bench.drawn():
            page.click("#file-next")
        assert bench.document["id"] == "c"
        page.keyboard.press("D")
        bench.wait_said("2 of 3 done")
        page.keyboard.press("N")
        bench.wait_said("no open files are left")
        page.keyboard.press("D")
        bench.wait_said("c.rs3: open")
        # A filter by name and by state.
        page.fill("#folder-find", "B.")
        assert page.locator("#folder-list button").count() == 1
        page.fill("#folder-find", "")
        page.select_option("#folder-show", "done")
        assert page.locator("#folder-list .name").all_inner_texts() == ["a.rs3"]
    # A restart, with a new file: numbers change, states do not.
    write_rain(tmp_path, "0.rs3")
    with visiting(context, chart, Folder(files_in(tmp_path))) as bench:
        shown = bench.page.locator("#folder-list button").all()
        labels = [str(one.get_attribute("aria-label")).split(", ")[:2] for one in shown]
        assert sorted(labels) == [["0.rs3", "open"], ["a.rs3", "done"], ["b.rs3", "flagged"], ["c.rs3", "open"]]


def test_the_relations_of_the_project(context: "BrowserContext", chart: Parser, tmp_path: Path):
    write_rain(tmp_path, "a.rs3")
    (tmp_path / "genrst.toml").write_text(PROJECT, encoding="utf-8")
    project = read_project(tmp_path / "genrst.toml")
    with visiting(context, chart, Folder(files_in(tmp_path), project)) as bench:
        page = bench.page
        page.keyboard.press("b")
        assert page.is_visible("#folder")
        assert page.locator("#misfits button").all_inner_texts() == [
            "1–4: elaboration",
            "1–3: causal",
        ]
        page.click("#guidelines summary")
        assert page.inner_text("#guidelines .text").startswith("Rule 1: <b>read</b> the text.\n")
        page.click("#misfits button >> nth=1")
        page.keyboard.press("l")
        offered = page.locator("#palette-list b").all_inner_texts()
        assert offered == ["causal", "cause", "elaboration", "joint"], "the project's, and those of the document"
        assert "The satellite is why.We stayed in because it rained." in page.inner_text("#palette-list").replace(
            "\n", ""
        )
        page.keyboard.insert_text("joint")
        bench.press("Enter")
        assert page.inner_text("#misfits li >> nth=1") == "1–3: joint as SN"
        bench.select((0, 3))
        bench.relabel("cause")
        assert page.locator("#misfits li").count() == 1
        # The model does not know the relation; asking again keeps it.
        bench.select((1, 3))
        bench.press("z")
        bench.ask_again()
        assert "cause" in json.dumps(bench.document["tree"])
        page.keyboard.press("D")
        bench.wait_said("not fit the project")
        assert read_state(tmp_path / "a.rs3") == "done"


@contextmanager
def adjudicating(context: "BrowserContext", parser: Parser, folder: Path) -> Iterator[Bench]:
    sides = [{path.stem: path for path in sorted((folder / side).glob("*.rs3"))} for side in ("ann", "bob")]
    pairs = Pairs(sides[0], sides[1], folder / "gold", names=("ann", "bob"))
    with visiting(context, parser, Folder(Files(), pairs=pairs)) as bench:
        yield bench


def test_two_annotators_become_a_third(context: "BrowserContext", chart: Parser, tmp_path: Path):
    """By the keyboard alone: take left, take right, edit; close the page in between."""
    for side, tree in (("ann", FIRST), ("bob", SECOND)):
        (tmp_path / side).mkdir()
        write_rain(tmp_path / side, "a.rs3", "b.rs3", tree=tree)
        write_rain(tmp_path / side, "same.rs3")
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.rs3"))}
    with adjudicating(context, chart, tmp_path) as bench:
        page = bench.page
        page.wait_for_selector("#decide tr[aria-current]")
        assert page.locator("#trees svg.genrst").count() == 2
        assert page.locator("#trees figcaption").all_inner_texts() == ["ann", "bob"]
        assert page.locator(".areas rect.deciding").count() == 2
        rows = page.locator("#decide tbody tr")
        assert rows.all_inner_texts()[1].split("\t") == [
            "1–3",
            "causal SN (2–3 joint NN)",
            "joint NN (1–2 causal NS)",
            "Edit",
        ]
        page.keyboard.press("2")
        bench.wait_said("1 left to decide")
        assert repr(read(tmp_path / "gold" / "a.rs3").tree) == "(evaluation NS (causal SN 0 (joint NN 1 2)) 3)"
    with adjudicating(context, chart, tmp_path) as bench:
        page = bench.page
        page.wait_for_selector("#decide tr[aria-current]")
        assert page.inner_text("#decide h2") == "1 of 2 decided"
        assert page.get_attribute("#decide-0-right", "aria-pressed") == "true"
        # The focus is on what is to be decided: walk to the right one and take it.
        page.wait_for_function("() => document.activeElement.id === 'decide-1-left'")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        bench.wait_said("all decided")
        assert read(tmp_path / "gold" / "a.rs3").tree == SECOND
        page.keyboard.press("Control+z")
        bench.wait_said("1 left to decide")
        page.keyboard.press("v")
        with bench.drawn():
            page.keyboard.press("3")
        assert page.locator("#trees svg.genrst").count() == 1
        page.wait_for_selector("#panel:not([hidden])")
        assert page.inner_text("#panel h2") == "EDUs 1–3"
        bench.press("n")
        with bench.drawn():
            page.keyboard.press("3")
        bench.wait_said("all decided")
        assert repr(read(tmp_path / "gold" / "a.rs3").tree) == "(evaluation NS (causal NN 0 (joint NN 1 2)) 3)"
        assert page.get_attribute("#decide-1-edit", "aria-pressed") == "true"
        with bench.drawn():
            page.keyboard.press("N")
        page.wait_for_function("() => document.querySelector('#folder-list [aria-current] .name').textContent === 'b'")
        # As fast as one can type: each decision is for the row after the one before, and all are written.
        page.wait_for_function("() => document.activeElement.id === 'decide-0-left'")
        for key in "21N":
            page.keyboard.press(key)
        bench.wait_said("saved to")
        page.wait_for_function("() => document.querySelector('#folder-title').textContent === '3 of 3 done'")
        assert repr(read(tmp_path / "gold" / "b.rs3").tree) == "(evaluation NS (causal SN 0 (joint NN 1 2)) 3)"
        assert read(tmp_path / "gold" / "same.rs3").tree == FIRST
        assert page.inner_text("h1") == "same"
        # Kappa and F1 are those of `genrst evaluate --agreement`.
        sides = [
            [replace(read(tmp_path / side / f"{name}.rs3"), id=name) for name in ("a", "b", "same")]
            for side in ("ann", "bob")
        ]
        found = evaluate(*sides)
        cells = page.locator("#agreement tbody tr >> nth=0").locator("td").all_inner_texts()
        scores = [f"{found.percentages()[aspect]:.1f}" for aspect in "SNRF"]
        kappas = [f"{one.kappa:.2f}" for one in found.agreement().values()]
        assert cells == [*scores, *kappas]
    assert {path: path.read_bytes() for path in before} == before


def test_pictures_for_the_docs_and_axe(
    context: "BrowserContext", chart: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder, the pairs and the decisions have no serious finding. GENRST_PICTURES=1 keeps what they look like."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    monkeypatch.chdir(tmp_path)
    ferry = read(ROOT / "examples" / "ferry.rs3")
    other = replace(ferry, tree=fold(require_tree(ferry), lambda leaf: leaf, other_opinion))
    for name, span in PARTS.items():
        for side, whole in (("ann", ferry), ("bob", other)):
            write(part(whole, name, span), tmp_path / side / f"{name}.rs3")
    for name in ("bridge", "interview-1"):
        write_state(tmp_path / "ann" / f"{name}.rs3", "done")
    write_state(tmp_path / "ann" / "harbour.rs3", "flagged")
    (tmp_path / "genrst.toml").write_text(PROJECT, encoding="utf-8")
    project = read_project(tmp_path / "genrst.toml")
    found = []
    with visiting(context, chart, Folder(files_in(tmp_path / "ann"), project)) as bench:
        found.append(axe.run(bench.page))
        bench.page.set_viewport_size({"width": 390, "height": 800})
        assert bench.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    with visiting(context, chart, Folder(files_in(tmp_path / "ann"))) as bench:
        with bench.drawn():
            bench.page.keyboard.press("N")
        bench.select((4, 6))
        photograph(bench, "folder")
    with adjudicating(context, chart, Path()) as bench:
        bench.page.wait_for_selector("#decide tr[aria-current]")
        with bench.drawn():
            bench.page.click("#folder-list button >> nth=1")
        bench.page.keyboard.press("2")
        bench.wait_said("left to decide")
        bench.page.keyboard.press("1")
        bench.wait_said("2 left to decide")
        found.append(axe.run(bench.page))
        photograph(bench, "adjudicate")
        bench.page.set_viewport_size({"width": 390, "height": 800})
        assert bench.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        with bench.drawn():
            bench.page.keyboard.press("d")
        found.append(axe.run(bench.page))
    violations = [one for result in found for one in result.response["violations"]]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")]
    assert serious == []


PARTS = {
    **{"bridge": (1, 12), "ferry": (0, 19), "harbour": (12, 19), "interview-1": (12, 16), "interview-2": (4, 12)},
    **{"library": (1, 19), "market": (6, 12)},
}
"""A small corpus: parts of the ferry, by their EDUs."""


def part(document: Document, name: str, span: tuple[int, int]) -> Document:
    node = next(node for node in document.root if (node.start, node.stop) == span)

    def moved(unit: Unit, parts: list[Tree]) -> Tree:
        return Unit(unit.relation, unit.nuclearity, tuple(parts), unit.relations)

    tree: Tree = fold(node.tree, lambda leaf: Leaf(leaf.edu - span[0]), moved)
    return Document.from_edus(name, document.edu_texts[slice(*span)], tree)


def other_opinion(unit: Unit, parts: list[Tree]) -> Tree:
    """What the second annotator makes of a unit of the ferry."""
    children = tuple(parts)
    match unit.start, unit.stop:
        case 1, 19:
            return Unit("elaboration-additional", "NS", children)
        case 6, 9 if isinstance(inner := children[0], Unit):
            first, second = inner.children
            return Unit("causal-cause", "NS", (first, Unit("joint-list", "NN", (second, children[1]))))
        case 9, 12:
            return Unit("causal-result", "NS", children)
        case 17, 19:
            return Unit("causal-result", "SN", children)
    return Unit(unit.relation, unit.nuclearity, children, unit.relations)


def test_other_edus_and_comments(context: "BrowserContext", chart: Parser, tmp_path: Path):
    """A comment stays with its text when an EDU before it is taken away."""
    notes = json.dumps([{"edus": [3, 4], "text": "Really?"}])
    ann = replace(Document.from_edus("rain", TEXTS, FIRST), metadata={"notes": notes})
    tree = Unit("joint", "NN", (Unit("list", "NN", (Leaf(0), Leaf(1))), Leaf(2)))
    bob = Document.from_edus("rain", [TEXTS[0], " ".join(TEXTS[1:3]), TEXTS[3]], tree)
    for side, document in (("ann", ann), ("bob", bob)):
        write(document, tmp_path / side / "rain.rs3")
    with adjudicating(context, chart, tmp_path) as bench:
        bench.page.wait_for_function("() => document.activeElement.id === 'decide-0-left'")
        for _ in range(2):
            bench.page.keyboard.press("ArrowDown")
        assert bench.page.inner_text("#decide [aria-current] th") == "2–3"
        bench.page.keyboard.press("2")
        bench.wait_said("left to decide")
    result = read(tmp_path / "gold" / "rain.rs3")
    assert result.edu_texts == bob.edu_texts
    assert json.loads(result.metadata["notes"]) == [{"edus": [2, 3], "text": "Really?"}]
