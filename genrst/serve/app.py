"""The service as an ASGI application: its endpoints and error responses.

    POST /v1/parse, /v1/segment      run by the parsing worker, which batches the requests of several clients
    POST /v1/evaluate, /v1/render, /v1/convert      run by the document worker; no model is needed
    GET  /v1/models, /health, /metrics, /openapi.json, /docs, /

The service is stateless and reads and writes no files, unless `genrst annotate` opens local files with it:

    GET  /v1/files, /v1/files/{number}      list the files; open one, and parse it if it has no tree
    PUT  /v1/files/{number}      save it

The page at `/`, where documents are annotated, is the common page (`genrst.rendering.page`) and parts of its own in
`workbench/`: `edits.js` changes documents, `bench.js` keeps the state, calls the service and draws, `panel.js` shows
the selected unit, and `commands.js` handles clicks and keys. It loads nothing from elsewhere.
"""

import asyncio
from asyncio import Lock
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from genrst.characters import one_line
from genrst.errors import GenrstError, MissingDependencyError
from genrst.formats.json_text import dumps
from genrst.parser.parser import Parser
from genrst.rendering.page import Page, fill_page, page_policy
from genrst.serve.documents import MEDIA_TYPES, convert_documents, evaluate_documents, render_document
from genrst.serve.files import Files, LocalFile, Opened
from genrst.serve.middleware import LOGGER, POLICY, Access, AccessControl, Metrics, Observer, describe_error
from genrst.serve.openapi import Endpoint, describe, docs_page
from genrst.serve.parsing import Models, Parsed, Task
from genrst.serve.requests import (
    Body,
    BodyReader,
    ConvertRequest,
    EvaluateRequest,
    ParseRequest,
    RenderRequest,
    SaveRequest,
    SegmentRequest,
    read_request,
)
from genrst.serve.worker import Limits, Worker
from genrst.version import VERSION

LIMITS = Limits()
OPEN = Access()

Result = TypeVar("Result")


def make_app(
    parsers: Sequence[Parser], limits: Limits = LIMITS, access: Access = OPEN, files: Files | None = None
) -> Starlette:
    """Return the service for some parsers, the first of which is the default, and for local files if there are any."""
    service = _Service(Models(parsers, limits.edus), limits, files or Files())
    endpoints = service.endpoints() if files is None else [*service.endpoints(), *service.file_endpoints()]
    description = describe(endpoints, needs_key=access.key is not None)
    html, policy = workbench(files is not None)
    routes = [Route(endpoint.path, endpoint.handler, methods=[endpoint.method]) for endpoint in endpoints]
    routes += [
        Route("/openapi.json", lambda request: JSONResponse(description)),
        Route("/docs", lambda request: HTMLResponse(docs_page(description))),
        Route("/", lambda request: HTMLResponse(html, headers={POLICY: policy})),
    ]
    observer = Middleware(Observer, metrics=service.metrics, paths=[route.path for route in routes])
    return Starlette(
        routes=routes,
        lifespan=service.lifespan,
        middleware=[observer, Middleware(AccessControl, access=access)],
        exception_handlers={HTTPException: _error_response, GenrstError: _error_response},
    )


