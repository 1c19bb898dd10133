"""List the files of a folder that are read, and report all others.

Hidden files and folders (`.git`, `._a.rs3`) are ignored. The files themselves are read by `genrst.formats.files`.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

NOTES = ".genrst-outputs"
"""The hidden file that records the outputs in a folder. Each line has the hash of a file, the command and its name."""

NO_FORMAT = "not a format that genrst reads"
TEXT = "text without trees"
OUTPUT = "written by an earlier run"
SAME_NAME = "a file of the same name in another format is read"
NO_FILE = "not a plain file"
LINKED_FOLDER = "a link to a folder"

_MOST_NAMED = 5
_NOTE = re.compile(r'\["([0-9a-f]{64})", "(?:[^"\\]|\\.)*", ("(?:[^"\\]|\\.)*")\]')
_BULK = {"manifest.json", "inputs.jsonl"}
"""The files that identify the folder of a bulk run."""


@dataclass(frozen=True)
class Listing:
    """The sorted files of a folder that are read, and the others, grouped by the reason for leaving them out."""

    folder: Path
    files: list[Path]
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Paths relative to the folder, by reason. Folders end in a slash."""

    def leave_out(self, path: Path, reason: str) -> None:
        """Record a file that is not read."""
        name = f"{path.relative_to(self.folder)}{os.sep if path.is_dir() else ''}"
        self.left_out.setdefault(reason, []).append(name)

    def keep(self, kept: Collection[Path], reason: str) -> None:
        """Leave out all files except these."""
        for path in self.files:
            if path not in kept:
                self.leave_out(path, reason)
        self.files[:] = [path for path in self.files if path in kept]


def describe_left_out(folder: Path | str, names: Mapping[str, Sequence[str]]) -> str:
    """Return a line that lists the files that were left out, by reason, or an empty string if there are none."""
    total = sum(map(len, names.values()))
    if not total:
        return ""
    listed = [f"{_shortened(sorted(some))} ({reason})" for reason, some in names.items() if some]
    count = "1 file was" if total == 1 else f"{total:,} files were"
    return f"{_place(folder)}: {count} left out: {', '.join(listed)}"


def describe_joined(folder: Path | str, names: Collection[str]) -> str:
    """Return a line that lists the documents whose trees were joined, or an empty string if there are none."""
    if not names:
        return ""
    count = "1 document" if len(names) == 1 else f"{len(names):,} documents"
    return (
        f"{_place(folder)}: {count} with several trees joined under one root, virtual-root: {_shortened(sorted(names))}"
    )


def _place(folder: Path | str) -> str:
    return f"{str(folder).rstrip(os.sep)}{os.sep}"


def _shortened(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED:,} more"


def list_folder(folder: Path, suffixes: Collection[str], texts: Collection[str] = ()) -> Listing:
    """List the files below a folder with these suffixes. Files with the suffixes `texts` are left out as raw texts.

    An output of an earlier run is left out if it repeats a file that is not an output, that is, if it has the same stem
    or can hold many documents. If a folder holds only outputs, all of them are read.
    """
    listing = Listing(folder, [])
    found = sorted(_walk(listing))
    outputs = _outputs(found)
    for path in found:
        suffix = path.suffix.lower()
        if suffix in suffixes:
            listing.files.append(path)
        elif not _is_text_of_tree(path, suffixes):
            listing.leave_out(path, OUTPUT if path in outputs else TEXT if suffix in texts else NO_FORMAT)
    stems = {path.stem for path in listing.files if path not in outputs}
    repeats = {path for path in outputs if stems and (path.stem in stems or path.suffix.lower() == ".jsonl")}
    listing.keep(set(listing.files) - repeats, OUTPUT)
    return listing


def _walk(listing: Listing) -> Iterator[Path]:
    """Yield all regular files that are not hidden."""

    def refuse(error: OSError) -> None:
        listing.leave_out(Path(error.filename), f"cannot be read: {error.strerror}")

    for name, folders, files in os.walk(listing.folder, onerror=refuse):
        place = Path(name)
        if set(files) >= _BULK and place != listing.folder:
            listing.leave_out(place, OUTPUT)
            folders.clear()
            continue
        visible = [one for one in folders if not one.startswith(".")]
        for one in visible:
            if (place / one).is_symlink():
                listing.leave_out(place / one, LINKED_FOLDER)
        folders[:] = visible
        for one in files:
            if one.startswith("."):
                continue
            if (place / one).is_file():
                yield place / one
            else:
                listing.leave_out(place / one, NO_FILE)


def _is_text_of_tree(path: Path, suffixes: Collection[str]) -> bool:
    """Whether a file is the text of a tree beside it, as `wsj_0601.out` belongs to `wsj_0601.out.dis`."""
    return ".dis" in suffixes and path.with_name(f"{path.name}.dis").is_file()


def _outputs(paths: Sequence[Path]) -> set[Path]:
    """Return the files that genrst wrote and that have not changed since."""
    found = set()
    for folder, files in groupby(paths, key=lambda path: path.parent):
        written = {_facts(line) for line in read_notes(folder)}
        names = {name for _, name in written}
        for path in files:
            if path.name in names:
                with path.open("rb") as file:
                    if (digest_of(file), path.name) in written:
                        found.add(path)
    return found


def _facts(line: str) -> tuple[str, str]:
    """Return the hash and the file name of a recorded line. The record may come from elsewhere, so it is validated."""
    match = _NOTE.fullmatch(line)
    return (match[1], json.loads(match[2])) if match else ("", "")


def note(path: Path, file: BinaryIO, command: str) -> str:
    """Return the line that records an output file."""
    return json.dumps([digest_of(file), command, path.name])


def digest_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file's content."""
    import hashlib

    digest = hashlib.sha256()
    file.seek(0)
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def read_notes(folder: Path) -> set[str]:
    """Return the recorded lines of a folder; none if the record is missing or is not a regular file."""
    path = folder / NOTES
    if path.is_symlink() or not path.is_file():
        return set()
    return set(path.read_text("utf-8", "replace").split("\n"))
