"""What the program prints: results on standard output, all else on standard error, and which documents failed.

Nothing is printed elsewhere: `show` and `genrst.io.tell` see to it that no terminal obeys what a file says.
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
"""The ANSI colours of a drawing, all that a terminal may obey."""


def show(result: str, is_painted: bool = False) -> None:
    """Print a result at once, with nothing in it that a terminal obeys but our own colours, if it is painted.

    Characters that the encoding of the output lacks are escaped.
    """
    output = _standard_output()
    encoding = output.encoding or "utf-8"
    parts = re.split(_PAINT, result) if is_painted else [result]
    parts[::2] = map(inert_lines, parts[::2])
    print("".join(parts).encode(encoding, "backslashreplace").decode(encoding), file=output, flush=True)


def inert_lines(text: str) -> str:
    """A text of several lines with nothing in it that a terminal obeys; its line ends and tabs stay."""
    return re.sub("[^\n\t]+", lambda match: inert(match[0]), text)


def show_json(result: object) -> None:
    """Print a result as JSON, on one line."""
    show(escape_json(json.dumps(result, ensure_ascii=False)))


def show_file(content: bytes, is_painted: bool = False) -> None:
    """Write the content of a file to standard output: unchanged, unless that is a terminal."""
    output = _standard_output()
    if output.isatty():
        show(content.decode("utf-8", "replace").removesuffix("\n"), is_painted)
    else:
        output.buffer.write(content)
        output.flush()


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise GenrstError("standard output must be open, got closed")
    return sys.stdout


class Failures:
    """Reports the documents that fail and counts them, so that the others can go on."""

    def __init__(self) -> None:
        self.count = 0

    def report(self, error: GenrstError, path: Path | None = None) -> None:
        """Print the error; the path of a file, if given, replaces the name of its text."""
        tell(error if path is None else f"{path}: {str(error).removeprefix(f'{path.stem}: ')}")
        self.count += 1

    @contextmanager
    def reported(self, path: Path | None = None) -> Iterator[None]:
        """Report the error that is raised inside. A missing library is no document's fault and ends the run."""
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
    """Whether standard error is a terminal, which a bar or a line that goes away can be drawn on."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Say what takes its time on standard error, if that is a terminal; the line goes away afterwards."""
    is_shown = has_terminal()
    if is_shown:
        print(f"genrst: {one_line(description)} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def show_progress(text: str) -> None:
    """Write on the terminal of standard error without ending the line; the text is ours, not that of a document."""
    print(text, end="", file=sys.stderr, flush=True)


def counted(number: int, noun: str) -> str:
    """So many things: `1 document`, `2,000 documents`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
