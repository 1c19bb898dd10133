"""Measure how much work a crash loses: the service or the browser is killed at random times during scripted editing.

    python -m benchmarks.crash --kills 20

`genrst annotate` is started on a folder, and its page is opened in Chromium. Random edits are made, and sometimes
saved, until one of the two is killed with SIGKILL and restarted. The page must then have every edit that was older than
one second, and every file must be readable. Prints one line of JSON: the number of kills and edits, the age of the
oldest lost edit (0 if none was lost) and the broken files.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from playwright.sync_api import Error as BrowserError

from genrst.errors import GenrstError
from genrst.formats.files import read, write
from genrst.formats.json_format import document_to_dict
from genrst.io import tell

EXAMPLES = Path(__file__).parent.parent / "examples"
STORED = "() => JSON.parse(localStorage.getItem('genrst-draft:' + sessionStorage.getItem('genrst-open')))?.doc"
SETTLED = """() => !document.body.hasAttribute("aria-busy") && document.querySelector("#trees svg.genrst") &&
    sessionStorage.getItem('genrst-open')"""
FILE = "ferry.json"
"""A JSON file, because JSON preserves every tree exactly."""
KEYS = ["n", "n", "n", "z", "g", "x", "j", "Control+z", "Control+y", "Control+s", "l"]
RELATIONS = ["joint", "causal", "context", "elaboration", "purpose"]
WORST_EDIT = 1.0
"""Edits younger than this, in seconds, may be lost."""


class Desk:
    """A service and a browser, each of which can be killed and restarted."""

    def __init__(self, playwright: Playwright, folder: Path, port: int, model: str) -> None:
        self.playwright, self.folder, self.port, self.model = playwright, folder, port, model
        self.profile = Path(tempfile.mkdtemp(prefix="profile-"))
        self.start_service()
        self.start_browser()

    def start_service(self) -> None:
        """Start `genrst annotate` and read its address from its output."""
        program = [sys.executable, "-c", "from genrst.cli.main import main; main()", "annotate", str(self.folder)]
        options = ["--no-browser", "--port", str(self.port), "--model", self.model, "--device", "cpu"]
        self.service = subprocess.Popen([*program, *options], stderr=subprocess.PIPE, text=True)
        assert self.service.stderr is not None
        for line in self.service.stderr:
            if found := re.search("http://.*", line):
                self.address = found[0]
                return
        raise SystemExit("the service did not start")

    def start_browser(self) -> None:
        """Start Chromium with the same profile as before, and open the page."""
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
        port_file = self.profile / "DevToolsActivePort"
        port_file.unlink(missing_ok=True)
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        command = [chromium, *options, f"--user-data-dir={self.profile}", "about:blank"]
        self.browser = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        while not (port_file.exists() and "\n" in port_file.read_text()):
            time.sleep(0.05)
        port = port_file.read_text().split("\n")[0]
        self.connection: Browser = self.playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        self.page = self.open_page()

    def open_page(self) -> Page:
        """Open the page in a new tab."""
        page = self.connection.contexts[0].new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(self.address)
        page.wait_for_function(SETTLED)
        page.wait_for_timeout(300)
        return page

    def kill_service(self) -> None:
        """Kill the service."""
        self.service.kill()

    def kill_browser(self) -> None:
        """Kill the browser with all its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.browser.pid, signal.SIGKILL)

    def drafts(self) -> list[tuple[str, float]]:
        """Return the drafts on disk, each with its time."""
        paths = self.folder.glob(".genrst/drafts/*.draft")
        drafts = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        return [(state(draft["document"]), draft["time"] / 1000) for draft in drafts]

    def on_disk(self) -> list[str]:
        """Return the states in the drafts and in the file."""
        return [*(one for one, _ in self.drafts()), state(document_to_dict(read(self.folder / FILE)))]


def state(document: dict[str, Any]) -> str:
    """Return the tree, comments and flags of a document for comparison."""
    notes = json.loads((document.get("metadata") or {}).get("notes", "[]"))
    return json.dumps([document["tree"], notes], sort_keys=True)


