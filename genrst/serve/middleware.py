"""Middleware: access control and security headers, metrics for Prometheus, and the log.

A web page from another site must not reach a service on this machine through the visitor's browser. It could use a
domain name that resolves to this machine (DNS rebinding), so the host must be an IP address, localhost or an allowed
name. It could send a cross-site request, so the origin must be the host itself, and bodies must be JSON, which HTML
forms cannot send. Only links to the pages work from other sites.

The log has one line of JSON per request on standard error. Neither it nor the metrics contain texts, document names or
keys. A path is the path of an endpoint or `other`.
"""

import hmac
import ipaddress
import json
import logging
import secrets
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC_PATHS = ("/", "/docs", "/health", "/openapi.json")
"""Paths that need no key; they hold no client data."""

PAGES = ("/", "/docs")
"""Paths that links on other sites may lead to: their content does not depend on the request."""

BODY_METHODS = ("POST", "PUT", "PATCH")

POLICY = "Content-Security-Policy"
HEADERS = {
    "Cache-Control": "no-store",
    POLICY: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response: they forbid scripts, framing, caching and MIME sniffing. The page has its own policy."""


@dataclass(frozen=True, slots=True)
class Access:
    """The host names of the service besides localhost, and the API key that clients need."""

    hosts: tuple[str, ...] = ()
    key: str | None = None


class AccessControl:
    """Middleware that refuses requests from other hosts or sites and requests without the key."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**HEADERS, POLICY: headers.get(POLICY, HEADERS[POLICY])})
            await send(message)

        app = self._app
        try:
            self._check(scope["method"], scope["path"], Headers(scope=scope))
        except HTTPException as refusal:
            app = JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers)
        await app(scope, receive, send_with_headers)

    def _check(self, method: str, path: str, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_host_allowed(hosts[0], self._access.hosts):
            raise HTTPException(421, "the Host header must be an IP address, localhost or a name given by --allow-host")
        is_visit = method == "GET" and path in PAGES and _is_visit(headers)
        if not (is_visit or _is_same_origin(headers, hosts[0])):
            raise HTTPException(403, "requests from pages of other sites are not allowed")
        if self._access.key is not None and path not in PUBLIC_PATHS and not self._has_key(headers):
            rule = "the API key is missing or wrong; send Authorization: Bearer KEY"
            raise HTTPException(401, rule, {"WWW-Authenticate": "Bearer"})
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method in BODY_METHODS and media_type != "application/json":
            raise HTTPException(415, "the Content-Type must be application/json")

    def _has_key(self, headers: Headers) -> bool:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        given, expected = key.strip().encode("latin-1"), (self._access.key or "").encode("utf-8")
        return scheme.lower() == "bearer" and hmac.compare_digest(given, expected)


def is_host_allowed(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header has an IP address, localhost or one of these names, with any port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        _ = urlsplit(f"//{host}").port
    except ValueError:
        return False
    return name in ("localhost", *(allowed.lower() for allowed in names)) or is_address(name)


def is_address(name: str) -> bool:
    """Whether this is an IP address rather than a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach this host."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_visit(headers: Headers) -> bool:
    """Whether a browser follows a link to show the response by itself, not in a frame of the other page."""
    wanted = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    return "origin" not in headers and all(headers.get(name) == value for name, value in wanted.items())


def _is_same_origin(headers: Headers, host: str) -> bool:
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    own = (f"http://{host.lower()}", f"https://{host.lower()}")
    return all(origin.lower() in own for origin in headers.getlist("origin"))


LOGGER = logging.getLogger("genrst.serve")


class JsonFormatter(logging.Formatter):
    """Formats a log record as a line of JSON, without the messages of exceptions, which may contain texts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line |= describe_error(record.exc_info[1])
        return json.dumps(line)


def describe_error(error: BaseException | None) -> dict[str, str]:
    """Return the type of an error and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    return {"error": type(error).__name__, "place": place}


class Metrics:
    """The metrics of one service."""

    def __init__(self, n_waiting: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("genrst_requests", "Requests.", ("path", "status"), registry=registry)
        self.seconds = Histogram("genrst_request_seconds", "Response time.", ("path",), registry=registry)
        sizes = (1, 2, 4, 8, 16, 32, 64)
        self.batches = Histogram("genrst_batch_requests", "Requests per batch.", buckets=sizes, registry=registry)
        self.busy = Counter("genrst_model_seconds", "Time that the models were busy, in seconds.", registry=registry)
        self.edus = Counter("genrst_edus", "EDUs in responses.", registry=registry)
        Gauge("genrst_waiting_requests", "Requests that wait for a model.", registry=registry).set_function(n_waiting)

    def observe_batch(self, n_requests: int, seconds: float) -> None:
        """Count a batch."""
        self.batches.observe(n_requests)
        self.busy.inc(seconds)


class Observer:
    """Middleware that counts and logs requests, and responds to those that fail with an unexpected error."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, id, status, n_bytes = perf_counter(), secrets.token_hex(8), 0, 0

        async def receive_and_count() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            return message

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", id.encode())]
            await send(message)

        try:
            await self._app(scope, receive_and_count, send_with_id)
        except Exception as error:
            LOGGER.error("failed", extra={"fields": {"request": id, **describe_error(error)}})
            if status == 0:
                response = JSONResponse(
                    {"error": f"internal error; the service log has details under request {id}"}, 500
                )
                await response(scope, receive, send_with_id)
        finally:
            path, seconds = scope["path"] if scope["path"] in self._paths else "other", perf_counter() - start
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(seconds)
            fields = {"request": id, "path": path, "status": status, "bytes": n_bytes, "seconds": round(seconds, 4)}
            LOGGER.info("request", extra={"fields": fields})
