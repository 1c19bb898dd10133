"""The local files of an annotator: their order, reading and saving.

Clients refer to a file by its number or its key, never by a path. A key stays the same when files are added. A file
with a tree is saved in its own format. Formats without trees (texts and EDUs) are saved as NAME.json beside the file,
and from then on NAME.json is opened. The first save of an existing file keeps a backup, NAME.rs3.bak, which is never
overwritten.

Only trees from the parser are cached. A file is read again whenever it is opened, and saved only if its content has not
changed since. In a conflict, both versions are kept: a file that is overwritten by force as NAME.rs3.bak-N, a document
that is set aside as NAME.conflict-N.json. Drafts are handled by `genrst.serve.annotation.drafts`, parsing by
`genrst.serve.app`.
"""

import hashlib
import os
import warnings
from asyncio import Lock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import fmean

from starlette.exceptions import HTTPException

from genrst.characters import one_line
from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusWarning, InputError, OutputError, UsageError
from genrst.formats.files import RAW_SUFFIXES, TEXT_SUFFIXES, format_documents, read_content, read_file, warn_of_loss
from genrst.formats.json_format import document_from_dict, document_to_dict, write_json
from genrst.formats.texts import text_of
from genrst.io import read_bytes
from genrst.parser.parser import Text
from genrst.serve.annotation.drafts import Drafts, save_lock, write_durably
from genrst.serve.documents import JsonObject, check_size, collected_warnings
from genrst.serve.parsing import Parsed
from genrst.serve.requests import SaveRequest
from genrst.trees.node import units

TREELESS_SUFFIXES = (".edus", *RAW_SUFFIXES)
"""Formats that cannot hold a tree."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The content of a file, a text or a document; the version is a hash of its bytes."""

    version: str
    item: Text | Document
    warnings: Sequence[str]

    @property
    def has_tree(self) -> bool:
        """Whether the content is a document with a tree."""
        return isinstance(self.item, Document) and self.item.tree is not None

    def as_dict(self) -> JsonObject:
        """Return the JSON response; the item must be a document."""
        assert isinstance(self.item, Document), "a text must be parsed first"
        return {"document": document_to_dict(self.item), "warnings": list(self.warnings), "version": self.version}


