"""The request bodies of the service as pydantic models, which validate them and provide their OpenAPI schemas.

The schema of documents is `genrst/formats/document.schema.json`.

Bodies are read within the limits of the service. They are decoded by our own JSON reader, because trees can be nested
more deeply than other readers allow.
"""

import asyncio
import json
import re
from collections import Counter
from reprlib import repr as short_repr
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from genrst.document import Document
from genrst.errors import CorpusFormatError, UsageError
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.formats.json_text import loads
from genrst.parser.parser import Item, Text, from_edus
from genrst.serve.queues import client_of
from genrst.serve.worker import CLIENT_LEFT, Limits
from genrst.trees.node import Leaf, Unit

MAX_TREES = 20
"""The maximum number of trees, and of labels per unit, in a request."""

DOCUMENT_SCHEMA = {"const": "a document"}
"""A placeholder for the schema of documents, which `genrst.serve.openapi` replaces by a reference."""
JsonDocument: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(DOCUMENT_SCHEMA)]
TextFormat: TypeAlias = Literal["dis", "rs3", "rs4", "json", "jsonl", "edus"]
AnyFormat: TypeAlias = Literal["dis", "rs3", "rs4", "json", "jsonl", "rsd", "edus"]
ModelName = Annotated[str | None, Field(description="The name of a model from /v1/models (default: the first).")]

_EDUS: Any = ["It rained all day,", "so we stayed in.", "Nobody minded."]
_TREE = Unit("elaboration", "NS", (Unit("causal", "SN", (Leaf(0), Leaf(1))), Leaf(2)))
EXAMPLE: Any = document_to_dict(Document.from_edus("rain", _EDUS, _TREE))
_OTHER_TREE = Unit("joint", "NN", (Leaf(0), Unit("causal", "NS", (Leaf(1), Leaf(2)))))
OTHER: Any = document_to_dict(Document.from_edus("rain", _EDUS, _OTHER_TREE))


def _examples(*bodies: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(bodies)})


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SegmentRequest(_Request):
    """A text to segment into EDUs."""

    model_config = _examples({"text": " ".join(_EDUS)})

    text: str = Field(min_length=1)
    id: str = Field("text", description="The name of the document.")
    model: ModelName = None


class ParseRequest(_Request):
    """An input to parse: a text, a list of EDUs, or a document, whose EDUs and constraints are kept."""

    model_config = _examples(
        {"text": " ".join(_EDUS)}, {"edus": _EDUS, "id": "rain"}, {"document": EXAMPLE, "trees": 2}
    )

    text: str | None = Field(None, min_length=1)
    edus: list[str] | None = Field(None, min_length=1)
    document: JsonDocument | None = None
    id: str | None = Field(None, description="A name for a document that has none.")
    model: ModelName = None
    trees: int = Field(1, ge=1, le=MAX_TREES, description="How many of the best trees to return.")
    alternatives: int = Field(
        0,
        ge=0,
        le=MAX_TREES,
        description="How many labels to return for each unit of the best tree; chart parsers only.",
    )

    def item(self) -> Item:
        """Return the item to parse."""
        given = [name for name in ("text", "edus", "document") if getattr(self, name) is not None]
        if len(given) != 1:
            raise UsageError(
                f"a request must have exactly one of text, edus and document, got {', '.join(given) or 'none of them'}"
            )
        name = self.id or "text"
        if self.text is not None:
            return Text(name, self.text)
        if self.edus is not None:
            return from_edus(name, self.edus)
        return document_from_dict(self.document, with_tree=False, default_id=name)


class EvaluateRequest(_Request):
    """Gold documents, and predicted documents with the same names."""

    model_config = _examples({"gold": [EXAMPLE], "predicted": [OTHER]})

    gold: list[JsonDocument] = Field(min_length=1)
    predicted: list[JsonDocument] = Field(min_length=1)
    labels: Literal["coarse", "fine"] = Field("coarse", description="Compare relation classes or fine relations.")
    inventory: Literal["rstdt", "gum", "open"] | None = Field(
        None, description="The inventory of relation classes (default: the one that covers the most labels)."
    )


class RenderRequest(_Request):
    """A document to draw, optionally compared with another."""

    model_config = _examples(
        {"document": EXAMPLE},
        {"document": EXAMPLE, "format": "txt", "width": 60},
        {"document": EXAMPLE, "against": OTHER, "format": "html"},
    )

    document: JsonDocument
    against: JsonDocument | None = Field(None, description="Draw the difference from this document (svg, html).")
    format: Literal["svg", "html", "txt", "png", "pdf", "parts"] = Field(
        "svg",
        description="`parts` returns the parts of an HTML page as JSON, for pages that show several trees in turn.",
    )
    style: Literal["classic", "compact"] | None = None
    colours: Literal["relation", "certainty"] = "relation"
    width: int = Field(80, ge=20, le=400, description="Columns of txt.")
    labels: Literal["coarse", "fine"] = Field("coarse", description="How to compare relations with `against`.")
    names: list[str] | None = Field(None, min_length=2, max_length=2, description="Names for the two trees.")


