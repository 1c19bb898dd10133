"""Outputs of the verbs: the format of a file, and the target: standard output, one file, or a folder.

Every file is written by a `Guard`, which decides what may be replaced. `Screen`, `OneFile` and `Folder` take the
results source by source. `open_outputs` chooses one of them for `parse`, `open_target` for `convert` and `render`.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from genrst.characters import inert
from genrst.cli.console import Failures, show, show_file
from genrst.cli.guard import Guard, add_force_argument
from genrst.cli.inputs import Source, named_suffix
from genrst.document import Document
from genrst.errors import UsageError
from genrst.formats.files import FORMATS
from genrst.rendering import Colours
from genrst.trees.binarise import flatten

AnySource: TypeAlias = Source[Any]

_FILE_WIDTH = 80

if TYPE_CHECKING:
    from genrst.outputs.summary import SummarySize


def make_guard(command: str, arguments: argparse.Namespace, sources: Sequence[AnySource]) -> Guard:
    """Make the guard for a command's output files; it never replaces a source."""
    return Guard(command, arguments.force, {source.path.resolve() for source in sources if source.is_file})


def encode(content: str | bytes) -> bytes:
    """Encode text as UTF-8; lone surrogates, which JSON can contain, are passed through."""
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


# Formats.


@dataclass(frozen=True, slots=True)
class Result:
    """A document, with a title for outputs that show several."""

    document: Document
    title: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """The format of files with this suffix."""

    suffix: str
    make: Callable[[Document], str | bytes]
    """Returns the content of a file with one document."""
    several: Literal["never", "on screen", "with titles", "list", "lines"] = "never"
    """How a file holds several documents: never, only on screen, under titles, as a JSON list, or one after another."""
    is_plural: bool = False
    """Whether one text may yield several documents."""

    def content(self, results: Sequence[Result], are_several: bool = False) -> bytes:
        """Return the content of a file; `are_several` says that the run, if not this file, has several documents."""
        if len(results) > 1 and self.several == "never":
            raise self.refusal(len(results))
        parts = [encode(self.make(result.document)) for result in results]
        are_several = are_several or len(parts) > 1
        if self.several in ("on screen", "with titles") and are_several:
            titles = [encode(f"# {inert(result.title)}\n") for result in results]
            return b"\n".join(title + part for title, part in zip(titles, parts, strict=True))
        if self.several == "list" and (are_several or self.is_plural):
            return b"[" + b",\n".join(part.rstrip(b"\n") for part in parts) + b"]\n"
        return b"".join(parts)

    def refusal(self, n_documents: int) -> UsageError:
        """Make the error for documents that do not fit into one file."""
        return UsageError(f"a {self.suffix} file holds one document, got {n_documents}; write to a folder instead")


NARY_SUFFIXES = (".dis", ".html", ".pdf", ".png", ".rs3", ".rs4", ".svg", ".txt")
"""Formats for people, where a chain of one multinuclear relation is shown as an n-ary list."""


def for_people(document: Document, suffix: str, is_binary: bool) -> Document:
    """Return the document with n-ary lists if a parser made its binary tree and the format is for people."""
    if document.tree is None or document.model is None or is_binary or suffix not in NARY_SUFFIXES:
        return document
    return replace(document, tree=flatten(document.tree))


def add_binary_argument(parser: argparse.ArgumentParser) -> None:
    """Add --binary, which keeps trees as the parser builds them."""
    parser.add_argument(
        "--binary", action="store_true", help="keep parsed trees binary instead of merging lists into n-ary units"
    )


def is_drawing(output: str) -> bool:
    """Whether results are printed on a terminal, where a progress bar would interfere."""
    return output == "-" and sys.stdout is not None and sys.stdout.isatty()


def add_colours_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for what colours show."""
    parser.add_argument(
        "--colours",
        choices=get_args(Colours),
        help="colour by relation (default) or by the probability of each unit (chart parsers only)",
    )


def text_width(output: str) -> int:
    """Return the width of text output: the terminal's, or 80 columns elsewhere."""
    if not is_drawing(output):
        return _FILE_WIDTH
    import shutil

    return shutil.get_terminal_size((_FILE_WIDTH, 0)).columns


def draw_text(
    document: Document, output: str, width: int | None = None, colours: Colours = "relation", why: bool = False
) -> str:
    """Draw a tree as text, in colour and full width on a terminal and plain elsewhere; with `why`, also its signals."""
    width = text_width(output) if width is None else width
    is_painted = is_drawing(output) and not os.environ.get("NO_COLOR")
    from genrst.rendering.terminal import render_text

    return render_text(document, width, is_painted, colours, why)


