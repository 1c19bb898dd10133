"""Pages in a real browser, watched for errors and requests."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SIZE = {"width": 1280, "height": 800}

VISIBLE_TEXTS = """() => [...document.querySelectorAll("svg.genrst .node:not(.gone) text")]
    .filter((text) => getComputedStyle(text).display !== "none" && text.textContent.trim())"""


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Debian's Chromium; skips the test where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install 'genrst[dev]'")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page that is open, what it said and what it asked for."""

    def __init__(self, browser: "Browser", html: str, folder: Path, scheme: Literal["light", "dark"] = "light") -> None:
        self.file = folder / "page.html"
        self.file.write_text(html, encoding="utf-8")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.file.as_uri())

    def close(self) -> None:
        """Leave the page, which must have been quiet."""
        self.page.close()
        assert self.complaints == []
        assert self.requests == [self.file.as_uri()]

    def rect(self, start: int, stop: int, tree: int = 0) -> str:
        """The selector of a node."""
        label = f"EDU {stop}" if stop - start == 1 else f"EDUs {start + 1}–{stop}"
        return f'svg.genrst >> nth={tree} >> .areas rect[aria-label^="{label} "], .areas rect[aria-label^="{label}\\a"]'

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """What a script gives in the page."""
        return self.page.evaluate(script, argument)
