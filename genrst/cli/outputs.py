"""Where the results of `parse` and `segment` go: to standard output, into one file, or into a folder."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from genrst.cli.inputs import Source
from genrst.cli.transfer import file_name
from genrst.console import show, show_file
from genrst.errors import UsageError

if TYPE_CHECKING:
    from genrst.document import Document


@dataclass(frozen=True, slots=True)
class Result:
    """A document, and what stands above it where several are shown."""

    title: str
    document: "Document"


@dataclass(frozen=True, slots=True)
class Format:
    """What results look like in a file of this suffix."""

    suffix: str
    make: "Callable[[Document], str]"
    """The content of a file with one document."""
    several: Literal["never", "on screen", "with titles", "list", "lines"] = "never"
    """How several documents stand in one file: not at all, not in files, under titles, as a JSON list, in a row."""
    is_plural: bool = False
    """Whether a text may give several documents."""

    def content(self, results: Sequence[Result], are_several: bool = False) -> str:
        """The content of a file with these documents. Where more were asked for, one looks as one of several does."""
        texts = [self.make(result.document) for result in results]
        are_several = are_several or len(texts) > 1
        if self.several in ("on screen", "with titles") and are_several:
            return "\n".join(f"# {result.title}\n{text}" for result, text in zip(results, texts, strict=True))
        if self.several == "list" and (are_several or self.is_plural):
            return "[" + ",\n".join(text.rstrip("\n") for text in texts) + "]\n"
        if len(texts) == 1 or self.several == "lines":
            return "".join(texts)
        raise UsageError(f"a {self.suffix} file holds one document, was: {len(texts)}; --output DIR/ takes several")


class Results(Protocol):
    """Takes the results of one source after the other."""

    def add(self, source: Source, results: Sequence[Result]) -> None:
        """Show or write them as soon as that can be."""

    def finish(self) -> None:
        """Show or write what had to wait for all others."""


def format_of(output: str, names: Mapping[str, str], default: str) -> str:
    """The name of the format that the suffix of a file says; the default one for a folder and standard output."""
    suffix = Path(output).suffix.lower()
    if output == "-" or not suffix or Path(output).is_dir() or output.endswith(os.sep):
        return default
    if suffix not in names:
        raise UsageError(
            f"--output must be a folder, end in one of {', '.join(names)} or go with --format, was: {output}"
        )
    return names[suffix]


def open_results(output: str, format: Format, sources: Sequence[Source]) -> Results:
    """Where results go: `output` is `-`, a folder (there, or with a slash at its end), or a file.

    For several sources, or those of a folder, it is a folder, too, unless it is a file that can hold several documents.
    """
    are_several = len(sources) > 1 or any(source.folder for source in sources)
    inputs = {source.path.resolve() for source in sources if not source.is_standard_input}
    if output == "-":
        if len(sources) > 1 and format.several == "never":
            raise UsageError(f"a {format.suffix} file holds one document, so that {len(sources)} need --output DIR/")
        return Screen(format, are_several)
    is_joint = format.several in ("list", "lines") and Path(output).suffix.lower() == format.suffix
    if output.endswith(os.sep) or Path(output).is_dir() or (are_several and not is_joint):
        return Folder(Path(output), format, sources, inputs)
    _protect(Path(output), inputs)
    return File(Path(output), format, are_several)


@dataclass
class Screen:
    """Standard output; results come at once, but for those of a JSON list."""

    format: Format
    are_several: bool
    _waiting: list[Result] = field(default_factory=list)
    _n_shown: int = 0

    def add(self, source: Source, results: Sequence[Result]) -> None:
        """Show them, after a blank line if there were others."""
        del source
        if self.format.several == "list":
            self._waiting += results
        else:
            gap = "\n" if self.are_several and self._n_shown and self.format.several != "lines" else ""
            self._show(gap + self.format.content(results, self.are_several))
            self._n_shown += len(results)

    def finish(self) -> None:
        """Show the list."""
        if self._waiting:
            self._show(self.format.content(self._waiting, self.are_several))

    def _show(self, content: str) -> None:
        if self.format.suffix == ".txt":
            show(content.removesuffix("\n"))
        else:
            show_file(content.encode("utf-8", "surrogatepass"))


@dataclass
class File:
    """One file for all results."""

    path: Path
    format: Format
    are_several: bool
    _waiting: list[Result] = field(default_factory=list)

    def add(self, source: Source, results: Sequence[Result]) -> None:
        """Keep them."""
        del source
        self._waiting += results

    def finish(self) -> None:
        """Write the file, if there is something to write."""
        from genrst.io import write_atomically

        if len(self._waiting) > 1 and self.format.several == "on screen":
            raise UsageError(f"a {self.format.suffix} file holds one document; --output DIR/ takes several")
        if self._waiting:
            write_atomically(self.path, self.format.content(self._waiting, self.are_several))


class Folder:
    """A file for each source, by its stem; for each document of it, by its id, where a file can hold only one."""

    def __init__(self, path: Path, format: Format, sources: Sequence[Source], inputs: Collection[Path]) -> None:
        self.path = path
        self.format = format
        self._inputs = inputs
        self._made: dict[Path, Source] = {}
        for source in sources:
            self._claim(source, source.path.stem)
        self._made.clear()

    def add(self, source: Source, results: Sequence[Result]) -> None:
        """Write them."""
        from genrst.io import write_atomically

        if len(results) == 1 or self.format.several in ("with titles", "list", "lines"):
            files = [(source.path.stem, list(results))]
        else:
            files = [(file_name(result.document.id), [result]) for result in results]
        for name, part in files:
            content = self.format.content(part)
            write_atomically(self._claim(source, name), content)

    def finish(self) -> None:
        """Nothing waits."""

    def _claim(self, source: Source, name: str) -> Path:
        """The path of a file that nobody else writes or reads."""
        path = self.path / source.below / f"{name}{self.format.suffix}"
        _protect(path, self._inputs)
        if path in self._made:
            raise UsageError(f"{self._made[path].path} and {source.path} would both become {path}")
        self._made[path] = source
        return path


def _protect(path: Path, inputs: Collection[Path]) -> None:
    """Nothing may be written over what is read."""
    if path.resolve() in inputs:
        raise UsageError(f"{path}: --output must not overwrite an input")