class Journal:
    """The states of the page, each with the start time of the edit that led to it."""

    def __init__(self, page: Page) -> None:
        self.states = [(0.0, state(page.evaluate(STORED)))]
        self.begun = 0.0
        """When the last edit started; if it was interrupted, its state may be missing."""

    def edit(self, page: Page, chance: random.Random) -> None:
        """Make a random edit."""
        start = self.begun = time.time()
        key = chance.choice(KEYS)
        rects = page.locator(".areas rect.unit")
        rects.nth(chance.randrange(rects.count())).focus(timeout=2000)
        page.keyboard.press(key)
        if key == "l":
            page.keyboard.insert_text(chance.choice(RELATIONS))
            page.keyboard.press("Enter")
        page.wait_for_timeout(chance.randint(20, 150))
        if page.is_visible("#notice button"):
            page.locator("#notice button").first.click(timeout=2000)
        now = state(page.evaluate(STORED))
        if now != self.states[-1][1]:
            self.states.append((start, now))

    def lost(self, found: list[str], killed: float) -> float:
        """Return the age of the oldest edit that is in none of these states, or 0 if no edit is missing."""
        last = max((number for number, (_, one) in enumerate(self.states) if one in found), default=-1)
        later = [killed - start for start, _ in self.states[last + 1 :] if start > 0]
        return max([0.0, *later]) if last >= 0 else float("inf")


def round_of_edits(desk: Desk, chance: random.Random, victim: str) -> tuple[int, float]:
    """Edit, kill and restart; return the number of edits and the age of the oldest lost one."""
    journal, killed = Journal(desk.page), []

    def kill() -> None:
        killed.append(time.time())
        (desk.kill_browser if victim == "browser" else desk.kill_service)()

    timer = Timer(chance.uniform(1, 5), kill)
    timer.start()
    while not killed:
        with suppress(BrowserError):  # the browser is dead, or an element did not appear in time
            journal.edit(desk.page, chance)
    timer.join()
    if victim == "browser":
        desk.browser.wait()
        cut_short = [one for one, done in desk.drafts() if done >= journal.begun]
        desk.start_browser()
        found = state(desk.page.evaluate(STORED))
        return len(journal.states) - 1, 0.0 if found in cut_short else journal.lost([found], killed[0])
    # Check the drafts and the file on disk. The page keeps working, and sends the rest once the service is back.
    desk.service.wait()
    age = journal.lost(desk.on_disk(), killed[0])
    for _ in range(3):
        journal.edit(desk.page, chance)
    desk.start_service()
    second = desk.open_page()
    deadline = time.time() + 10
    while journal.lost(desk.on_disk(), time.time()) and time.time() < deadline:
        time.sleep(0.2)
    age = max(age, journal.lost(desk.on_disk(), time.time()))
    desk.page.close()
    second.close()
    desk.page = desk.open_page()
    return len(journal.states) - 1, age


def broken_files(folder: Path) -> list[str]:
    """Return the names of the files that cannot be read."""
    broken = []
    for path in folder.iterdir():
        if path.suffix in (".rs3", ".json"):
            try:
                read(path)
            except GenrstError:
                broken.append(path.name)
    return broken


def main() -> None:
    """Run all kills and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=8790)
    parser.add_argument("--model", default="en")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    write(read(EXAMPLES / "ferry.rs3"), folder / FILE)
    n_edits, ages, broken = 0, list[float](), set[str]()
    with sync_playwright() as playwright:
        desk = Desk(playwright, folder, arguments.port, arguments.model)
        for number in range(arguments.kills):
            victim = ("browser", "service")[number % 2]
            edits, age = round_of_edits(desk, chance, victim)
            n_edits, ages, broken = n_edits + edits, [*ages, age], broken | set(broken_files(folder))
            tell(f"kill {number + 1}: {victim}, {edits} edits, oldest lost {age:.2f} s")
        desk.kill_service()
        desk.kill_browser()
    result = {
        "kills": arguments.kills,
        "edits": n_edits,
        "oldest_lost_s": round(max(ages), 2),
        "broken": sorted(broken),
    }
    print(json.dumps({**result, "passed": max(ages) <= WORST_EDIT and not broken}))


if __name__ == "__main__":
    main()
