"""Two workers for jobs of one kind, so that a long job does not delay short ones.

Short jobs have their own lane. While there are short jobs, long work pauses between its steps, except for a share of
the time. A short job therefore waits for one step of a long job, not for its end, and long jobs still make progress. A
job that turns out to be long changes lanes.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, local
from time import perf_counter, process_time, thread_time
from typing import Generic, TypeVar

from starlette.requests import Request

from genrst.allowance import SizeError
from genrst.serve.worker import Limits, Turn, Worker

SHARE = 0.2
"""The share of CPU time that long work gets while there is short work."""
MOST_CREDIT = 0.5
"""The maximum credit of long work, in seconds."""
LINGER = 0.1
"""Seconds after a batch during which more short jobs are expected."""

Content = TypeVar("Content")
Result = TypeVar("Result")


class Turns:
    """Pauses long work while short work goes on, unless it has credit."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._is_busy, self._expects_until, self._credit = False, 0.0, 0.0
        self._n_paused, self._paused, self._since = 0, 0.0, 0.0
        self._own = local()

    @contextmanager
    def short(self) -> Iterator[None]:
        """Run short work in the block."""
        start, self._is_busy = process_time(), True
        try:
            yield
        finally:
            with self._changed:
                self._is_busy, self._expects_until = False, perf_counter() + LINGER
                self._credit = min(self._credit + SHARE * (process_time() - start), MOST_CREDIT)
                self._changed.notify_all()

    def pause(self) -> None:
        """Charge this thread for its last step of long work, and wait until it may run another one."""
        with self._changed:
            used = thread_time()
            if self._is_contested:
                self._credit -= used - getattr(self._own, "used", 0.0)
            self._own.used = used
            if self._n_paused == 0:
                self._since = perf_counter()
            self._n_paused += 1
            while self._is_contested and self._credit <= 0:
                self._changed.wait(LINGER)
            self._n_paused -= 1
            if self._n_paused == 0:
                self._paused += perf_counter() - self._since

    def clock(self) -> float:
        """Return the time in seconds on a clock that stops while long work pauses."""
        with self._changed:
            now = perf_counter()
            return now - self._paused - (now - self._since if self._n_paused else 0)

    @property
    def _is_contested(self) -> bool:
        return self._is_busy or perf_counter() < self._expects_until


class Lanes(Generic[Content, Result]):
    """A lane for short jobs and one for long ones; see `Worker`."""

    def __init__(
        self,
        limits: Limits,
        most_short: int,
        run_short: Callable[[list[Content]], Sequence[Result | Exception]],
        run_long: Callable[[list[Content]], Sequence[Result | Exception]],
        on_batch: Callable[[int, float], object] = lambda n_jobs, seconds: None,
    ) -> None:
        """A job is short up to a size of `most_short`; `run_short` raises a `SizeError` if it turns out to be long."""
        turns = Turns()
        self._limits, self._most_short = limits, most_short
        self._short = Worker(limits, run_short, on_batch, Turn(around=turns.short))
        self._long = Worker(limits, run_long, on_batch, Turn(pause=turns.pause, clock=turns.clock))

    @property
    def n_waiting(self) -> int:
        """The number of jobs in the queues."""
        return self._short.n_waiting + self._long.n_waiting

    async def submit(
        self, request: Request | None, content: Content, group: Hashable = None, size: int = 1, *, is_long: bool = False
    ) -> Result:
        """Run a job in its lane and return its result."""
        if size <= self._most_short and not is_long:
            try:
                return await self._short.submit(request, content, group, size)
            except SizeError as error:
                if error.n_edus > self._limits.edus:
                    raise
                size = error.n_edus
        return await self._long.submit(request, content, group, size)

    async def close(self) -> None:
        """Finish the jobs in the queues and accept no more."""
        await self._short.close()
        await self._long.close()
