"""Check that the same text gets bit-identical trees, regardless of batches, threads, processes and engines.

    python -m benchmarks.reproducible [TEXTS ...] [--documents 300] [--kills 20] [--checks pipe threads serve bulk]

The texts are paragraphs of our documentation or, if files are given, of all documents that `genrst bulk` reads from
them; every third text occurs twice. Each text is first parsed alone, with one thread in a separate process, and its
document is written as JSON with all probabilities. The texts are then parsed by `Parser.pipe` with several batch sizes
and numbers of processes, with several numbers of threads, by 32 clients of a service, and by bulk runs with both
engines and 1, 2 and 4 workers, which are killed at random times after the first part and restarted. Prints one line of
JSON per check: the number of documents and how many differ. The exit status is 1 if any differs.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import genrst
from benchmarks.serve import serving
from genrst.bulk.addresses import find_files
from genrst.bulk.inputs import Choice, Columns, make_units, read_records, scan_all
from genrst.document import Document
from genrst.formats import json_text
from genrst.formats.json_format import document_to_dict
from genrst.parser.parser import Text

PAGES = Path(__file__).parent.parent / "docs"
CUT = re.compile(r"\n\s*\n")
CLIENTS = 32
ENGINES = [(engine, workers) for engine in ("local", "ray") for workers in (1, 2, 4)]
PART = 10
PROGRAM = [sys.executable, "-W", "ignore", "-m"]

Trees: TypeAlias = dict[str, str]
"""EDUs, trees and log-probabilities as JSON, by document id."""
Facts: TypeAlias = dict[str, Any]


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--model", default="en")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument(
        "--characters", type=int, nargs=2, default=[80, 1500], help="minimum and maximum length of a text"
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checks", nargs="+", default=["pipe", "threads", "serve", "bulk"])
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    texts = collect(arguments.texts, arguments.documents, arguments.characters, rng)
    expected, is_different = alone(texts, arguments.model, 1), False
    checks: dict[str, Callable[[], Iterator[tuple[Facts, Trees]]]] = {
        "pipe": partial(by_pipe, texts, arguments.model),
        "threads": partial(by_threads, texts, arguments.model),
        "serve": partial(by_clients, texts, arguments.model),
        "bulk": partial(by_runs, texts, arguments.model, arguments.kills, rng, ENGINES),
    }
    for name in arguments.checks:
        for facts, trees in checks[name]():
            n_different = sum(trees.get(id) != tree for id, tree in expected.items())
            row = {"check": name, **facts, "documents": len(expected), "different": n_different}
            print(json.dumps(row), flush=True)
            is_different |= n_different > 0
    return int(is_different)


def collect(addresses: Sequence[str], n_documents: int, limits: Sequence[int], rng: random.Random) -> list[Text]:
    """Return texts within the limits in random order, every third one twice; longer ones are split at paragraphs."""
    least, most = limits
    parts = [part for text in read_texts(addresses) for part in ([text] if len(text) <= most else CUT.split(text))]
    usable = [part.strip() for part in parts if least <= len(part.strip()) <= most]
    if not usable:
        raise SystemExit(f"no texts of {least} to {most} characters found")
    chosen = rng.sample(usable, min(3 * n_documents // 4, len(usable)))
    chosen += chosen[::3]
    rng.shuffle(chosen)
    return [Text(f"text-{number}", text) for number, text in enumerate(chosen)]


def read_texts(addresses: Sequence[str]) -> Iterator[str]:
    """Yield all texts of the inputs, or of our documentation."""
    if not addresses:
        for path in sorted(PAGES.rglob("*.md")):
            yield re.sub(r"^```.*?^```$|^\|.*?$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    sources = scan_all(find_files(addresses).addresses, Columns())
    for unit in make_units(sources, Choice()):
        yield from (one.text or "" for one in read_records(unit.records, Columns()) if isinstance(one, Text | Document))


# Ways to parse texts.


def alone(texts: Sequence[Text], model: str, n_threads: int) -> Trees:
    """Parse each text alone, in a process with `n_threads` threads."""
    code = "from benchmarks.reproducible import parse_alone; parse_alone()"
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(n_threads))
    given = json.dumps({"model": model, "texts": {text.id: text.text for text in texts}})
    process = subprocess.run(
        [sys.executable, "-c", code], input=given, stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    found: Trees = json.loads(process.stdout)
    return found


def parse_alone() -> None:
    """Parse the texts on standard input, one by one."""
    given = json.load(sys.stdin)
    parser = genrst.load(given["model"], device="cpu")
    found = {id: as_json(document_to_dict(parser(Text(id, text)))) for id, text in given["texts"].items()}
    json.dump(found, sys.stdout)


def as_json(document: Any) -> str:  # noqa: ANN401
    """Return the EDUs, tree and log-probability of a document as JSON."""
    return json_text.dumps({key: document[key] for key in ("edus", "log_probability", "tree")})


def by_threads(texts: Sequence[Text], model: str, numbers: Sequence[int] = (2, 4)) -> Iterator[tuple[Facts, Trees]]:
    """Parse one text after the other, with several threads."""
    for n_threads in numbers:
        yield {"threads": n_threads}, alone(texts, model, n_threads)


def by_pipe(texts: Sequence[Text], model: str) -> Iterator[tuple[Facts, Trees]]:
    """Parse several texts at once, with one parser that caches earlier texts."""
    parser = genrst.load(model, device="cpu")
    for n_process in (1, 2):
        for size in (1, 2, 8, 32):
            found = parser.pipe(texts, batch_size=size, n_process=n_process)
            trees = {one.id: as_json(document_to_dict(one)) for one in found if isinstance(one, Document)}
            yield {"batch_size": size, "n_process": n_process}, trees


def by_clients(texts: Sequence[Text], model: str) -> Iterator[tuple[Facts, Trees]]:
    """Parse by a service, which forms batches of the requests that happen to wait."""
    with serving(model, "cpu", 16) as (port, _), ThreadPoolExecutor(CLIENTS) as clients:
        yield {"clients": CLIENTS}, dict(clients.map(partial(ask, port), texts))


def ask(port: int, text: Text) -> tuple[str, str]:
    """Send a request and return the answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        body = json.dumps({"text": text.text, "id": text.id})
        connection.request("POST", "/v1/parse", body, {"Content-Type": "application/json"})
        answer: Any = json_text.loads(connection.getresponse().read().decode())
    return text.id, as_json(answer["documents"][0])


