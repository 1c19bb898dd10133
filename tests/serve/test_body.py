"""Bodies are read within the limits: size, time, and how many at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from genrst.serve.requests import BodyReader
from genrst.serve.worker import CLIENT_LEFT, Limits


def upload(*chunks: bytes, then: Callable[[], Awaitable[Any]] | None = None, **headers: str) -> Request:
    """A request that sends some chunks; then it waits for something and disconnects, or it ends."""
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        if then is None:
            return {"type": "http.request", "body": b"", "more_body": False}
        await then()
        return {"type": "http.disconnect"}

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": named}, receive)


def status(limits: Limits, request: Request) -> int:
    """The status of a refusal."""
    with pytest.raises(HTTPException) as refusal:
        asyncio.run(BodyReader(limits).read(request))
    return refusal.value.status_code


def test_a_body_is_the_sum_of_its_chunks():
    assert asyncio.run(BodyReader(Limits(bytes=4)).read(upload(b"ab", b"cd"))) == b"abcd"


def test_bodies_that_are_too_large():
    endless = [b"x" * 10] * 100
    assert status(Limits(bytes=9), upload(b"x" * 10)) == 413
    assert status(Limits(bytes=9), upload(*endless, then=asyncio.Event().wait)) == 413, "not read to its end"
    assert status(Limits(bytes=9), upload(then=asyncio.Event().wait, content_length="9" * 5000)) == 413


def test_bodies_that_do_not_arrive():
    assert status(Limits(wait=0.01), upload(b"x", then=asyncio.Event().wait)) == 408
    assert status(Limits(), upload(b"x", then=lambda: asyncio.sleep(0))) == CLIENT_LEFT


def test_a_client_with_many_uploads_makes_room_for_others():
    async def scene() -> None:
        reader, never = BodyReader(Limits(queue=1)), asyncio.Event()
        slow = [upload(b"x", then=never.wait) for _ in range(4)]
        for request in slow:
            request.scope["client"] = ("10.0.0.1", 5)
        uploads = [asyncio.create_task(reader.read(request)) for request in slow]
        await asyncio.sleep(0)
        assert await reader.read(upload(b"y")) == b"y"
        with pytest.raises(HTTPException, match="429: too many concurrent uploads"):
            await uploads[0]
        assert not any(task.done() for task in uploads[1:])
        for task in uploads:
            task.cancel()
        await asyncio.gather(*uploads, return_exceptions=True)

    asyncio.run(scene())


def test_a_client_waits_after_a_large_body():
    async def scene() -> None:
        reader = BodyReader(Limits(bytes=100_000, wait=0.05))
        assert len(await reader.read(upload(b"x" * 60_000, b"x" * 40_000))) == 100_000
        with pytest.raises(HTTPException, match="408"):
            await reader.read(upload(b"x"))
        other = upload(b"x" * 60_000)
        other.scope["client"] = ("10.0.0.1", 5)
        assert len(await reader.read(other)) == 60_000
        other = upload(b"x")
        other.scope["client"] = ("10.0.0.1", 5)
        assert await reader.read(other) == b"x", "what is not large is free"

    asyncio.run(scene())


def test_concurrent_uploads_are_limited():
    async def scene() -> None:
        reader, left = BodyReader(Limits(queue=1)), asyncio.Event()
        uploads = [asyncio.create_task(reader.read(upload(b"x", then=left.wait))) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException) as refusal:
            await reader.read(upload(b"x"))
        assert (refusal.value.status_code, refusal.value.headers) == (429, {"Retry-After": "1"})
        left.set()
        await asyncio.gather(*uploads, return_exceptions=True)
        assert await reader.read(upload(b"x")) == b"x"

    asyncio.run(scene())
