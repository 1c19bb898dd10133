"""Measure how long an annotator waits from a key press to the new tree on screen, and for re-parsing.

    python -m benchmarks.page --edus 250

A service is started on this machine, and its page is opened in Chromium on a document with `--edus` EDUs: a repeated
example text, with the tree from the parser. Then labels are changed, units are split and joined, and the text is parsed
again. Prints one line of JSON: milliseconds until the browser has painted the first sign of the change, and until it
has painted the new tree (medians, and the maximum).
"""

import argparse
import json
import shutil
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

import genrst
from benchmarks.serve import serving
from genrst.formats.json_format import document_to_dict

EXAMPLE = Path(__file__).parent.parent / "examples" / "library.txt"

# Records when the tree first changed visibly after a key press, and when its elements were inserted or removed.
WATCH = """() => {
    const forget = () => Object.assign(window, { pressed: performance.now(), seen: null, drawn: null });
    document.addEventListener("keydown", forget, true);
    const note = (name) => {
        if (!window.pressed || window[name]) return;
        window[name] = -1;
        // Animation frame callbacks run before painting; messages that they post arrive after it.
        const channel = new MessageChannel();
        channel.port1.onmessage = () => { window[name] = performance.now() - window.pressed; };
        requestAnimationFrame(() => channel.port2.postMessage(null));
    };
    new MutationObserver((changes) => {
        const isDrawn = changes.some((one) => one.type === "childList");
        if (isDrawn || changes.some((one) => one.target.classList.contains("gone"))) note("seen");
        if (isDrawn) note("drawn");
    }).observe(document.querySelector("#trees"), { childList: true, subtree: true, attributeFilter: ["class"] });
}"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edus", type=int, default=250)
    parser.add_argument("--edits", type=int, default=12, help="edits of each kind (default: 12)")
    parser.add_argument("--model", default="en")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    model = genrst.load(arguments.model, device="cpu")
    edus = model.segment(EXAMPLE.read_text(encoding="utf-8")).edu_texts
    document = model.parse_edus((edus * (arguments.edus // len(edus) + 1))[: arguments.edus])
    seconds = [parse_seconds(model, document) for _ in range(2)]
    with serving(arguments.model, "cpu", batch=16) as (port, _), sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        rows = measure(browser.new_page(), f"http://127.0.0.1:{port}/", document_to_dict(document), arguments.edits)
        browser.close()
    seconds += [
        parse_seconds(model, document) for _ in range(2)
    ]  # measured before and after, because the speed of the machine varies
    setting = {"edus": arguments.edus, "model": arguments.model}
    print(json.dumps({**setting, **rows, "parse_ms": round(1000 * median(seconds))}))


def parse_seconds(model: genrst.Parser, document: genrst.Document) -> float:
    """Return the time of one parse without a service; the first EDU is changed so that nothing is cached."""
    edus = [f"At {time.monotonic_ns()}", *document.edu_texts[1:]]
    start = time.perf_counter()
    model.parse_edus(edus)
    return time.perf_counter() - start


def measure(page: Page, address: str, document: dict[str, Any], n_edits: int) -> dict[str, Any]:
    """Return the times of each kind of edit, and of parsing again."""
    page.goto(address)
    page.wait_for_function("() => document.activeElement.id === 'paste'")
    content = json.dumps(document).encode()
    page.set_input_files("#file", {"name": "long.json", "mimeType": "application/json", "buffer": content})
    page.wait_for_selector("#trees svg.genrst")
    page.evaluate(WATCH)
    spans = page.evaluate(
        "() => [...document.querySelectorAll('.areas rect.unit')].map((one) => [one.dataset.start, one.dataset.stop])"
    )
    spans = [span for span in spans[1:] if int(span[1]) - int(span[0]) < 20][:: max(1, len(spans) // n_edits)][:n_edits]
    kinds: dict[str, list[Times]] = {"relabel": [press(page, span, "n") for span in spans], "split": [], "undo": []}
    for span in spans:
        kinds["split"].append(press(page, span, "x"))
        kinds["undo"].append(press(page, None, "Control+z"))
    kinds["ask_again"] = []
    for span in spans[:3]:
        press(page, span, "x")  # so that there is something to re-parse
        kinds["ask_again"].append(press(page, None, "a"))  # until the result is offered
        page.keyboard.press("Enter")
    return {f"{name}_ms": summary(times) for name, times in kinds.items()}


class Times(NamedTuple):
    """Milliseconds from a key press until the first visible change, and until the new tree."""

    seen: float
    drawn: float


def summary(times: list[Times]) -> dict[str, int]:
    """Return the medians and the maximum."""
    seen, drawn = zip(*times, strict=True)
    return {"seen": round(median(seen)), "drawn": round(median(drawn)), "most": round(max(drawn))}


def press(page: Page, span: list[str] | None, key: str) -> Times:
    """Press a key with a unit selected, and return the times."""
    if span is not None:
        page.focus(f'.areas rect[data-start="{span[0]}"][data-stop="{span[1]}"]')
    page.wait_for_timeout(150)
    page.keyboard.press(key)
    page.wait_for_function("() => window.drawn > 0", timeout=120_000)
    return Times(*page.evaluate("() => [window.seen, window.drawn]"))


if __name__ == "__main__":
    main()
