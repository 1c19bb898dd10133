"""From files to files: what `convert` and `render` have in common.

A verb says what the content of a file with some documents is. This says which files are read and written: one file, a
folder file by file, or standard input and output. Files of IN are never overwritten.
"""

import argparse
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from genrst.cli.inputs import add_roots_argument, standard_input
from genrst.console import complain, progress, show_file
from genrst.errors import CorpusFormatError, GenrstError, UsageError

if TYPE_CHECKING:
    from genrst.document import Document

    Make: TypeAlias = Callable[[list[Document], str], str | bytes]
    Documents: TypeAlias = Iterator[tuple[Path, Document]]


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add IN, OUT and what says their formats."""
    parser.add_argument("source", metavar="IN", help="a file, a folder, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file, a folder (with --to), or - for standard output")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="format of standard input: dis, rs3, …")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="format of files in a folder, or of -")
    add_roots_argument(parser)


def target_suffix(arguments: argparse.Namespace, known: Collection[str]) -> str:
    """The suffix of what is written, in lower case; before anything is read, formats must be known and not said twice.

    The suffix of a file is not checked here.
    """
    source, target = arguments.source, arguments.target
    if source == "-":
        _source_suffix(arguments)
    elif arguments.source_format is not None:
        raise UsageError(f"--from must go with standard input (-), was: {source}")
    if target == "-" or is_folder(target):
        return _suffix(arguments.target_format, "--to", "standard output" if target == "-" else "a folder", known)
    if arguments.target_format is not None:
        raise UsageError(f"--to must go with a folder or standard output (-), was: {target}")
    return Path(target).suffix.lower()


def _source_suffix(arguments: argparse.Namespace) -> str:
    from genrst.formats.files import FORMATS

    return _suffix(arguments.source_format, "--from", "standard input", FORMATS)


def _suffix(name: str | None, option: str, what: str, known: Collection[str]) -> str:
    if name is None:
        raise UsageError(f"{what} has no suffix, so {option} FORMAT is needed")
    suffix = f".{name.removeprefix('.').lower()}"
    if suffix not in known:
        raise UsageError(f"{option} must be one of {', '.join(known).replace('.', '')}, was: {name}")
    return suffix


def is_folder(target: str) -> bool:
    """Whether OUT is a folder, there already or to be made: a name without a suffix."""
    return target != "-" and (target.endswith(os.sep) or Path(target).is_dir() or not Path(target).suffix)


@dataclass
class Transfer:
    """One run of a verb: `make` gives the content of a file with these documents and of this suffix.

    `verb` is for messages: `convert`, `draw`.
    """

    arguments: argparse.Namespace
    suffix: str
    verb: str
    make: "Make"
    inputs: set[Path] = field(default_factory=set)
    n_failures: int = 0

    def run(self) -> int:
        """Make one file, or a file for each document of a folder; 1 if one of them could not be made."""
        from genrst.formats.files import document_files

        files = [] if self.arguments.source == "-" else document_files(self.arguments.source)
        self.inputs = {file.resolve() for file in files}
        write = self._write_folder if is_folder(self.arguments.target) else self._write_file
        n_documents = write(self._read(files))
        if not n_documents and not self.n_failures:
            raise CorpusFormatError(f"there must be a document to {self.verb}, was: none", self.arguments.source)
        return 1 if self.n_failures else 0

    def _read(self, files: list[Path]) -> "Documents":
        """The documents with their files; a file that cannot be read is reported, unless it is the only one."""
        from genrst.formats.files import ReadOptions, read_content, read_file

        options = ReadOptions(self.arguments.roots)
        if self.arguments.source == "-":
            path = Path(f"stdin{_source_suffix(self.arguments)}")
            yield from ((path, document) for document in read_content(standard_input(), path, options))
        for file in progress(files, f"{self.verb}ing", len(files)):
            try:
                documents = read_file(file, options)
            except GenrstError as error:
                if len(files) == 1:
                    raise
                self._report(error)
                continue
            yield from ((file, document) for document in documents)

    def _write_file(self, documents: "Documents") -> int:
        """Write all documents to one file, or to standard output; how many there are."""
        from genrst.io import write_atomically

        found = [document for _, document in documents]
        if not found:
            return 0
        content = self.make(found, self.suffix)
        if self.arguments.target == "-":
            show_file(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        else:
            self._protect(Path(self.arguments.target))
            write_atomically(Path(self.arguments.target), content)
        return len(found)

    def _write_folder(self, documents: "Documents") -> int:
        """Write every document to a file of its own; how many there are."""
        from genrst.io import write_atomically

        made: dict[Path, Path] = {}
        for file, document in documents:
            path = self._place(file, document)
            self._protect(path)
            if path in made:
                raise UsageError(f"{file} and {made[path]} would both become {path}")
            made[path] = file
            try:
                content = self.make([document], self.suffix)
            except GenrstError as error:
                self._report(error)
                continue
            write_atomically(path, content)
        return len(made)

    def _place(self, file: Path, document: "Document") -> Path:
        source = Path(self.arguments.source)
        below = file.parent.relative_to(source) if file.resolve() in self.inputs and source.is_dir() else Path()
        return Path(self.arguments.target) / below / f"{file_name(document.id)}{self.suffix}"

    def _protect(self, path: Path) -> None:
        if path.resolve() in self.inputs:
            raise UsageError(f"{path}: OUT must not overwrite a file of IN")

    def _report(self, error: GenrstError) -> None:
        complain(error)
        self.n_failures += 1


def file_name(document_id: str) -> str:
    """The id, or what a file system takes of it: an id from a `.json` file may have any characters."""
    name = document_id.replace("/", "_").replace("\0", "_")
    return name.encode("utf-8", "replace").decode("utf-8") or "document"
