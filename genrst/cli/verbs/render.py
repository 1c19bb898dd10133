"""Draw trees: .svg, .html, .png, .pdf, or .txt for the terminal.

  genrst render article.rs3 article.html
  genrst render article.rs3 article.svg --style compact
  genrst render article.rs3 - --to txt
  genrst render article.rs4 - --to txt --why
  genrst render article.txt article.png
  genrst render article.json article.svg --colours certainty
  genrst render gold.rs3 difference.html --against predicted.json
  genrst render corpus/ pictures/ --to svg

IN is a file with one document, in any format that genrst reads, or a folder, which is drawn file by file into another
folder. A text (.txt, .md) is parsed first, as by genrst parse. HTML output is one self-contained file with zooming,
folding, and the text beside the tree. --against compares two analyses of one text; both trees are binarised, as in
genrst evaluate. .png and .pdf are suitable for trees of up to a few hundred EDUs. --colours certainty needs unit
probabilities, which are in the JSON that genrst parse writes with a chart parser.
"""

import argparse
from pathlib import Path
from typing import Literal

from genrst.cli.console import Failures
from genrst.cli.inputs import add_document_arguments, find_documents, read_each_document, tell_left_out
from genrst.cli.models import add_why_argument
from genrst.cli.outputs import (
    Format,
    Result,
    add_binary_argument,
    add_colours_argument,
    add_target_arguments,
    draw_text,
    for_people,
    is_folder,
    make_guard,
    open_target,
    target_suffix,
)
from genrst.document import Document
from genrst.errors import CorpusFormatError, UsageError
from genrst.formats.files import list_documents, read_documents
from genrst.rendering import Colours

SUFFIXES = (".svg", ".html", ".png", ".pdf", ".txt")
"""The suffixes of drawings."""

_DIFFERENCE_SUFFIXES = (".svg", ".html", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst render`."""
    add_document_arguments(parser)
    add_target_arguments(parser)
    parser.add_argument(
        "--style",
        choices=("classic", "compact"),
        help="classic: like other RST tools; compact: one row per EDU (default: classic if it fits on a page)",
    )
    add_colours_argument(parser)
    add_why_argument(parser, "show signals (words that mark relations) in .txt too, and find them if IN is a text")
    add_binary_argument(parser)
    parser.add_argument(
        "--against", metavar="PRED", help="draw the differences from the trees of a file or folder (not to .txt)"
    )
    parser.add_argument(
        "--labels",
        choices=("coarse", "fine"),
        help="compare relations by class (default) or by full name (with --against)",
    )
    parser.add_argument(
        "--width", type=int, metavar="N", help="width of .txt in columns (default: the terminal's, or 80)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw a file, or every file of a folder; return 1 if any could not be drawn."""
    suffix = _check(arguments)
    failures = Failures()
    sources = find_documents(arguments)
    predicted = _read_predicted(arguments) if arguments.against else {}

    def draw(document: Document) -> str | bytes:
        if arguments.against:
            return _draw_difference(document, _partner(document, predicted, arguments), suffix, arguments)
        return _draw(for_people(document, suffix, arguments.binary), suffix, arguments)

    guard = make_guard("render", arguments, sources)
    outputs = open_target(arguments.target, Format(suffix, draw), guard, failures)
    for source, document in read_each_document(sources, "draw", failures):
        outputs.add(source, [Result(document)])
    outputs.finish()
    return failures.status


def _check(arguments: argparse.Namespace) -> str:
    """Check the options before anything is read, and return the suffix of the output."""
    suffix = target_suffix(arguments, SUFFIXES)
    if suffix not in SUFFIXES:
        raise UsageError(f"OUT must end in one of {', '.join(SUFFIXES)}, got {arguments.target}")
    if suffix in (".png", ".pdf"):
        from genrst.rendering.image import check_matplotlib

        check_matplotlib()
    if arguments.against and suffix not in _DIFFERENCE_SUFFIXES:
        raise UsageError(f"--against can draw only {', '.join(_DIFFERENCE_SUFFIXES)}, got {suffix}")
    if arguments.against and arguments.style == "classic":
        raise UsageError("--against draws only --style compact, got classic")
    if arguments.against and arguments.colours:
        raise UsageError("--colours cannot be combined with --against, which colours the differences")
    if arguments.labels and not arguments.against:
        raise UsageError("--labels works only with --against")
    if arguments.style and suffix == ".txt":
        raise UsageError(f"--style does not apply to {suffix}")
    if arguments.width is not None and suffix != ".txt":
        raise UsageError(f"--width applies only to .txt, got {suffix}")
    return suffix


def _draw(document: Document, suffix: str, arguments: argparse.Namespace) -> str | bytes:
    colours: Colours = arguments.colours or "relation"
    if suffix == ".txt":
        return draw_text(document, arguments.target, arguments.width, colours, arguments.signals)
    if suffix == ".html":
        from genrst.rendering.page import render_html

        return render_html(document, arguments.style or "compact", colours)
    if suffix == ".svg":
        from genrst.rendering.svg import render_svg

        return render_svg(document, arguments.style, colours)
    from genrst.rendering.image import render_image

    return render_image(document, "png" if suffix == ".png" else "pdf", arguments.style, colours)


def _read_predicted(arguments: argparse.Namespace) -> dict[str, Document]:
    if Path(arguments.against).is_dir():
        tell_left_out(list_documents(Path(arguments.against)))
    documents = list(read_documents(arguments.against, roots=arguments.roots))
    by_id = {document.id: document for document in documents}
    if len(by_id) < len(documents):
        raise CorpusFormatError("two documents have the same id", arguments.against)
    return by_id


def _partner(document: Document, predicted: dict[str, Document], arguments: argparse.Namespace) -> Document:
    """Return the document of the same name; a single drawing accepts a single document of any name."""
    if document.id in predicted:
        return predicted[document.id]
    if len(predicted) == 1 and not is_folder(arguments.target):
        return next(iter(predicted.values()))
    raise CorpusFormatError(f"no document {document.id!r} to compare with", arguments.against)


def _draw_difference(document: Document, partner: Document, suffix: str, arguments: argparse.Namespace) -> str | bytes:
    from genrst.rendering.difference import render_difference_html, render_difference_image, render_difference_svg

    names = "standard input" if arguments.source == "-" else arguments.source, arguments.against
    labels: Literal["coarse", "fine"] = arguments.labels or "coarse"
    if suffix in (".png", ".pdf"):
        return render_difference_image(document, partner, "png" if suffix == ".png" else "pdf", labels, names)
    draw = render_difference_html if suffix == ".html" else render_difference_svg
    return draw(document, partner, labels, names)
