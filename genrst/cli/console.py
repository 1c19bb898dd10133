"""Console output: results go to standard output, everything else to standard error.

All printing goes through `show` and `genrst.io.tell`, which escape control sequences that come from input files.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from genrst.characters import escape_json, inert, one_line
from genrst.errors import GenrstError, MissingDependencyError
from genrst.io import tell

_PAINT = "(\x1b\\[(?:0|2|1;38;5;[0-9]{1,3})m)"
"""The ANSI colours of a drawing: the only escape sequences that reach the terminal."""


def show(result: str, is_painted: bool = False) -> None:
    """Print and flush a result, with control sequences escaped; if it is painted, our own colours are kept.

    Characters that the output encoding lacks are escaped too.
    """
    output = _standard_output()
    encoding = output.encoding or "utf-8"
    parts = re.split(_PAINT, result) if is_painted else [result]
    parts[::2] = map(inert_lines, parts[::2])
    print("".join(parts).encode(encoding, "backslashreplace").decode(encoding), file=output, flush=True)


def inert_lines(text: str) -> str:
    """Return the text with control characters escaped, except line ends and tabs."""
    return re.sub("[^\n\t]+", lambda match: inert(match[0]), text)


def show_json(result: object) -> None:
    """Print a result as JSON, on one line."""
    show(escape_json(json.dumps(result, ensure_ascii=False)))


def show_file(content: bytes, is_painted: bool = False) -> None:
    """Write the content of a file to standard output; it is escaped only on a terminal."""
    output = _standard_output()
    if output.isatty():
        show(content.decode("utf-8", "replace").removesuffix("\n"), is_painted)
    else:
        output.buffer.write(content)
        output.flush()


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise GenrstError("standard output is closed")
    return sys.stdout


class Failures:
    """Report and count the documents that fail, so that the run can continue with the others."""

    def __init__(self) -> None:
        self.count = 0

    def report(self, error: GenrstError, path: Path | None = None) -> None:
        """Print the error. The path of a file, if given, replaces the document id at its start."""
        tell(error if path is None else f"{path}: {str(error).removeprefix(f'{path.stem}: ')}")
        self.count += 1

    @contextmanager
    def reported(self, path: Path | None = None) -> Iterator[None]:
        """Report an error raised in the body. A missing library affects every document, so it ends the run."""
        try:
            yield
        except MissingDependencyError:
            raise
        except GenrstError as error:
            self.report(error, path)

    @property
    def status(self) -> int:
        """The exit status of the program."""
        return 1 if self.count else 0


def has_terminal() -> bool:
    """Whether standard error is a terminal, so that progress can be drawn and erased."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show a message on standard error while the body runs, if that is a terminal, and erase it afterwards."""
    is_shown = has_terminal()
    if is_shown:
        print(f"genrst: {one_line(description)} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def show_progress(text: str) -> None:
    """Write to standard error without ending the line. The text is not escaped, so it must not come from a document."""
    print(text, end="", file=sys.stderr, flush=True)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 document`, `2,000 documents`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
