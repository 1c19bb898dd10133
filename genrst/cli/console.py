"""What the program prints: results on standard output, all else on standard error, and which documents failed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from genrst.errors import GenrstError, MissingDependencyError
from genrst.io import tell


def show(result: str) -> None:
    """Print a result at once; characters that the encoding of the output lacks are escaped."""
    output = _standard_output()
    encoding = output.encoding or "utf-8"
    print(result.encode(encoding, "backslashreplace").decode(encoding), file=output, flush=True)


def show_file(content: bytes) -> None:
    """Write the content of a file to standard output, unchanged."""
    output = _standard_output()
    output.buffer.write(content)
    output.flush()


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise GenrstError("standard output must be open, was: closed")
    return sys.stdout


def complain(problem: object) -> None:
    """Print a problem on standard error, in one line."""
    tell(" ".join(str(problem).splitlines()))


class Failures:
    """Reports the documents that fail and counts them, so that the others can go on."""

    def __init__(self) -> None:
        self.count = 0

    def report(self, error: GenrstError, path: Path | None = None) -> None:
        """Print the error; the path of a file, if given, replaces the name of its text."""
        complain(error if path is None else f"{path}: {str(error).removeprefix(f'{path.stem}: ')}")
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
