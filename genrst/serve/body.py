"""Request bodies: their bytes, within the limits of the service, and the requests that they hold.

Bodies are decoded by our own JSON reader because trees can be deeper than other readers allow.
"""

import asyncio
import json
from reprlib import repr as short_repr
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from genrst.errors import CorpusFormatError
from genrst.formats.json_text import loads
from genrst.serve.worker import CLIENT_LEFT, Limits

_UPLOADS_PER_PLACE = 4
"""Concurrent uploads for each place in the queue; each takes memory."""
_DRAIN = 16
"""How many times as large as the limit a body may be and still be read to its end."""

Body = TypeVar("Body", bound=BaseModel)


class BodyReader:
    """Reads the bytes of request bodies; refuses bodies that are too large, too slow or too many at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._n_uploads = 0

    async def read(self, request: Request) -> bytes:
        """Return the body of a request."""
        max_uploads = _UPLOADS_PER_PLACE * self._limits.queue
        if self._n_uploads >= max_uploads:
            raise HTTPException(429, f"too many concurrent uploads (limit {max_uploads})", {"Retry-After": "1"})
        self._n_uploads += 1
        try:
            async with asyncio.timeout(self._limits.wait):
                return await self._read(request)
        except TimeoutError as error:
            raise HTTPException(408, f"the body did not arrive within {self._limits.wait:g} s") from error
        except ClientDisconnect as error:
            raise HTTPException(CLIENT_LEFT, "the client has disconnected") from error
        finally:
            self._n_uploads -= 1

    async def _read(self, request: Request) -> bytes:
        limit, body, n_bytes = self._limits.bytes, bytearray(), 0
        too_large = HTTPException(413, f"the body is too large (limit {limit} bytes)")
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > _DRAIN * limit:
            raise too_large
        # A body slightly over the limit is read to its end: a client that is still sending would miss the response.
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > _DRAIN * limit:
                break
            if n_bytes <= limit:
                body += chunk
        if n_bytes > limit:
            raise too_large
        return bytes(body)


def read_request(kind: type[Body], body: bytes) -> Body:
    """Decode and validate a body."""
    try:
        data = loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"the body must be UTF-8, was: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise CorpusFormatError(f"the body must be JSON, was: {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise CorpusFormatError(f"the body must be JSON, was: {error}") from error
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = ".".join(map(str, found["loc"])) or "the body"
        raise CorpusFormatError(f"{place}: {found['msg']}, was: {short_repr(found['input'])}") from error
