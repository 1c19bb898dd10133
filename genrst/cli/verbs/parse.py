"""Parse texts: find their EDUs and their rhetorical structure.

  genrst parse article.txt
  genrst parse article.txt --output article.html
  genrst parse texts/ --format json --output trees/
  genrst parse article.txt --kbest 3 --json
  genrst parse article.txt --summary 20%
  genrst parse article.txt --why
  genrst parse article.txt --uncertain 5 --colours certainty
  genrst parse article.json --constraint '{"edus": [1, 4], "relation": "causal", "nuclearity": "NS"}'
  echo "It rained, so we stayed in." | genrst parse -

Files that end in .dis, .rs3, .rs4, .json, .jsonl or .edus keep their EDUs and get a new tree. All other files and
standard input (-) are raw text or, with --edus, have one EDU per line. In a folder, all such files and all .txt and .md
files are parsed. A file that cannot be parsed is reported and does not stop the others.

All models support constraints. In constraints, as in JSON, EDUs are counted from 0 and the end is exclusive; in
drawings they are counted from 1. A chart parser, such as the default model en, computes the probability of every unit.
It prints the minimum Bayes risk tree, which has the highest expected number of correct units. --kbest starts with the
most probable tree, which can be a different one.
"""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from genrst.characters import inert
from genrst.cli.console import Failures, counted, has_terminal
from genrst.cli.inputs import (
    Source,
    TextOrDocument,
    add_constraint_arguments,
    add_text_arguments,
    constrained,
    find_texts,
    read_constraints,
    read_sources,
)
from genrst.cli.models import add_search_arguments, add_why_argument, load_parser
from genrst.cli.outputs import (
    SUMMARY_SIZES,
    Format,
    Result,
    add_colours_argument,
    add_output_arguments,
    choose_format,
    draw_text,
    for_people,
    is_drawing,
    make_guard,
    open_outputs,
    summary_size,
    text_width,
)
from genrst.document import Document
from genrst.errors import ConstraintError, GenrstError, MissingDependencyError, UsageError
from genrst.formats.files import format_documents
from genrst.io import heartbeat, progress, tell
from genrst.parser import DEFAULT_MODEL
from genrst.rendering import Colours
from genrst.trees.binarise import flatten

if TYPE_CHECKING:
    from genrst.parser.parser import Failure, Parser
    from genrst.rendering.image import ImageFormat

SUFFIXES = {"tree": ".txt"} | {
    name: f".{name}" for name in ("json", "jsonl", "rs3", "rs4", "dis", "rsd", "svg", "html", "png", "pdf", "edus")
}
"""File suffixes, by the name of the format."""


BATCH_SIZE = 8
"""How many texts are parsed together."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst parse`."""
    add_text_arguments(parser)
    add_output_arguments(
        parser, tuple(SUFFIXES), "tree, drawn for the terminal", "a file, or a folder with a file for each input"
    )
    parser.add_argument(
        "--edus", action="store_true", help="read each line of raw text as an EDU and blank lines as paragraph ends"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--nary", action="store_true", help="write lists as n-ary units in JSON too, as in all other formats"
    )
    shape.add_argument("--binary", action="store_true", help="write lists as binary chains in all formats, as in JSON")
    parser.add_argument(
        "--kbest",
        type=int,
        default=1,
        metavar="N",
        help="output the N most probable trees (formats tree, json and jsonl)",
    )
    parser.add_argument(
        "--summary", metavar="SIZE", help=f"print a summary of this size instead of the tree: {SUMMARY_SIZES}"
    )
    add_colours_argument(parser)
    add_why_argument(
        parser, "also find signals (words that mark relations) and secondary edges, and show them in the tree"
    )
    add_search_arguments(parser.add_argument_group("search (default: the model's settings)"))
    add_constraint_arguments(parser)
    chart = parser.add_argument_group("chart parsers only, such as en")
    chart.add_argument("--uncertain", type=int, metavar="N", help="list the N least probable units below each tree")


