"""Connections that get stuck are closed, and one client cannot take all of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from genrst.serve.connections import Connection

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class Impatient(Connection):
    header_seconds = 0.2
    most_connections = 4


Open = Callable[..., Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def play(scene: Callable[[Open], Awaitable[None]], protocol: type[Connection] = Impatient) -> None:
    """Play a scene with a server; connections can be opened from any address of this machine."""

    async def run() -> None:
        async with server(protocol) as port:
            writers: list[asyncio.StreamWriter] = []

            async def connect(address: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
                writers.append(writer)
                return reader, writer

            await scene(connect)
            for writer in writers:
                writer.close()

    asyncio.run(asyncio.wait_for(run(), 60))


@asynccontextmanager
async def server(protocol: type[Connection]) -> AsyncIterator[int]:
    async def answer(_request: Any) -> PlainTextResponse:
        await asyncio.sleep(0.3)
        return PlainTextResponse("ok")

    app = Starlette(routes=[Route("/", answer)])
    config = uvicorn.Config(app, http=protocol, port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    one = uvicorn.Server(config)
    serving = asyncio.create_task(one._serve())
    while not one.started:
        await asyncio.sleep(0.01)
    yield one.servers[0].sockets[0].getsockname()[1]
    one.should_exit = True
    await serving


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Wait until the other side has closed a connection."""
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


async def drip(writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
    """Send a byte now and then, until the connection is closed."""
    closed = asyncio.create_task(is_closed(reader))
    while not closed.done():
        writer.write(b"x")
        await asyncio.sleep(0.05)
    assert closed.result()


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD, HEAD + b"X: "])
def test_a_header_that_does_not_arrive(sent: bytes):
    async def scene(connect: Open) -> None:
        reader, writer = await connect()
        writer.write(sent)
        assert await is_closed(reader)

    play(scene)


def test_a_header_that_arrives_byte_by_byte():
    async def scene(connect: Open) -> None:
        reader, writer = await connect()
        writer.write(HEAD + b"X: ")
        await drip(writer, reader)

    play(scene)


@pytest.mark.slow
def test_an_answer_may_take_longer_and_what_follows_it_may_not():
    """Neither the next header nor the rest of a body that nobody needs."""

    async def scene(connect: Open) -> None:
        for end in (b"\r\n", b"Content-Length: 9999\r\n\r\n"):
            reader, writer = await connect()
            writer.write(HEAD + end)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")
            writer.write(b"G")
            await drip(writer, reader)

    play(scene)


@pytest.mark.slow
def test_a_client_with_many_connections_makes_room_for_others():
    class Patient(Impatient):
        header_seconds = 60.0

    async def scene(connect: Open) -> None:
        idle = [await connect("127.0.0.2") for _ in range(4)]
        for _ in range(2):
            reader, writer = await connect()
            writer.write(HEAD + b"Connection: close\r\n\r\n")
            assert (await reader.read()).endswith(b"ok")
        assert await is_closed(idle[0][0])
        writer = idle[-1][1]
        writer.write(HEAD + b"Connection: close\r\n\r\n")
        assert (await idle[-1][0].read()).endswith(b"ok"), "the newest is still there"

    play(scene, Patient)
