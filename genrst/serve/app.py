"""The service as an ASGI application: its points, its errors, its description.

    POST /v1/parse, /v1/segment      the worker of the models: the texts of several clients in one search
    POST /v1/evaluate, /v1/render, /v1/convert      the worker for documents: no model is needed
    GET  /v1/models, /health, /metrics, /openapi.json, /docs, /

Stateless: what comes with a request goes with its answer. No file is read or written for a client, unless an annotator
has opened some: then there are also

    GET  /v1/files, /v1/files/{number}      what there is, least certain first; a document, parsed if it has no tree
    PUT  /v1/files/{number}      save it
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from genrst.characters import one_line
from genrst.errors import GenrstError, MissingDependencyError
from genrst.formats.json_text import dumps
from genrst.parser.parser import Parser
from genrst.serve.files import Files, LocalFile, Opened
from genrst.serve.metrics import LOGGER, Metrics, Observer, describe_error
from genrst.serve.page import workbench
from genrst.serve.requests import (
    REQUESTS,
    ConvertRequest,
    EvaluateRequest,
    ParseRequest,
    RenderRequest,
    SaveRequest,
    SegmentRequest,
    schemas,
)
from genrst.serve.security import POLICY, Access, Guard
from genrst.serve.work import (
    MEDIA_TYPES,
    Answer,
    Models,
    Question,
    convert_documents,
    evaluate_documents,
    render_document,
)
from genrst.serve.worker import CLIENT_LEFT, Limits, Worker
from genrst.version import VERSION

Point = Callable[..., Awaitable[Response]]

LIMITS = Limits()
OPEN = Access()
_UNKEPT = 16
"""How many times as long as allowed a body may be to be read to its end."""
_BODIES = 4
"""How many bodies may be on their way for each place in the queue: each takes memory."""
_NO_TELEMETRY: Any = {"auto_configure": False, "tracing": False, "metrics": False, "logs": False}
"""Nothing is sent anywhere, whatever variables of the environment say."""


def make_app(
    parsers: Sequence[Parser],
    limits: Limits = LIMITS,
    access: Access = OPEN,
    files: Files | None = None,
) -> FastAPI:
    """The service of some parsers, for the files of an annotator if there are some; the first parser is asked where a
    request names none.
    """
    service = _Service(Models(parsers, limits.edus), limits, files)
    app = FastAPI(
        title="genrst",
        version=VERSION,
        description="Rhetorical structure trees of texts. Documents travel as JSON; nothing is kept.",
        lifespan=service.running,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=_NO_TELEMETRY,
    )
    _add_points(app, service)
    if files is not None:
        _add_file_points(app, service)
    app.add_exception_handler(HTTPException, _tell)
    app.add_exception_handler(GenrstError, _tell)
    app.add_exception_handler(RequestValidationError, _tell)
    app.add_middleware(Guard, access=access)
    paths = [str(getattr(route, "path", "")) for route in app.routes]
    app.add_middleware(Observer, metrics=service.metrics, paths=paths)
    kinds = REQUESTS if files is None else (*REQUESTS, SaveRequest)
    app.openapi = partial(_describe, app, access, kinds)  # type: ignore[method-assign]
    return app


class _Service:
    """What points have in common: models, limits, two workers, and files if an annotator works with them."""

    def __init__(self, models: Models, limits: Limits, files: Files | None) -> None:
        self.models, self.limits = models, limits
        self.files = Files() if files is None else files
        self._n_bodies = 0
        self.metrics = Metrics(lambda: self.parsing.n_waiting)
        self.parsing = Worker(limits, models.answer, self.metrics.notice_batch)
        # Warnings are those of the thread that hears them, so one thread reads and writes all documents.
        self.desk = Worker(limits, _call_each)

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Work; at the end, finish what was begun."""
        del app
        self.parsing.start()
        self.desk.start()
        looking = asyncio.create_task(self._look_ahead())
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await run_in_threadpool(self.desk.close)
        await run_in_threadpool(self.parsing.close)

    async def parse(self, request: Request) -> Response:
        """The best trees of a text, of EDUs, or of a document under its constraints."""
        return await self._ask_models(request, self.models.read_parse)

    async def segment(self, request: Request) -> Response:
        """A text as a document with EDUs, tokens and sentences, and without a tree."""
        return await self._ask_models(request, self.models.read_segment)

    async def evaluate(self, request: Request) -> Response:
        """Scores of predicted trees, or of EDUs if there are no trees, against gold ones."""
        return _json(await self._ask_desk(request, evaluate_documents))

    async def render(self, request: Request) -> Response:
        """A picture of a tree, or of how two differ."""
        content, media_type = await self._ask_desk(request, render_document)
        return Response(content, media_type=media_type)

    async def convert(self, request: Request) -> Response:
        """A file's content as documents, documents as a file's content, or both."""
        return _json(await self._ask_desk(request, convert_documents))

    async def list_models(self) -> Response:
        """The models that can be named, with their labels."""
        return _json(self.models.description)

    async def tell_health(self) -> Response:
        """Whether the service works, and how many requests wait for its models."""
        return _json({"status": "ok", "waiting": self.parsing.n_waiting, "version": VERSION})

    async def tell_metrics(self) -> Response:
        """Numbers for Prometheus."""
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def list_files(self) -> Response:
        """The files of the annotator in the order of the queue: the least certain trees of the parser come first."""
        return _json(self.files.list())

    async def open_file(self, request: Request, number: int) -> Response:
        """The document of a file; one without a tree is parsed first."""
        file = self.files.find(number)
        opened = await self._open(file, request)
        file.version = opened.version
        return await run_in_threadpool(lambda: _json({"name": self.files.name(file), **opened.as_dict()}))

    async def save_file(self, request: Request, number: int) -> Response:
        """Save a document to a file, or beside it if its format has no place for a tree."""
        file = self.files.find(number)
        body = await self._read_body(request)
        async with file.lock:
            saved = await self.desk.ask(request, partial(file.save, body, self.limits.edus))
        return _json({"name": self.files.name(file), **saved})

    async def _open(self, file: LocalFile, request: Request | None = None) -> Opened:
        async with file.lock:
            opened: Opened = await self.desk.ask(request, partial(file.read, self.limits.edus))
            if opened.has_tree:
                return opened
            question = self.models.ask_for(opened.item, opened.warnings)
            answer = await self.parsing.ask(request, question, self.models.group(question), question.size)
            return file.keep(opened, answer)

    async def _look_ahead(self) -> None:
        """Parse the files that have no tree, one at a time and while nobody waits, to know how certain they are."""
        for number in self.files.queue:
            while self.parsing.n_waiting or self.desk.n_waiting:
                await asyncio.sleep(0.1)
            file = self.files.find(number)
            if file.has_tree:
                continue
            try:
                await self._open(file)
            except (GenrstError, HTTPException):
                pass  # whoever opens it is told
            except Exception as error:  # the others are not to suffer
                LOGGER.error("failed", extra={"facts": describe_error(error)})

    async def _ask_models(self, request: Request, read: Callable[[bytes], Question]) -> Response:
        body = await self._read_body(request)
        question: Question = await self.desk.ask(request, partial(read, body))
        group = self.models.group(question)
        answer: Answer = await self.parsing.ask(request, question, group, question.size)
        self.metrics.edus.inc(sum(len(document.edus) for document in answer.documents))
        return await run_in_threadpool(lambda: _json(answer.as_dict()))

    async def _ask_desk(self, request: Request, work: Callable[[bytes, int], object]) -> Any:  # noqa: ANN401
        body = await self._read_body(request)
        return await self.desk.ask(request, partial(work, body, self.limits.edus))

    async def _read_body(self, request: Request) -> bytes:
        """The body, unless it is too long, too slow, ends early, or is one of too many that are being sent."""
        if self._n_bodies >= _BODIES * self.limits.queue:
            refusal = f"at most {_BODIES * self.limits.queue} bodies must be on their way, was: one more"
            raise HTTPException(429, refusal, {"Retry-After": "1"})
        self._n_bodies += 1
        try:
            return await self._read_stream(request)
        finally:
            self._n_bodies -= 1

    async def _read_stream(self, request: Request) -> bytes:
        most = self.limits.bytes
        declared = request.headers.get("content-length", "")
        n_bytes = int(declared[:20]) if declared.isdecimal() else 0
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.wait):
                # What is a little too long is read to its end, unkept: who is still sending would not see the refusal.
                if n_bytes <= _UNKEPT * most:
                    n_bytes = 0
                    async for chunk in request.stream():
                        n_bytes += len(chunk)
                        if n_bytes > _UNKEPT * most:
                            break
                        if n_bytes <= most:
                            body += chunk
        except TimeoutError as error:
            raise HTTPException(408, f"a body must arrive within {self.limits.wait:g} s, was: not yet") from error
        except ClientDisconnect as error:
            raise HTTPException(CLIENT_LEFT, "the client has left") from error
        if n_bytes > most:
            raise HTTPException(413, f"a body must have at most {most} bytes, was: more")
        return bytes(body)


