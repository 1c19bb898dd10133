"""The program `genrst` from its first moment on: Ctrl-C is one line, also while the package is being imported."""

import sys


def main() -> int:
    """Run the program; returns the exit status."""
    try:
        from genrst.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("genrst: interrupted", file=sys.stderr)
        return 130
