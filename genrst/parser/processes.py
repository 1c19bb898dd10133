"""Parsing in several processes: batches are sent out, and outcomes and warnings come back in order.

If the parser is on the CPU of a Linux machine, processes are forked and share its memory. Otherwise, each process is
spawned and loads its own parser.
"""

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeAlias, TypeVar

from genrst.errors import GenrstError

Batch = TypeVar("Batch")
Result = TypeVar("Result")
Answer: TypeAlias = tuple[Result, list[Warning | str]]

_work: Callable[[Any], object] | None = None
"""The function that this process applies to a batch."""


def can_fork(device_type: str) -> bool:
    """Whether a forked process can use what this one has loaded."""
    return device_type == "cpu" and hasattr(os, "fork") and sys.platform != "darwin"


def work_in_processes(
    batches: Iterator[Batch], make: Callable[[], Callable[[Batch], Result]], n_processes: int, is_forked: bool
) -> Iterator[Result]:
    """Apply a function to batches in several processes, in order, reading at most two batches ahead per process.

    `make` is called in each process and returns the function. If processes are spawned, it must be picklable.
    """
    told: set[str] = set()
    pending: deque[Future[Answer[Result]]] = deque()
    context = get_context("fork" if is_forked else "spawn")
    pool = ProcessPoolExecutor(n_processes, context, initializer=_start, initargs=(make,))
    try:
        for batch in batches:
            pending.append(pool.submit(_do, batch))  # type: ignore[arg-type]
            if len(pending) >= 2 * n_processes:
                yield _take(pending.popleft(), told)
        while pending:
            yield _take(pending.popleft(), told)
    except BrokenProcessPool as error:
        raise GenrstError("a parsing process has died, perhaps for lack of memory; try fewer processes") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start(make: Callable[[], Callable[[Any], object]]) -> None:
    global _work
    os.environ["OMP_NUM_THREADS"] = "1"  # the processes already use all cores
    _work = make()


def _do(batch: object) -> Answer[object]:
    assert _work is not None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _work(batch)
    return result, [warning.message for warning in caught]


def _take(future: "Future[Answer[Result]]", told: set[str]) -> Result:
    """Return the result, and issue its warnings here, each one only once over all processes."""
    result, caught = future.result()
    for warning in caught:
        if str(warning) not in told:
            told.add(str(warning))
            warnings.warn(warning, stacklevel=3)
    return result
