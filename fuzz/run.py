"""Run the fuzzer: generate damaged inputs and check that nothing breaks (`make fuzz SECONDS=600`).

    python -m fuzz.run --seconds 600 --processes 2
    python -m fuzz.run --executions 1000000 --targets dis rs3 --seed 7
    python -m fuzz.run --replay tests/data/fuzz/dis/0a1b2c3d     # rerun one case, with its traceback

Each case has a time and a memory limit. Cases run in worker processes; a process that dies or hangs is replaced. For
each kind of crash, the shortest case is kept as a file, which the regular tests replay. Figures are printed as JSON;
the exit status is 1 if there was a crash.

A case depends only on the seed and its number, so it can be reproduced after its process has died.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.targets import TARGETS, Target
from genrst.errors import GenrstError

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests" / "data" / "fuzz"
"""One folder per target, with the cases that once crashed."""
PATIENCE = 3
"""The multiple of the time limit after which a case that ignores signals is killed with its process."""
FIRST = 2
"""The multiple of the limits for the first case of a target."""
FIGURES = ("executions", "refused", "slowest_seconds", "largest_mib")


class TimeLimitError(BaseException):
    """A case took too long. Not an `Exception`, so that `except Exception` does not catch it."""


@dataclass(frozen=True)
class Options:
    """The options of a run, which ends after the given seconds or executions."""

    seconds: float = 60.0
    executions: int = sys.maxsize
    processes: int = 1
    seed: int = 0
    case_seconds: float = 10.0
    case_mib: int = 1024
    names: tuple[str, ...] = tuple(TARGETS)
    module: str = "fuzz.targets"
    """The module of the targets, passed to processes by name because functions cannot be pickled."""

    def case(self, number: int) -> tuple[str, bytes]:
        """Return the target and the content of a case."""
        chance = random.Random(f"{self.seed}-{number}")
        targets, shares = load_targets(self.module, self.names)
        (name,) = chance.choices(self.names, cum_weights=shares)
        return name, targets[name].make(chance)


@cache
def load_targets(module: str, names: tuple[str, ...]) -> tuple[dict[str, Target], list[int]]:
    """Return the targets of a module by name, and the cumulative sums of their shares."""
    targets: dict[str, Target] = import_module(module).TARGETS
    return targets, list(accumulate(targets[name].share for name in names))


@contextmanager
def limits(seconds: float, mib: int) -> Iterator[None]:
    """Limit the time and the additional memory of the block."""

    def stop(*_: object) -> None:
        raise TimeLimitError(f"more than {seconds:g} s")

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_mapped_bytes() + (mib << 20), most))
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _mapped_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - for every case
        return int(file.read().split()[0]) * resource.getpagesize()


def attempt(target: Target, content: bytes, seconds: float, mib: int) -> tuple[bool, str | None]:
    """Run a case; return whether it was refused, and the kind of crash if there was one."""
    try:
        with warnings.catch_warnings(), limits(seconds, mib):
            warnings.simplefilter("ignore")
            target.check(content)
    except GenrstError:
        return True, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return False, describe(error)
    return False, None


def describe(error: BaseException) -> str:
    """Return the kind of a crash: the error, the violated rule, and our function that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(ROOT))]
    others = [frame for frame in frames if frame.filename != __file__]
    own = [frame for frame in others if "/genrst/" in frame.filename] or others
    place = f"{Path(own[-1].filename).relative_to(ROOT)}, {own[-1].name}" if own else "nowhere"
    # The rule is followed by the offending content, which differs between cases.
    rule = f" ({str(error).partition(':')[0]})" if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__}{rule} in {place}"


class Board:
    """Numbers that a process shares with its watcher: the current case, its start time, and figures."""

    def __init__(self, context: Any, n_targets: int) -> None:  # noqa: ANN401
        self._numbers = context.Array("d", 2 + len(FIGURES) * n_targets, lock=False)
        self.end()

    @property
    def case(self) -> tuple[int, float]:
        """The number of the current case, or -1, and its start time."""
        return int(self._numbers[0]), self._numbers[1]

    def begin(self, number: int) -> None:
        """Record the start of a case."""
        self._numbers[0], self._numbers[1] = number, time.monotonic()

    def end(self) -> None:
        """Record the end of a case."""
        self._numbers[0] = -1

    def count(self, target: int, is_refused: bool, seconds: float, mib: float) -> None:
        """Add a case to the figures of a target."""
        executions, refused, slowest, largest = self.figures(target)
        first = 2 + len(FIGURES) * target
        self._numbers[first : first + len(FIGURES)] = [
            executions + 1, refused + is_refused, max(slowest, seconds), max(largest, mib)
        ]  # fmt: skip

    def figures(self, target: int) -> list[float]:
        """Return the figures of a target."""
        first = 2 + len(FIGURES) * target
        found: list[float] = self._numbers[first : first + len(FIGURES)]
        return found


