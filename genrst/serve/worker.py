"""One thread answers what is queued, several questions at a time: it owns the model, and clients wait.

Whoever waits in vain is told so: the queue is bounded, and so is the time in it. A question whose client has left is
taken out of the queue. Not here: what the answers are (`genrst.serve.work`).
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import perf_counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

CLIENT_LEFT = 499
"""The status, in logs, of a request that nobody waits for any more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may ask for."""

    bytes: int = 2_000_000
    """Of a request's body."""
    edus: int = 2_000
    """Of a document."""
    queue: int = 64
    """Requests that wait."""
    wait: float = 30.0
    """Seconds that a request may wait until it is worked on, and that its body may take to arrive."""
    batch: int = 16
    """Requests that are worked on together."""
    batch_edus: int = 500
    """EDUs that are worked on together, unless one document has more."""


@dataclass(eq=False, slots=True)
class _Question:
    """Questions of one group may be answered together; its size is about its number of EDUs."""

    content: Any
    group: Hashable
    size: int
    answer: Future[Any] = field(default_factory=Future)


class Worker:
    """Answers questions in a thread of its own; `answer` is given a group and the questions of a batch.

    An answer that is an exception is raised where the question was asked.
    """

    def __init__(
        self,
        limits: Limits,
        answer: Callable[[Hashable, list[Any]], Sequence[object]],
        notice: Callable[[int, float], object] = lambda n_questions, seconds: None,
    ) -> None:
        self._limits, self._answer, self._notice = limits, answer, notice
        self._questions: deque[_Question] = deque()
        self._changed = Condition()
        self._is_closed = False
        self._seconds = 0.1  # that a question takes, lately
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start to work."""
        self._thread.start()

    def close(self) -> None:
        """Answer what is queued, and nothing that comes later."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    @property
    def n_waiting(self) -> int:
        """How many questions are in the queue."""
        return len(self._questions)

    async def ask(
        self,
        request: Request | None,
        content: object,
        group: Hashable = None,
        size: int = 1,
    ) -> Any:  # noqa: ANN401
        """The answer to the question of a request; without a group it is answered alone.

        A question of the service's own has no request: it waits as long as it takes.
        """
        if request is not None and await request.is_disconnected():
            raise HTTPException(CLIENT_LEFT, "the client has left")
        question = _Question(content, object() if group is None else group, size)
        self._add(question)
        if request is None:
            return await asyncio.wrap_future(question.answer)
        answer = asyncio.wrap_future(question.answer)
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # somebody looks, also if all left
        left = asyncio.create_task(_leave(request))
        try:
            await asyncio.wait({answer, left}, timeout=self._limits.wait, return_when=asyncio.FIRST_COMPLETED)
            if not (answer.done() or left.done()):
                if question.answer.cancel():
                    raise self._refuse(503, f"a request must be worked on within {self._limits.wait:g} s, was: not yet")
                await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise HTTPException(CLIENT_LEFT, "the client has left")
            return answer.result()
        finally:
            left.cancel()
            if question.answer.cancel():
                self._forget(question)

    def _add(self, question: _Question) -> None:
        with self._changed:
            if self._is_closed:
                raise self._refuse(503, "the service must be running, was: shutting down")
            if len(self._questions) >= self._limits.queue:
                raise self._refuse(429, f"at most {self._limits.queue} requests must be waiting, was: one more")
            self._questions.append(question)
            self._changed.notify()

    def _forget(self, question: _Question) -> None:
        with self._changed:
            if question in self._questions:
                self._questions.remove(question)

    def _refuse(self, status: int, message: str) -> HTTPException:
        seconds = max(1, math.ceil(self._seconds * len(self._questions)))
        return HTTPException(status, message, {"Retry-After": str(seconds)})

    def _run(self) -> None:
        while batch := self._take():
            start = perf_counter()
            answers = self._answers(batch)
            seconds = perf_counter() - start
            self._seconds += 0.2 * (seconds / len(batch) - self._seconds)
            self._notice(len(batch), seconds)
            for question, answer in zip(batch, answers, strict=True):
                if isinstance(answer, Exception):
                    question.answer.set_exception(answer)
                else:
                    question.answer.set_result(answer)

    def _take(self) -> list[_Question]:
        """The next batch: the oldest question and those of its group; nothing at the end of all work."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._questions or self._is_closed)
                if not self._questions:
                    return []
                batch = [one for one in self._next() if one.answer.set_running_or_notify_cancel()]
                if batch:
                    return batch

    def _next(self) -> list[_Question]:
        batch = [self._questions.popleft()]
        size = batch[0].size
        for question in list(self._questions):
            fits = len(batch) < self._limits.batch and size + question.size <= self._limits.batch_edus
            if fits and question.group == batch[0].group:
                batch.append(question)
                size += question.size
                self._questions.remove(question)
        return batch

    def _answers(self, batch: Sequence[_Question]) -> list[object]:
        """All at once or, where that fails, each by itself: what is wrong with one question is nobody else's matter."""
        try:
            return list(self._answer(batch[0].group, [question.content for question in batch]))
        except Exception as error:  # whatever it is, the thread goes on
            if len(batch) == 1:
                return [error]
        return [answer for question in batch for answer in self._answers([question])]


async def _leave(request: Request) -> None:
    """Wait until the client of a request, all of which has been read, has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
