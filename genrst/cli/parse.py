"""Parse texts: find their EDUs and their rhetorical structure.

  genrst parse article.txt
  genrst parse article.txt --output article.html
  genrst parse texts/ --format json --output trees/
  genrst parse article.txt --kbest 3 --json
  genrst parse article.txt --summary 20%
  echo "It rained, so we stayed in." | genrst parse -

Files that end in .dis, .rs3, .rs4, .json, .jsonl or .edus keep their EDUs and get a new tree; all others, and standard
input (-), are raw text or, with --edus, an EDU a line. Of a folder all such files and all .txt and .md files are
parsed. What cannot be parsed is reported and does not stop the others.
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from itertools import tee
from typing import TYPE_CHECKING, Literal, get_args

from genrst.cli.outputs import Format, Result, format_of
from genrst.cli.text_run import TextRun, add_run_arguments, attempt
from genrst.errors import UsageError
from genrst.parser.packages import Search

if TYPE_CHECKING:
    from genrst.cli.inputs import Named
    from genrst.cli.text_run import Outcomes
    from genrst.document import Document
    from genrst.parser.parser import Parser

    Draw = Callable[[Document], str]

HELP = "find the EDUs and the tree of a text"

FORMATS = {
    "tree": ".txt",
    "json": ".json",
    "jsonl": ".jsonl",
    "rs3": ".rs3",
    "rs4": ".rs4",
    "dis": ".dis",
    "rsd": ".rsd",
    "svg": ".svg",
    "html": ".html",
    "edus": ".edus",
}
"""The suffixes of files by the names of their formats."""

_FILE_WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst parse`."""
    add_run_arguments(parser, tuple(FORMATS), "tree, drawn for the terminal")
    parser.add_argument("--edus", action="store_true", help="raw texts have an EDU a line, blank lines end paragraphs")
    parser.add_argument("--nary", action="store_true", help="merge right-branching chains of one multinuclear relation")
    parser.add_argument("--kbest", type=int, default=1, metavar="N", help="the N best trees (tree, json or jsonl)")
    parser.add_argument(
        "--summary", metavar="SIZE", help="a summary instead: a number of EDUs (5) or a share of the words (20%%)"
    )
    search = parser.add_argument_group("search (default: as the model says)")
    search.add_argument("--search", choices=get_args(Search))
    search.add_argument("--beam", type=int, metavar="K", help="how many hypotheses are kept")
    search.add_argument("--word-weight", type=float, metavar="W", help="of words in comparisons; 1: joint probability")


def run(arguments: argparse.Namespace) -> int:
    """Parse all texts; 1 if one of them could not be."""
    job = TextRun.of(arguments, _choose_format(arguments))
    from genrst.parser.parser import load

    parser = load(
        arguments.model,
        device=arguments.device,
        pipeline=arguments.pipeline,
        search=arguments.search,
        beam=arguments.beam,
        word_weight=arguments.word_weight,
    )
    return job.deliver(_parse(parser, job, arguments))


def _choose_format(arguments: argparse.Namespace) -> Format:
    """Before anything is read: the format, with which the other options must go together."""
    names = {suffix: name for name, suffix in FORMATS.items()}
    name = arguments.format or format_of(arguments.output, names, "tree")
    format = _make_format(name, arguments)
    if arguments.summary is not None and name != "tree":
        raise UsageError(f"--summary must go with text, was: {name}; genrst export makes tables of summaries")
    if arguments.kbest < 1 or (arguments.kbest > 1 and format.several in ("never", "on screen")):
        raise UsageError(f"--kbest must be 1 or more and go with tree, json or jsonl, was: {arguments.kbest}, {name}")
    return format


def _make_format(name: str, arguments: argparse.Namespace) -> Format:
    from genrst.formats.files import format_documents

    suffix = FORMATS[name]
    if name == "tree":
        make_text = _draw(arguments) if arguments.summary is None else _summarise(arguments.summary)
        return Format(suffix, make_text, "with titles")
    if name == "svg":
        from genrst.rendering.svg import render_svg

        return Format(suffix, render_svg)
    if name == "html":
        from genrst.rendering.page import render_html

        return Format(suffix, render_html)

    def make(document: "Document") -> str:
        return format_documents([document], suffix)

    if name == "edus":
        return Format(suffix, make, "on screen")
    several: Literal["list", "lines", "never"] = "list" if name == "json" else "lines" if name == "jsonl" else "never"
    return Format(suffix, make, several, is_plural=arguments.kbest > 1)


def _draw(arguments: argparse.Namespace) -> "Draw":
    """What draws a tree as text, for the terminal if that is where it goes."""
    from genrst.rendering.terminal import render_text

    is_terminal = arguments.output == "-" and sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((_FILE_WIDTH, 0)).columns if is_terminal else _FILE_WIDTH
    return lambda document: render_text(document, width, is_terminal and not os.environ.get("NO_COLOR"))


def _summarise(size: str) -> "Draw":
    """What makes the text of a summary."""
    from genrst.outputs.summary import summary_text
    from genrst.rendering.measure import inert

    match = re.fullmatch(r"([0-9]{1,9})|([0-9]{1,3}(?:\.[0-9]{1,9})?)%", size)
    if match is None or not 0 < float(match[1] or match[2]) <= (float("inf") if match[1] else 100):
        raise UsageError(f"--summary must be a number of EDUs (5) or a share of the words (20%), was: {size}")
    n_edus, share = (int(match[1]), None) if match[1] else (None, float(match[2]) / 100)
    return lambda document: inert(summary_text(document, n_edus=n_edus, share=share)) + "\n"


def _parse(parser: "Parser", job: TextRun, arguments: argparse.Namespace) -> "Outcomes":
    """The sources with what was made of their texts."""
    items = job.read("parsing", arguments.edus)
    if arguments.kbest > 1:
        for source, item in items:
            yield source, attempt(partial(_best_results, parser, item, arguments))
        return
    from genrst.parser.stages import Failure

    left, right = tee(items)
    parsed = parser.pipe(item for _, item in right)
    for (source, _), outcome in zip(left, parsed, strict=True):
        yield source, outcome.error if isinstance(outcome, Failure) else _results([outcome], arguments)


def _best_results(parser: "Parser", item: "Named", arguments: argparse.Namespace) -> list[Result]:
    return _results(parser.kbest(item, arguments.kbest), arguments)


def _results(documents: "list[Document]", arguments: argparse.Namespace) -> list[Result]:
    """The trees of a document, with titles."""
    from dataclasses import replace

    from genrst.rendering.measure import inert
    from genrst.trees.binarise import flatten

    if arguments.nary:
        documents = [replace(document, tree=document.tree and flatten(document.tree)) for document in documents]
    if arguments.kbest == 1:
        return [Result(inert(document.id), document) for document in documents]
    return [
        Result(f"{inert(document.id)}, tree {rank}{_log_probability(document)}", document)
        for rank, document in enumerate(documents, start=1)
    ]


def _log_probability(document: "Document") -> str:
    if document.log_probability is None:
        return ""
    return f", log p {document.log_probability:.2f} given {len(document.edus)} EDUs"
