"""Drafts of unsaved work beside the files, and the locks that keep two writers apart.

    FOLDER/.genrst/drafts/NAME.HASH.ID.draft    the last state of one tab's work on FOLDER/NAME, as JSON
    FOLDER/.genrst/lock                         held by the `genrst annotate` process that has the folder open
    FOLDER/.genrst/save.lock                    held while a file is compared with the opened version and written

The hash in the name of a draft identifies the version of the file on which the work is based. Locks belong to open
files, so the operating system releases them when a process ends, even after a crash.
"""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from genrst.errors import GenrstError, InputError, OutputError
from genrst.formats.json_format import document_from_dict
from genrst.formats.json_text import loads
from genrst.io import read_bytes, write_atomically_with
from genrst.serve.requests import DraftRequest

FOLDER = ".genrst"
_MOST_NAMED = 40
"""How many characters of a file name go into the names of its drafts; a hash makes them unique."""
_PAST_THE_TEXT = 1 << 20
"""The offset of the locked byte on Windows, where other processes cannot read locked bytes."""

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, *, wait: bool) -> None:
        os.lseek(file, _PAST_THE_TEXT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int, *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; raise an error if one has it open.

    A read-only folder, or one on a file system without locks, is opened without a lock.
    """
    with _opened(folder / FOLDER / "lock") as file:
        try:
            if file is not None:
                _lock(file, wait=False)
        except (BlockingIOError, PermissionError) as error:
            holder = os.pread(file or 0, 20, 0).decode("ascii", "replace") if hasattr(os, "pread") else ""
            process = f" (process {holder})" if holder.isdecimal() else ""
            rule = f"another genrst annotate has this folder open{process}; stop it first"
            raise InputError(f"{folder}: {rule}") from error
        except OSError:
            file = None
        if file is not None:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, str(os.getpid()).encode("ascii"))
        yield


@contextmanager
def save_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time compare and write files of a folder; the others wait."""
    with _opened(folder / FOLDER / "save.lock") as file:
        with suppress(OSError):
            if file is not None:
                _lock(file, wait=True)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """Open a lock file, or yield None if that is not possible. Closing it releases the lock."""
    file = None
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield file
    finally:
        if file is not None:
            os.close(file)


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts for one file, which need not exist yet."""

    path: Path
    like: Path
    """The file whose permissions are copied to the drafts."""

    def keep(self, id: str, request: DraftRequest, content: bytes) -> None:
        """Store the work of a tab, given the body of its request."""
        place = self._folder / f"{self._prefix}{_hash(request.version or '')}.{id}.draft"
        write_durably(place, content, self.like)
        for other in self._paths(id):
            if other != place:
                other.unlink(missing_ok=True)

    def discard(self, id: str) -> None:
        """Delete the draft of a tab."""
        try:
            for path in self._paths(id):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot delete a draft: {error.strerror or error}") from error
        with suppress(OSError):  # not empty, or not there
            self._folder.rmdir()

    def read(self) -> list[dict[str, Any]]:
        """Return the drafts, newest first, each as it was sent and with its id. Damaged drafts are skipped."""
        found = []
        for path in self._paths():
            with suppress(GenrstError, ValueError):
                data = loads(read_bytes(path).decode("utf-8"))
                request = DraftRequest.model_validate(data)
                document_from_dict(request.document)
                found.append({"id": path.name.split(".")[-2], **request.model_dump()})
        return sorted(found, key=lambda draft: -draft["time"])

    def __len__(self) -> int:
        return len(self._paths())

    @property
    def _folder(self) -> Path:
        return self.path.parent / FOLDER / "drafts"

    @property
    def _prefix(self) -> str:
        return f"{self.path.name[:_MOST_NAMED]}.{_hash(os.fsdecode(self.path.name))}."

    def _paths(self, id: str = r"\d+") -> list[Path]:
        name = re.compile(re.escape(self._prefix) + rf"[0-9a-f]+\.{id}\.draft")
        try:
            return [path for path in self._folder.iterdir() if name.fullmatch(path.name)]
        except OSError:
            return []


def write_durably(path: Path, content: bytes, like: Path) -> None:
    """Write a file with the permissions of another, and flush it to disk so that it survives a power cut."""

    def write(file: BinaryIO) -> None:
        with suppress(OSError):  # `like` was deleted, or the file system has no permissions
            Path(file.name).chmod(stat.S_IMODE(like.stat().st_mode) | stat.S_IWUSR)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

    write_atomically_with(path, write)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