SUMMARY_SIZES = "a share of the words (20%%), a number of words (100w), sentences (3s) or EDUs (5)"
"""The sizes of a summary, for `--help`."""


def summary_size(size: str, option: str) -> "SummarySize":
    """Parse the size of a summary: a share of the words, or a number of words, sentences or EDUs."""
    match = re.fullmatch(r"([0-9]{1,9})(w|s|)|([0-9]{1,3}(?:\.[0-9]{1,9})?)%", size)
    if match is None or not 0 < float(match[1] or match[3]) <= (float("inf") if match[1] else 100):
        rule = "a share of the words (20%), a number of words (100w) or sentences (3s), or of EDUs (5)"
        raise UsageError(f"{option} must be {rule}, got {size}")
    if match[3]:
        return {"share": float(match[3]) / 100}
    number = int(match[1])
    return {"n_words": number} if match[2] == "w" else {"n_sentences": number} if match[2] else {"n_edus": number}


# Targets.


class Outputs(Protocol):
    """Takes the results source by source."""

    def add(self, source: AnySource, results: Sequence[Result]) -> None:
        """Show or write the results of a source as soon as possible."""

    def finish(self) -> None:
        """Show or write the results that had to wait for all sources."""


class Screen:
    """Standard output, where results appear immediately."""

    def __init__(self, format: Format, are_several: bool) -> None:
        self.format = format
        self.are_several = are_several
        self._is_empty = True

    def add(self, source: AnySource, results: Sequence[Result]) -> None:
        """Show the results, after a blank line if others came before."""
        del source
        gap = b"\n" if self.are_several and not self._is_empty and self.format.several != "lines" else b""
        content = gap + self.format.content(results, self.are_several)
        self._is_empty = False
        if self.format.suffix == ".txt":
            show(content.decode("utf-8", "surrogatepass").removesuffix("\n"), is_painted=True)
        else:
            show_file(content)

    def finish(self) -> None:
        """Do nothing: all results have been written."""


class OneFile:
    """One file, or standard output, that takes all results together."""

    def __init__(self, target: str, format: Format, guard: Guard, are_several: bool = False) -> None:
        self.target = target
        self.format = format
        self.are_several = are_several
        self._guard = guard
        self._waiting: list[Result] = []
        if target != "-":
            guard.check_file(Path(target))

    def add(self, source: AnySource, results: Sequence[Result]) -> None:
        """Keep the results until `finish`."""
        del source
        self._waiting += results

    def finish(self) -> None:
        """Write the file, unless there are no results."""
        if len(self._waiting) > 1 and self.format.several == "on screen":
            raise self.format.refusal(len(self._waiting))
        if not self._waiting:
            return
        content = self.format.content(self._waiting, self.are_several)
        if self.target == "-":
            show_file(content, is_painted=self.format.suffix == ".txt")
        else:
            self._guard.write(Path(self.target), content)


class Folder:
    """A folder with one file per source, named by its stem, or one per document, named by its id.

    Each document gets its own file with `is_by_id`, or if the format cannot hold several. A file that cannot be written
    is reported, and the run continues.
    """

    def __init__(self, path: Path, format: Format, guard: Guard, failures: Failures, is_by_id: bool = False) -> None:
        self.path = path
        self.format = format
        self.is_by_id = is_by_id
        self._guard = guard
        self._failures = failures
        self._written: dict[tuple[int, int], str] = {}
        """The origin of each written file, by inode, because a file system may equate different names."""

    def check(self, sources: Sequence[AnySource]) -> None:
        """Check before reading that no two sources share an output file and that existing files may be replaced."""
        claimed: dict[Path, AnySource] = {}
        for source in sources:
            path = self._place(source, source.path.stem)
            if path in claimed:
                raise _clash(str(claimed[path].path), str(source.path), path)
            claimed[path] = source
            self._guard.check(path)

    def add(self, source: AnySource, results: Sequence[Result]) -> None:
        """Write the results."""
        if self.is_by_id or (len(results) > 1 and self.format.several in ("never", "on screen")):
            for result in results:
                document_id = result.document.id
                with self._failures.reported():
                    self._write(self._place(source, file_name(document_id)), f"{source.path}: {document_id}", [result])
        else:
            with self._failures.reported():
                self._write(self._place(source, source.path.stem), str(source.path), results)

    def finish(self) -> None:
        """Do nothing: all results have been written."""

    def _place(self, source: AnySource, name: str) -> Path:
        return self.path / source.below / f"{name}{self.format.suffix}"

    def _write(self, path: Path, origin: str, results: Sequence[Result]) -> None:
        if (earlier := self._written.get(_inode(path))) is not None:
            raise _clash(earlier, origin, path)
        self._guard.write(path, self.format.content(results))
        self._written[_inode(path)] = origin


