"""Pages in a real browser, watched for errors and requests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SIZE = {"width": 1280, "height": 800}

VISIBLE_TEXTS = """() => [...document.querySelectorAll("#trees svg.genrst .node:not(.gone) text")]
    .filter((text) => getComputedStyle(text).display !== "none" && !text.closest("[hidden]"))
    .filter((text) => text.textContent.trim())"""
LINES = f"() => ({VISIBLE_TEXTS})().filter((text) => text.matches('.text, .summary')).map((text) => text.textContent)"
SHAPES = """() => [...document.querySelectorAll("svg.genrst")[0].querySelectorAll("path, text, rect")].map((shape) =>
    ["d", "x", "y", "width", "height", "textLength"].map((name) => shape.getAttribute(name)).join(" "))"""
MARKED_EDUS = "() => [...document.querySelectorAll('.edu.on')].map((span) => Number(span.dataset.edu))"


OVERLAPS = f"""() => {{
    const boxes = ({VISIBLE_TEXTS})().map((text) => [text.getBoundingClientRect(), text.textContent]);
    const pairs = [];
    boxes.forEach(([a, name], index) => boxes.slice(index + 1).forEach(([b, other]) => {{
        const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (across > 1 && down > 2) pairs.push([name, other]);
    }}));
    return pairs;
}}"""

# A folded unit can be hit anywhere; the others where their children are not.
PLACE_OF_UNIT = """([tree, start, stop]) => {
    const svg = document.querySelectorAll("svg.genrst")[tree];
    const rect = svg.querySelector(`.areas rect[data-start="${start}"][data-stop="${stop}"]`);
    const dot = svg.querySelector(`.node[data-start="${start}"][data-stop="${stop}"] .dot`);
    const number = svg.querySelector(`.node[data-start="${start}"][data-stop="${stop}"] .number`);
    const box = (dot ?? number ?? rect).getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}"""


@contextmanager
def open_browser() -> "Iterator[Page]":
    """An empty page of Debian's Chromium; skips the test where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install 'genrst[dev]'")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser.new_page(viewport=SIZE)
        browser.close()


class Visit:
    """A file that is open, what it said and what it asked for.

    All are opened in the same page, one after the other: a new page is a new process, which costs more than the visit.
    """

    def __init__(self, page: "Page", html: str, folder: Path, scheme: Literal["light", "dark"] = "light") -> None:
        self.file = folder / "page.html"
        self.file.write_text(html, encoding="utf-8")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = page
        self.listeners: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": lambda dialog: self.complaints.append(dialog.message),
            "request": lambda request: self.requests.append(request.url),
        }
        page.mouse.move(0, 0)
        for event, listener in self.listeners.items():
            page.on(event, listener)
        page.emulate_media(color_scheme=scheme)
        page.goto(self.file.as_uri())

    def close(self) -> None:
        """Leave the file, which must have been quiet."""
        self.evaluate("() => null")  # so that all that was said before is heard
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)
        assert self.complaints == []
        assert self.requests == [self.file.as_uri()]

    def rect(self, start: int, stop: int, tree: int = 0) -> "Locator":
        """The area of a node."""
        svg = self.page.locator("svg.genrst").nth(tree)
        return svg.locator(f'.areas rect[data-start="{start}"][data-stop="{stop}"]')

    def hover(self, start: int, stop: int, tree: int = 0) -> None:
        """Point at a unit where none of its children is: on its dot, or on the line above its number."""
        box = self.evaluate(PLACE_OF_UNIT, [tree, start, stop])
        self.page.mouse.move(box["x"], box["y"])

    def focused(self) -> tuple[int, int]:
        """The node that has the focus."""
        start, stop = self.evaluate("() => [document.activeElement.dataset.start, document.activeElement.dataset.stop]")
        return int(start), int(stop)

    def press(self, *keys: str) -> tuple[int, int]:
        """Press keys; where the focus is then."""
        for key in keys:
            self.page.keyboard.press(key)
        return self.focused()

    def size(self) -> tuple[float, float]:
        """The width and height of the first tree, whatever the zoom."""
        _, _, width, height = (self.page.locator("svg.genrst").first.get_attribute("viewBox") or "").split()
        return float(width), float(height)

    def width(self) -> float:
        """The width of the first tree on the screen."""
        return float(self.evaluate("() => document.querySelector('svg.genrst').getBoundingClientRect().width"))

    def shapes(self) -> list[str]:
        """Where everything in the first tree is."""
        return list(self.evaluate(SHAPES))

    def highlighted(self) -> list[int]:
        """The EDUs that are highlighted in the text."""
        return list(self.evaluate(MARKED_EDUS))

    def texts(self) -> list[str]:
        """The lines that can be seen in the trees: EDUs and summaries."""
        return list(self.evaluate(LINES))

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs of lines in the trees that overlap by more than a pixel."""
        return [tuple(pair) for pair in self.evaluate(OVERLAPS)]

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """What a script gives in the page."""
        return self.page.evaluate(script, argument)