def _call_each(group: Hashable, calls: Sequence[Callable[[], object]]) -> list[object]:
    del group
    return [call() for call in calls]


def _json(value: object) -> Response:
    return Response(dumps(value), media_type="application/json")


async def _tell(request: Request, error: Exception) -> Response:
    """An error as JSON, on one line."""
    del request
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    if isinstance(error, RequestValidationError):
        return JSONResponse({"error": one_line("; ".join(str(one["msg"]) for one in error.errors()))}, 422)
    status = 501 if isinstance(error, MissingDependencyError) else 422
    return JSONResponse({"error": one_line(str(error))}, status)


def _add_points(app: FastAPI, service: _Service) -> None:
    points: list[tuple[str, Point, type[BaseModel], Sequence[str]]] = [
        ("/v1/parse", service.parse, ParseRequest, ["application/json"]),
        ("/v1/segment", service.segment, SegmentRequest, ["application/json"]),
        ("/v1/evaluate", service.evaluate, EvaluateRequest, ["application/json"]),
        ("/v1/render", service.render, RenderRequest, [kind.partition(";")[0] for kind in MEDIA_TYPES.values()]),
        ("/v1/convert", service.convert, ConvertRequest, ["application/json"]),
    ]
    for path, point, kind, answers in points:
        _add(app, path, point, "POST", answers, _body(kind), _BODY_ERRORS)
    _add(app, "/v1/models", service.list_models, "GET", ["application/json"])
    _add(app, "/health", service.tell_health, "GET", ["application/json"])
    _add(app, "/metrics", service.tell_metrics, "GET", ["text/plain"])

    async def openapi() -> Response:
        return JSONResponse(app.openapi())

    async def docs() -> Response:
        return HTMLResponse(_docs_page(app.openapi()))

    async def home() -> Response:
        html, policy = workbench(len(service.files) > 0)
        return HTMLResponse(html, headers={POLICY: policy})

    for path, page in (("/openapi.json", openapi), ("/docs", docs), ("/", home)):
        app.add_api_route(path, page, include_in_schema=False, response_model=None)


