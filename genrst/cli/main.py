"""The program `genrst`: finds the verb, runs it, and turns errors into one line.

A verb is a module of `genrst.cli.verbs` with `add_arguments(parser)` and `run(arguments)`; its docstring is its help.
Only the verb that is called is imported, and what needs PyTorch, numpy or spaCy when it runs: `--help` answers at once.
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
    "annotate": "correct the trees of local files in the browser",
    "bulk": "parse whole collections, disk to disk",
    "convert": "convert between RST file formats",
    "evaluate": "score predicted trees against gold ones",
    "export": "summaries, chunks, tables, dependencies and features of trees",
    "info": "describe a corpus or a model",
    "parse": "find the EDUs and the tree of a text",
    "push": "publish a model on the Hugging Face Hub",
    "render": "draw trees, or the difference of two",
    "sample": "draw trees of a text from their distribution",
    "score": "probabilities of texts and trees, and the surprisal of every word",
    "segment": "split a text into EDUs",
    "serve": "answer over HTTP: parse, segment, draw, convert, score",
    "train": "train a parser or a segmenter",
}
"""All verbs, and what they do in a line."""

EXTRAS = {
    **{"torch": "torch", "transformers": "torch", "spacy": "spacy", "matplotlib": "plot", "pyarrow": "parquet"},
    "huggingface_hub": "hub",
    **dict.fromkeys(("uvicorn", "prometheus_client", "starlette", "pydantic"), "serve"),
}
"""Which extra of the package installs an optional library."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, and say what might have been meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            raise argparse.ArgumentError(action, f"{error.message}{guess(value, action.choices or ())}") from error

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """End with an error for words that nobody knows."""
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
        self.error(f"unrecognized arguments: {' '.join(unknown)}{guess(option, self._option_string_actions)}")

    def error(self, message: str) -> NoReturn:
        tell(f"{message} (see {self.prog} --help)")
        self.exit(2)


def make_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of a command line; of the verbs that do not occur in it the arguments are left out."""
    description = (
        "Rhetorical structure trees: parse texts into them; read, convert, draw, compare, score and learn them."
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
    """Tell shtab, which makes completions for shells, that whatever has no choices may be a file."""
    for action in parser._actions:
        if action.choices is None and action.nargs != 0:
            action.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status."""
    try:
        return _main(argv)
    except KeyboardInterrupt:
        tell("interrupted")
        return 130


def _main(argv: Sequence[str] | None) -> int:
    # NumPy has little to multiply, and starting its threads takes a tenth of a second.
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
