"""The local files of one annotator: which there are, what they hold, in what order to look at them, and saving them.

Clients name a file by its number and never by a path. A file with a tree is saved in its own format, and a text or a
file of EDUs, which have no place for a tree, as NAME.json beside it; from then on that is what is opened. The first
save of a file that was there before leaves a backup, NAME.rs3.bak, which nothing here ever replaces.

Work is kept on the disk alone, and trees of the parser in memory until then: a file is read whenever it is asked for,
and saved only if it still is what was read. Not here: parsing, and who waits for it (`genrst.serve.app`).
"""

import hashlib
import os
import stat
import warnings
from asyncio import Lock
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import BinaryIO

from starlette.exceptions import HTTPException

from genrst.characters import one_line
from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusWarning, InputError, OutputError, UsageError
from genrst.formats.files import RAW_SUFFIXES, TEXT_SUFFIXES, format_documents, read_file, warn_of_loss
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.io import decode, read_bytes, write_atomically_with
from genrst.parser.stages import Text
from genrst.serve.requests import SaveRequest, check_size, heard, read_request
from genrst.serve.work import Answer, JsonObject
from genrst.trees.node import units

BACKUP = ".bak"
TREELESS_SUFFIXES = (".edus", *RAW_SUFFIXES)
"""Formats that have no place for a tree."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a file holds, a text or a document; the version tells its content from any other."""

    version: str
    item: Text | Document
    warnings: Sequence[str]

    @property
    def has_tree(self) -> bool:
        """Whether there is nothing to parse."""
        return isinstance(self.item, Document) and self.item.tree is not None

    def as_dict(self) -> JsonObject:
        """Ready for JSON; it must have a tree."""
        if not isinstance(self.item, Document):
            raise TypeError(f"a document must be parsed, was: {self.item.id}")
        return {"document": document_to_dict(self.item), "warnings": list(self.warnings), "version": self.version}


@dataclass(eq=False, slots=True)
class LocalFile:
    """A file, as it was named or found; what is known of it is that of its content when it was last seen."""

    source: Path
    n_edus: int | None = None
    has_tree: bool = False
    certainty: float | None = None
    """How probable the units of its tree are, in the mean, if a parser has said so."""
    is_saved: bool = False
    """Whether an annotator has saved it, today or earlier."""
    version: str | None = None
    """Of the content that was last told to the page."""
    lock: Lock = field(default_factory=Lock)
    """Held while it is read and parsed, so that it is parsed once."""
    _is_own: bool = False
    _parsed: Opened | None = None

    @property
    def target(self) -> Path:
        """What is written."""
        return self.source.with_suffix(".json") if self.source.suffix.lower() in TREELESS_SUFFIXES else self.source

    @property
    def path(self) -> Path:
        """What is opened: a text, as long as nothing was saved."""
        return self.target if _is_file(self.target) else self.source

    def look(self) -> None:
        """Learn what there is to know before anything is parsed; raise an error if it cannot be read."""
        if self.path.exists() and not _is_file(self.path):
            raise InputError(f"{self.path}: a file to annotate must be a plain file, was: something else")
        self._learn(self._read())
        self.is_saved = _is_file(self._backup) or self.text_beside is not None

    @property
    def text_beside(self) -> Path | None:
        """The text, or the file of EDUs, that it was saved beside."""
        if self.path.suffix.lower() != ".json":
            return None
        beside = (self.path.with_suffix(suffix) for suffix in TREELESS_SUFFIXES)
        return next((path for path in beside if _is_file(path)), None)

    def read(self, max_edus: int) -> Opened:
        """What it holds now, with the tree of the parser if that is known."""
        try:
            opened = self._read()
        except InputError as error:
            raise HTTPException(404, one_line(str(error))) from error
        if isinstance(opened.item, Document):
            check_size(opened.item.id, len(opened.item.edus), max_edus)
        if self._parsed is not None and self._parsed.version == opened.version:
            return self._parsed
        return opened

    def keep(self, opened: Opened, answer: Answer) -> Opened:
        """What it holds, with the tree of the parser."""
        self._parsed = replace(opened, item=answer.documents[0], warnings=answer.warnings)
        self._learn(self._parsed)
        self.has_tree = False
        return self._parsed

    def save(self, body: bytes, max_edus: int) -> JsonObject:
        """Save the document of a request, all of it or nothing."""
        request, suffix = read_request(SaveRequest, body), self.target.suffix.lower()
        with heard() as lines:
            document = document_from_dict(request.document, default_id=self.source.stem)
            check_size(document.id, len(document.edus), max_edus)
            content = format_documents([document], suffix).encode("utf-8")
            warn_of_loss(document, suffix)
            _warn_of_lost_constraints(document, suffix)
        if not request.force:
            self._check_version(self.version if request.version is None else request.version)
        try:
            backup = self._save(content)
        except (InputError, OutputError) as error:
            raise HTTPException(507, one_line(str(error))) from error
        self.version = _version(content)
        self._learn(Opened(self.version, document, ()))
        return {"backup": backup, "warnings": lines, "version": self.version}

    @property
    def _place(self) -> Path:
        """Where it lies: a link stays one, unless it leads nowhere."""
        return self.target.resolve() if _is_file(self.target) else self.target

    @property
    def _backup(self) -> Path:
        return self._place.with_name(self._place.name + BACKUP)

    def _read(self) -> Opened:
        path = self.path
        content = read_bytes(path)
        with heard() as lines:
            item = _read_item(content, path)
        return Opened(_version(content), item, lines)

    def _learn(self, opened: Opened) -> None:
        document = opened.item if isinstance(opened.item, Document) else None
        tree = document.tree if document else None
        known = [unit.probability for unit in units(tree) if unit.probability is not None] if tree else []
        self.n_edus = len(document.edus) if document else None
        self.has_tree, self.certainty = tree is not None, fmean(known) if known else None

    def _check_version(self, version: str | None) -> None:
        """Refuse to save if another program was faster, or if nobody knows."""
        path = self.path
        try:
            state = None if _version(read_bytes(path)) == version else "changed by another program"
        except InputError:
            state = "deleted"
        if version is None:
            state = "not read yet"
        if state is not None:
            rule = f"a file must be as it was read to be saved, was: {state}"
            raise HTTPException(409, one_line(f"{path.name}: {rule}; force saves it all the same"))

    def _save(self, content: bytes) -> str | None:
        """Write the file; the name of the backup, if this is the first save of a file that was there before."""
        place, backup, like = self._place, self._backup, self.path
        made = None
        if _is_file(place):
            if not os.access(place, os.W_OK):
                raise OutputError(f"{place}: cannot be written: Permission denied")
            if not (self._is_own or _is_file(backup)):
                _write(backup, read_bytes(place), like)
                made = one_line(backup.name)
        _write(place, content, like)
        self._is_own = self.is_saved = True
        return made


