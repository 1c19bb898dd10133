"""The folder of an annotation project: file states (open, done, flagged), the project file, and pairs of annotators.

The state of a file is stored beside it, in `.genrst/NAME.state`. It is keyed by name, not by number, so that it
survives restarts, new files and moving the folder. Each state has its own file, written atomically, so that two
programs cannot overwrite each other's states.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import Response

from genrst.formats.json_text import dumps
from genrst.io import write_atomically
from genrst.serve.annotation.drafts import FOLDER
from genrst.serve.annotation.files import Files
from genrst.serve.annotation.folder_requests import ResultRequest, State, StateRequest, TakeRequest
from genrst.serve.annotation.pairs import Pairs
from genrst.serve.annotation.project import Project
from genrst.serve.documents import JsonObject
from genrst.serve.openapi import Endpoint


@dataclass(frozen=True)
class Folder:
    """The files of one annotator with their states, or the pairs of two annotators, and the project."""

    files: Files
    project: Project = field(default_factory=Project)
    pairs: Pairs | None = None

    def list(self, max_edus: int) -> JsonObject:
        """Return the files in the order of work, or the pairs, with their states and the guidelines."""
        common = {"guidelines": self.project.describe_guidelines(), "has_relations": bool(self.project.relations)}
        if self.pairs is not None:
            return {**common, **self.pairs.list(max_edus)}
        rows = [
            {"name": self.files.name(one), **one.as_dict(), "state": read_state(one.target)} for one in self.files.queue
        ]
        return {**common, "files": rows, "agreement": None}

    @property
    def written(self) -> Sequence[Path]:
        """The folders that may be written to."""
        return [*self.files.folders, *([self.pairs.output] if self.pairs and self.pairs.output else [])]

    def set_state(self, number: str, request: StateRequest) -> JsonObject:
        """Store the state of a file."""
        file = self.files.find(number)
        write_state(file.target, request.state)
        return {"state": request.state}


def read_state(path: Path) -> State:
    """Return the state of a file; a state that is missing or damaged counts as open."""
    place = _state_file(path)
    try:
        text = place.read_text(encoding="utf-8").strip() if place.is_file() else ""
    except (OSError, ValueError):
        text = ""
    return cast("State", text) if text in get_args(State) else "open"


def write_state(path: Path, state: State) -> None:
    """Write the state of a file."""
    write_atomically(_state_file(path), f"{state}\n")


def _state_file(path: Path) -> Path:
    return path.parent / FOLDER / f"{path.name}.state"


Run = Callable[..., Awaitable[Any]]


def folder_endpoints(folder: Folder, run: Run, look: Run) -> list[Endpoint]:
    """Return the endpoints of a folder.

    `run` reads the body of a request and calls a function with it and the limit on EDUs; `look` needs no body.
    """

    async def list_folder(request: Request) -> Response:
        """List the files of the folder with their states, or the pairs of two annotators with their agreement."""
        return _json(await look(request, folder.list))

    async def set_state(request: Request) -> Response:
        """Mark a file as open, done or flagged."""
        number = request.path_params["number"]
        return _json(await run(request, StateRequest, lambda body, _: folder.set_state(number, body)))

    endpoints = [
        Endpoint("GET", "/v1/folder", list_folder),
        Endpoint("PUT", "/v1/folder/{number}", set_state, StateRequest),
    ]
    return endpoints if folder.pairs is None else endpoints + _pair_endpoints(folder.pairs, run, look)


def _pair_endpoints(pairs: Pairs, run: Run, look: Run) -> list[Endpoint]:
    def number(request: Request) -> int:
        given = request.path_params["number"]
        return int(given) if given.isdecimal() and len(given) < 10 else -1

    async def open_pair(request: Request) -> Response:
        """Return both documents of a pair, their disagreements, and the result so far."""
        return _json(await look(request, lambda max_edus: pairs.open(number(request), max_edus)))

    async def take(request: Request) -> Response:
        """Return the result with one side's version of a disagreement; nothing is written."""
        return _json(await run(request, TakeRequest, lambda body, limit: pairs.take(number(request), body, limit)))

    async def save_result(request: Request) -> Response:
        """Write the result of a pair to the output folder."""
        return _json(await run(request, ResultRequest, lambda body, limit: pairs.save(number(request), body, limit)))

    return [
        Endpoint("GET", "/v1/pairs/{number}", open_pair),
        Endpoint("POST", "/v1/pairs/{number}/take", take, TakeRequest),
        Endpoint("PUT", "/v1/pairs/{number}", save_result, ResultRequest),
    ]


def _json(value: object) -> Response:
    return Response(dumps(value), media_type="application/json")
