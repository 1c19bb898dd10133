"""Measure EDUs per second from raw text: one document at a time, in batches, and in several processes.

    python -m benchmarks.bulk TEXTS [--model NAME|DIR] [--documents 24] [--device cpu] [--ways one batch …]
    python -m benchmarks.bulk TEXTS --device cuda --workers 8 --format jsonl --ways one batch local
    python -m benchmarks.bulk --memory 20000

TEXTS is a folder or anything else that `genrst bulk` reads. Prints one line of JSON per way: `one` and `threads` parse
one document at a time in this process, with one thread and with two; `batch` runs units of work, as workers do; `local`
and `ray` are complete runs that write parts in `--format` (JSON lines need no pyarrow). A short run is measured first
and subtracted; its time is `start`. `share` is the time that the matrix products need at the machine's measured rate,
divided by the time taken. The ways alternate for `--rounds` rounds, and the best time of each counts, because other
programs can only slow it down. `--memory` parses that many documents of words that never repeat, and prints the memory
of the process after each twentieth of them.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import read_anew
from benchmarks.search import matrix_rate
from benchmarks.train import machine
from genrst.bulk.addresses import find_files
from genrst.bulk.engines import EngineName, Plan
from genrst.bulk.inputs import Choice, Columns, Record, Source, Unit, make_units, scan, scan_all
from genrst.bulk.parts import PartFormat
from genrst.bulk.run import Job, run
from genrst.bulk.work import Rows, Settings, load_worker, make_batches, work
from genrst.parser.options import LoadOptions

if TYPE_CHECKING:
    from genrst.parser.parser import Parser

WAYS = ("one", "threads", "batch", "local", "ray")


def main() -> None:
    """Measure and print."""
    arguments = parse_arguments()
    # FLOPs are counted first, in a separate pass that is not timed.
    read_anew()
    settings = Settings(
        arguments.model, LoadOptions(device=arguments.device, search=arguments.search, beam=arguments.beam)
    )
    if arguments.memory:
        watch_memory(settings, arguments.memory)
        return
    sources = scan_all(find_files(arguments.texts).addresses, Columns())
    units = list(make_units(sources, Choice(sample=arguments.documents)))
    flops = count_flops(units, settings) if arguments.device == "cpu" else None
    best: dict[str, dict[str, float]] = {}
    for _ in range(arguments.rounds):
        for way in arguments.ways:
            found = measure(way, units, sources, settings, arguments)
            if way not in best or found["seconds"] < best[way]["seconds"]:
                best[way] = found
    facts = {"machine": machine(torch.device(arguments.device)), "model": arguments.model or "en"}
    for way, found in best.items():
        threads = 1 if way in ("one", "batch") else arguments.workers
        torch.set_num_threads(threads)
        rate = matrix_rate(torch.device(arguments.device))
        share = {} if flops is None else {"share": flops / rate / found["seconds"], "gflops": rate / 1e9}
        speed = {f"{name}_per_second": found[name] / found["seconds"] for name in ("edus", "words")}
        speed["edus_per_cpu_second"] = found["edus"] / found["cpu_seconds"]
        print(json.dumps(facts | {"way": way, "documents": arguments.documents} | found | speed | share), flush=True)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--model")
    parser.add_argument("--search")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--format", default="parquet", choices=get_args(PartFormat))
    parser.add_argument("--ways", nargs="+", default=["one", "threads", "batch", "local"], choices=WAYS)
    parser.add_argument("--memory", type=int, metavar="DOCUMENTS")
    return parser.parse_args()


def measure(
    way: str, units: Sequence[Unit], sources: Sequence[Source], settings: Settings, arguments: argparse.Namespace
) -> dict[str, float]:
    """Return the time of one way, and the amount of text parsed."""
    if way in ("local", "ray"):
        return whole_run("ray" if way == "ray" else "local", sources, settings, arguments)
    parser = load_worker(settings)
    torch.set_num_threads(arguments.workers if way == "threads" else 1)
    records = [record for unit in units for record in unit.records]
    batches = [[record] for record in records]
    if way == "batch":
        batches = [batch for unit in units for batch in make_batches(unit.records)]
    work(parser, batches[-1], settings)
    started, cpu_started = time.perf_counter(), cpu_seconds()
    rows = do(parser, batches, settings)
    seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - cpu_started}
    return seconds | count(rows)


def do(parser: "Parser", batches: Sequence[Sequence[Record]], settings: Settings) -> Rows:
    """Parse batches and return all rows."""
    rows = Rows()
    for batch in batches:
        rows.add(work(parser, batch, settings))
    return rows


def count(rows: Rows) -> dict[str, float]:
    """Count EDUs, words and errors."""
    return {
        "edus": sum(row["n_edus"] for row in rows.documents),
        "words": sum(row["n_words"] for row in rows.documents),
        "errors": len(rows.errors),
    }


def whole_run(
    engine: EngineName, sources: Sequence[Source], settings: Settings, arguments: argparse.Namespace
) -> dict[str, float]:
    """Time a complete run, minus the time of a run with one document."""
    addresses = [source.address for source in sources]

    def timed(n_documents: int, folder: str) -> dict[str, float]:
        n_each = max(1, n_documents // (4 * arguments.workers))
        choice = Choice(sample=n_documents, part_documents=n_each)
        started, cpu_started = time.perf_counter(), cpu_seconds()
        plan = Plan(engine, min(arguments.workers, n_documents))
        out = Path(folder) / str(n_documents)
        *_, report = run(Job(addresses, out, settings, choice, format=arguments.format, plan=plan))
        seconds = {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - cpu_started}
        return seconds | {"edus": report.n_edus, "words": report.n_words, "errors": report.n_errors}

    with tempfile.TemporaryDirectory() as folder:
        first, found = timed(1, folder), timed(arguments.documents, folder)
    return {name: found[name] - first[name] for name in found} | {"start": first["seconds"]}


def cpu_seconds() -> float:
    """Return the CPU time of this process and its finished child processes, without Ray actors."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def count_flops(units: Sequence[Unit], settings: Settings) -> float:
    """Count the FLOPs of the matrix products of all units."""
    parser = load_worker(settings)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        do(parser, [batch for unit in units for batch in make_batches(unit.records)], settings)
    return float(counter.get_total_flops())


def watch_memory(settings: Settings, n_documents: int) -> None:
    """Print the memory of a worker that constantly sees new words."""
    parser, rng = load_worker(settings), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            path = Path(folder) / f"{number}.jsonl"
            texts = (invent(rng) for _ in range(n_documents // 20))
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
            for unit in make_units([scan(str(path), Columns())], Choice()):
                do(parser, list(make_batches(unit.records)), settings)
            print(json.dumps({"documents": (number + 1) * n_documents // 20, "mib": memory_now()}), flush=True)


def invent(rng: random.Random) -> str:
    """Make a text of invented words."""
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 9))) for _ in range(6)]
    return "The {} said that the {} {} because of {}, but {} was {}.".format(*words)


def memory_now() -> float:
    """Return the current memory of the process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 2**20, 1)


if __name__ == "__main__":
    main()