@dataclass(eq=False, slots=True)
class LocalFile:
    """A local file, with facts about its content from when it was last read."""

    source: Path
    number: int
    n_edus: int | None = None
    has_tree: bool = False
    certainty: float | None = None
    """The mean probability of the units of a tree made by a parser."""
    is_saved: bool = False
    """Whether an annotator has saved it, in this session or before."""
    version: str | None = None
    """The version that was last returned to a client."""
    lock: Lock = field(default_factory=Lock)
    """Held while the file is read, parsed or saved."""
    _has_backup: bool = False
    _parsed: Opened | None = None

    @property
    def target(self) -> Path:
        """The file that is written."""
        return self.source.with_suffix(".json") if self.source.suffix.lower() in TREELESS_SUFFIXES else self.source

    @property
    def key(self) -> str:
        """An identifier for clients that stays the same when the service restarts."""
        return hashlib.sha256(os.fsencode(self.target.absolute())).hexdigest()[:16]

    @property
    def modified(self) -> int:
        """When the file was last written, in milliseconds since 1970; 0 if it does not exist."""
        try:
            return int(1000 * self.path.stat().st_mtime)
        except OSError:
            return 0

    @property
    def drafts(self) -> Drafts:
        """The drafts of the file."""
        return Drafts(self.target, like=self.path)

    @property
    def path(self) -> Path:
        """The file that is opened: the target if it exists, otherwise the source."""
        return self.target if _is_file(self.target) else self.source

    @property
    def text_beside(self) -> Path | None:
        """The text file or EDU file beside this JSON file, if there is one."""
        if self.path.suffix.lower() != ".json":
            return None
        beside = (self.path.with_suffix(suffix) for suffix in TREELESS_SUFFIXES)
        return next((path for path in beside if _is_file(path)), None)

    def as_dict(self) -> JsonObject:
        """Return the facts about the file for the list of files."""
        known = {"edus": self.n_edus, "has_tree": self.has_tree, "certainty": self.certainty}
        return {"number": self.number, "key": self.key, **known, "is_saved": self.is_saved, "drafts": len(self.drafts)}

    def look(self) -> None:
        """Read the file for the first time; raise an error if it cannot be annotated."""
        if self.path.exists() and not _is_file(self.path):
            raise InputError(f"{self.path}: cannot be annotated: not a regular file")
        self._update(self._read())
        self.is_saved = _is_file(self._backup) or self.text_beside is not None

    def read(self, max_edus: int) -> Opened:
        """Return the content, with the parser's tree if the file was parsed before."""
        try:
            opened = self._read()
        except InputError as error:
            raise HTTPException(404, one_line(str(error))) from error
        if isinstance(opened.item, Document):
            check_size(opened.item.id, len(opened.item.edus), max_edus)
        return self._parsed if self._parsed is not None and self._parsed.version == opened.version else opened

    def keep(self, opened: Opened, parsed: Parsed) -> Opened:
        """Cache the parser's tree, and return the content with it."""
        self._parsed = replace(opened, item=parsed.documents[0], warnings=parsed.warnings)
        self._update(self._parsed)
        self.has_tree = False
        return self._parsed

    def save(self, request: SaveRequest, max_edus: int) -> JsonObject:
        """Save a document atomically."""
        suffix = self.target.suffix.lower()
        with collected_warnings() as lines:
            document = document_from_dict(request.document, default_id=self.source.stem)
            check_size(document.id, len(document.edus), max_edus)
            content = format_documents([document], suffix).encode("utf-8")
            warn_of_loss(document, suffix)
            _warn_of_other_tree(document, content, self.target)
        version = self.version if request.version is None else request.version
        try:
            with save_lock(self._place.parent):
                if request.aside:
                    return {"copy": self._put_aside(document), "warnings": lines, "version": version}
                state = self._state(version)
                if state is not None and not request.force:
                    raise HTTPException(
                        409, one_line(f"{self.path.name}: not saved: {state}; use force to save anyway")
                    )
                backup = self._write(content, is_conflict=state is not None)
        except (InputError, OutputError) as error:
            raise HTTPException(507, one_line(str(error))) from error
        self.version, self.is_saved = _version(content), True
        self._update(Opened(self.version, document, ()))
        return {"backup": backup, "warnings": lines, "version": self.version}

    @property
    def _place(self) -> Path:
        """The target with symbolic links resolved, so that a link stays a link unless it is broken."""
        return self.target.resolve() if _is_file(self.target) else self.target

    @property
    def _backup(self) -> Path:
        return self._place.with_name(f"{self._place.name}.bak")

    def _read(self) -> Opened:
        path = self.path
        content = read_bytes(path)
        with collected_warnings() as lines:
            item = _read_item(content, path)
        return Opened(_version(content), item, lines)

    def _update(self, opened: Opened) -> None:
        document = opened.item if isinstance(opened.item, Document) else None
        tree = document.tree if document else None
        known = [unit.probability for unit in units(tree) if unit.probability is not None] if tree else []
        self.n_edus = len(document.edus) if document else None
        self.has_tree, self.certainty = tree is not None, fmean(known) if known else None

    def _state(self, version: str | None) -> str | None:
        """Return why the file differs from the version that was opened; None if it does not."""
        if version is None:
            return "the file has not been opened yet"
        try:
            return None if _version(read_bytes(self.path)) == version else "another program has changed the file"
        except InputError:
            return "the file was deleted"

    def _write(self, content: bytes, *, is_conflict: bool) -> str | None:
        """Write the target, and return the name of the backup if one was made.

        A backup is made of the original content, and of any content that was not opened here.
        """
        place, backup, like = self._place, self._backup, self.path
        made = None
        if _is_file(place):
            if not os.access(place, os.W_OK):
                raise OutputError(f"{place}: cannot be written: Permission denied")
            if not (self._has_backup or _is_file(backup)):
                made = backup
            elif is_conflict:
                made = _free_name(lambda n: backup.with_name(f"{backup.name}-{n}"))
            if made is not None:
                write_durably(made, read_bytes(place), like)
        write_durably(place, content, like)
        self._has_backup = True  # or the file is new and needs none
        return None if made is None else one_line(made.name)

    def _put_aside(self, document: Document) -> str:
        """Write a document beside the file as JSON, which preserves everything, and return the name."""
        path = _free_name(lambda n: self._place.with_name(f"{self._place.stem}.conflict-{n}.json"))
        write_durably(path, write_json(document).encode("utf-8", "surrogatepass"), self.path)
        return one_line(path.name)


