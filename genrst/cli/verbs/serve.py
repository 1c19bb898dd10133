"""Serve parsers over HTTP, with JSON responses; one process loads the models once.

  genrst serve
  genrst serve --model en --model CHART --port 8080
  GENRST_API_KEY=… genrst serve --host 0.0.0.0 --allow-host rst.example.org
  curl -H 'Content-Type: application/json' -d '{"text": "It rained, so we stayed in."}' http://127.0.0.1:8000/v1/parse

Endpoints: POST /v1/parse, /v1/segment, /v1/evaluate, /v1/render, /v1/convert; GET /v1/models, /health, /metrics, and
/docs with examples. Requests from several clients are parsed in batches. The service stores nothing, and clients cannot
make it read or write files. By default, only programs on this machine can connect. If --host names another address, an
API key is required, from --api-key-file or the variable GENRST_API_KEY; clients send it as Authorization: Bearer KEY.
The log goes to standard error, with one line of JSON per request and without texts.
"""

import argparse
import gc
import logging
import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from genrst.cli.models import load_parser
from genrst.errors import ParserWarning, UsageError
from genrst.io import decode, read_bytes, tell
from genrst.parser import DEFAULT_MODEL

if TYPE_CHECKING:
    from genrst.parser.parser import Parser
    from genrst.serve.annotation.files import Files
    from genrst.serve.annotation.folder import Folder
    from genrst.serve.middleware import Access

KEY_VARIABLE = "GENRST_API_KEY"
SHORTEST_KEY = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst serve`."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0: any free port (default: 8000)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="accept requests for this host name; repeatable",
    )
    parser.add_argument(
        "--proxy", metavar="ADDRESS", help="trust X-Forwarded-For from the reverse proxy at this address"
    )
    parser.add_argument(
        "--api-key-file", metavar="FILE", help=f"read the API key from this file (default: {KEY_VARIABLE})"
    )
    add_models_arguments(parser)
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-bytes", type=int, default=2_000_000, metavar="N", help="maximum request size in bytes (default: 2000000)"
    )
    add_max_edus_argument(limits)
    limits.add_argument(
        "--max-queue", type=int, default=64, metavar="N", help="maximum number of waiting requests (default: 64)"
    )
    limits.add_argument(
        "--max-wait",
        type=float,
        default=30,
        metavar="S",
        help="maximum waiting time of a request in seconds (default: 30)",
    )
    limits.add_argument(
        "--max-seconds",
        type=float,
        default=60,
        metavar="S",
        help="maximum computing time of a request in seconds (default: 60)",
    )
    limits.add_argument(
        "--batch", type=int, default=16, metavar="N", help="maximum number of requests per batch (default: 16)"
    )


def add_models_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose the models."""
    models = parser.add_argument_group("models")
    models.add_argument(
        "--model",
        action="append",
        metavar="NAME|DIR",
        help=f"an installed model or a folder; repeatable, the first is the default (default: {DEFAULT_MODEL})",
    )
    models.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="default: auto")
    models.add_argument(
        "--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one installed)"
    )


def add_max_edus_argument(parser: "argparse._ActionsContainer") -> None:
    """Add the limit on the length of documents."""
    parser.add_argument(
        "--max-edus", type=int, default=2000, metavar="N", help="maximum number of EDUs per document (default: 2000)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the service."""
    key = _read_key(arguments)
    _check(arguments, key)
    from genrst.serve.middleware import Access

    serve(arguments, Access(tuple(arguments.allow_host), key))
    return 0


def serve(
    arguments: argparse.Namespace,
    access: "Access",
    files: "Files | None" = None,
    level: int = logging.INFO,
    on_start: Callable[[str], object] = lambda address: None,
    folder: "Folder | None" = None,
) -> None:
    """Serve until the process is stopped; `level` is the log level, and `on_start` is called with the address."""
    import uvicorn

    from genrst.serve.app import make_app
    from genrst.serve.connections import Connection
    from genrst.serve.middleware import JsonFormatter
    from genrst.serve.worker import Limits

    with _bind(arguments.host, arguments.port) as listener:
        # Warnings about texts (for example, text that is not English) go to the client, not to the log.
        warnings.simplefilter("ignore", ParserWarning)
        parsers = _load(arguments)
        limits = Limits(
            bytes=arguments.max_bytes,
            edus=arguments.max_edus,
            queue=arguments.max_queue,
            wait=arguments.max_wait,
            seconds=arguments.max_seconds,
            batch=arguments.batch,
        )
        app = make_app(parsers, limits, access, files, folder)
        # The models stay loaded, so exclude them from garbage collection, which would delay some responses.
        gc.collect()
        gc.freeze()
        handler = logging.StreamHandler()
        handler.setFormatter(JsonFormatter())
        logging.basicConfig(level=level, handlers=[handler])
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=arguments.proxy is not None,
            forwarded_allow_ips=arguments.proxy,
            http=Connection,
            ws="none",
            timeout_graceful_shutdown=60,
        )
        listener.listen(config.backlog)
        host, port = listener.getsockname()[:2]
        names = ", ".join(str(parser.config.name) for parser in parsers)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if files is not None:
            address += f"/#key={access.key}"  # for the browser of the annotator
        tell(f"serving {names} on {address}")
        on_start(address)
        uvicorn.Server(config).run([listener])


def _load(arguments: argparse.Namespace) -> "list[Parser]":
    parsers = []
    for name in arguments.model or [DEFAULT_MODEL]:
        parser = load_parser(argparse.Namespace(**{**vars(arguments), "model": name}))
        parser("It works.")  # fails now if anything is missing, and warms up for the first client
        parsers.append(parser)
    return parsers


def _bind(host: str, port: int) -> socket.socket:
    """Bind the socket. This is done before the models are loaded, because the port may be taken."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()  # keeps other programs from binding the port while the models are loaded
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    return listener


def _read_key(arguments: argparse.Namespace) -> str | None:
    if arguments.api_key_file is None:
        return os.environ.get(KEY_VARIABLE) or None
    path = Path(arguments.api_key_file)
    return decode(read_bytes(path), path).strip()


def _check(arguments: argparse.Namespace, key: str | None) -> None:
    from genrst.serve.middleware import is_loopback

    if key is None and not is_loopback(arguments.host):
        hint = f"set {KEY_VARIABLE} or use --api-key-file"
        raise UsageError(f"--host {arguments.host}: an API key is required to serve other machines; {hint}")
    if key is not None and (len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key):
        raise UsageError(f"the API key must be at least {SHORTEST_KEY} printable ASCII characters without spaces")
    check_numbers(arguments)


def check_numbers(arguments: argparse.Namespace) -> None:
    """Refuse invalid limits and ports."""
    for option in ("max_bytes", "max_edus", "max_queue", "max_wait", "max_seconds", "batch"):
        if not getattr(arguments, option) > 0:
            raise UsageError(f"--{option.replace('_', '-')} must be greater than 0, got {getattr(arguments, option)}")
    if not 0 <= arguments.port < 65536:
        raise UsageError(f"--port must be between 0 and 65535, got {arguments.port}")
