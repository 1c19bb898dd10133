"""What the program says to its user: results on standard output, everything else on standard error."""

import sys
from typing import TextIO

from genrst.errors import GenrstError


def show(result: str) -> None:
    """Print a result at once; characters that the encoding of the output lacks are escaped."""
    output = _standard_output()
    encoding = output.encoding or "utf-8"
    print(result.encode(encoding, "backslashreplace").decode(encoding), file=output, flush=True)


def show_file(content: bytes) -> None:
    """Write the content of a file to standard output, as it is."""
    output = _standard_output()
    output.buffer.write(content)
    output.flush()


def _standard_output() -> TextIO:
    if sys.stdout is None:
        raise GenrstError("standard output must be open, was: closed")
    return sys.stdout


def complain(problem: object) -> None:
    """Print one line on standard error."""
    tell(" ".join(str(problem).splitlines()))


def tell(message: str) -> None:
    """Say what is going on, on standard error, so that results can be piped."""
    if sys.stderr is not None:
        print("genrst:", message, file=sys.stderr, flush=True)
