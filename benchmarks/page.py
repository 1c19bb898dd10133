"""How long an annotator waits: from a key to the new tree on the screen, and what asking again costs beside a parse.

    python -m benchmarks.page --edus 250

A service is started on this machine, and its page opened in Chromium on a document of so many EDUs: an example text,
again and again, with the tree that the parser finds. Then labels are changed, units split and joined, and the parser is
asked again. Prints a line of JSON: medians and the longest of all, in milliseconds, until the browser has painted.
"""

import argparse
import json
import shutil
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, sync_playwright

import genrst
from benchmarks.serve import serving
from genrst.formats.json_format import document_to_dict

EXAMPLE = Path(__file__).parent.parent / "examples" / "library.txt"

WATCH = """() => {
    document.addEventListener("keydown", () => { window.pressed = performance.now(); window.painted = null; }, true);
    new MutationObserver(() => {
        if (!window.pressed || window.painted) return;
        window.painted = -1;
        // A frame's callbacks come before it is painted, and what they post comes after.
        const channel = new MessageChannel();
        channel.port1.onmessage = () => { window.painted = performance.now() - window.pressed; };
        requestAnimationFrame(() => channel.port2.postMessage(null));
    }).observe(document.querySelector("#trees"), { childList: true, subtree: true });
}"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edus", type=int, default=250)
    parser.add_argument("--edits", type=int, default=12, help="of each kind")
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
    seconds += [parse_seconds(model, document) for _ in range(2)]  # before and after: machines are not always as fast
    setting = {"edus": arguments.edus, "model": arguments.model}
    print(json.dumps({**setting, **rows, "parse_ms": round(1000 * median(seconds))}))


def parse_seconds(model: genrst.Parser, document: genrst.Document) -> float:
    """The time of one parse without a service, of a text that was not read before: its first EDU is another."""
    edus = [f"At {time.monotonic_ns()}", *document.edu_texts[1:]]
    start = time.perf_counter()
    model.parse_edus(edus)
    return time.perf_counter() - start


def measure(page: Page, address: str, document: dict[str, Any], n_edits: int) -> dict[str, Any]:
    """The times of each kind of edit, and of asking again."""
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
    labels = [press(page, span, "n") for span in spans]
    splits, undone = [], []
    for span in spans:
        splits.append(press(page, span, "x"))
        undone.append(press(page, None, "Control+z"))
    asked = []
    for span in spans[:3]:
        press(page, span, "x")  # so that there is something to ask
        asked.append(press(page, None, "a"))
    kinds = {"relabel": labels, "split": splits, "undo": undone, "ask_again": asked}
    return {f"{name}_ms": {"median": round(median(times)), "most": round(max(times))} for name, times in kinds.items()}


def press(page: Page, span: list[str] | None, key: str) -> float:
    """Milliseconds from a key, with a unit selected, until the new tree is painted."""
    if span is not None:
        page.focus(f'.areas rect[data-start="{span[0]}"][data-stop="{span[1]}"]')
    page.wait_for_timeout(150)
    page.keyboard.press(key)
    page.wait_for_function("() => window.painted > 0", timeout=120_000)
    return float(page.evaluate("() => window.painted"))


if __name__ == "__main__":
    main()
