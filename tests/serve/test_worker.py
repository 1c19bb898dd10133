"""Questions of many clients: in batches, in turn, within bounds, and not for those who have left."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from genrst.serve.worker import CLIENT_LEFT, Limits, Worker

SOON = 0.05


class Answers:
    """Doubles numbers, once it is let; notes the batches that it is given."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.may_go_on = Event()
        self.has_begun = Event()

    def __call__(self, _group: object, contents: list[Any]) -> list[object]:
        self.batches.append(contents)
        self.has_begun.set()
        assert self.may_go_on.wait(20)
        if "bug" in contents:
            raise RuntimeError("a bug")
        return [ValueError("odd") if content == "odd" else content * 2 for content in contents]


@contextmanager
def working(limits: Limits) -> Iterator[tuple[Worker, Answers]]:
    answers = Answers()
    worker = Worker(limits, answers)
    worker.start()
    try:
        yield worker, answers
    finally:
        answers.may_go_on.set()
        worker.close()


def request(left: asyncio.Event | None = None) -> Request:
    """A request whose client leaves when it is told to."""

    async def receive() -> dict[str, str]:
        await (left or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http"}, receive)


async def begin(worker: Worker, answers: Answers) -> "asyncio.Task[Any]":
    """A first question, which keeps the worker busy."""
    task = asyncio.create_task(worker.ask(request(), 1))
    await asyncio.to_thread(answers.has_begun.wait, 20)
    return task


def run(limits: Limits, scene: Callable[[Worker, Answers], Awaitable[None]]) -> list[list[Any]]:
    """Play a scene; returns the batches after the first question's."""
    with working(limits) as (worker, answers):
        asyncio.run(scene(worker, answers))  # type: ignore[arg-type]
    return answers.batches[1:]


def test_questions_of_a_group_are_answered_together():
    async def scene(worker: Worker, answers: Answers) -> None:
        first = await begin(worker, answers)
        asked = [worker.ask(request(), number, group, size) for number, group, size in questions]
        waiting = asyncio.gather(*asked)
        await asyncio.sleep(SOON)
        answers.may_go_on.set()
        assert await waiting == [2 * number for number, _, _ in questions]
        assert await first == 2

    questions = [(10, "a", 4), (11, "b", 4), (12, "a", 4), (13, "a", 4), (14, "b", 20), (15, None, 1), (16, None, 1)]
    # No more than ten EDUs together, unless one question has more.
    assert run(Limits(batch_edus=10), scene) == [[10, 12], [11], [13], [14], [15], [16]]
    assert run(Limits(batch=1), scene) == [[number] for number, _, _ in questions]


def test_what_is_wrong_with_one_question_is_nobody_elses_matter():
    async def scene(worker: Worker, answers: Answers) -> None:
        await begin(worker, answers)
        asked = asyncio.gather(*(worker.ask(request(), one, "a") for one in (3, "bug", "odd")), return_exceptions=True)
        await asyncio.sleep(SOON)
        answers.may_go_on.set()
        six, bug, odd = await asked
        assert six == 6
        assert isinstance(bug, RuntimeError)
        assert isinstance(odd, ValueError)
        assert await worker.ask(request(), 4) == 8

    assert run(Limits(), scene) == [[3, "bug", "odd"], [3], ["bug"], ["odd"], [4]]


def test_the_queue_is_bounded():
    async def scene(worker: Worker, answers: Answers) -> None:
        await begin(worker, answers)
        waiting = [asyncio.create_task(worker.ask(request(), number)) for number in (2, 3)]
        await asyncio.sleep(SOON)
        with pytest.raises(HTTPException) as refusal:
            await worker.ask(request(), 4)
        assert refusal.value.status_code == 429
        assert int((refusal.value.headers or {})["Retry-After"]) >= 1
        answers.may_go_on.set()
        assert await asyncio.gather(*waiting) == [4, 6]

    assert run(Limits(queue=2), scene) == [[2], [3]]


def test_who_waits_too_long_is_told_so_but_what_is_begun_is_finished():
    async def scene(worker: Worker, answers: Answers) -> None:
        first = await begin(worker, answers)
        with pytest.raises(HTTPException) as refusal:
            await worker.ask(request(), 2)
        assert refusal.value.status_code == 503
        assert worker.n_waiting == 0
        await asyncio.sleep(2 * SOON)
        answers.may_go_on.set()
        assert await first == 2

    assert run(Limits(wait=SOON), scene) == []


def test_nothing_is_done_for_those_who_have_left():
    async def scene(worker: Worker, answers: Answers) -> None:
        await begin(worker, answers)
        left = asyncio.Event()
        leaving = [asyncio.create_task(worker.ask(request(left), number)) for number in range(200)]
        staying = asyncio.create_task(worker.ask(request(), 7))
        await asyncio.sleep(SOON)
        left.set()
        found = await asyncio.gather(*leaving, return_exceptions=True)
        assert {getattr(one, "status_code", None) for one in found} == {CLIENT_LEFT}
        assert worker.n_waiting == 1
        answers.may_go_on.set()
        assert await staying == 14

    assert run(Limits(queue=2000), scene) == [[7]]


def test_at_the_end_what_is_queued_is_answered_and_no_more():
    async def scene(worker: Worker, answers: Answers) -> None:
        await begin(worker, answers)
        queued = asyncio.create_task(worker.ask(request(), 5))
        await asyncio.sleep(SOON)
        closing = asyncio.create_task(asyncio.to_thread(worker.close))
        await asyncio.sleep(SOON)
        with pytest.raises(HTTPException) as refusal:
            await worker.ask(request(), 6)
        assert refusal.value.status_code == 503
        answers.may_go_on.set()
        await closing
        assert await queued == 10

    assert run(Limits(), scene) == [[5]]