class _Service:
    """The handlers of the endpoints, and what they share: models, limits, two workers and local files."""

    def __init__(self, models: Models, limits: Limits, files: Files) -> None:
        self.models, self.limits, self.files = models, limits, files
        self.metrics = Metrics(lambda: self.parsing.n_waiting)
        self.parsing: Worker[Task, Parsed] = Worker(limits, models.run_batch, self.metrics.observe_batch)
        self.documents: Worker[Callable[[], Any], Any] = Worker(limits, lambda calls: [call() for call in calls])
        self._bodies = BodyReader(limits)

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints of every service."""
        pictures = [media_type.partition(";")[0] for media_type in MEDIA_TYPES.values()]
        return [
            Endpoint("POST", "/v1/parse", self.parse, ParseRequest),
            Endpoint("POST", "/v1/segment", self.segment, SegmentRequest),
            Endpoint("POST", "/v1/evaluate", self.evaluate, EvaluateRequest),
            Endpoint("POST", "/v1/render", self.render, RenderRequest, pictures),
            Endpoint("POST", "/v1/convert", self.convert, ConvertRequest),
            Endpoint("GET", "/v1/models", self.list_models),
            Endpoint("GET", "/health", self.health),
            Endpoint("GET", "/metrics", self.get_metrics, media_types=["text/plain"]),
        ]

    def file_endpoints(self) -> list[Endpoint]:
        """Return the endpoints of `genrst annotate`."""
        return [
            Endpoint("GET", "/v1/files", self.list_files),
            Endpoint("GET", "/v1/files/{number}", self.open_file),
            Endpoint("PUT", "/v1/files/{number}", self.save_file, SaveRequest),
        ]

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Run the service; at the end, finish the requests that are waiting."""
        background = asyncio.create_task(self._parse_files())
        yield
        background.cancel()
        with suppress(asyncio.CancelledError):
            await background
        await self.documents.close()
        await self.parsing.close()

    async def parse(self, request: Request) -> Response:
        """Parse a text, a list of EDUs, or a document under its constraints."""
        return await self._run_parser(request, ParseRequest, self.models.parse_task)

    async def segment(self, request: Request) -> Response:
        """Segment a text: return a document with EDUs, tokens and sentences, and without a tree."""
        return await self._run_parser(request, SegmentRequest, self.models.segment_task)

    async def evaluate(self, request: Request) -> Response:
        """Score predicted trees against gold trees, or predicted EDUs if there are no trees."""
        return _json(await self._run(request, EvaluateRequest, evaluate_documents))

    async def render(self, request: Request) -> Response:
        """Draw a tree, or the difference between two trees."""
        content, media_type = await self._run(request, RenderRequest, render_document)
        return Response(content, media_type=media_type)

    async def convert(self, request: Request) -> Response:
        """Convert the content of a file to documents, documents to the content of a file, or one format to another."""
        return _json(await self._run(request, ConvertRequest, convert_documents))

    async def list_models(self, _request: Request) -> Response:
        """List the models with their labels."""
        return _json(self.models.description)

    async def health(self, _request: Request) -> Response:
        """Return the status of the service and the number of requests that wait for a model."""
        return _json({"status": "ok", "waiting": self.parsing.n_waiting, "version": VERSION})

    async def get_metrics(self, _request: Request) -> Response:
        """Return metrics for Prometheus."""
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def list_files(self, _request: Request) -> Response:
        """List the local files; those with the least certain trees come first."""
        return _json(self.files.list())

    async def open_file(self, request: Request) -> Response:
        """Return the document of a local file, parsed if it has no tree."""
        file = self.files.find(request.path_params["number"])
        opened = await self._open(file, request)
        file.version = opened.version
        return await run_in_threadpool(lambda: _json({"name": self.files.name(file), **opened.as_dict()}))

    async def save_file(self, request: Request) -> Response:
        """Save a document to its local file, or beside it if the format of the file cannot hold a tree."""
        file = self.files.find(request.path_params["number"])
        saved = await self._run(request, SaveRequest, file.save, file.lock)
        return _json({"name": self.files.name(file), **saved})

    async def _open(self, file: LocalFile, request: Request | None = None) -> Opened:
        async with file.lock:
            opened: Opened = await self.documents.submit(request, lambda: file.read(self.limits.edus))
            if opened.has_tree:
                return opened
            task = self.models.file_task(opened.item, opened.warnings, self.limits.edus)
            return file.keep(opened, await self._submit(request, task))

    async def _parse_files(self) -> None:
        """Parse the local files without trees while no client waits, to know how certain their trees are."""
        for file in self.files.queue:
            while self.parsing.n_waiting or self.documents.n_waiting:
                await asyncio.sleep(0.1)
            if file.has_tree:
                continue
            try:
                await self._open(file)
            except (GenrstError, HTTPException):
                pass  # reported when the file is opened
            except Exception as error:  # go on with the other files
                LOGGER.error("failed", extra={"fields": describe_error(error)})

    async def _run_parser(self, request: Request, kind: type[Body], make_task: Callable[[Body, int], Task]) -> Response:
        parsed = await self._submit(request, await self._run(request, kind, make_task))
        self.metrics.edus.inc(sum(len(document.edus) for document in parsed.documents))
        return await run_in_threadpool(lambda: _json(parsed.as_dict()))

    async def _submit(self, request: Request | None, task: Task) -> Parsed:
        return await self.parsing.submit(request, task, self.models.group(task), task.size)

    async def _run(
        self, request: Request, kind: type[Body], work: Callable[[Body, int], Result], lock: Lock | None = None
    ) -> Result:
        """Read the body of a request and let the document worker decode it and do the work, which gets `max_edus`."""
        body = await self._bodies.read(request)
        async with lock or Lock():
            result: Result = await self.documents.submit(
                request, lambda: work(read_request(kind, body), self.limits.edus)
            )
        return result


def _json(value: object) -> Response:
    return Response(dumps(value), media_type="application/json")


async def _error_response(_request: Request, error: Exception) -> Response:
    """Return an error as one line of JSON."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    status = 501 if isinstance(error, MissingDependencyError) else 422
    return JSONResponse({"error": one_line(str(error))}, status)


_SCRIPTS = ("edits.js", "bench.js", "panel.js", "signals.js", "commands.js")


@cache
def workbench(has_files: bool = False) -> tuple[str, str]:
    """Return the page, with a menu of local files if there are any, and its content security policy."""
    tools = _part("tools.html")
    page = Page(
        title="genrst",
        kind="compact bench",
        facts="",
        trees="",
        data=[],
        text="",
        tools=tools.replace('id="files"', 'id="files" data-local') if has_files else tools,
        panels=_part("panels.html").replace("VERSION", VERSION),
        style=_part("workbench.css"),
        scripts=[_part(name) for name in _SCRIPTS],
        has_signals=True,
    )
    return fill_page(page), f"{page_policy(page)}; frame-ancestors 'none'"


def _part(name: str) -> str:
    return files("genrst.serve").joinpath("workbench", name).read_text(encoding="utf-8").strip()