def run(arguments: argparse.Namespace) -> int:
    """Parse all texts; return 1 if any could not be parsed."""
    format = _make_format(arguments)
    failures = Failures()
    sources = find_texts(arguments.inputs, arguments.edus)
    constraints = read_constraints(arguments, sources)
    _check_chart(arguments)
    guard = make_guard("parse" if arguments.summary is None else "parse --summary", arguments, sources)
    outputs = open_outputs(arguments.output, format, guard, sources, failures)
    parser = load_parser(arguments)
    found = read_sources(sources, "parsing", failures, has_bar=False)
    texts = ((source, item) for source, items in found for item in items)
    items = ((source, constrained(item, constraints)) for source, item in texts) if constraints else texts
    groups = groupby(_parse(parser, items, arguments.kbest), key=itemgetter(0))
    closing = _Closing(failures, len(sources))
    has_bar = len(sources) > 1 and not is_drawing(arguments.output) and has_terminal()
    with nullcontext() if has_bar else heartbeat(closing.so_far):
        for source, group in progress(groups, "parsing", len(sources)) if has_bar else groups:
            results: list[Result] = []
            for _, trees in group:
                if isinstance(trees, list):
                    closing.count(trees[0])
                    results += _results(trees, arguments, format.suffix)
                else:
                    failures.report(trees.error, source.path)
            if results:
                with failures.reported():
                    outputs.add(source, results)
            closing.n_files += 1
    outputs.finish()
    if any(source.folder for source in sources):
        tell(closing)
    return failures.status


class _Closing:
    """The closing line of a run over a folder: documents parsed, documents failed, and time."""

    def __init__(self, failures: Failures, n_sources: int) -> None:
        self.n_files = self.n_documents = self.n_edus = 0
        self._n_sources = n_sources
        self._failures = failures
        self._start = perf_counter()

    def count(self, document: Document) -> None:
        """Count a parsed document."""
        self.n_documents += 1
        self.n_edus += len(document.edus)

    def so_far(self) -> str:
        """Return the progress so far."""
        found = f"{counted(self.n_documents, 'document')}, {counted(self.n_edus, 'EDU')}"
        return f"parsed {self.n_files:,} of {counted(self._n_sources, 'file')}, {found}"

    def __str__(self) -> str:
        failed = f", {self._failures.count} failed" if self._failures.count else ""
        seconds = perf_counter() - self._start
        edus = counted(self.n_edus, "EDU")
        return f"{counted(self.n_documents, 'document')} parsed, {edus}{failed}, {seconds:.1f} s"


def _check_chart(arguments: argparse.Namespace) -> None:
    """Check, before the model is loaded, that it supports the options."""
    given = {
        "--why": arguments.signals,
        "--uncertain": arguments.uncertain,
        "--colours certainty": arguments.colours == "certainty",
    }
    needy = [option for option, value in given.items() if value]
    if not needy:
        return
    from genrst.parser.folders import find_model, read_kind

    if read_kind(find_model(arguments.model)) != "chart":
        raise UsageError(f"{needy[0]} requires a chart parser, got the model {arguments.model or DEFAULT_MODEL}")


def _make_format(arguments: argparse.Namespace) -> Format:
    """Return the format that the options choose; refuses options that do not fit together."""
    name = choose_format(arguments, {suffix: name for name, suffix in SUFFIXES.items()}, "tree")
    suffix = SUFFIXES[name]
    _check_format(name, arguments)
    colours: Colours = arguments.colours or "relation"
    if name == "tree" and arguments.summary is not None:
        from genrst.outputs.summary import summary_text

        size = summary_size(arguments.summary, "--summary")
        return Format(suffix, lambda document: inert(summary_text(document, **size)) + "\n", "with titles")
    if name == "tree":
        return Format(suffix, lambda document: _draw_tree(document, arguments), "with titles")
    if name == "svg":
        from genrst.rendering.svg import render_svg

        return Format(suffix, lambda document: render_svg(document, colours=colours))
    if name == "html":
        from genrst.rendering.page import render_html

        return Format(suffix, lambda document: render_html(document, colours=colours))
    if name in ("png", "pdf"):
        from genrst.rendering.image import check_matplotlib, render_image

        check_matplotlib()
        image: ImageFormat = "png" if name == "png" else "pdf"
        return Format(suffix, lambda document: render_image(document, image, colours=colours))
    several: dict[str, Literal["list", "lines", "on screen"]] = {"json": "list", "jsonl": "lines", "edus": "on screen"}
    return Format(
        suffix,
        lambda document: format_documents([document], suffix),
        several.get(name, "never"),
        is_plural=arguments.kbest > 1,
    )