class Files:
    """The local files, numbered in the order in which they were added."""

    def __init__(self) -> None:
        self._files: list[LocalFile] = []
        self._places: set[Path] = set()
        self._targets: dict[Path, LocalFile] = {}
        self._root = ""

    def add(self, path: Path) -> None:
        """Add a file unless it is there already; raise an error if it cannot be read or does not hold one document."""
        if path.suffix.lower() not in TEXT_SUFFIXES:
            raise UsageError(f"{path}: a file name must end in one of {', '.join(TEXT_SUFFIXES)}, got {path.name}")
        file = LocalFile(path, len(self._files))
        file.look()
        place, target, folder = file.path.resolve(), file.target.absolute(), path.absolute().parent
        if place in self._places:
            return
        if other := self._targets.get(target):
            raise UsageError(f"{other.source} and {path} would both be saved as {target.name}")
        self._files.append(file)
        self._places.add(place)
        self._targets[target] = file
        self._root = os.path.commonpath([self._root or folder, folder])

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[LocalFile]:
        return iter(self._files)

    @property
    def folders(self) -> list[Path]:
        """The folders of the files."""
        return sorted({file.source.absolute().parent for file in self._files})

    @property
    def queue(self) -> list[LocalFile]:
        """The files in the order of work.

        Unsaved files come first: those with the least certain trees, then files without trees, then trees by people.
        """

        def place(file: LocalFile) -> tuple[bool, bool, float, bool, str]:
            return file.is_saved, file.certainty is None, file.certainty or 0, file.has_tree, self.name(file)

        return sorted(self._files, key=place)

    def find(self, number: str) -> LocalFile:
        """Return the file with a number or a key."""
        if file := next((file for file in self._files if number in (str(file.number), file.key)), None):
            return file
        raise HTTPException(404, f"no such file (there are {len(self._files)}, numbered from 0)")

    def name(self, file: LocalFile) -> str:
        """Return the path of a file, relative to the folder that contains all files."""
        return one_line(str(file.path.absolute().relative_to(self._root)))

    def list(self) -> JsonObject:
        """Return the JSON response."""
        return {"files": [{"name": self.name(file), **file.as_dict()} for file in self.queue]}


def _read_item(content: bytes, path: Path) -> Text | Document:
    if path.suffix.lower() in RAW_SUFFIXES:
        return Text(path.stem, text_of(content, path))
    documents = read_file(path, content=content)
    if len(documents) != 1:
        raise CorpusFormatError(f"a file to annotate must hold one document, got {len(documents)}", path)
    return documents[0]


def _warn_of_other_tree(document: Document, content: bytes, path: Path) -> None:
    """Warn if the format cannot represent the tree and stores a different one."""
    if document.tree is not None and path.suffix.lower() in (".rs3", ".rs4"):
        (again,) = read_content(content, path)
        if again.tree != document.tree:
            rule = "cannot mix nuclei and satellites in one unit; they are saved as nested units"
            warnings.warn(CorpusWarning(f"{document.id}: {path.suffix} {rule}"), stacklevel=2)


def _free_name(name: Callable[[int], Path]) -> Path:
    return next(path for path in map(name, count(1)) if not os.path.lexists(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no permission to enter its folder
        return False


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
