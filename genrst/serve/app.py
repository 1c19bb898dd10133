"""The service as an ASGI application: its endpoints and error responses.

    POST /v1/parse, /v1/segment      run by the parsing worker, which batches the requests of several clients
    POST /v1/evaluate, /v1/render, /v1/convert      run by the document worker; no model is needed
    GET  /v1/models, /health, /metrics, /openapi.json, /docs, /

The service is stateless and reads and writes no files, unless `genrst annotate` opens local files with it:

    GET  /v1/files, /v1/files/{number}      list the files; open one, and parse it if it has no tree
    PUT  /v1/files/{number}      save it
    PUT, DELETE  /v1/files/{number}/drafts/{id}      keep or discard unsaved work on it
    /v1/folder, /v1/pairs      states of files, agreement and adjudication (`genrst.serve.annotation.folder`)

The page at `/`, where documents are annotated, combines the common page (`genrst.rendering.page`) with the parts in
`workbench/`: `edits.js`, `segments.js` and `notes.js` change documents; `bench.js` holds the state, calls the service
and draws; `drafts.js` and `files.js` store and save; `panel.js`, `palette.js`, `attach.js` and `asking.js` are the
commands for a unit; `commands.js` handles clicks and keys; `folder.js` lists the files; `adjudicate.js` makes a third
tree from two. The page loads nothing from other servers.
"""

import asyncio
from asyncio import Lock
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
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
from genrst.errors import GenrstError, MissingDependencyError, OutputError
from genrst.formats.json_text import dumps
from genrst.parser.parser import Parser
from genrst.rendering.page import Page, fill_page, inert_json, page_policy
from genrst.serve.annotation.files import Files, LocalFile, Opened
from genrst.serve.annotation.folder import Folder, folder_endpoints
from genrst.serve.documents import MEDIA_TYPES, convert_documents, evaluate_documents, render_document
from genrst.serve.lanes import Lanes
from genrst.serve.middleware import LOGGER, POLICY, Access, AccessControl, Metrics, Observer, describe_error
from genrst.serve.openapi import Endpoint, describe, docs_page
from genrst.serve.parsing import Models, Parsed, Task
from genrst.serve.requests import (
    SHORT_BODY,
    Body,
    BodyReader,
    ConvertRequest,
    DraftRequest,
    EvaluateRequest,
    ParseRequest,
    RenderRequest,
    SaveRequest,
    SegmentRequest,
    read_request,
)
from genrst.serve.worker import Limits
from genrst.trees.relations import load_glossary
from genrst.version import VERSION

LIMITS = Limits()
OPEN = Access()

Result = TypeVar("Result")


