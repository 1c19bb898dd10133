"""How many requests a second a service answers, how long clients wait, and what it is worth to search together.

    python -m benchmarks.serve --clients 32 --seconds 60

A service is started on this machine, once with batches and once without. Clients ask for the trees of different parts
of a text, whose EDUs are known, one request after the other; every answer is compared with what the parser gives
without the service. Prints a line of JSON for each setting (requests a second, and a second of
the service's processor time, its start included; seconds by percentile, answers that
differ, resident memory after the first tenth and at the end), and a last one with the ratio of the two rates.
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
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

import genrst
from genrst.formats.json_format import document_to_dict

EXAMPLE = Path(__file__).parent.parent / "examples" / "library.txt"
READY_SECONDS = 120
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
    parser.add_argument("--edus", type=int, nargs="+", default=[5, 10, 20], help="of requests, in turn")
    parser.add_argument("--batches", type=int, nargs=2, default=[16, 1], help="requests that are parsed together")
    arguments = parser.parse_args()
    questions = make_questions(arguments.text, arguments.model, arguments.device, arguments.edus)
    rows = [measure(arguments, batch, questions) for batch in arguments.batches]
    print(json.dumps({"ratio": round(rows[0]["requests_per_second"] / rows[1]["requests_per_second"], 2)}))


def make_questions(path: Path, model: str, device: str, sizes: Sequence[int]) -> list[tuple[bytes, Any]]:
    """Bodies of requests, each with the tree that the parser finds without a service."""
    parser = genrst.load(model, device=device)
    edus = parser.segment(path.read_text(encoding="utf-8")).edu_texts
    parts = [edus[start : start + size] for size in sizes for start in range(0, len(edus) - size + 1, 3)]
    trees = [document_to_dict(parser.parse_edus(part))["tree"] for part in parts]
    return [(json.dumps({"edus": part}).encode(), tree) for part, tree in zip(parts, trees, strict=True)]


def measure(arguments: argparse.Namespace, batch: int, questions: Sequence[tuple[bytes, Any]]) -> dict[str, Any]:
    """Ask a service from many clients for some time."""
    cpu_before = children_cpu_seconds()
    with serving(arguments.model, arguments.device, batch, READ_ANEW) as (port, process):
        start = time.perf_counter()
        seconds: list[float] = []
        outcomes: Counter[str] = Counter()
        clients = []
        for client in range(arguments.clients):
            first = client * len(questions) // arguments.clients
            own = [*questions[first:], *questions[:first]]
            clients.append(Thread(target=ask, args=(port, own, start + arguments.seconds, seconds, outcomes)))
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
    """A service in a process of its own, and its port."""
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
    port: int, questions: Sequence[tuple[bytes, Any]], end: float, seconds: list[float], outcomes: "Counter[str]"
) -> None:
    """Ask one question after the other, until the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
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


def shape(tree: Any) -> Any:  # noqa: ANN401
    """A tree without its probabilities, which differ in their last digits."""
    if "edu" in tree:
        return tree["edu"]
    return tree["relation"], tree["nuclearity"], [shape(child) for child in tree["children"]]


def children_cpu_seconds() -> float:
    """The processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident_megabytes(pid: int) -> int | None:
    """The resident memory of a process, where the system tells."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), None)


if __name__ == "__main__":
    main()
