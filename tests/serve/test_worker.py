"""Jobs of many clients: in batches, in order, within limits, and not for clients that have disconnected."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from genrst.allowance import checkpoint
from genrst.serve.worker import CLIENT_LEFT, Limits, Worker

SOON = 0.05
AnyWorker = Worker[Any, Any]


class Doubler:
    """Doubles numbers, once it is let; notes the batches that it is given."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.may_go_on = Event()
        self.has_begun = Event()

    def __call__(self, contents: list[Any]) -> list[Any]:
        self.batches.append(contents)
        self.has_begun.set()
        assert self.may_go_on.wait(20)
        if "bug" in contents:
            raise RuntimeError("a bug")
        return [ValueError("odd") if content == "odd" else content * 2 for content in contents]


def request(left: asyncio.Event | None = None, client: str = "127.0.0.1") -> Request:
    """A request whose client leaves when it is told to."""

    async def receive() -> dict[str, str]:
        await (left or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "client": (client, 5)}, receive)


async def begin(worker: AnyWorker, doubler: Doubler) -> "asyncio.Task[Any]":
    """A first job, which keeps the worker busy."""
    task = asyncio.create_task(worker.submit(request(), 1))
    await asyncio.to_thread(doubler.has_begun.wait, 20)
    return task


def run(limits: Limits, scene: Callable[[AnyWorker, Doubler], Awaitable[None]]) -> list[list[Any]]:
    """Play a scene; returns the batches after the first job's."""

    async def play() -> None:
        worker: AnyWorker = Worker(limits, doubler)
        try:
            await scene(worker, doubler)
        finally:
            doubler.may_go_on.set()
            await worker.close()

    doubler = Doubler()
    asyncio.run(play())
    return doubler.batches[1:]


def test_jobs_of_a_group_run_together():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        first = await begin(worker, doubler)
        asked = [worker.submit(request(), number, group, size) for number, group, size in jobs]
        waiting = asyncio.gather(*asked)
        await asyncio.sleep(SOON)
        doubler.may_go_on.set()
        assert await waiting == [2 * number for number, _, _ in jobs]
        assert await first == 2

    jobs = [(10, "a", 4), (11, "b", 4), (12, "a", 4), (13, "a", 4), (14, "b", 20), (15, None, 1), (16, None, 1)]
    # No more than ten EDUs together, unless one job has more.
    assert run(Limits(batch_edus=10), scene) == [[10, 12], [11], [13], [14], [15], [16]]
    assert run(Limits(batch=1), scene) == [[number] for number, _, _ in jobs]


def test_a_job_that_fails_does_not_fail_the_others():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        await begin(worker, doubler)
        asked = asyncio.gather(
            *(worker.submit(request(), one, "a") for one in (3, "bug", "odd")), return_exceptions=True
        )
        await asyncio.sleep(SOON)
        doubler.may_go_on.set()
        six, bug, odd = await asked
        assert six == 6
        assert isinstance(bug, RuntimeError)
        assert isinstance(odd, ValueError)
        assert await worker.submit(request(), 4) == 8

    assert run(Limits(), scene) == [[3, "bug", "odd"], [3], ["bug"], ["odd"], [4]]


def test_the_queue_is_bounded():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        await begin(worker, doubler)
        waiting = [asyncio.create_task(worker.submit(request(), number)) for number in (2, 3)]
        await asyncio.sleep(SOON)
        with pytest.raises(HTTPException) as refusal:
            await worker.submit(request(), 4)
        assert refusal.value.status_code == 429
        assert int((refusal.value.headers or {})["Retry-After"]) >= 1
        doubler.may_go_on.set()
        assert await asyncio.gather(*waiting) == [4, 6]

    assert run(Limits(queue=2), scene) == [[2], [3]]


def test_who_waits_too_long_is_told_so_but_what_is_begun_is_finished():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        first = await begin(worker, doubler)
        with pytest.raises(HTTPException) as refusal:
            await worker.submit(request(), 2)
        assert refusal.value.status_code == 503
        assert worker.n_waiting == 0
        await asyncio.sleep(2 * SOON)
        doubler.may_go_on.set()
        assert await first == 2

    assert run(Limits(wait=SOON), scene) == []


def test_nothing_is_done_for_those_who_have_left():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        await begin(worker, doubler)
        left = asyncio.Event()
        leaving = [asyncio.create_task(worker.submit(request(left), number)) for number in range(200)]
        staying = asyncio.create_task(worker.submit(request(), 7))
        await asyncio.sleep(SOON)
        left.set()
        found = await asyncio.gather(*leaving, return_exceptions=True)
        assert {getattr(one, "status_code", None) for one in found} == {CLIENT_LEFT}
        assert worker.n_waiting == 1
        doubler.may_go_on.set()
        assert await staying == 14

    assert run(Limits(queue=2000), scene) == [[7]]


def test_at_the_end_what_is_queued_is_answered_and_no_more():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        await begin(worker, doubler)
        queued = asyncio.create_task(worker.submit(request(), 5))
        await asyncio.sleep(SOON)
        closing = asyncio.create_task(worker.close())
        await asyncio.sleep(SOON)
        with pytest.raises(HTTPException) as refusal:
            await worker.submit(request(), 6)
        assert refusal.value.status_code == 503
        doubler.may_go_on.set()
        await closing
        assert await queued == 10

    assert run(Limits(), scene) == [[5]]


def test_a_full_queue_has_room_for_another_client():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        await begin(worker, doubler)
        many = [asyncio.create_task(worker.submit(request(), number)) for number in (2, 3)]
        await asyncio.sleep(SOON)
        other = asyncio.create_task(worker.submit(request(client="10.0.0.1"), 4))
        with pytest.raises(HTTPException, match="429: too many requests are waiting"):
            await many[1]
        doubler.may_go_on.set()
        assert (await many[0], await other) == (4, 8)

    assert run(Limits(queue=2), scene) == [[2], [4]]


def test_work_stops_when_nobody_waits_for_it():
    async def scene() -> None:
        has_begun, has_ended = Event(), Event()

        def work(_contents: list[Any]) -> list[Any]:
            has_begun.set()
            try:
                while True:
                    checkpoint()
                    time.sleep(SOON / 10)
            finally:
                has_ended.set()

        worker, left = AnyWorker(Limits(), work), asyncio.Event()
        job = asyncio.create_task(worker.submit(request(left), 1))
        await asyncio.to_thread(has_begun.wait, 20)
        assert not has_ended.is_set()
        left.set()
        with pytest.raises(HTTPException) as refusal:
            await job
        assert refusal.value.status_code == CLIENT_LEFT
        assert await asyncio.to_thread(has_ended.wait, 20)
        await worker.close()

    asyncio.run(scene())


def test_a_job_of_the_service_itself_can_be_cancelled():
    async def scene(worker: AnyWorker, doubler: Doubler) -> None:
        first = asyncio.create_task(worker.submit(None, 1))
        await asyncio.to_thread(doubler.has_begun.wait, 20)
        second = asyncio.create_task(worker.submit(None, 2))
        await asyncio.sleep(SOON)
        for task in (first, second):
            task.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert worker.n_waiting == 0
        doubler.may_go_on.set()
        assert await worker.submit(None, 3) == 6

    assert run(Limits(), scene) == [[3]]
