"""No work is lost: drafts, saving, two tabs and other programs, as an annotator meets them in a browser."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from genrst.document import Document, Signal
from genrst.formats.files import read, write
from genrst.formats.json_format import document_from_dict
from genrst.formats.rs3_writer import write_rs3
from genrst.parser.parser import Parser
from genrst.serve.annotation.files import Files
from genrst.serve.app import make_app
from genrst.serve.middleware import Access
from genrst.trees.node import Leaf, Unit
from tests.serve.bench import SETTLED, Bench, serving
from tests.serve.test_page import TEXT, find, open_document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::genrst.errors.ParserWarning")]

RAIN = Document.from_edus(
    "rain", ["It rained,", "so", "what."], Unit("causal", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
)
TURNED = "(causal SN 0 (joint NN 1 2))"
KEY = "k" * 16

Open = Callable[..., Bench]


@pytest.fixture
def context(browser: "Browser") -> "Iterator[BrowserContext]":
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        yield context


@pytest.fixture
def annotate(context: "BrowserContext", chart: Parser, tmp_path: Path) -> Iterator[Open]:
    """Start `genrst annotate` on the files of a folder; the same browser, and the same address if that is asked for."""
    with ExitStack() as stack:

        def start(*names: str, key: str = KEY) -> Bench:
            files = Files()
            for path in [tmp_path / name for name in names] or sorted(tmp_path.glob("*.*")):
                if path.is_file() and path.suffix in (".rs3", ".txt", ".json"):
                    files.add(path)
            address = stack.enter_context(serving(make_app([chart], access=Access(key=key), files=files)))
            bench = Bench(context.new_page(), address, f"#key={key}")
            bench.page.wait_for_function(SETTLED)
            return bench

        yield start


def another_tab(bench: Bench) -> Bench:
    other = Bench(bench.page.context.new_page(), bench.address, f"#key={KEY}")
    other.page.wait_for_function(SETTLED)
    return other


def drafts(folder: Path) -> list[Path]:
    return list(folder.glob(".genrst/drafts/*"))


def are_deleted(folder: Path) -> bool:
    """Whether there are no drafts any more, soon after a document was saved."""
    end = time.monotonic() + 8
    while drafts(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not drafts(folder)


def wait_for_draft(bench: Bench) -> None:
    bench.page.wait_for_function("() => document.querySelector('#kept').textContent.includes('draft stored')")


def open_named(bench: Bench, name: str) -> None:
    value = bench.page.locator("#files option", has_text=name).get_attribute("value")
    bench.page.select_option("#files", value)


def test_local_files_are_opened_and_saved(annotate: Open, tmp_path: Path):
    write(RAIN, tmp_path / "rain.rs3")
    (tmp_path / "news.txt").write_text(TEXT, encoding="utf-8")
    bench = annotate()
    assert bench.page.url == f"{bench.address}/"
    with bench.drawn():
        open_named(bench, "rain.rs3")
    assert document_from_dict(bench.document).tree == RAIN.tree
    assert not bench.is_dirty
    bench.select((0, 3))
    bench.press("n")
    assert bench.is_dirty
    bench.press("Control+z")
    assert not bench.is_dirty, "nothing is different from the file any more"
    bench.press("Control+y")
    bench.page.keyboard.press("Control+s")
    bench.wait_said("rain.rs3.bak")
    assert not bench.is_dirty
    assert repr(read(tmp_path / "rain.rs3").tree) == TURNED
    assert read((tmp_path / "rain.rs3.bak").rename(tmp_path / "backup.rs3")).tree == RAIN.tree
    names = bench.page.locator("#files option").all_inner_texts()
    assert [name.partition(" ")[0] for name in names] == ["Files…", "news.txt", "rain.rs3"], "finished ones are last"
    with bench.drawn():
        open_named(bench, "news.txt")
    bench.page.click("#store")
    bench.wait_said("news.json")
    assert read(tmp_path / "news.json").text == TEXT
    assert are_deleted(tmp_path)
    bench.check()


def test_nothing_is_left_unasked(annotate: Open, tmp_path: Path):
    for name in ("a", "b"):
        write(RAIN, tmp_path / f"{name}.rs3")
    bench = annotate()
    bench.select((0, 3))
    bench.press("n")
    edited = bench.document
    first = bench.page.input_value("#files")
    for leave in (
        lambda: open_named(bench, "b.rs3"),
        lambda: bench.page.evaluate("() => document.querySelector('#new').click()"),
    ):
        leave()
        if bench.page.is_visible("#start"):
            bench.page.fill("#paste", TEXT)
            bench.page.click("#parse")
        assert "a.rs3 has unsaved changes" in bench.page.inner_text("#question")
        bench.page.keyboard.press("Escape")
        assert bench.document == edited
        bench.page.wait_for_function("(first) => document.querySelector('#files').value === first", arg=first)
    bench.page.click("#cancel")
    closing: list[str] = []

    def stay(dialog: "Dialog") -> None:
        closing.append(dialog.type)
        dialog.dismiss()

    bench.page.on("dialog", stay)
    bench.page.close(run_before_unload=True)
    bench.page.wait_for_timeout(200)
    assert closing == ["beforeunload"]
    assert not bench.page.is_closed()

    open_named(bench, "b.rs3")
    with bench.drawn():
        bench.answer("keep")
    assert document_from_dict(bench.document).tree == RAIN.tree
    with bench.drawn():
        open_named(bench, "a.rs3")
    assert bench.document == edited, "the draft"
    assert bench.said == "restored your last session"
    open_named(bench, "b.rs3")
    with bench.drawn():
        bench.answer("save")
    assert repr(read(tmp_path / "a.rs3").tree) == TURNED
    assert are_deleted(tmp_path)


def test_a_draft_survives_browser_and_service_and_new_files(annotate: Open, tmp_path: Path):
    """Another browser, another address, other numbers of files: what is beside the file is enough."""
    write(RAIN, tmp_path / "rain.rs3")
    first = annotate()
    first.select((0, 3))
    first.press("n")
    edited = first.document
    wait_for_draft(first)
    first.page.context.clear_cookies()
    first.page.evaluate("() => localStorage.clear()")
    first.page.close()
    write(RAIN, tmp_path / "another.rs3")
    second = annotate(key="m" * 16)
    assert second.stored["name"] == "rain.rs3", "a file with a draft is opened first"
    assert second.document == edited
    assert "restored your last session" in second.said
    assert second.is_dirty
    assert read(tmp_path / "rain.rs3").tree == RAIN.tree
    second.page.click("#notice button >> text=Discard")
    with second.drawn():
        second.answer("discard")
    assert document_from_dict(second.document).tree == RAIN.tree
    assert are_deleted(tmp_path)


def test_a_reload_keeps_the_work_and_its_past(annotate: Open, tmp_path: Path):
    write(RAIN, tmp_path / "rain.rs3")
    bench = annotate()
    bench.select((0, 3))
    bench.press("n", "n")
    edited = bench.document
    with bench.drawn():
        bench.page.reload()
    assert bench.document == edited
    bench.press("Control+z", "Control+z")
    assert document_from_dict(bench.document).tree == RAIN.tree


def test_a_browser_that_forgot_a_save_does_not_bring_back_the_past(annotate: Open, tmp_path: Path):
    """Chromium writes what it keeps after seconds: a crash can leave it behind the files."""
    write(RAIN, tmp_path / "rain.rs3")
    bench = annotate()
    bench.select((0, 3))
    bench.press("n")
    stale = bench.page.evaluate("() => ({...localStorage})")
    edited = bench.document
    bench.press("n")
    bench.page.keyboard.press("s")
    bench.wait_said("saved")
    saved = read(tmp_path / "rain.rs3").tree
    bench.page.goto("about:blank")
    other = bench.page.context.new_page()
    other.goto(f"{bench.address}/docs")
    other.evaluate("(stale) => Object.assign(localStorage, stale)", stale)
    again = another_tab(bench)
    assert document_from_dict(again.document).tree == saved
    assert not again.is_dirty
    with again.drawn():
        again.page.click("#notice button >> text=Open the draft")
    assert again.document == edited
    assert again.is_dirty


def test_two_tabs_have_a_draft_each(annotate: Open, tmp_path: Path):
    write(RAIN, tmp_path / "rain.rs3")
    first = annotate()
    first.select((0, 3))
    first.press("n")
    mine = first.document
    wait_for_draft(first)
    second = another_tab(first)
    assert document_from_dict(second.document).tree == RAIN.tree
    assert "unsaved changes in another tab" in second.said
    second.select((1, 3))
    second.press("n")
    theirs = second.document
    wait_for_draft(second)
    assert len(drafts(tmp_path)) == 2
    for bench, document in ((first, mine), (second, theirs)):
        with bench.drawn():
            bench.page.reload()
        assert bench.document == document
    second.page.keyboard.press("s")
    second.wait_said("saved to")
    with first.drawn():
        first.page.keyboard.press("s")
    assert "has changed since you opened it" in first.page.inner_text("#notice")
    assert first.page.locator("#trees svg.genrst").count() == 2, "the difference"
    with first.drawn():
        first.page.click("#notice button >> text=Save mine")
    first.wait_said("rain.rs3.bak-1")
    assert repr(read(tmp_path / "rain.rs3").tree) == TURNED
    (tmp_path / "rain.rs3.bak-1").rename(tmp_path / "theirs.rs3")
    assert read(tmp_path / "theirs.rs3").tree == document_from_dict(theirs).tree
    assert are_deleted(tmp_path)


def test_the_other_version_is_taken_and_mine_is_kept(annotate: Open, tmp_path: Path):
    write(RAIN, tmp_path / "rain.rs3")
    bench = annotate()
    bench.select((0, 3))
    bench.press("n")
    other = write_rs3(RAIN).replace("</rst>", "</rst><!-- by another program -->")
    (tmp_path / "rain.rs3").write_text(other)
    with bench.drawn():
        bench.page.keyboard.press("s")
    with bench.drawn():
        bench.page.click("#notice button >> text=Decide later")
    assert bench.is_dirty
    assert (tmp_path / "rain.rs3").read_text() == other
    with bench.drawn():
        bench.page.keyboard.press("s")
    with bench.drawn():
        bench.page.click("#notice button >> text=Take theirs")
    bench.wait_said("rain.conflict-1.json")
    assert (tmp_path / "rain.rs3").read_text() == other
    assert repr(read(tmp_path / "rain.conflict-1.json").tree) == TURNED
    assert document_from_dict(bench.document).tree == RAIN.tree
    assert not bench.is_dirty


def test_a_service_that_is_away_for_a_while(annotate: Open, tmp_path: Path):
    write(RAIN, tmp_path / "rain.rs3")
    bench = annotate()
    bench.select((0, 3))
    bench.page.route("**/v1/files/**", lambda route: route.abort())
    bench.press("n")
    bench.page.wait_for_function("() => document.querySelector('#kept').textContent.includes('in this browser only')")
    assert not drafts(tmp_path)
    bench.page.unroute("**/v1/files/**")
    bench.page.wait_for_function("() => document.querySelector('#kept').textContent.includes('beside the file')")
    assert len(drafts(tmp_path)) == 1


def test_pasted_texts_have_drafts_in_the_browser(context: "BrowserContext", address: str):
    """A second tab does not see what the first is working on; when that is gone, its draft is found."""
    first = Bench(context.new_page(), address)
    first.parse(TEXT)
    first.select(find(first.document))
    first.press("n")
    mine = first.document
    second = Bench(context.new_page(), address)
    second.page.wait_for_function("() => document.activeElement.id === 'paste'")
    other = second.parse("It rained all day, so we stayed in.")
    with first.drawn():
        first.page.reload()
    assert first.document == mine
    assert second.document == other
    first.page.close()
    # The browser frees the locks of a closed tab a moment later.
    second.page.wait_for_function("async () => (await navigator.locks.query()).held.length === 1")
    second.page.click("#new")
    with second.drawn():
        second.page.click("#drafts button")
    assert second.document == mine
    second.page.close()
    third = Bench(context.new_page(), address)
    third.page.wait_for_function(SETTLED)
    assert third.document == mine
    with third.page.expect_download() as download:
        third.page.keyboard.press("Control+s")
    assert download.value.suggested_filename == "text.json"
    third.page.wait_for_function("() => !document.title.startsWith('•')")


def test_downloads_say_what_they_leave_out(context: "BrowserContext", address: str, tmp_path: Path):
    bench = Bench(context.new_page(), address)
    bench.page.wait_for_function("() => document.activeElement.id === 'paste'")
    signals = (Signal((0, 1), "dm", "dm"),)
    open_document(bench, replace(RAIN, signals=signals, model="en"))
    bench.select((1, 3))
    bench.press("z", "g")
    bench.download("rs3", tmp_path)
    assert "downloaded rain.rs3" in bench.said
    for lost in ("signals or secondary edges; 1 is left out", "constraints; 1 is left out"):
        assert lost in bench.said
    bench.download("dis", tmp_path)
    assert "notes; 1 is left out" in bench.said
