"""Clients take turns, however many jobs each of them has."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request

from genrst.serve.queues import FairQueue, Job, client_of

Jobs = list[Job[Any, Any]]


def play(scene: Callable[[Callable[..., Job[Any, Any]]], None]) -> None:
    """Futures need an event loop."""

    async def run() -> None:
        def make(name: str, group: str = "a", size: int = 1) -> Job[Any, Any]:
            return Job(name, group, size, name[0], asyncio.get_running_loop().create_future())

        scene(make)

    asyncio.run(run())


def names(batch: Jobs) -> list[str]:
    return [job.content for job in batch]


def test_clients_take_turns():
    def scene(make: Callable[..., Job[Any, Any]]) -> None:
        queue: FairQueue[Any, Any] = FairQueue()
        for name in ("h1", "h2", "h3", "h4", "a1", "b1", "a2"):
            queue.add(make(name))
        assert names(queue.take_batch(3, 10)) == ["h1", "a1", "b1"]
        queue.add(make("c1"))
        assert names(queue.take_batch(1, 10)) == ["h2"]
        assert names(queue.take_batch(1, 10)) == ["a2"]
        assert names(queue.take_batch(9, 10)) == ["c1", "h3", "h4"]
        assert len(queue) == 0

    play(scene)


def test_a_batch_is_of_one_group_and_not_too_large():
    def scene(make: Callable[..., Job[Any, Any]]) -> None:
        queue: FairQueue[Any, Any] = FairQueue()
        for job in (make("a1", "x", 30), make("b1", "y"), make("a2", "x", 4), make("c1", "x", 7), make("d1", "x", 3)):
            queue.add(job)
        assert names(queue.take_batch(9, 10)) == ["a1"], "one that is too large runs alone"
        assert names(queue.take_batch(9, 10)) == ["b1"]
        assert names(queue.take_batch(9, 10)) == ["c1", "d1"]
        assert names(queue.take_batch(9, 10)) == ["a2"]

    play(scene)


def test_a_full_queue_has_room_for_those_with_less():
    def scene(make: Callable[..., Job[Any, Any]]) -> None:
        queue: FairQueue[Any, Any] = FairQueue()
        assert queue.make_room("a") is None
        for name in ("h1", "h2", "h3", "a1"):
            queue.add(make(name))
        assert queue.make_room("h") is None
        loser = queue.make_room("a")
        assert loser is not None
        assert (loser.content, loser in queue) == ("h3", False)
        assert queue.make_room("a") is None, "it would have more than the other"

    play(scene)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("testclient", "testclient"),
        ("2001:db8::1:2:3", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
    ],
)
def test_who_asks(host: str, client: str):
    assert client_of(Request({"type": "http", "client": (host, 5)})) == client
    assert client_of(None) == ""
