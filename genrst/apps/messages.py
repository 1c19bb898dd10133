"""What the program says to its user besides its results."""

import sys


def complain(problem: object) -> None:
    """Print one line on standard error."""
    tell(" ".join(str(problem).split("\n")))


def tell(message: str) -> None:
    """Say what is going on, on standard error, so that results can be piped."""
    print("genrst:", message, file=sys.stderr, flush=True)
