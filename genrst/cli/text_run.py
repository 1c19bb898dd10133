"""One run of `parse` or `segment`: read every source, report what fails, deliver the rest."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from genrst.cli.inputs import Source, find_sources
from genrst.cli.outputs import Format, Result, Results, open_results
from genrst.console import complain, progress
from genrst.errors import GenrstError, MissingDependencyError, UsageError

if TYPE_CHECKING:
    from genrst.cli.inputs import Named

    Outcomes: TypeAlias = Iterable[tuple[Source, list[Result] | GenrstError]]


def add_run_arguments(parser: argparse.ArgumentParser, formats: Sequence[str], default: str) -> None:
    """What to read, what to write, and by which model."""
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="files, folders, or - for standard input")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--format", choices=formats, help=f"default: by PATH, or {default}")
    output.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument(
        "--output", metavar="PATH", default="-", help="a file, or a folder with a file for each input (default: -)"
    )
    model = parser.add_argument_group("model")
    model.add_argument("--model", metavar="NAME|DIR", help="an installed model or a folder (default: en)")
    model.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    model.add_argument("--pipeline", metavar="NAME", help="a spaCy pipeline (default: the model's, or the best one)")


@dataclass
class TextRun:
    """The sources of a run, where its results go, and how much of it failed."""

    sources: Sequence[Source]
    results: Results
    is_drawing: bool
    """Whether results appear on the terminal, so that a progress bar would be in their way."""
    n_failures: int = 0

    @classmethod
    def of(cls, arguments: argparse.Namespace, format: Format) -> "TextRun":
        """The run that a command line asks for; nothing is read yet."""
        sources = find_sources(arguments.inputs)
        is_drawing = arguments.output == "-" and sys.stdout is not None and sys.stdout.isatty()
        return cls(sources, open_results(arguments.output, format, sources), is_drawing)

    def read(self, description: str, has_edus: bool = False) -> "Iterator[tuple[Source, Named]]":
        """All texts and documents, with their sources."""
        sources = self.sources if self.is_drawing else progress(self.sources, description, len(self.sources))
        for source in sources:
            try:
                items = source.read(has_edus)
            except GenrstError as error:
                self._report(error)
                continue
            yield from ((source, item) for item in items)

    def deliver(self, outcomes: "Outcomes") -> int:
        """Hand over what was made of texts and documents; the exit status."""
        for source, group in groupby(outcomes, key=itemgetter(0)):
            found: list[Result] = []
            for _, outcome in group:
                if isinstance(outcome, GenrstError):
                    self._report(_located(outcome, source))
                else:
                    found += outcome
            try:
                if found:
                    self.results.add(source, found)
            except GenrstError as error:
                self._report(error)
        self.results.finish()
        return 1 if self.n_failures else 0

    def _report(self, error: object) -> None:
        complain(error)
        self.n_failures += 1


def attempt(make: Callable[[], list[Result]]) -> list[Result] | GenrstError:
    """What was made of a text, or why it could not be; what no text is to blame for ends the run."""
    try:
        return make()
    except (MissingDependencyError, UsageError):
        raise
    except GenrstError as error:
        return error


def _located(error: GenrstError, source: Source) -> str:
    """The message with the path of the file in place of the name of its text."""
    return f"{source.path}: {str(error).removeprefix(f'{source.path.stem}: ')}"