def work(options: Options, number: int, deadline: float, board: Board, found: Connection) -> None:
    """Run every `processes`-th case, starting with `number`."""
    targets, _ = load_targets(options.module, options.names)
    known: set[str] = set()
    while number < options.executions and time.monotonic() < deadline:
        name, content = options.case(number)
        # The first case of a target loads libraries, so it gets higher limits and is not measured.
        patience = 1 if name in known else FIRST
        started, before = time.process_time(), _peak_mib()
        board.begin(number)
        is_refused, crash = attempt(
            targets[name], content, patience * options.case_seconds, patience**2 * options.case_mib
        )
        board.end()
        seconds, mib = time.process_time() - started, _peak_mib() - before
        board.count(options.names.index(name), is_refused, *(seconds, mib) if name in known else (0.0, 0.0))
        if crash is not None:
            found.send((name, crash, content))
        known.add(name)
        number += options.processes


def _peak_mib() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class Crash:
    """A kind of crash, with its count and its shortest case."""

    target: str
    kind: str
    content: bytes
    count: int = 0

    @property
    def path(self) -> Path:
        """The file in which its case is kept."""
        return Path(self.target) / hashlib.sha256(self.kind.encode()).hexdigest()[:8]


class Watcher:
    """Starts a process, receives its crashes, and replaces it if it dies or hangs."""

    def __init__(self, options: Options, first: int, deadline: float) -> None:
        self.options, self.deadline = options, deadline
        self.context = multiprocessing.get_context("spawn")
        self.board = Board(self.context, len(options.names))
        self.is_done = False
        self._start(first)

    def _start(self, number: int) -> None:
        self.found, sender = self.context.Pipe(duplex=False)
        arguments = (self.options, number, self.deadline, self.board, sender)
        self.process = self.context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        sender.close()

    def look(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield the crashes found since the last call."""
        is_alive = self.process.is_alive()
        try:
            while self.found.poll():
                yield self.found.recv()
        except EOFError:
            pass
        number, since = self.board.case
        if not is_alive:
            self.is_done = self.process.exitcode == 0
            if not self.is_done:
                yield from self._replace(number, f"process died with status {self.process.exitcode}")
        elif number >= 0 and time.monotonic() - since > PATIENCE * self.options.case_seconds:
            self.process.kill()
            self.process.join()
            yield from self._replace(number, "case could not be stopped")

    def _replace(self, number: int, kind: str) -> Iterator[tuple[str, str, bytes]]:
        if number < 0:
            raise RuntimeError(f"a fuzzing process failed outside of a case: {kind}")
        self.board.end()
        self._start(number + self.options.processes)
        name, content = self.options.case(number)
        yield name, kind, content


@contextmanager
def scratch() -> Iterator[None]:
    """Put the temporary files of child processes in memory if possible."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(prefix="genrst-fuzz-", dir=shared if shared.is_dir() else None) as folder:
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            os.environ |= {} if before is None else {"TMPDIR": before}


@scratch()
def fuzz(options: Options) -> tuple[dict[str, Any], list[Crash]]:
    """Run all processes; return their combined figures and the crashes."""
    started = time.monotonic()
    watchers = [Watcher(options, first, started + options.seconds) for first in range(options.processes)]
    crashes: dict[tuple[str, str], Crash] = {}
    while not all(watcher.is_done for watcher in watchers):
        for watcher in watchers:
            for name, kind, content in () if watcher.is_done else watcher.look():
                crash = crashes.setdefault((name, kind), Crash(name, kind, content))
                crash.content = min(crash.content, content, key=len)
                crash.count += 1
        time.sleep(0.1)
    seconds = time.monotonic() - started
    figures = {
        name: _together([watcher.board.figures(place) for watcher in watchers])
        for place, name in enumerate(options.names)
    }
    executions = sum(row["executions"] for row in figures.values())
    summary = {
        "executions": executions,
        "crashes": sum(crash.count for crash in crashes.values()),
        "seconds": round(seconds, 1),
        "per_second": round(executions / seconds),
        "slowest_seconds": max(row["slowest_seconds"] for row in figures.values()),
        "largest_mib": max(row["largest_mib"] for row in figures.values()),
        "targets": figures,
    }
    return summary, sorted(crashes.values(), key=lambda crash: (crash.target, -crash.count))


def _together(rows: list[list[float]]) -> dict[str, float]:
    executions, refused, slowest, largest = zip(*rows, strict=True)
    values = (int(sum(executions)), int(sum(refused)), round(max(slowest), 3), round(max(largest), 1))
    return dict(zip(FIGURES, values, strict=True))


def keep(crashes: list[Crash], folder: Path) -> None:
    """Write the case of each kind of crash, unless a shorter one is kept already."""
    for crash in crashes:
        path = folder / crash.path
        if not path.exists() or path.stat().st_size > len(crash.content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(crash.content)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=Options.seconds)
    parser.add_argument("--executions", type=int, default=Options.executions, help="stop after N cases")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="NAME")
    parser.add_argument("--keep", type=Path, default=KEPT, metavar="FOLDER", help="folder for crashing cases")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run only this kept case")
    return parser.parse_args()


def main() -> int:
    """Run the fuzzer, or replay a case."""
    arguments = parse_arguments()
    if arguments.replay:
        TARGETS[arguments.replay.parent.name].check(arguments.replay.read_bytes())
        return 0
    names = tuple(arguments.targets)
    options = Options(arguments.seconds, arguments.executions, arguments.processes, arguments.seed, names=names)
    summary, crashes = fuzz(options)
    keep(crashes, arguments.keep)
    found = [{"file": str(crash.path), "count": crash.count, "kind": crash.kind} for crash in crashes]
    print(json.dumps({**summary, "found": found}, indent=1))
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
