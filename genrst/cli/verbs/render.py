"""Draw trees: .svg, .html, .png, .pdf, or .txt for the terminal.

  genrst render article.rs3 article.html
  genrst render article.rs3 article.svg --style compact
  genrst render article.rs3 - --to txt
  genrst render article.rs4 - --to txt --why
  genrst render article.txt article.png
  genrst render article.json article.svg --colours certainty
  genrst render gold.rs3 difference.html --against predicted.json
  genrst render corpus/ pictures/ --to svg

IN is any file that genrst reads, with one document, or a folder, which is drawn file by file into a folder. A text
(.txt, .md) is parsed first, as genrst parse does it. HTML is one file that needs no network: zoomable, foldable, with
the text beside the tree. --against compares two analyses of one text; both trees are binarised, as genrst evaluate does
it. .png and .pdf are for trees of some hundred EDUs. --colours certainty needs units with probabilities: JSON that
genrst parse has written with a chart's model.
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
"""What can be drawn."""

_DIFFERENCE_SUFFIXES = (".svg", ".html", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst render`."""
    add_document_arguments(parser)
    add_target_arguments(parser)
    parser.add_argument(
        "--style",
        choices=("classic", "compact"),
        help="classic: as RST tools draw; compact: a row per EDU, for long texts (default: classic if it fits a page)",
    )
    add_colours_argument(parser)
    add_why_argument(parser, "show the words that mark relations in .txt, too; in a text that is parsed, find them")
    add_binary_argument(parser)
    parser.add_argument("--against", metavar="PRED", help="a file or folder: draw how its trees differ (no .txt)")
    parser.add_argument(
        "--labels", choices=("coarse", "fine"), help="with --against: relations as classes (default) or as they are"
    )
    parser.add_argument("--width", type=int, metavar="N", help="columns of .txt (default: the terminal's, or 80)")


def run(arguments: argparse.Namespace) -> int:
    """Draw one file, or every file of a folder; 1 if one of them could not be drawn."""
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
    """Before anything is read: the options must fit together. Returns the suffix of what is drawn."""
    suffix = target_suffix(arguments, SUFFIXES)
    if suffix not in SUFFIXES:
        raise UsageError(f"a picture must end in one of {', '.join(SUFFIXES)}, got {arguments.target}")
    if suffix in (".png", ".pdf"):
        from genrst.rendering.image import check_matplotlib

        check_matplotlib()
    if arguments.against and suffix not in _DIFFERENCE_SUFFIXES:
        raise UsageError(f"--against must go with {', '.join(_DIFFERENCE_SUFFIXES)}, got {suffix}")
    if arguments.against and arguments.style == "classic":
        raise UsageError("--against must go with --style compact, got classic")
    if arguments.against and arguments.colours:
        raise UsageError("--colours must not go with --against, whose colours show what differs")
    if arguments.labels and not arguments.against:
        raise UsageError("--labels must go with --against")
    if arguments.style and suffix == ".txt":
        raise UsageError(f"--style must go with a picture, got {suffix}")
    if arguments.width is not None and suffix != ".txt":
        raise UsageError(f"--width must go with .txt, got {suffix}")
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
        raise CorpusFormatError("documents must have different ids, got one id twice", arguments.against)
    return by_id


def _partner(document: Document, predicted: dict[str, Document], arguments: argparse.Namespace) -> Document:
    """The document of the same name; for one picture there may be just one, whatever its name."""
    if document.id in predicted:
        return predicted[document.id]
    if len(predicted) == 1 and not is_folder(arguments.target):
        return next(iter(predicted.values()))
    raise CorpusFormatError(f"there must be a document {document.id!r} to compare with, got none", arguments.against)


def _draw_difference(document: Document, partner: Document, suffix: str, arguments: argparse.Namespace) -> str | bytes:
    from genrst.rendering.difference import render_difference_html, render_difference_image, render_difference_svg

    names = "standard input" if arguments.source == "-" else arguments.source, arguments.against
    labels: Literal["coarse", "fine"] = arguments.labels or "coarse"
    if suffix in (".png", ".pdf"):
        return render_difference_image(document, partner, "png" if suffix == ".png" else "pdf", labels, names)
    draw = render_difference_html if suffix == ".html" else render_difference_svg
    return draw(document, partner, labels, names)
