"""Protection against overwriting: only an unchanged output of the same command is replaced, unless --force is given.

Each output folder has a hidden file, `.genrst-outputs`, with one line per file written: the hash of its content, the
command, and its name. This distinguishes earlier outputs, in every format, from other files and from outputs that
somebody has corrected since. Deleting the hidden file is safe: without it, no file is replaced.
"""

import argparse
import os
import stat
from collections.abc import Callable, Set
from pathlib import Path
from typing import BinaryIO

from genrst.errors import OutputError, UsageError
from genrst.formats.files import TREE_SUFFIXES
from genrst.formats.folder import NOTES, note, read_notes
from genrst.io import write_atomically_with


def add_force_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows replacing any file except an input."""
    parser.add_argument(
        "--force", action="store_true", help="also replace files that this command did not write or that have changed"
    )


class Guard:
    """Writes the outputs of a command; refuses to replace inputs and files that the command did not write."""

    def __init__(self, command: str, is_forced: bool, inputs: Set[Path] = frozenset()) -> None:
        self.command = command
        self._is_forced = is_forced
        self._inputs = inputs
        self._notes: dict[Path, set[str]] = {}

    def check(self, path: Path) -> None:
        """Refuse to overwrite an input (a named file, or a file with trees in a named folder), anything other than a
        regular file and, without --force, a file that this command did not write.
        """
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
        place = path.resolve()
        has_trees = path.suffix.lower() in TREE_SUFFIXES
        if place in self._inputs or (has_trees and not self._inputs.isdisjoint(place.parents)):
            raise UsageError(f"{path}: the output must not overwrite an input")
        if not stat.S_ISREG(mode):
            raise OutputError(f"{path}: cannot be written: it exists and is not a regular file")
        if not (self._is_forced or self._is_own(path)):
            raise UsageError(
                f"{path}: not replaced, because it is not an unchanged output of genrst {self.command}; "
                "use --force to replace it"
            )

    def check_file(self, path: Path) -> None:
        """Check a file that was named explicitly. Its folder must exist: a typing error should not create one."""
        if not path.parent.is_dir():
            raise OutputError(f"{path}: cannot be written: the folder {path.parent} does not exist")
        self.check(path)

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
        """Write a file atomically; a callable writes the content itself."""

        def write(file: BinaryIO) -> None:
            if callable(content):
                content(file)
            else:
                file.write(content)
            # Noted before the file is renamed into place: a run killed in between can be repeated without --force.
            self._note(path, file)

        self.check(path)
        write_atomically_with(path, write)

    def note(self, path: Path) -> None:
        """Note a file that was checked here but written by other code."""
        with path.open("rb") as file:
            self._note(path, file)

    def _is_own(self, path: Path) -> bool:
        try:
            notes = self._read_notes(path.parent)
            with path.open("rb") as file:
                return note(path, file, self.command) in notes
        except OSError as error:
            raise OutputError(f"{path}: cannot be replaced: {error.strerror or error}") from error

    def _note(self, path: Path, file: BinaryIO) -> None:
        line = note(path, file, self.command)
        notes = self._read_notes(path.parent)
        if line not in notes:
            notes.add(line)
            with (path.parent / NOTES).open("a", encoding="utf-8") as list_of_outputs:
                list_of_outputs.write(f"{line}\n")

    def _read_notes(self, folder: Path) -> set[str]:
        if folder not in self._notes:
            path = folder / NOTES
            # A symbolic link in an untrusted folder could point anywhere.
            if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
                raise OutputError(f"{path}: must be a regular file, not a link, a folder or a device")
            self._notes[folder] = read_notes(folder)
        return self._notes[folder]
