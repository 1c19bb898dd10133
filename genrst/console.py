"""What the program says to its user: results on standard output, everything else on standard error.

Progress bars on a terminal, silence in a pipe.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

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


Item = TypeVar("Item")


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, with a bar on standard error if that is a terminal."""
    from tqdm import tqdm

    has_terminal = sys.stderr is not None and sys.stderr.isatty()
    return iter(tqdm(items, description, total, disable=not has_terminal, leave=False, unit=" documents"))
