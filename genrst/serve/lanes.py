"""Two workers for jobs of one kind, so that a long job does not delay short ones.

Short jobs have a lane of their own. While it computes, long work pauses at its next checkpoint; after each batch it
goes on for a share of the time that the batch took. So short jobs wait for a step of a long one, and not for its end,
and long jobs still end when there are always short ones. A job that turns out to be long changes lanes.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from time import perf_counter
from typing import Generic, TypeVar

from starlette.requests import Request

from genrst.errors import SizeError
from genrst.serve.worker import Limits, Turn, Worker

SHARE = 0.2
"""How long long work may go on after a batch of short jobs, as a share of the time of the batch."""

Content = TypeVar("Content")
Result = TypeVar("Result")


class Turns:
    """Lets long work go on while no short work does, and pauses it while short work does."""

    def __init__(self) -> None:
        self._may_go_on, self._is_idle = Event(), Event()
        self._may_go_on.set()
        self._is_idle.set()
        self._paused, self._since = 0.0, 0.0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Pause long work."""
        self._since = perf_counter()
        self._may_go_on.clear()
        try:
            yield
        finally:
            self._paused += perf_counter() - self._since
            self._may_go_on.set()

    def share(self, seconds: float) -> None:
        """Leave long work its share after a batch that took some seconds."""
        self._is_idle.wait(SHARE * seconds)

    @contextmanager
    def long(self) -> Iterator[None]:
        """Say that there is long work."""
        self._is_idle.clear()
        try:
            yield
        finally:
            self._is_idle.set()

    def wait(self) -> None:
        """Pause, if short work goes on."""
        self._may_go_on.wait()

    def clock(self) -> float:
        """The seconds of long work: a clock that stands still while it pauses."""
        now = perf_counter()
        return now - self._paused - (0 if self._may_go_on.is_set() else now - self._since)


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
        self._short = Worker(limits, run_short, on_batch, Turn(around=turns.short, after=turns.share))
        self._long = Worker(limits, run_long, on_batch, Turn(around=turns.long, pause=turns.wait, clock=turns.clock))

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