def _inode(path: Path) -> tuple[int, int]:
    """Return the device and inode that identify a file, or -1 twice if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return -1, -1
    return status.st_dev, status.st_ino


def _clash(earlier: str, later: str, path: Path) -> UsageError:
    return UsageError(f"{earlier} and {later} would both become {path}")


def file_name(document_id: str) -> str:
    """Return the id as a valid file name: an id from a `.json` file may contain any characters."""
    name = "".join("_" if character == "/" or inert(character) != character else character for character in document_id)
    return name or "document"


def is_folder(target: str) -> bool:
    """Whether a target is a folder: it is one already, its name has no suffix, or it ends in a slash."""
    return target != "-" and (_is_surely_folder(target) or not Path(target).suffix)


def _is_surely_folder(target: str) -> bool:
    return target.endswith(os.sep) or Path(target).is_dir()


# `parse` and `segment`: --output PATH, --format NAME. `export` uses these arguments too.


def add_output_arguments(parser: argparse.ArgumentParser, formats: Sequence[str], default: str, places: str) -> None:
    """Add the arguments for the target and the format of results."""
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--format", choices=formats, help=f"output format (default: by the suffix of PATH, or {default})"
    )
    output.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    parser.add_argument("--output", metavar="PATH", default="-", help=f"{places} (default: -, standard output)")
    add_force_argument(parser)


def choose_format(arguments: argparse.Namespace, names: Mapping[str, str], default: str) -> str:
    """Return the name of the format: the given one, the one of the file's suffix, or the default."""
    output = arguments.output
    if output == "-" or is_folder(output):
        return str(arguments.format or default)
    if arguments.format is not None:
        check_suffix(arguments.format, output, names)
        return str(arguments.format)
    suffix = Path(output).suffix.lower()
    if suffix not in names:
        raise UsageError(
            f"--output must be a folder or end in one of {', '.join(names)}, or --format must be given, got {output}"
        )
    return names[suffix]


def check_suffix(format: str, output: str, names: Mapping[str, str]) -> None:
    """Refuse a file whose suffix belongs to another format; .txt and unknown suffixes are allowed."""
    suffix = Path(output).suffix.lower()
    if suffix != ".txt" and suffix in {*names, *FORMATS} and names.get(suffix) != format:
        raise UsageError(f"--output has the suffix of another format than --format {format}, got {output}")


def open_outputs(
    output: str, format: Format, guard: Guard, sources: Sequence[AnySource], failures: Failures
) -> Outputs:
    """Open `-`, a file or a folder. Several sources need a folder, or a format that holds several documents."""
    are_several = len(sources) > 1 or any(source.folder for source in sources)
    if output == "-":
        if len(sources) > 1 and format.several == "never":
            raise format.refusal(len(sources))
        return OneFile("-", format, guard, are_several) if format.several == "list" else Screen(format, are_several)
    is_joint = format.several in ("list", "lines") and Path(output).suffix.lower() == format.suffix
    if not _is_surely_folder(output) and (is_joint or not are_several):
        return OneFile(output, format, guard, are_several)
    folder = Folder(Path(output), format, guard, failures)
    folder.check(sources)
    return folder


# `convert` and `render`: OUT, --to FORMAT.


def add_target_arguments(parser: argparse.ArgumentParser) -> None:
    """Add OUT and the option for its format."""
    parser.add_argument("target", metavar="OUT", help="a file, a folder (with --to), or - for standard output")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="output format, if OUT is a folder or -")
    add_force_argument(parser)


def target_suffix(arguments: argparse.Namespace, known: Collection[str]) -> str:
    """Return the lower-case suffix of the output: the file's own, which is not checked, or the one that --to names."""
    target = arguments.target
    if target == "-" or is_folder(target):
        stream = "standard output" if target == "-" else "a folder"
        return named_suffix(arguments.target_format, "--to", stream, known)
    if arguments.target_format is not None:
        raise UsageError(f"--to works only with a folder or standard output (-), got {target}")
    return Path(target).suffix.lower()


def open_target(target: str, format: Format, guard: Guard, failures: Failures) -> Outputs:
    """Open OUT: a folder gets one file per document; a file or standard output holds all documents."""
    if is_folder(target):
        return Folder(Path(target), format, guard, failures, is_by_id=True)
    return OneFile(target, format, guard)