class Files:
    """The files of an annotator; the number of each says when it was added."""

    def __init__(self) -> None:
        self._files: list[LocalFile] = []
        self._opened: set[Path] = set()
        self._targets: dict[Path, LocalFile] = {}
        self._root = ""

    def add(self, path: Path) -> None:
        """Add a file, unless it is there; raise an error if it cannot be read, or holds other than one document."""
        if path.suffix.lower() not in TEXT_SUFFIXES:
            raise UsageError(f"{path}: a file name must end in one of {', '.join(TEXT_SUFFIXES)}, was: {path.name}")
        file = LocalFile(path)
        file.look()
        place, target, folder = file.path.resolve(), file.target.absolute(), path.absolute().parent
        if place in self._opened:
            return
        if other := self._targets.get(target):
            raise UsageError(f"{other.source} and {path}: both would be saved as {target.name}")
        self._files.append(file)
        self._opened.add(place)
        self._targets[target] = file
        self._root = os.path.commonpath([self._root or folder, folder])

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[LocalFile]:
        return iter(self._files)

    @property
    def queue(self) -> list[int]:
        """The numbers: first the least certain, then what no parser has judged; trees of people are the last of all."""

        def place(number: int) -> tuple[bool, float, bool, str]:
            file = self._files[number]
            return file.certainty is None, file.certainty or 0, file.has_tree, self.name(file)

        return sorted(range(len(self._files)), key=place)

    def find(self, number: int) -> LocalFile:
        """The file of this number."""
        if not 0 <= number < len(self._files):
            raise HTTPException(404, one_line(f"a file must have a number below {len(self._files)}, was: {number}"))
        return self._files[number]

    def name(self, file: LocalFile) -> str:
        """How a file is called: where it lies in the folder that all are in."""
        return one_line(str(file.path.absolute().relative_to(self._root)))

    def list(self) -> JsonObject:
        """The queue, ready for JSON."""
        return {"files": [self._describe(number) for number in self.queue]}

    def _describe(self, number: int) -> JsonObject:
        file = self._files[number]
        return {
            "number": number,
            "name": self.name(file),
            "edus": file.n_edus,
            "has_tree": file.has_tree,
            "certainty": file.certainty,
            "is_saved": file.is_saved,
        }


def _read_item(content: bytes, path: Path) -> Text | Document:
    if path.suffix.lower() in RAW_SUFFIXES:
        return Text(path.stem, decode(content, path))
    documents = read_file(path, content=content)
    if len(documents) != 1:
        raise CorpusFormatError(f"a file to annotate must hold one document, was: {len(documents)}", path)
    return documents[0]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # its folder may not be entered
        return False


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _warn_of_lost_constraints(document: Document, suffix: str) -> None:
    if document.constraints and suffix not in (".json", ".jsonl"):
        n = len(document.constraints)
        message = f"{document.id}: {suffix} holds no constraints, {n} {'is' if n == 1 else 'are'} left out"
        warnings.warn(CorpusWarning(message), stacklevel=2)


def _write(path: Path, content: bytes, like: Path) -> None:
    """Write a file with the mode of another, onto the disk: an annotator's work must survive also a power cut."""

    def write(file: BinaryIO) -> None:
        with suppress(OSError):  # it was deleted, or the disk knows no modes
            Path(file.name).chmod(stat.S_IMODE(like.stat().st_mode) | stat.S_IWUSR)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

    write_atomically_with(path, write)
