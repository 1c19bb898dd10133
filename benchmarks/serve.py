"""Measure the throughput and latency of the service, and the benefit of batching.

    python -m benchmarks.serve --clients 32 --seconds 60

A service is started on this machine, once with batches and once without. Clients request the trees of different parts
of a text with given EDUs, one request after the other. Every answer is compared with the result of the parser without
the service. Prints one line of JSON per setting (requests per second and per CPU second of the service, including its
start; latency percentiles; answers that differ; resident memory after the first tenth and at the end), and a last line
with the ratio of the two rates.

    python -m benchmarks.serve --hostile 3      # three rounds each without and with a hostile client
    python -m benchmarks.serve --texts 2000     # memory while 2,000 different texts are parsed

The hostile client has its own address. Concurrently, it sends texts of 98 KB in short sentences, requests the 20 best
trees of 2,000 EDUs, sends unclosed brackets, and holds 300 connections open with headers that never end. The last line
has the ratios of the 99th percentiles of all other clients.
"""

import argparse
import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

import genrst
from genrst.formats.json_format import document_to_dict

EXAMPLE = Path(__file__).parent.parent / "examples" / "library.txt"
READY_SECONDS = 120
HOSTILE = ("127.0.0.66" if sys.platform == "linux" else "", 0)
PROGRAM = ("-m", "genrst.cli.main")
READ_ANEW = (
    "-c",
    "import sys, benchmarks, genrst.cli.main as program; benchmarks.read_anew(); sys.exit(program.main())",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, default=EXAMPLE)
    parser.add_argument("--model", default="en")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--edus", type=int, nargs="+", default=[5, 10, 20], help="EDUs per request, in turn")
    parser.add_argument("--batches", type=int, nargs=2, default=[16, 1], help="maximum batch sizes to compare")
    parser.add_argument(
        "--hostile", type=int, default=0, metavar="N", help="measure N rounds each without and with a hostile client"
    )
    parser.add_argument("--texts", type=int, default=0, metavar="N", help="measure the memory over N different texts")
    arguments = parser.parse_args()
    if arguments.texts:
        measure_memory(arguments)
        return
    questions = make_questions(arguments.text, arguments.model, arguments.device, arguments.edus)
    if arguments.hostile:
        rows = [measure(arguments, 16, questions, bool(number % 2)) for number in range(2 * arguments.hostile)]
        ratios = [round(beside["p99"] / alone["p99"], 2) for alone, beside in zip(rows[::2], rows[1::2], strict=True)]
        print(json.dumps({"ratios": ratios}))
        return
    rows = [measure(arguments, batch, questions) for batch in arguments.batches]
    print(json.dumps({"ratio": round(rows[0]["requests_per_second"] / rows[1]["requests_per_second"], 2)}))


def make_questions(path: Path, model: str, device: str, sizes: Sequence[int]) -> list[tuple[bytes, Any]]:
    """Make request bodies, each with the tree that the parser finds without a service."""
    parser = genrst.load(model, device=device)
    edus = parser.segment(path.read_text(encoding="utf-8")).edu_texts
    parts = [edus[start : start + size] for size in sizes for start in range(0, len(edus) - size + 1, 3)]
    trees = [document_to_dict(parser.parse_edus(part))["tree"] for part in parts]
    return [(json.dumps({"edus": part}).encode(), tree) for part, tree in zip(parts, trees, strict=True)]


def measure(
    arguments: argparse.Namespace, batch: int, questions: Sequence[tuple[bytes, Any]], has_hostile: bool = False
) -> dict[str, Any]:
    """Send requests to a service from many clients for some time, optionally with a hostile client."""
    cpu_before = children_cpu_seconds()
    hostile = attacking if has_hostile else nullcontext
    with serving(arguments.model, arguments.device, batch, READ_ANEW) as (port, process), hostile(port):
        start = time.perf_counter()
        seconds: list[float] = []
        outcomes: Counter[str] = Counter()
        clients = []
        for client in range(arguments.clients):
            first = client * len(questions) // arguments.clients
            own = [*questions[first:], *questions[:first]]
            address = f"127.0.1.{client % 250 + 1}" if sys.platform == "linux" else ""
            clients.append(Thread(target=ask, args=(port, own, start + arguments.seconds, seconds, outcomes, address)))
        for thread in clients:
            thread.start()
        time.sleep(arguments.seconds / 10)
        early = resident_megabytes(process.pid)
        for thread in clients:
            thread.join()
        elapsed = time.perf_counter() - start
        late = resident_megabytes(process.pid)
    row = {
        "batch": batch,
        "hostile": has_hostile,
        "clients": arguments.clients,
        "requests_per_second": round(len(seconds) / elapsed, 2),
        "requests_per_cpu_second": round(len(seconds) / (children_cpu_seconds() - cpu_before), 2),
        **{f"p{share}": round(float(np.percentile(seconds, share)), 3) for share in (50, 99) if seconds},
        **outcomes,
        "megabytes": [early, late],
        "cores": os.cpu_count(),
    }
    print(json.dumps(row), flush=True)
    return row