def _check_format(name: str, arguments: argparse.Namespace) -> None:
    """Check that the options fit the format."""
    if arguments.summary is not None and name != "tree":
        raise UsageError(f"--summary prints text only, got format {name}; use genrst export --what summary for tables")
    if arguments.kbest < 1 or (arguments.kbest > 1 and name not in ("tree", "json", "jsonl")):
        raise UsageError(
            f"--kbest must be at least 1 and needs the format tree, json or jsonl, got {arguments.kbest} with {name}"
        )
    drawn = name if arguments.summary is None else "summary"
    if arguments.signals and drawn in ("summary", "dis", "rs3", "edus"):
        raise UsageError(f"--why needs a format that can hold signals, got {drawn}")
    if arguments.uncertain is not None and (arguments.uncertain < 1 or drawn != "tree"):
        raise UsageError(
            f"--uncertain must be at least 1 and needs the format tree, got {arguments.uncertain} with {drawn}"
        )
    if arguments.colours and drawn not in ("tree", "svg", "html", "png", "pdf"):
        raise UsageError(f"--colours needs the format tree, svg, html, png or pdf, got {drawn}")


def _draw_tree(document: Document, arguments: argparse.Namespace) -> str:
    drawn = draw_text(document, arguments.output, None, arguments.colours or "relation", arguments.signals)
    if arguments.uncertain is None:
        return drawn
    from genrst.rendering.colours import render_least_certain

    listed = render_least_certain(document, arguments.uncertain, text_width(arguments.output))
    return f"{drawn}\n{listed}" if listed else drawn


def _parse(
    parser: "Parser", items: Iterable[tuple[Source[TextOrDocument], TextOrDocument]], n_trees: int
) -> Iterator[tuple[Source[TextOrDocument], "list[Document] | Failure"]]:
    """Yield each text with its best trees or its failure; batches can span several sources."""
    pending = iter(items)
    while batch := list(islice(pending, BATCH_SIZE)):
        if n_trees > 1:
            yield from ((source, _kbest(parser, item, n_trees)) for source, item in batch)
            continue
        for (source, _), outcome in zip(batch, parser.pipe([item for _, item in batch]), strict=True):
            yield source, [outcome] if isinstance(outcome, Document) else outcome


def _kbest(parser: "Parser", item: TextOrDocument, n_trees: int) -> "list[Document] | Failure":
    try:
        trees = parser.kbest(item, n_trees)
        if parser.config.search == "mbr":
            _tell_rank(parser(item), trees)
        return trees
    except GenrstError as error:
        is_everyones = isinstance(error, MissingDependencyError | UsageError)
        if is_everyones and not isinstance(error, ConstraintError):
            raise  # not the fault of this text
        from genrst.parser.parser import Failure

        return Failure(item.id, error)


def _tell_rank(printed: Document, trees: list[Document]) -> None:
    """Report the rank of the tree that is printed without --kbest, unless it is the first."""
    rank = next((rank for rank, one in enumerate(trees, start=1) if str(one.tree) == str(printed.tree)), None)
    if rank != 1:
        which = f"none of the {len(trees)} most probable trees" if rank is None else f"tree {rank}"
        tell(f"{printed.id}: {which} is the minimum-risk tree, which genrst parse prints without --kbest")


def _results(trees: list[Document], arguments: argparse.Namespace, suffix: str) -> list[Result]:
    """Return the trees of one text, with titles."""
    trees = [for_people(document, suffix, arguments.binary) for document in trees]
    if arguments.nary:
        trees = [replace(document, tree=document.tree and flatten(document.tree)) for document in trees]
    if arguments.kbest == 1:
        return [Result(document, document.id) for document in trees]
    return [
        Result(document, f"{document.id}, tree {rank}{_log_probability(document)}")
        for rank, document in enumerate(trees, start=1)
    ]


def _log_probability(document: Document) -> str:
    if document.log_probability is None:
        return ""
    return f", log p {document.log_probability:.2f} given {len(document.edus)} EDUs"
