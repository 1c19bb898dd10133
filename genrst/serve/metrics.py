"""Metrics for Prometheus, and a log with one line of JSON per request on standard error.

Neither contains texts, document names or keys. A path is the path of an endpoint or `other`.
"""

import json
import logging
import secrets
import traceback
from collections.abc import Callable, Collection
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        self.busy = Counter("genrst_model_seconds", "Time that the models were busy.", registry=registry)
        self.edus = Counter("genrst_edus", "EDUs in the responses of models.", registry=registry)
        Gauge("genrst_waiting_requests", "Requests that wait for a model.", registry=registry).set_function(n_waiting)

    def observe_batch(self, n_requests: int, seconds: float) -> None:
        """Count a batch."""
        self.batches.observe(n_requests)
        self.busy.inc(seconds)


class Observer:
    """The middleware that counts and logs requests, and responds to those that fail with an unexpected error."""

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
                response = JSONResponse({"error": f"the service has failed; its log has more, under {id}"}, 500)
                await response(scope, receive, send_with_id)
        finally:
            path, seconds = scope["path"] if scope["path"] in self._paths else "other", perf_counter() - start
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(seconds)
            fields = {"request": id, "path": path, "status": status, "bytes": n_bytes, "seconds": round(seconds, 4)}
            LOGGER.info("request", extra={"fields": fields})
