"""Convert RST files from .dis, .rs3, .rs4, .json, .jsonl, .edus to .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus.

  genrst convert article.rs3 article.dis
  genrst convert corpus/ corpus.jsonl
  genrst convert corpus/ converted/ --to rs3
  genrst convert - - --from json --to dis < article.json

The suffix determines the format. Parsed trees are written with n-ary lists, except to JSON or with --binary. A folder
is converted file by file; a file that cannot be converted is reported and does not stop the others. Texts (.txt, .md)
have no EDUs: parse them first, or use --edus if each line is an EDU. A document that the format cannot represent is
rejected. Input files are never overwritten; other files only if this command wrote them, or with --force.
"""

import argparse
from dataclasses import replace

from genrst.cli.console import Failures
from genrst.cli.inputs import add_document_arguments, find_documents, read_each_document
from genrst.cli.outputs import Format, Result, add_target_arguments, for_people, make_guard, open_target, target_suffix
from genrst.document import Document
from genrst.formats.files import FORMATS, WRITABLE, format_documents, warn_of_loss
from genrst.trees.binarise import binarise, flatten
from genrst.trees.node import relabel, units
from genrst.trees.relations import detect_inventory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `genrst convert`."""
    add_document_arguments(parser, has_model=False)
    add_target_arguments(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--binary", action="store_true", help="binarise the trees")
    shape.add_argument("--nary", action="store_true", help="merge right-branching chains of one multinuclear relation")
    parser.add_argument(
        "--labels",
        choices=("fine", "coarse"),
        default="fine",
        help="granularity of relations; coarse: the classes of GUM (15) or RST-DT (18) (default: fine)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert a file, or every file of a folder; return 1 if any could not be converted."""
    suffix = target_suffix(arguments, FORMATS)
    holds_one = suffix in WRITABLE and suffix != ".jsonl"
    format = Format(suffix, lambda document: _make(document, suffix, arguments), "never" if holds_one else "lines")
    failures = Failures()
    sources = find_documents(arguments, has_model=False)
    outputs = open_target(arguments.target, format, make_guard("convert", arguments, sources), failures)
    for source, document in read_each_document(sources, "convert", failures):
        outputs.add(source, [Result(document)])
    outputs.finish()
    return failures.status


def _make(document: Document, suffix: str, arguments: argparse.Namespace) -> str:
    """Return the content of a file; warns about what its format drops."""
    content = format_documents([_change(document, suffix, arguments)], suffix)
    warn_of_loss(document, suffix)
    return content


def _change(document: Document, suffix: str, arguments: argparse.Namespace) -> Document:
    """Return the document with its tree changed as the options say."""
    document = for_people(document, suffix, arguments.binary)
    tree = document.tree
    if tree is None:
        return document
    if arguments.labels == "coarse":
        tree = relabel(tree, detect_inventory(unit.relation for unit in units(tree)).coarse)
    if arguments.binary:
        tree = binarise(tree)
    if arguments.nary:
        tree = flatten(tree)
    return replace(document, tree=tree)
