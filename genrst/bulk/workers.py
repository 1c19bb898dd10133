"""Worker processes, which parse batches. A process that crashes or hangs is replaced, and the document is identified.

On Linux, a template process loads the model once, and workers are forked from it: they share its memory and start
instantly. On a GPU, which cannot be shared in this way, and on other systems, every worker loads its own model. Both
are separate programs (`python -m genrst.bulk.workers`), so that nothing of the parent process is copied.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, Any, Protocol

from genrst.bulk.inputs import Record, Unit, name_of
from genrst.bulk.work import Rows, Settings, error_row, load_worker, make_batches, work
from genrst.characters import one_line
from genrst.errors import GenrstError, InputError, MissingDependencyError

if TYPE_CHECKING:
    from genrst.parser.parser import Parser

ATTEMPTS = 3
"""How many times to start a process that dies before it has loaded the model."""
PATIENCE = 10
"""The limit on elapsed time, as a multiple of the CPU limit, because other programs may use the cores."""


@dataclass(frozen=True, slots=True)
class Death:
    """Why a batch was not finished."""

    kind: str
    reason: str


class Process(Protocol):
    """A worker process."""

    @property
    def link(self) -> Connection:
        """The connection to the process."""

    def end(self) -> int:
        """Kill the process if it is alive; return its exit status, negative for a signal."""


# In the worker process.


def serve(link: Connection, parser: "Parser", settings: Settings) -> None:
    """Parse batches until the connection is closed."""
    while True:
        try:
            records, seconds = link.recv()
        except EOFError:
            return
        # Both signals kill the process: one limits CPU time, the other elapsed time, so that an orphaned process does
        # not hang forever.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 2 * PATIENCE * seconds)
        answer = _attempt(parser, records, settings)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        link.send(answer)


def _attempt(parser: "Parser", records: Sequence[Record], settings: Settings) -> tuple[str, Any]:
    try:
        return "rows", work(parser, records, settings)
    except InputError as error:
        return "input", str(error)
    except MissingDependencyError as error:
        return "fatal", str(error)
    except Exception as error:
        return "failed", one_line(f"{type(error).__name__}: {error}")[:500]


def _fork_workers(link: Connection, parser: "Parser", settings: Settings) -> None:
    """Run the loop of a template: fork a worker on a given core, or report how a worker has ended."""
    alive = set[int]()
    while True:
        try:
            asked, number = link.recv()
        except EOFError:
            for worker in alive:
                os.kill(worker, signal.SIGKILL)
            return
        if asked == "end":
            link.send(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
            alive.discard(number)
            continue
        theirs, own = socket.socketpair()
        worker = os.fork()
        if worker == 0:
            link.close()
            theirs.close()
            _pin(number)
            serve(Connection(own.detach()), parser, settings)
            os._exit(0)
        own.close()
        alive.add(worker)
        link.send(worker)
        send_handle(link, theirs.fileno(), os.getppid())
        theirs.close()


def _pin(core: int | None) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})


def main() -> None:
    """Load the model, then serve batches or fork workers."""
    link = Connection(int(sys.argv[1]))
    settings, core, is_template = link.recv()
    _pin(core)
    warnings.simplefilter("ignore")
    try:
        parser = load_worker(settings)
    except Exception as error:
        reason = str(error) if isinstance(error, GenrstError) else f"{type(error).__name__}: {error}"
        link.send(one_line(reason))
        return
    link.send(None)
    if is_template:
        _fork_workers(link, parser, settings)
    else:
        serve(link, parser, settings)


# In the parent process.


class Program:
    """A process that loads the model: a worker or a template."""

    def __init__(self, settings: Settings, core: int | None = None, is_template: bool = False) -> None:
        own, theirs = socket.socketpair()
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        command = [sys.executable, "-m", "genrst.bulk.workers", str(theirs.fileno())]
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        theirs.close()
        self.link = Connection(own.detach())
        self._task = settings, core, is_template

    def load(self) -> int | None:
        """Let the process load the model; return its exit status if it dies, otherwise None."""
        try:
            self.link.send(self._task)
            problem = self.link.recv()
        except (EOFError, OSError):
            return self.end()
        if problem is not None:
            self.end()
            raise GenrstError(problem)
        return None

    def end(self) -> int:
        """Kill the process if it is alive; return its exit status."""
        self.link.close()
        self.process.kill()
        return self.process.wait()


def start_program(settings: Settings, core: int | None = None, is_template: bool = False) -> Program:
    """Start a process and let it load the model; retry a few times if it dies before that."""
    for _ in range(ATTEMPTS):
        program = Program(settings, core, is_template)
        status = program.load()
        if status is None:
            return program
    raise GenrstError(f"a worker died {ATTEMPTS} times while loading the model (exit status {status})")


class Template:
    """The template process of the workers on a machine; threads may fork workers concurrently."""

    def __init__(self, settings: Settings) -> None:
        self.lock = threading.Lock()
        self._settings = settings
        self.program = start_program(settings, is_template=True)
        self.is_closed = False

    def fork(self, core: int | None = None) -> "Forked":
        """Fork a new worker; a template that has died is replaced first."""
        with self.lock:
            for _ in range(ATTEMPTS):
                with suppress(EOFError, OSError):
                    link = self.program.link
                    link.send(("fork", core))
                    number = link.recv()
                    return Forked(Connection(recv_handle(link)), number, self.program, self.lock)
                if self.is_closed:
                    break
                self.program.end()
                self.program = start_program(self._settings, is_template=True)
        raise GenrstError("a worker process could not be started")

    def close(self) -> None:
        """End the template and all of its workers."""
        with self.lock:
            self.is_closed = True
            self.program.link.close()
        self.program.process.wait()


@dataclass(frozen=True, slots=True)
class Forked:
    """A worker forked from a template."""

    link: Connection
    number: int
    parent: Program
    lock: threading.Lock

    def end(self) -> int:
        """Kill the process if it is alive; return its exit status as reported by the template."""
        self.link.close()
        with suppress(ProcessLookupError):
            os.kill(self.number, signal.SIGKILL)
        with self.lock, suppress(EOFError, OSError):
            self.parent.link.send(("end", self.number))
            status: int = self.parent.link.recv()
            return status
        return -signal.SIGKILL


class Worker:
    """Runs units of work in a process that may die, and identifies the documents that crash it."""

    def __init__(self, start: "Start", timeout: float) -> None:
        self._start = start
        self._timeout = timeout
        self._process: Process | None = None

    def do(self, unit: Unit) -> Rows:
        """Return all rows of a unit; raise an error if an input has changed or nothing can be parsed at all."""
        rows = Rows()
        for batch in make_batches(unit.records):
            rows.add(self._do_batch(batch))
        rows.sort()
        return rows

    def _do_batch(self, batch: Sequence[Record]) -> Rows:
        found = self._try(batch, self._timeout)
        if isinstance(found, Rows):
            return found
        # Parse each document alone, then the healthy ones together, as if the others were not in the batch.
        alone = [self._do_alone(record) for record in batch]
        healthy = [record for record, one in zip(batch, alone, strict=True) if isinstance(one, Rows)]
        rows = Rows()
        for record, one in zip(batch, alone, strict=True):
            if isinstance(one, Death):
                rows.errors.append(error_row(record, name_of(record), one.kind, one.reason))
        together = self._try(healthy, self._timeout * len(healthy)) if healthy else Rows()
        for own in [together] if isinstance(together, Rows) else [one for one in alone if isinstance(one, Rows)]:
            rows.add(own)
        return rows

    def _do_alone(self, record: Record) -> Rows | Death:
        found = self._try([record], self._timeout)
        # A process can also die for other reasons, but hardly twice.
        is_crash = isinstance(found, Death) and found.kind == "crash"
        return self._try([record], self._timeout) if is_crash else found

    def _try(self, records: Sequence[Record], seconds: float) -> Rows | Death:
        process = self._process = self._process or self._start()
        late = Death("time", f"a document took longer than {self._timeout:g} seconds")
        try:
            process.link.send((records, seconds))
            if not process.link.poll(PATIENCE * seconds):
                self.close()
                return late
            kind, result = process.link.recv()
        except (EOFError, OSError):
            status = self.close()
            if status == -signal.SIGPROF:
                return late
            return Death("crash", f"a document crashed the process (exit status {status})")
        if kind == "input":
            raise InputError(result)
        if kind == "fatal":
            raise MissingDependencyError(result)
        rows: Rows | Death = Death(kind, result) if kind == "failed" else result
        return rows

    def close(self) -> int | None:
        """End the process, and return its exit status if there was one."""
        process, self._process = self._process, None
        return None if process is None else process.end()


class Start(Protocol):
    """A function that starts a worker process."""

    def __call__(self) -> Process:
        """Start a process and let it load the model."""


def can_fork(settings: Settings) -> bool:
    """Whether workers can be forked from a template."""
    return sys.platform == "linux" and settings.load.device == "cpu"


if __name__ == "__main__":
    main()