def _add_file_points(app: FastAPI, service: _Service) -> None:
    kinds, path = ["application/json"], "/v1/files/{number}"
    missing = {404: "there is no file of this number, or no longer"}
    unsaved = {**missing, 409: "the file has changed since it was read", 507: "the file cannot be written"}
    _add(app, "/v1/files", service.list_files, "GET", kinds)
    _add(app, path, service.open_file, "GET", kinds, None, {**missing, **_WORK_ERRORS})
    _add(app, path, service.save_file, "PUT", kinds, _body(SaveRequest), {**unsaved, **_BODY_ERRORS})


def _body(kind: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_WORK_ERRORS = {
    422: "the request, its document or its constraints are wrong, or the document is too large",
    429: "too many requests wait; Retry-After says when to come again",
    501: "the service lacks a library for it",
    503: "the request has waited too long, or the service shuts down",
}
_BODY_ERRORS = {
    408: "the body came too slowly",
    413: "the body is too large",
    415: "the body is not said to be JSON",
    **_WORK_ERRORS,
}
_ERRORS = {
    401: "the key is missing or wrong",
    403: "the request comes from a page of another site",
    421: "the host is not one of the service's names",
}


def _add(
    app: FastAPI,
    path: str,
    point: Point,
    method: str,
    media_types: Sequence[str],
    extra: dict[str, Any] | None = None,
    errors: dict[int, str] | None = None,
) -> None:
    schema = {"schema": {"$ref": "#/components/schemas/Error"}}
    refusals: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": {"application/json": schema}}
        for status, text in {**_ERRORS, **(errors or {})}.items()
    }
    answer = {"description": "the answer", "content": {kind: {} for kind in media_types}}
    app.add_api_route(
        path,
        point,
        methods=[method],
        response_model=None,
        openapi_extra=extra,
        responses={200: answer, **refusals},
        response_class=Response,
    )


def _describe(app: FastAPI, access: Access, kinds: Sequence[type[BaseModel]]) -> dict[str, Any]:
    """The OpenAPI description, made once."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
        found["components"] = {"schemas": {**schemas(kinds), "Error": error}}
        if access.key is not None:
            found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            found["security"] = [{"key": []}]
        app.openapi_schema = found
    return app.openapi_schema


_HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'


def _docs_page(description: dict[str, Any]) -> str:
    """The points with their examples, for people."""
    parts = [f"{_HEAD}<title>genrst: points</title><h1>genrst {VERSION}: points of the service</h1>"]
    for path, methods in description["paths"].items():
        for method, point in methods.items():
            parts.append(f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(point['description'])}</p>")
            for example in examples(description, point):
                parts.append(f"<pre>{escape(dumps(example))}</pre>")
    return "\n".join([*parts, '<p><a href="/openapi.json">The whole of it as OpenAPI</a></p>', ""])


def examples(description: dict[str, Any], point: dict[str, Any]) -> list[Any]:
    """The examples of what a point can be asked."""
    body = point.get("requestBody")
    if body is None:
        return []
    name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = description["components"]["schemas"][name]
    return list(schema.get("examples", [schema.get("example")]))
