"""A worker: a bounded queue of jobs and one thread that runs them, several at a time.

The length of the queue, the waiting time of a job and its running time are limited. A job whose client has disconnected
is removed from the queue, or stopped. Jobs are stopped between their steps (`genrst.allowance`). The jobs themselves
are defined in `genrst.serve.parsing` and `genrst.serve.documents`.
"""

import asyncio
import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from genrst.allowance import allowance
from genrst.serve.queues import FairQueue, Job, client_of

CLIENT_LEFT = 499
"""The status that is logged for a request whose client has disconnected."""

Content = TypeVar("Content")
Result = TypeVar("Result")
Done: TypeAlias = tuple[Sequence[Result | Exception], float]
"""The results of a batch, and the seconds that it took."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the service."""

    bytes: int = 2_000_000
    """Maximum size of a request body."""
    edus: int = 2_000
    """Maximum number of EDUs in a document."""
    queue: int = 64
    """Maximum number of requests that wait for a worker."""
    wait: float = 30.0
    """Maximum seconds that a request waits in the queue, and that its body takes to arrive."""
    seconds: float = 60.0
    """Maximum seconds of computing for a request."""
    batch: int = 16
    """Maximum number of requests in a batch."""
    batch_edus: int = 500
    """Maximum number of EDUs in a batch, unless a single document has more."""


@dataclass(frozen=True)
class Turn:
    """Hooks by which a worker takes turns with another one; by default it does not."""

    around: Callable[[], AbstractContextManager[None]] = nullcontext
    """Returns a context manager that wraps each batch."""
    pause: Callable[[], object] = lambda: None
    """Is called between the steps of a batch."""
    clock: Callable[[], float] = perf_counter
    """Returns the time that counts towards the limit of a job."""


class Worker(Generic[Content, Result]):
    """Runs jobs in its own thread.

    `run_batch` takes the contents of a batch and returns their results; an exception in the list is raised for that job
    only. `on_batch` is called with the size of each batch and the seconds that it took.
    """

    def __init__(
        self,
        limits: Limits,
        run_batch: Callable[[list[Content]], Sequence[Result | Exception]],
        on_batch: Callable[[int, float], object] = lambda n_jobs, seconds: None,
        turn: Turn = Turn(),  # noqa: B008
    ) -> None:
        self._limits, self._run_batch, self._on_batch, self._turn = limits, run_batch, on_batch, turn
        self._queue: FairQueue[Content, Result] = FairQueue()
        self._batches: SimpleQueue[tuple[list[Job[Content, Result]], Future[Done[Result]]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, daemon=True)  # daemon: a second Ctrl-C does not wait for it
        self._runner: asyncio.Task[None] | None = None
        self._is_closed = False
        self._seconds_per_job = 0.1  # a moving average

    @property
    def n_waiting(self) -> int:
        """The number of jobs in the queue."""
        return len(self._queue)

    async def submit(self, request: Request | None, content: Content, group: Hashable = None, size: int = 1) -> Result:
        """Run a job and return its result. A job without a group runs alone.

        A job without a request belongs to the service itself and can wait without limit.
        """
        if request is not None and await request.is_disconnected():
            raise HTTPException(CLIENT_LEFT, "the client has disconnected")
        if self._is_closed:
            raise self._refusal(503, "the service is shutting down")
        future, client = asyncio.get_running_loop().create_future(), client_of(request)
        job = Job[Content, Result](content, object() if group is None else group, size, client, future)
        self._make_room(client)
        self._queue.add(job)
        if self._runner is None:
            self._thread.start()
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        try:
            result = await (future if request is None else self._wait(job, request))
        finally:
            future.cancel()  # stops the work if the client has disconnected
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

    def _make_room(self, client: Hashable) -> None:
        """If the queue is full, refuse a job of a client with more jobs or, if there is none, the new job."""
        if len(self._queue) >= self._limits.queue:
            refusal = self._refusal(429, f"too many requests are waiting (limit {self._limits.queue})")
            loser = self._queue.make_room(client)
            if loser is None:
                raise refusal
            loser.result.set_result(refusal)

    async def _wait(self, job: Job[Content, Result], request: Request) -> Result | Exception:
        left, first = asyncio.create_task(_wait_for_disconnect(request)), asyncio.FIRST_COMPLETED
        events: set[asyncio.Future[Any]] = {job.result, left}
        try:
            await asyncio.wait(events, timeout=self._limits.wait, return_when=first)
            if not left.done() and job in self._queue:
                raise self._refusal(503, f"the request has waited more than {self._limits.wait:g} s")
            await asyncio.wait(events, return_when=first)  # a job that has started may finish
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
            batch = self._queue.take_batch(self._limits.batch, self._limits.batch_edus)
            done: Future[Done[Result]] = Future()
            self._batches.put((batch, done))
            results, seconds = await asyncio.wrap_future(done)
            self._seconds_per_job += 0.2 * (seconds / len(batch) - self._seconds_per_job)
            self._on_batch(len(batch), seconds)
            for job, result in zip(batch, results, strict=True):
                if not job.result.done():
                    job.result.set_result(result)

    def _work(self) -> None:
        """Run batches until there are no more; this is the thread's target."""
        while item := self._batches.get():
            batch, done = item
            if done.set_running_or_notify_cancel():
                start = perf_counter()
                with self._turn.around():
                    results = self._results(batch)
                seconds = perf_counter() - start
                done.set_result((results, seconds))

    def _results(self, batch: list[Job[Content, Result]]) -> Sequence[Result | Exception]:
        """Run a batch; if it fails, run its jobs one by one, so that one job cannot fail the others."""
        try:
            with allowance(check=self._check_of(batch)):
                return self._run_batch([job.content for job in batch])
        except HTTPException as error:  # the batch was stopped
            return [error] * len(batch)
        except Exception as error:  # the worker must survive any error
            if len(batch) == 1:
                return [error]
        return [result for job in batch for result in self._results([job])]

    def _check_of(self, batch: list[Job[Content, Result]]) -> Callable[[], None]:
        """Return the function that a batch calls between its steps, where it may wait or be stopped."""
        turn, seconds = self._turn, self._limits.seconds
        end = turn.clock() + seconds * len(batch)

        def check() -> None:
            turn.pause()
            if all(job.is_abandoned for job in batch):
                raise HTTPException(CLIENT_LEFT, "the client has disconnected")
            if turn.clock() > end:
                raise HTTPException(
                    422, f"the request takes more than {seconds:g} s; send a shorter text or request fewer trees"
                )

        return check


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
