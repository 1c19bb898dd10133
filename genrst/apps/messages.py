"""What the program says to its user besides its results."""

import sys


def complain(problem: object) -> None:
    """Print one line on standard error."""
    print("genrst:", " ".join(str(problem).split("\n")), file=sys.stderr)
