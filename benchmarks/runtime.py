"""Compare the parsing speed of this checkout with another one, alternating in the same run.

    python -m benchmarks.runtime corpora/gum [--other CHECKOUT] [--without-bfloat16] [--rounds 5]

Measures `en` on the CPU, from gold EDUs to trees, on six documents of GUM, one by one and then as a stream. Each
checkout has its own process, and nothing is cached. Both parse a document before the next one, and alternate in going
first. Prints one line of JSON per document, for their sum (`all`) and for the stream (`together`): EDUs per second,
CPU milliseconds per EDU, and the ratios of the checkouts, all as medians of rounds. OMP_NUM_THREADS sets the number of
threads of both.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from genrst.corpora.corpus import load_corpus
from genrst.document import Document, Span

DOCUMENTS = (
    "academic_librarians", "conversation_risk", "court_loan", "fiction_beast", "interview_cyclone", "news_iodine",
)  # fmt: skip
DRIVER = Path(__file__).with_name("runtime_driver.py")
ALL, TOGETHER = "all", "together"
"""The names of the rows for the sum over documents and for the stream."""


class Seconds(NamedTuple):
    """Elapsed time and CPU time."""

    wall: float
    cpu: float
    """The CPU time of all threads."""


Round = dict[str, Seconds]
"""The times of each document, of their sum and of the stream."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--other", type=Path, metavar="CHECKOUT", help="folder with another commit of genrst")
    parser.add_argument(
        "--without-bfloat16", action="store_true", help="let the other checkout compute in float32 only"
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.without_bfloat16 and arguments.other is None:
        parser.error("--without-bfloat16 needs --other")
    documents = read_documents(arguments.corpus)
    checkouts = [Path(__file__).parents[1], *([arguments.other] if arguments.other else [])]
    options = ["--without-bfloat16"] if arguments.without_bfloat16 else []
    with ExitStack() as stack:
        given = zip(checkouts, ([], options), strict=False)
        drivers = [stack.enter_context(start(folder, words, documents)) for folder, words in given]
        rounds = take_turns(drivers, [document.id for document in documents], arguments.rounds)
    about = {"machine": platform.processor() or platform.machine(), "threads": os.environ.get("OMP_NUM_THREADS", "all")}
    sizes = {document.id: len(document.edus) for document in documents}
    for name, n_edus in {**sizes, **dict.fromkeys((ALL, TOGETHER), sum(sizes.values()))}.items():
        row: dict[str, object] = {"document": name, "edus": n_edus, "rounds": arguments.rounds, **about}
        print(json.dumps(row | describe([[one[name] for one in own] for own in rounds], n_edus)))


def read_documents(folder: Path) -> list[Document]:
    """Read the documents of the benchmark."""
    wanted = {f"GUM_{name}" for name in DOCUMENTS}
    found = [document for document in load_corpus(folder) if document.id in wanted]
    if missing := wanted - {document.id for document in found}:
        raise SystemExit(f"{folder}: the document {min(missing)} of GUM is missing")
    return found


@contextmanager
def start(folder: Path, options: Sequence[str], documents: Sequence[Document]) -> Iterator["subprocess.Popen[str]"]:
    """Start a process with the parser of a checkout."""
    command = [sys.executable, "-W", "ignore", str(DRIVER), *options]
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve())}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    with process:
        found = json.loads(ask(process, json.dumps([plain(document) for document in documents])))
        if not Path(found).samefile(folder):
            raise SystemExit(f"{folder}: genrst was imported from another folder, {found}")
        yield process
        assert process.stdin is not None
        process.stdin.close()


def plain(document: Document) -> dict[str, object]:
    """Return a document as plain data that every commit can read."""

    def spans(found: Sequence[Span]) -> list[list[object]]:
        return [[span.start, span.end, span.label] for span in found]

    parts = {"edus": document.edus, "sentences": document.sentences, "paragraphs": document.paragraphs}
    return {"id": document.id, "text": document.text, **{name: spans(found) for name, found in parts.items()}}


def ask(process: "subprocess.Popen[str]", line: str) -> str:
    """Send a line to a process and return its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    if not (answer := process.stdout.readline()):
        raise SystemExit("a parsing process has died; its error is above")
    return answer


def take_turns(drivers: Sequence["subprocess.Popen[str]"], names: Sequence[str], n_rounds: int) -> list[list[Round]]:
    """Run the rounds, alternating between the drivers."""
    rounds: list[list[Round]] = [[{} for _ in range(n_rounds)] for _ in drivers]
    for number in range(n_rounds):
        for document, name in enumerate([*names, TOGETHER]):
            order = range(len(drivers))
            for place in order if (number + document) % 2 == 0 else reversed(order):
                asked = TOGETHER if name == TOGETHER else str(document)
                rounds[place][number][name] = Seconds(*json.loads(ask(drivers[place], asked)))
    for one in (one for own in rounds for one in own):
        alone = [one[name] for name in names]
        one[ALL] = Seconds(sum(found.wall for found in alone), sum(found.cpu for found in alone))
    return rounds


def describe(of_checkouts: Sequence[Sequence[Seconds]], n_edus: int) -> dict[str, object]:
    """Return the speed of each checkout, and the ratios of the first to the second."""
    rows = [speed(own, n_edus) for own in of_checkouts]
    if len(rows) == 1:
        return {"this": rows[0]}
    pairs = list(zip(*of_checkouts, strict=True))
    return {
        "this": rows[0],
        "other": rows[1],
        "times_as_fast": round(median(other.wall / own.wall for own, other in pairs), 3),
        "share_of_cpu": round(median(own.cpu / other.cpu for own, other in pairs), 3),
    }


def speed(rounds: Sequence[Seconds], n_edus: int) -> dict[str, float]:
    """Return the medians of rounds."""
    return {
        "edus_per_second": round(median(n_edus / one.wall for one in rounds), 1),
        "cpu_milliseconds_per_edu": round(1000 * median(one.cpu / n_edus for one in rounds), 3),
    }


if __name__ == "__main__":
    main()