def make_app(
    parsers: Sequence[Parser],
    limits: Limits = LIMITS,
    access: Access = OPEN,
    files: Files | None = None,
    folder: Folder | None = None,
) -> Starlette:
    """Make the service for the given parsers (the first is the default) and, optionally, for local files.

    `folder` adds the states of the files, the project and pairs of annotators.
    """
    service = _Service(Models(parsers), limits, folder or Folder(files or Files()))
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
    """The handlers of the endpoints and their shared state: models, limits, workers and local files."""

    def __init__(self, models: Models, limits: Limits, folder: Folder) -> None:
        self.models, self.limits, self.files, self.folder = models, limits, folder.files, folder
        self.metrics = Metrics(lambda: self.parsing.n_waiting)
        # The longest texts that count as short are half a batch.
        most = min(limits.batch_edus // 2, limits.edus)
        short, long = (partial(models.run_batch, max_edus=edus) for edus in (most, limits.edus))
        self.parsing: Lanes[Task, Parsed] = Lanes(limits, most, short, long, self.metrics.observe_batch)
        self.documents: Lanes[Callable[[], Any], Any] = Lanes(limits, SHORT_BODY, _call_all, _call_all)
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
            Endpoint("PUT", "/v1/files/{number}/drafts/{id}", self.keep_draft, DraftRequest),
            Endpoint("DELETE", "/v1/files/{number}/drafts/{id}", self.discard_draft),
            *folder_endpoints(self.folder, self._run, self._look),
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
        return _json(self.folder.project.apply(self.models.description))

    async def health(self, _request: Request) -> Response:
        """Return the status of the service and the number of requests that wait for a model."""
        return _json({"status": "ok", "waiting": self.parsing.n_waiting, "version": VERSION})

    async def get_metrics(self, _request: Request) -> Response:
        """Return metrics for Prometheus."""
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def list_files(self, _request: Request) -> Response:
        """List the local files, those with the least certain trees first."""
        return _json(self.files.list())

    async def open_file(self, request: Request) -> Response:
        """Return the document of a local file, parsed if it has no tree."""
        file = self.files.find(request.path_params["number"])
        opened = await self._open(file, request)
        file.version = opened.version
        names = {"name": self.files.name(file), "key": file.key, "modified": file.modified}
        return await run_in_threadpool(lambda: _json({**names, **opened.as_dict(), "drafts": file.drafts.read()}))

    async def save_file(self, request: Request) -> Response:
        """Save a document to its local file, or beside it if the format of the file cannot hold a tree."""
        file = self.files.find(request.path_params["number"])
        saved = await self._run(request, SaveRequest, file.save, file.lock)
        return _json({"name": self.files.name(file), **saved})

    async def keep_draft(self, request: Request) -> Response:
        """Keep unsaved work on a local file, in a file beside it, until it is saved or discarded."""
        file, id = self._find_draft(request)
        body = await self._bodies.read(request)
        await run_in_threadpool(lambda: file.drafts.keep(id, read_request(DraftRequest, body), body))
        return _json({})

    async def discard_draft(self, request: Request) -> Response:
        """Delete unsaved work on a local file."""
        file, id = self._find_draft(request)
        await run_in_threadpool(file.drafts.discard, id)
        return _json({})

    def _find_draft(self, request: Request) -> tuple[LocalFile, str]:
        id = request.path_params["id"]
        if not (id.isascii() and id.isdecimal() and len(id) <= 16):
            raise HTTPException(404, "no such draft: the id must be a number")
        return self.files.find(request.path_params["number"]), id

    async def _open(self, file: LocalFile, request: Request | None = None) -> Opened:
        async with file.lock:
            opened: Opened = await self.documents.submit(request, lambda: file.read(self.limits.edus))
            if opened.has_tree:
                return opened
            task = self.models.file_task(opened.item, opened.warnings, self.limits.edus)
            return file.keep(opened, await self._submit(request, task))

    async def _parse_files(self) -> None:
        """Parse the local files without trees while no client waits, to find out how certain their trees are."""
        for file in self.files.queue:
            while self.parsing.n_waiting or self.documents.n_waiting:
                await asyncio.sleep(0.1)
            if file.has_tree:
                continue
            try:
                await self._open(file)
            except (GenrstError, HTTPException):
                pass  # reported when the file is opened
            except Exception as error:  # continue with the other files
                LOGGER.error("failed", extra={"fields": describe_error(error)})

    async def _run_parser(self, request: Request, kind: type[Body], make_task: Callable[[Body, int], Task]) -> Response:
        parsed = await self._submit(request, await self._run(request, kind, make_task))
        self.metrics.edus.inc(sum(len(document.edus) for document in parsed.documents))
        return await run_in_threadpool(lambda: _json(parsed.as_dict()))

    async def _submit(self, request: Request | None, task: Task) -> Parsed:
        is_long = self.models.is_long(task)
        return await self.parsing.submit(request, task, self.models.group(task), task.cost, is_long=is_long)

    async def _look(self, request: Request, work: Callable[[int], Result]) -> Result:
        """Run a function in the document worker; it receives `max_edus`."""
        result: Result = await self.documents.submit(request, lambda: work(self.limits.edus))
        return result

    async def _run(
        self, request: Request, kind: type[Body], work: Callable[[Body, int], Result], lock: Lock | None = None
    ) -> Result:
        """Read the body of a request, then decode it and run a function on it in the document worker."""
        body, most = await self._bodies.read(request), self.limits.edus

        def do() -> Result:
            return work(read_request(kind, body, most), most)

        async with lock or Lock():
            result: Result = await self.documents.submit(request, do, size=len(body))
        return result


def _call_all(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    return [call() for call in calls]


def _json(value: object) -> Response:
    return Response(dumps(value), media_type="application/json")


async def _error_response(_request: Request, error: Exception) -> Response:
    """Return an error as one line of JSON."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    status = {MissingDependencyError: 501, OutputError: 507}.get(type(error), 422)
    return JSONResponse({"error": one_line(str(error))}, status)


_SCRIPTS = (
    *("edits.js", "segments.js", "notes.js", "bench.js", "drafts.js", "dialogs.js", "files.js"),
    *("panel.js", "signals.js", "palette.js", "attach.js", "asking.js", "commands.js"),
    *("folder.js", "adjudicate.js"),
)


@cache
def workbench(has_files: bool = False) -> tuple[str, str]:
    """Return the page, with a menu of local files if there are any, and its content security policy."""
    tools, folder = _part("tools.html"), _part("folder.html")
    page = Page(
        title="genrst",
        kind="compact bench",
        facts="",
        trees="",
        data=[],
        text="",
        tools=tools.replace('id="files"', 'id="files" data-local') if has_files else tools,
        panels="\n".join([*([folder] if has_files else []), _part("panels.html").replace("VERSION", VERSION)]),
        style=_part("workbench.css") + _part("folder.css"),
        scripts=[f"const GLOSSARY = {inert_json(load_glossary())};", *map(_part, _SCRIPTS)],
        has_signals=True,
    )
    return fill_page(page), f"{page_policy(page)}; frame-ancestors 'none'"


def _part(name: str) -> str:
    return files("genrst.serve").joinpath("workbench", name).read_text(encoding="utf-8").strip()
