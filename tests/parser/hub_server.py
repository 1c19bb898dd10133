"""A stand-in for the Hugging Face Hub: as much of its HTTP interface as huggingface_hub needs for models."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_test"
_LARGE = ".safetensors"
"""What is kept as a large file, with a SHA-256; other files have the hash of Git."""


def oid_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repository:
    """Its commits, the latest last: the files of each."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    is_private: bool = False
    is_gated: bool = False

    def commit(self, files: dict[str, bytes]) -> str:
        digest = hashlib.sha1(repr((len(self.commits), sorted(files.items()))).encode(), usedforsecurity=False)
        self.commits[digest.hexdigest()] = files
        return digest.hexdigest()

    @property
    def head(self) -> str:
        return [*self.commits][-1]

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]


@dataclass
class Hub:
    """The repositories of a stand-in, and what it was asked for."""

    address: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    uploaded: dict[str, bytes] = field(default_factory=dict)
    """Large files by their SHA-256."""
    requests: list[str] = field(default_factory=list)
    wrong_hash: str | None = None
    """A file whose hash is said to be another one."""
    is_down: bool = False

    def add(self, name: str, folder: Path) -> str:
        """Put the files of a folder into a repository; returns the commit."""
        paths = (path for path in folder.rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        return self.add_files(name, files)

    def add_files(self, name: str, files: dict[str, bytes]) -> str:
        repository = self.repositories.setdefault(name, Repository())
        return repository.commit({".gitattributes": b"*.safetensors filter=lfs\n", **files})

    def describe(self, path: str, content: bytes) -> dict[str, Any]:
        """A file as the Hub lists it."""
        sha = hashlib.sha256(content).hexdigest()
        oid = oid_of(content)
        if path == self.wrong_hash:
            sha, oid = "0" * 64, "0" * 40
        large = {"lfs": {"sha256": sha, "oid": sha, "size": len(content), "pointerSize": 134}}
        both = {"rfilename": path, "path": path, "type": "file", "size": len(content), "blobId": oid, "oid": oid}
        return both | (large if path.endswith(_LARGE) else {})


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self._body()
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.is_down:
            return self._send(503, b"the stand-in is down")
        if self.command in ("POST", "PUT"):
            return self._write(path, body)
        for pattern, answer in (
            (r"/api/models/([^/]+/[^/]+)/tree/(.+)", self._tree),
            (r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", self._info),
            (r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._file),
        ):
            if match := re.fullmatch(pattern, path):
                return self._of_commit(match, answer)
        return self._send(404, b"no such page")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _of_commit(self, match: re.Match[str], answer: Callable[..., None]) -> None:
        """Answer with files of a commit, if this user may see it."""
        repository = self.hub.repositories.get(match[1])
        if repository is None or (repository.is_private and not self._has_token):
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        if repository.is_gated:
            return self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
        revision = match[2] or "main"
        commit = repository.head if revision == "main" else revision
        if commit not in repository.commits:
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        return answer(match, commit, repository.commits[commit])

    def _tree(self, _match: re.Match[str], _commit: str, files: dict[str, bytes]) -> None:
        self._send_json([self.hub.describe(*file) for file in files.items()])

    def _info(self, match: re.Match[str], commit: str, files: dict[str, bytes]) -> None:
        listed = [self.hub.describe(*file) for file in files.items()]
        self._send_json({"id": match[1], "modelId": match[1], "sha": commit, "tags": [], "siblings": listed})

    def _file(self, match: re.Match[str], commit: str, files: dict[str, bytes]) -> None:
        if match[3] not in files:
            return self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"})
        content = files[match[3]]
        described = self.hub.describe(match[3], content)
        tag = described["lfs"]["sha256"] if "lfs" in described else described["oid"]
        return self._send(200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": commit})

    # What changes repositories.

    @property
    def _has_token(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _write(self, path: str, body: bytes) -> None:
        if path == "/api/validate-yaml":
            return self._send_json({"errors": [], "warnings": []})
        if path.startswith("/upload/"):
            self.hub.uploaded[path.removeprefix("/upload/")] = body
            return self._send(200, b"")
        if not self._has_token:
            return self._send(401, b'{"error": "Invalid credentials"}')
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if match := re.fullmatch(r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            return self._batch(json.loads(body))
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(preupload|commit)/main", path):
            answer = self._preupload if match[2] == "preupload" else self._commit
            return answer(match[1], body)
        return self._send(404, b"no such page")

    def _create(self, wanted: dict[str, Any]) -> None:
        name = f"{wanted['organization']}/{wanted['name']}"
        if wanted["organization"] == "somebody":
            return self._send(403, b'{"error": "no permission"}')
        self.hub.add_files(name, {})
        self.hub.repositories[name].is_private = bool(wanted.get("private") or wanted.get("visibility") == "private")
        return self._send_json({"url": f"{self.hub.address}/{name}"})

    def _preupload(self, _name: str, body: bytes) -> None:
        def mode(path: str) -> dict[str, Any]:
            return {"path": path, "uploadMode": "lfs" if path.endswith(_LARGE) else "regular", "shouldIgnore": False}

        self._send_json({"files": [mode(file["path"]) for file in json.loads(body)["files"]]})

    def _batch(self, wanted: dict[str, Any]) -> None:
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.hub.address}/upload/{one['oid']}"}}}
            for one in wanted["objects"]
        ]
        self._send_json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, body: bytes) -> None:
        repository = self.hub.repositories[name]
        files = dict(repository.files)
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header" and value.get("parentCommit") not in (None, repository.head):
                return self._send(412, b'{"error": "A commit has happened since"}')
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.uploaded[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = repository.commit(files)
        return self._send_json({"commitUrl": f"{self.hub.address}/{name}/commit/{commit}", "commitOid": commit})

    def _send_json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