def by_runs(
    texts: Sequence[Text], model: str, n_kills: int, rng: random.Random, engines: Sequence[tuple[str, int]]
) -> Iterator[tuple[Facts, Trees]]:
    """Parse by bulk runs that are killed and restarted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in texts))
        for place, (engine, workers) in enumerate(engines):
            options = ["--model", model, "--device", "cpu", "--engine", engine, "--workers", str(workers)]
            out = Path(folder) / f"{engine}-{workers}"
            command = [*PROGRAM, "genrst.cli.main", "bulk", str(path), str(out), *options, "--format", "jsonl"]
            command += ["--part-documents", str(PART)]
            own = n_kills // len(engines) + (place < n_kills % len(engines))
            parts = [kill_once(command, out, rng) for _ in range(own)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            yield {"engine": engine, "workers": workers, "parts_after_kills": parts}, read_parts(out)


def kill_once(command: Sequence[str], out: Path, rng: random.Random) -> int:
    """Start a run, kill all its processes shortly after it has written a part, and return the number of parts."""
    before = n_parts(out)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while n_parts(out) == before and process.poll() is None:
        time.sleep(0.005)
    time.sleep(rng.uniform(0, 0.3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return n_parts(out)


def n_parts(out: Path) -> int:
    """Return the number of finished parts."""
    return len(list((out / "checksums").glob("[0-9]*")))


def read_parts(out: Path) -> Trees:
    """Read the results of a run."""

    def rows(table: str) -> list[Any]:
        parts = [path.read_text("utf-8") for path in sorted((out / table).glob("*.jsonl"))]
        return [json_text.loads(line) for part in parts for line in part.split("\n") if line]

    edus: dict[int, list[dict[str, int]]] = {}
    for node in rows("nodes"):
        if node["is_edu"]:
            edus.setdefault(node["document"], []).append({"start": node["start"], "end": node["end"]})
    return {
        row["id"]: as_json(
            {
                "edus": sorted(edus[row["document"]], key=lambda edu: edu["start"]),
                "log_probability": row["log_probability"],
                "tree": json_text.loads(row["tree"]),
            }
        )
        for row in rows("documents")
    }


if __name__ == "__main__":
    sys.exit(main())
