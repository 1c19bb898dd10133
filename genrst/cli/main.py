"""The program `genrst`: finds the verb, runs it, and turns errors into one line.

A verb is a module of this package with `HELP`, `add_arguments(parser)` and `run(arguments)`; its docstring is the rest
of its help. What needs PyTorch, numpy or spaCy is imported when a verb runs, so that `--help` answers at once.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

from genrst.cli import bulk, convert, evaluate, export, info, parse, render, segment, train
from genrst.errors import GenrstError, UsageError
from genrst.io import tell
from genrst.version import VERSION

VERBS = {
    "bulk": bulk,
    "convert": convert,
    "evaluate": evaluate,
    "export": export,
    "info": info,
    "parse": parse,
    "render": render,
    "segment": segment,
    "train": train,
}

EXTRAS = {"torch": "model", "safetensors": "model", "spacy": "text", "matplotlib": "plot", "pyarrow": "parquet"}
"""Which extra of the package installs an optional library."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        tell(f"{message} (see {self.prog} --help)")
        self.exit(2)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    description = (
        "Rhetorical structure trees: parse texts into them; read, convert, draw, compare, score and learn them."
    )
    parser = _Parser(prog="genrst", description=description)
    parser.add_argument("--version", action="version", version=f"genrst {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, verb in VERBS.items():
        subparser = verbs.add_parser(
            name, help=verb.HELP, description=verb.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        verb.add_arguments(subparser)
        subparser.set_defaults(run=verb.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    arguments = make_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status: int = arguments.run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except UsageError as error:
            tell(error)
            return 2
        except GenrstError as error:
            tell(error)
            return 1
        except BrokenPipeError:
            # The reader of our output has seen enough.
            _drop_output()
            return 0
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            tell(f"this needs {error.name}: pip install 'genrst[{EXTRAS[error.name]}]'")
            return 1
        except OSError as error:
            tell(f"{error.filename or 'standard input or output'}: {error.strerror or error}")
            _drop_output()
            return 1
        except KeyboardInterrupt:
            tell("interrupted")
            return 130


def _drop_output() -> None:
    """Forget what is still buffered: it has nowhere to go, and Python would try once more on its way out."""
    sys.stdout = None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line
    tell(f"warning: {message}")


if __name__ == "__main__":
    sys.exit(main())
