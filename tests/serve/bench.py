"""The workbench in a real browser, on a real server."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from starlette.applications import Starlette

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Range = tuple[int, int]

SETTLED = """() => !document.body.hasAttribute("aria-busy") && document.querySelector("#trees svg.genrst")"""
STORED = "() => JSON.parse(localStorage.getItem('genrst-draft:' + sessionStorage.getItem('genrst-open')))"


OFFERED = """() => !document.querySelector("#choices").hidden && document.body.classList.contains("previewing") ||
    document.querySelector("#said").textContent.includes("finds nothing to change")"""


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The address of a service while it runs, on a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


class Bench:
    """A page of the workbench, watched for errors and for requests to anywhere else."""

    def __init__(self, page: "Page", address: str, fragment: str = "") -> None:
        self.page, self.address = page, address
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(20_000)
        page.goto(f"{address}/{fragment}")

    def check(self) -> None:
        """All was quiet, and nothing was asked of anybody else."""
        assert self.complaints == []
        assert all(url.startswith((f"{self.address}/", "blob:")) for url in self.requests)

    def parse(self, text: str) -> dict[str, Any]:
        """Paste a text and parse it."""
        if not self.page.is_visible("#start"):
            self.page.click("#new")
        self.page.fill("#paste", text)
        with self.drawn():
            self.page.click("#parse")
        self.page.wait_for_function(SETTLED)
        return self.document

    @contextmanager
    def drawn(self) -> "Iterator[None]":
        """Do something after which the tree is drawn again."""
        before = self.page.get_attribute("#trees", "data-drawing")
        yield
        self.page.wait_for_function(
            "(old) => (document.querySelector('#trees').dataset.drawing ?? null) !== old", arg=before
        )
        self.page.wait_for_function(SETTLED)

    @property
    def stored(self) -> dict[str, Any]:
        """What the browser keeps."""
        return cast("dict[str, Any]", self.page.evaluate(STORED))

    @property
    def document(self) -> dict[str, Any]:
        """The document on the bench."""
        return cast("dict[str, Any]", self.stored["doc"])

    @property
    def said(self) -> str:
        """The line that says what happened."""
        return self.page.inner_text("#said")

    def rect(self, span: Sequence[int]) -> "Locator":
        """The area of a node."""
        return self.page.locator(f'.areas rect[data-start="{span[0]}"][data-stop="{span[1]}"]').first

    def select(self, span: Sequence[int]) -> None:
        """Select a node."""
        self.rect(span).focus()

    def press(self, *keys: str) -> None:
        """Press keys that change the tree, one after the other."""
        for key in keys:
            with self.drawn():
                self.page.keyboard.press(key)

    def click(self, selector: str) -> None:
        """Click on something that changes the tree."""
        with self.drawn():
            self.page.click(selector)

    def wait_said(self, text: str) -> None:
        """Wait until something was said."""
        self.page.wait_for_function("(text) => document.querySelector('#said').textContent.includes(text)", arg=text)

    def ask_again(self) -> None:
        """Ask the parser, and take what it offers, if anything."""
        self.page.keyboard.press("a")
        self.page.wait_for_function(OFFERED)
        self.page.wait_for_function(SETTLED)
        if self.page.is_visible("#choices"):
            self.press("Enter")

    def relabel(self, relation: str) -> None:
        """Choose a relation in the palette."""
        self.page.keyboard.press("l")
        self.page.keyboard.insert_text(relation)
        self.press("Enter")

    def answer(self, name: str) -> None:
        """Answer a question."""
        self.page.click(f'#question button[value="{name}"]')

    @property
    def is_dirty(self) -> bool:
        """Whether the page shows that there are unsaved changes."""
        return self.page.title().startswith("• ")

    def download(self, format_name: str, folder: Path) -> Path:
        """Export, and where that was saved."""
        with self.page.expect_download() as download:
            self.page.evaluate("() => document.querySelector('#export').closest('details').open = true")
            self.page.select_option("#export", format_name)
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path


def units(tree: dict[str, Any]) -> list[tuple[Range, str, str]]:
    """The EDUs, the relation and the nuclearity of each unit, each before its children."""
    if "edu" in tree:
        return []
    inner = [unit for child in tree["children"] for unit in units(child)]
    return [((first(tree), last(tree) + 1), tree["relation"], tree["nuclearity"]), *inner]


def first(tree: dict[str, Any]) -> int:
    """The first EDU of a tree."""
    return int(tree["edu"]) if "edu" in tree else first(tree["children"][0])


def last(tree: dict[str, Any]) -> int:
    """The last EDU of a tree."""
    return int(tree["edu"]) if "edu" in tree else last(tree["children"][-1])


def bare(tree: dict[str, Any]) -> str:
    """A tree without probabilities, to compare."""
    kept = {key: value for key, value in tree.items() if key not in ("probability", "children")}
    return json.dumps([kept, [bare(child) for child in tree.get("children", [])]], sort_keys=True)
