"""The program `genrst`: finds the verb, runs it, and turns errors into one line.

A verb is a module of this package with `add_arguments(parser)` and `run(arguments)`; its docstring is its help. Only
the verb that is named is imported, so that `genrst --help` answers at once; and what needs PyTorch, numpy or spaCy only
when it runs, so that `genrst VERB --help` does, too.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, TextIO

from genrst.console import complain
from genrst.errors import GenrstError, UsageError
from genrst.version import VERSION

VERBS = {
    "convert": "convert between RST file formats",
    "evaluate": "score predicted trees against gold ones",
    "export": "summaries, chunks, tables, dependencies and profiles of trees",
    "info": "describe a corpus or a model",
    "parse": "find the EDUs and the tree of a text",
    "render": "draw trees, or the difference of two",
    "segment": "split a text into EDUs",
    "train": "train a parser or a segmenter",
}

EXTRAS = {"torch": "model", "safetensors": "model", "spacy": "text", "matplotlib": "plot", "pyarrow": "parquet"}
"""Which extra of the package installs an optional library."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message} (see {self.prog} --help)")
        self.exit(2)


def make_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line: of all verbs, those that are named have their arguments."""
    description = (
        "Rhetorical structure trees: parse texts into them; read, convert, draw, compare, score and learn them."
    )
    parser = _Parser(prog="genrst", description=description)
    parser.add_argument("--version", action="version", version=f"genrst {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, summary in VERBS.items():
        subparser = verbs.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in argv:
            verb = import_module(f"genrst.cli.{name}")
            subparser.description = verb.__doc__
            verb.add_arguments(subparser)
            subparser.set_defaults(run=verb.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = make_parser(argv).parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status: int = arguments.run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except UsageError as error:
            complain(error)
            return 2
        except GenrstError as error:
            complain(error)
            return 1
        except BrokenPipeError:
            # The reader of our output has seen enough.
            _drop_output()
            return 0
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            complain(f"this needs {error.name}: pip install 'genrst[{EXTRAS[error.name]}]'")
            return 1
        except OSError as error:
            complain(f"{error.filename or 'standard input or output'}: {error.strerror or error}")
            _drop_output()
            return 1
        except KeyboardInterrupt:
            complain("interrupted")
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
    complain(f"warning: {message}")


if __name__ == "__main__":
    sys.exit(main())
