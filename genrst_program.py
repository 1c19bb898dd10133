"""The entry point of `genrst`: Ctrl-C prints one line instead of a traceback, even while the package is importing."""

import sys


def main() -> int:
    """Run the program and return the exit status."""
    try:
        from genrst.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("genrst: interrupted", file=sys.stderr)
        return 130
