"""The program `genrst`: finds the verb, runs it, and turns errors into one line.

A verb is a module of `genrst.cli.verbs` with `add_arguments(parser)` and `run(arguments)`; its docstring is its help.
Only the verb on the command line is imported, and PyTorch, numpy and spaCy only when it runs, so `--help` is fast.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from genrst.errors import GenrstError, UsageError, guess
from genrst.io import tell
from genrst.version import VERSION

VERBS = {
    "annotate": "correct the trees of local files in a browser",
    "bulk": "parse a whole collection of documents",
    "convert": "convert between RST file formats",
    "evaluate": "score predicted trees against gold trees",
    "export": "turn trees into summaries, chunks, tables, dependencies or features",
    "info": "describe a corpus or a model",
    "parse": "find the EDUs and the tree of a text",
    "push": "publish a model on the Hugging Face Hub",
    "render": "draw trees, or the difference between two",
    "sample": "sample trees of a text from the model's distribution",
    "score": "compute log-probabilities of texts and trees, and word surprisal",
    "segment": "split a text into EDUs",
    "serve": "parse, segment, draw, convert and evaluate over HTTP",
    "train": "train a parser or a segmenter",
}
"""All verbs, each with its one-line help."""

EXTRAS = {
    **{"torch": "torch", "transformers": "torch", "spacy": "spacy", "matplotlib": "plot", "pyarrow": "parquet"},
    "huggingface_hub": "hub",
    **dict.fromkeys(("uvicorn", "prometheus_client", "starlette", "pydantic"), "serve"),
}
"""Which extra of the package installs an optional library."""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and suggest a correction."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            raise argparse.ArgumentError(action, f"{error.message}{guess(value, action.choices or ())}") from error

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with an error that lists the unrecognized words."""
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
        self.error(f"unrecognized arguments: {' '.join(unknown)}{guess(option, self._option_string_actions)}")

    def error(self, message: str) -> NoReturn:
        tell(f"{message} (see {self.prog} --help)")
        self.exit(2)


def make_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Make the argument parser for a command line. Only verbs that occur in it get their arguments."""
    description = (
        "Parse texts into rhetorical structure trees; read, convert, draw, compare, score and learn such trees."
    )
    parser = _Parser(prog="genrst", description=description)
    parser.add_argument("--version", action="version", version=f"genrst {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=_Parser)
    for name, help in VERBS.items():
        subparser = verbs.add_parser(name, help=help, formatter_class=argparse.RawDescriptionHelpFormatter)
        if words is None or name in words:
            verb = import_module(f"genrst.cli.verbs.{name}")
            subparser.description = verb.__doc__
            verb.add_arguments(subparser)
            _complete_files(subparser)
            subparser.set_defaults(run=verb.run, refuse=subparser.refuse)
    return parser


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Mark arguments without choices as files for shtab, which generates shell completions."""
    for action in parser._actions:
        if action.choices is None and action.nargs != 0:
            action.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status."""
    try:
        return _main(argv)
    except KeyboardInterrupt:
        tell("interrupted")
        return 130


def _main(argv: Sequence[str] | None) -> int:
    # numpy multiplies only small matrices here, and starting its threads takes 0.1 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = sys.argv[1:] if argv is None else argv
    parser = make_parser(words)
    if not words:
        parser.print_help()
        return 0
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        arguments.refuse(unknown)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
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
        # The reader has closed the pipe, as `head` does.
        _drop_output()
        return 0
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        tell(f"{error.name} is not installed: pip install 'genrst[{EXTRAS[error.name]}]'")
        return 1
    except OSError as error:
        tell(f"{error.filename or 'standard input or output'}: {error.strerror or error}")
        _drop_output()
        return 1


def _drop_output() -> None:
    """Drop buffered output, which Python would try to write again at exit."""
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
