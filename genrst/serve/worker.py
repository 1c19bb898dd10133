"""A worker: a bounded queue of jobs and one thread that runs them, several at a time.

The thread owns what its jobs use, such as the models. The queue is bounded, and so is the time that a job waits in it.
A job whose client has disconnected is removed from the queue. The queue belongs to the event loop, so it needs no lock.
What the jobs do is decided elsewhere (`genrst.serve.parsing`, `genrst.serve.documents`).
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, Generic, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

CLIENT_LEFT = 499
"""The status, in logs, of a request whose client has disconnected."""

Content = TypeVar("Content")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the service."""

    bytes: int = 2_000_000
    """Size of a request body."""
    edus: int = 2_000
    """EDUs in a document."""
    queue: int = 64
    """Requests that wait for a worker."""
    wait: float = 30.0
    """Seconds that a request may wait in the queue, and that its body may take to arrive."""
    batch: int = 16
    """Requests in a batch."""
    batch_edus: int = 500
    """EDUs in a batch, unless a single document has more."""


@dataclass(eq=False, slots=True)
class _Job(Generic[Content, Result]):
    """Jobs of the same group may run in one batch; the size is roughly the number of EDUs."""

    content: Content
    group: Hashable
    size: int
    result: "asyncio.Future[Result | Exception]"


class Worker(Generic[Content, Result]):
    """Runs jobs in a thread of its own.

    `run_batch` gets the contents of a batch and returns their results; an exception among them is raised for its own
    job. `on_batch` is told the size of each batch and the seconds that it took.
    """

    def __init__(
        self,
        limits: Limits,
        run_batch: Callable[[list[Content]], Sequence[Result | Exception]],
        on_batch: Callable[[int, float], object] = lambda n_jobs, seconds: None,
    ) -> None:
        self._limits, self._run_batch, self._on_batch = limits, run_batch, on_batch
        self._queue: deque[_Job[Content, Result]] = deque()
        self._batches: SimpleQueue[tuple[list[Content], Future[Sequence[Result | Exception]]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, daemon=True)  # a second Ctrl-C does not wait for it
        self._runner: asyncio.Task[None] | None = None
        self._is_closed = False
        self._seconds_per_job = 0.1  # a moving average

    @property
    def n_waiting(self) -> int:
        """The number of jobs in the queue."""
        return len(self._queue)

    async def submit(self, request: Request | None, content: Content, group: Hashable = None, size: int = 1) -> Result:
        """Run a job and return its result. A job without a group runs alone.

        Without a request the job belongs to the service itself and waits as long as it takes.
        """
        if request is not None and await request.is_disconnected():
            raise HTTPException(CLIENT_LEFT, "the client has disconnected")
        if self._is_closed:
            raise self._refusal(503, "the service is shutting down")
        if len(self._queue) >= self._limits.queue:
            raise self._refusal(429, f"too many requests are waiting (limit {self._limits.queue})")
        future = asyncio.get_running_loop().create_future()
        job = _Job[Content, Result](content, object() if group is None else group, size, future)
        self._queue.append(job)
        if self._runner is None:
            self._thread.start()
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        try:
            result = await (future if request is None else self._wait(job, request))
        finally:
            if job in self._queue:
                self._queue.remove(job)
        if isinstance(result, Exception):
            raise result
        return result

    async def close(self) -> None:
        """Finish the jobs in the queue and accept no more."""
        self._is_closed = True
        if self._runner is not None:
            await self._runner
        self._batches.put(None)

    async def _wait(self, job: _Job[Content, Result], request: Request) -> Result | Exception:
        left, first = asyncio.create_task(_wait_for_disconnect(request)), asyncio.FIRST_COMPLETED
        events: set[asyncio.Future[Any]] = {job.result, left}
        try:
            await asyncio.wait(events, timeout=self._limits.wait, return_when=first)
            if not left.done() and job in self._queue:
                raise self._refusal(503, f"the request has waited for more than {self._limits.wait:g} s")
            await asyncio.wait(events, return_when=first)  # a job that has started is finished
            if not job.result.done():
                raise HTTPException(CLIENT_LEFT, "the client has disconnected")
            return job.result.result()
        finally:
            left.cancel()

    def _refusal(self, status: int, message: str) -> HTTPException:
        seconds = max(1, math.ceil(self._seconds_per_job * len(self._queue)))
        return HTTPException(status, message, {"Retry-After": str(seconds)})

    async def _run(self) -> None:
        """Run batches until the queue is empty."""
        while self._queue:
            batch, start = self._next_batch(), perf_counter()
            done: Future[Sequence[Result | Exception]] = Future()
            self._batches.put(([job.content for job in batch], done))
            results = await asyncio.wrap_future(done)
            seconds = perf_counter() - start
            self._seconds_per_job += 0.2 * (seconds / len(batch) - self._seconds_per_job)
            self._on_batch(len(batch), seconds)
            for job, result in zip(batch, results, strict=True):
                if not job.result.done():
                    job.result.set_result(result)

    def _next_batch(self) -> list[_Job[Content, Result]]:
        """Take the oldest job, and others of its group as far as the limits allow."""
        batch = [self._queue.popleft()]
        size = batch[0].size
        for job in list(self._queue):
            fits = len(batch) < self._limits.batch and size + job.size <= self._limits.batch_edus
            if fits and job.group == batch[0].group:
                batch.append(job)
                size += job.size
                self._queue.remove(job)
        return batch

    def _work(self) -> None:
        """Run batches in the thread."""
        while batch := self._batches.get():
            contents, done = batch
            if done.set_running_or_notify_cancel():
                done.set_result(self._results(contents))

    def _results(self, contents: list[Content]) -> Sequence[Result | Exception]:
        """Run a batch; if it fails, run its jobs one by one, so that one job cannot fail the others."""
        try:
            return self._run_batch(contents)
        except Exception as error:  # whatever it is, the worker goes on
            if len(contents) == 1:
                return [error]
        return [result for content in contents for result in self._results([content])]


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
