"""A folder in the browser: its files and their states, the project, and two annotators who become a third."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from genrst.document import Document
from genrst.evaluation.report import evaluate
from genrst.formats.files import read, write
from genrst.formats.json_format import document_from_dict
from genrst.parser.parser import Parser
from genrst.serve.app import make_app
from genrst.serve.files import Files
from genrst.serve.folder import Folder, read_state
from genrst.serve.pairs import Pairs
from genrst.serve.project import read_project
from genrst.trees.node import Leaf, Unit
from tests.rendering.browser import open_browser
from tests.serve.bench import SETTLED, Bench, serving
from tests.serve.test_page import photograph

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

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
def context() -> "Iterator[BrowserContext]":
    with open_browser() as page:
        assert page.context.browser is not None
        yield page.context.browser.new_context(viewport={"width": 1280, "height": 800})


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


def wait_for(bench: Bench, words: str) -> None:
    bench.page.wait_for_function("(words) => document.querySelector('#said').textContent.includes(words)", arg=words)


def test_done_flagged_and_next(context: "BrowserContext", chart: Parser, tmp_path: Path):
    write_rain(tmp_path, "a.rs3", "b.rs3", "c.rs3")
    with visiting(context, chart, Folder(files_in(tmp_path))) as bench:
        page = bench.page
        assert page.inner_text("#folder-title") == "0 of 3 done"
        assert page.inner_text("#folder-list [aria-current] .name") == "a.rs3"
        bench.select((0, 3))
        bench.press("n")
        page.keyboard.press("D")
        wait_for(bench, "1 of 3 done")
        assert read(tmp_path / "a.rs3").tree != FIRST, "what is done is saved"
        with bench.drawn():
            page.keyboard.press("N")
        assert bench.document["id"] == "b"
        page.keyboard.press("F")
        wait_for(bench, "1 flagged")
        assert [read_state(tmp_path / f"{name}.rs3") for name in "abc"] == ["done", "flagged", "open"]
        assert not (tmp_path / "b.rs3.bak").exists(), "a flag saves nothing"
        with bench.drawn():
            page.click("#file-next")
        assert bench.document["id"] == "c"
        page.keyboard.press("D")
        wait_for(bench, "2 of 3 done")
        page.keyboard.press("N")
        wait_for(bench, "no other file is open")
        page.keyboard.press("D")
        wait_for(bench, "c.rs3: open")
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
        assert labels == [["0.rs3", "open"], ["a.rs3", "done"], ["b.rs3", "flagged"], ["c.rs3", "open"]]