@contextmanager
def serving(
    model: str, device: str, batch: int, program: Sequence[str] = PROGRAM
) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Run a service in its own process; yield its port and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *program, "serve", "--model", model, "--port", str(port)]
    command += ["--device", device, "--batch", str(batch), "--max-wait", "600", "--max-queue", "1000"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(10 * READY_SECONDS):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def ask(
    port: int,
    questions: Sequence[tuple[bytes, Any]],
    end: float,
    seconds: list[float],
    outcomes: "Counter[str]",
    address: str = "",
) -> None:
    """Send one request after the other until `end`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, source_address=(address, 0))
    number = 0
    while (start := time.perf_counter()) < end:
        body, tree = questions[number % len(questions)]
        connection.request("POST", "/v1/parse", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = json.load(answer)
        seconds.append(time.perf_counter() - start)
        is_equal = answer.status == 200 and shape(content["documents"][0]["tree"]) == shape(tree)
        outcomes["equal" if is_equal else f"different ({answer.status})"] += 1
        number += 1


@contextmanager
def attacking(port: int) -> Iterator[None]:
    """Run a hostile client in its own process."""
    process = get_context("spawn").Process(target=attack, args=(port,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def attack(port: int) -> None:
    """Run all attacks of the hostile client; print the counts of its answers every ten seconds."""
    outcomes: Counter[str] = Counter()
    edus = ["It rained,", "so we stayed in."] * 1000
    bodies = {
        "long": json.dumps({"text": ("It rained. " * 8910)[:98_000]}).encode(),
        "trees": json.dumps({"edus": edus, "trees": 20}).encode(),
        "nested": b"[" * 1_000_000,
    }
    for kind, body in bodies.items():
        for _ in range(4):
            Thread(target=attack_by_bodies, args=(port, kind, body, outcomes), daemon=True).start()
    Thread(target=attack_by_headers, args=(port, 300, outcomes), daemon=True).start()
    while True:
        time.sleep(10)
        print(json.dumps({"hostile": dict(outcomes)}), file=sys.stderr, flush=True)


def attack_by_bodies(port: int, kind: str, body: bytes, outcomes: "Counter[str]") -> None:
    """Send a body repeatedly."""
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, source_address=HOSTILE)
            connection.request("POST", "/v1/parse", body, {"Content-Type": "application/json"})
            outcomes[f"{kind} ({connection.getresponse().status})"] += 1
            connection.close()
        except (OSError, http.client.HTTPException):
            outcomes[f"{kind} (closed)"] += 1


def attack_by_headers(port: int, n: int, outcomes: "Counter[str]") -> None:
    """Hold connections open by sending a header that never ends, one byte per second."""
    connections: list[socket.socket] = []
    while True:
        while len(connections) < n:
            connections.append(socket.create_connection(("127.0.0.1", port), source_address=HOSTILE))
            connections[-1].sendall(b"GET / HTTP/1.1\r\nX: ")
        for connection in list(connections):
            try:
                connection.sendall(b"x")
            except OSError:
                outcomes["headers (closed)"] += 1
                connections.remove(connection)
        time.sleep(1)


def measure_memory(arguments: argparse.Namespace) -> None:
    """Print the resident memory after each eighth of many different texts."""
    sentences = arguments.text.read_text(encoding="utf-8").replace("\n", " ").split(". ")
    with serving(arguments.model, arguments.device, 16) as (port, process):

        def post(number: int) -> int:
            own = [sentences[(number * step) % len(sentences)] for step in (1, 3, 7)]
            body = json.dumps({"text": ". ".join([f"Report {number} is here", *own]) + "."}).encode()
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("POST", "/v1/parse", body, {"Content-Type": "application/json"})
            status = connection.getresponse().status
            connection.close()
            return status

        megabytes = [resident_megabytes(process.pid)]
        outcomes: Counter[int] = Counter()
        with ThreadPoolExecutor(arguments.clients) as clients:
            for part in np.array_split(np.arange(arguments.texts), 8):
                outcomes.update(clients.map(post, part.tolist()))
                megabytes.append(resident_megabytes(process.pid))
    print(json.dumps({"texts": arguments.texts, "outcomes": outcomes, "megabytes": megabytes}))


def shape(tree: Any) -> Any:  # noqa: ANN401
    """Return a tree without its probabilities, which differ in their last digits."""
    if "edu" in tree:
        return tree["edu"]
    return tree["relation"], tree["nuclearity"], [shape(child) for child in tree["children"]]


def children_cpu_seconds() -> float:
    """Return the CPU time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident_megabytes(pid: int) -> int | None:
    """Return the resident memory of a process, or None if /proc is not available."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), None)


if __name__ == "__main__":
    main()
