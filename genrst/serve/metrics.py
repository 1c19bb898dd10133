"""What the service says about itself: numbers for Prometheus, and a line of JSON on standard error for each request.

Neither has texts, names of documents or keys in it: paths are those of the service or `other`.
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
    """A record as a line of JSON. Of an error only the kind and the place are told: its message may hold texts."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {"time": self.formatTime(record), "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0] is not None:
            line |= describe_error(record.exc_info[1])
        return json.dumps(line)


def describe_error(error: BaseException | None) -> dict[str, str]:
    """The kind of an error and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    return {"error": type(error).__name__, "place": place}


class Metrics:
    """The numbers of one service."""

    def __init__(self, n_waiting: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        labels = ("path", "status")
        self.requests = Counter("genrst_requests", "Requests.", labels, registry=self.registry)
        self.seconds = Histogram("genrst_request_seconds", "Time to answer.", ("path",), registry=self.registry)
        sizes = (1, 2, 4, 8, 16, 32, 64)
        self.batches = Histogram(
            "genrst_batch_requests", "Requests that were parsed together.", buckets=sizes, registry=self.registry
        )
        self.busy = Counter("genrst_model_seconds", "Time that models were busy.", registry=self.registry)
        self.edus = Counter("genrst_edus", "EDUs in answers of models.", registry=self.registry)
        waiting = Gauge("genrst_waiting_requests", "Requests in the queue of the models.", registry=self.registry)
        waiting.set_function(n_waiting)

    def notice_batch(self, n_requests: int, seconds: float) -> None:
        """Count a batch."""
        self.batches.observe(n_requests)
        self.busy.inc(seconds)


class Observer:
    """The middleware that counts and logs requests; it answers for those that fail for an unknown reason."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Watch a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, id, status, n_bytes = perf_counter(), secrets.token_hex(8), 0, 0

        async def receive_and_count() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", id.encode())]
            await send(message)

        try:
            await self._app(scope, receive_and_count, send_and_note)
        except Exception as error:
            LOGGER.error("failed", extra={"facts": {"request": id, **describe_error(error)}})
            if status == 0:
                answer = JSONResponse({"error": f"the service has failed; its log has more, under {id}"}, 500)
                await answer(scope, receive, send_and_note)
        finally:
            self._note(scope, id, status, n_bytes, perf_counter() - start)

    def _note(self, scope: Scope, id: str, status: int, n_bytes: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        facts = {"request": id, "path": path, "status": status, "bytes": n_bytes, "seconds": round(seconds, 4)}
        LOGGER.info("request", extra={"facts": facts})