class ConvertRequest(_Request):
    """The content of a file, or documents. The response has documents or, if `to` is given, the content of a file."""

    model_config = _examples(
        {"content": "It rained,\nso we stayed in.\n", "from": "edus"}, {"documents": [EXAMPLE], "to": "rs3"}
    )

    content: str | None = None
    source_format: TextFormat | None = Field(None, alias="from", description="The format of the content.")
    documents: list[JsonDocument] | None = Field(None, min_length=1)
    to: AnyFormat | None = None
    roots: Literal["error", "join"] = Field("error", description="Reject a file with several trees, or join them.")

    def check(self) -> None:
        """Raise an error unless there is either content with its format, or documents."""
        given = self.content is not None, self.source_format is not None, self.documents is not None
        if given not in ((True, True, False), (False, False, True)):
            raise UsageError("a request must have either content and from, or documents")


class SaveRequest(_Request):
    """A document to save to a local file."""

    model_config = _examples({"document": EXAMPLE})

    document: JsonDocument
    version: str | None = Field(
        None, description="The version that was opened or saved last (default: the last one that was returned)."
    )
    force: bool = Field(
        False, description="Save even if another program has changed the file; its content is kept as NAME.bak-N."
    )
    aside: bool = Field(False, description="Leave the file as it is, and write NAME.conflict-N.json beside it.")


class DraftRequest(_Request):
    """Unsaved work on a local file."""

    model_config = _examples({"document": EXAMPLE, "version": None, "time": 1767225600000})

    document: JsonDocument
    version: str | None = Field(None, description="The version of the file on which the work is based.")
    time: int = Field(description="When the work was done, in milliseconds since 1970.")


_UPLOADS_PER_PLACE = 4
"""Limit on concurrent uploads per place in the queue, because each upload takes memory."""
SHORT_BODY = 1 << 16
"""The size in bytes above which a body counts as long and is processed in the lane for long jobs."""
_DRAIN = 16
"""A body of up to this many times the limit is still read to its end."""

Body = TypeVar("Body", bound=BaseModel)


class BodyReader:
    """Reads the bytes of request bodies; refuses bodies that are too large or too slow, and too many uploads at a time.

    If there are too many uploads, the client with the most loses its oldest one to a client with fewer. After a large
    body, the next one of the same client is delayed, which limits each client to the maximum body size per second.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._uploads: dict[asyncio.Timeout, str] = {}
        self._may_begin: dict[str, float] = {}

    async def read(self, request: Request) -> bytes:
        """Return the body of a request."""
        client = client_of(request)
        self._make_room(client)
        try:
            async with asyncio.timeout(self._limits.wait) as timeout:
                self._uploads[timeout] = client
                now = asyncio.get_running_loop().time()
                await asyncio.sleep(self._may_begin.get(client, now) - now)
                return await self._read(request)
        except TimeoutError as error:
            if timeout not in self._uploads:
                raise self._refusal() from error
            raise HTTPException(408, f"the body did not arrive within {self._limits.wait:g} s") from error
        except ClientDisconnect as error:
            raise HTTPException(CLIENT_LEFT, "the client has disconnected") from error
        finally:
            self._uploads.pop(timeout, None)

    def _make_room(self, client: str) -> None:
        if len(self._uploads) < _UPLOADS_PER_PLACE * self._limits.queue:
            return
        n_uploads = Counter(self._uploads.values())
        busiest, most = n_uploads.most_common(1)[0]
        if most <= n_uploads[client] + 1:
            raise self._refusal()
        oldest = next(timeout for timeout, other in self._uploads.items() if other == busiest)
        del self._uploads[oldest]
        oldest.reschedule(asyncio.get_running_loop().time())

    def _refusal(self) -> HTTPException:
        limit = _UPLOADS_PER_PLACE * self._limits.queue
        return HTTPException(429, f"too many concurrent uploads (limit {limit})", {"Retry-After": "1"})

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
        if n_bytes > SHORT_BODY:
            self._delay_next(client_of(request), n_bytes / limit)
        if n_bytes > limit:
            raise too_large
        return bytes(body)

    def _delay_next(self, client: str, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._may_begin = {one: time for one, time in self._may_begin.items() if time > now}
        self._may_begin[client] = self._may_begin.get(client, now) + seconds


MOST_EDUS = Limits().edus
_DEPTH_AROUND_TREES = 20
_STEPS = bytes({ord("["): 1, ord("{"): 1, ord("]"): 255, ord("}"): 255}.get(sign, 0) for sign in range(256))
"""What each byte adds to the nesting depth, as signed 8-bit integers."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def _check_depth(body: bytes, limit: int) -> None:
    """Refuse a body that is nested too deeply before decoding it, which would take long."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return
    steps = np.frombuffer(_STRING.sub(b"", body).translate(_STEPS), np.int8)
    if np.cumsum(steps, dtype=np.int32).max(initial=0) > limit:
        raise CorpusFormatError(f"the body is nested too deeply (limit {limit} levels)")


def read_request(kind: type[Body], body: bytes, max_edus: int = MOST_EDUS) -> Body:
    """Decode and validate a body, which may be nested as deeply as a tree of `max_edus` EDUs."""
    _check_depth(body, 2 * max_edus + _DEPTH_AROUND_TREES)
    try:
        data = loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"the body must be UTF-8, got {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise CorpusFormatError(f"the body must be JSON, got {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise CorpusFormatError(f"the body must be JSON, got {error}") from error
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = ".".join(map(str, found["loc"])) or "the body"
        raise CorpusFormatError(f"{place}: {found['msg']}, got {short_repr(found['input'])}") from error
