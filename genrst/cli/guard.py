"""What may be replaced: a file that the same command wrote, and that nobody has changed since; all else with --force.

A folder that the program writes to has a hidden file, `.genrst-outputs`, with a line for each file written: the hash of
its content, the command, its name. That tells our own earlier outputs from the work of others, in every format, and
from outputs that somebody has corrected since. Nothing is lost with the hidden file: without it nothing is replaced.
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
    """Add what allows to replace any file but an input."""
    parser.add_argument(
        "--force", action="store_true", help="also replace files that this command did not write or somebody changed"
    )


class Guard:
    """Writes the outputs of a command, and refuses to replace what is none of its own or an input."""

    def __init__(self, command: str, is_forced: bool, inputs: Set[Path] = frozenset()) -> None:
        self.command = command
        self._is_forced = is_forced
        self._inputs = inputs
        self._notes: dict[Path, set[str]] = {}

    def check(self, path: Path) -> None:
        """Refuse to write over an input (one of the files, or a file with trees in one of the folders), over what is
        no plain file, and over what is no output of this command, unless that is forced.
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
            raise OutputError(f"{path}: cannot be written: it exists and is no plain file")
        if not (self._is_forced or self._is_own(path)):
            raise UsageError(
                f"{path}: a file must be an unchanged output of genrst {self.command} to be replaced; "
                "--force replaces any file"
            )

    def check_file(self, path: Path) -> None:
        """The same for a file that is named itself: its folder must exist, for a typing error should make none."""
        if not path.parent.is_dir():
            raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}")
        self.check(path)

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
        """Write a file, all of it or nothing; a callable writes the content itself."""

        def write(file: BinaryIO) -> None:
            if callable(content):
                content(file)
            else:
                file.write(content)
            # Before the file has its name: a run that is killed in between is started again without --force.
            self._note(path, file)

        self.check(path)
        write_atomically_with(path, write)

    def note(self, path: Path) -> None:
        """Note a file that has been written by other means, after a check."""
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
            # A link in a folder from elsewhere could lead anywhere.
            if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
                raise OutputError(f"{path}: must be a plain file, got a link, a folder or a device")
            self._notes[folder] = read_notes(folder)
        return self._notes[folder]
