"""Convert RST files: .dis, .rs3, .rs4, .json, .jsonl, .edus in; .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus out.

  genrst convert article.rs3 article.dis
  genrst convert corpus/ corpus.jsonl
  genrst convert corpus/ converted/ --to rs3
  genrst convert - - --from json --to dis < article.json

The suffix says the format. Trees of a parser have n-ary lists in all formats but JSON, unless --binary is given. A
folder is converted file by file: files that cannot be converted are reported and do not stop the others. Texts (.txt,
.md) have no EDUs yet, which genrst parse finds; with --edus each of their lines is one. What a format cannot hold is
refused. Files of IN are never overwritten, and others only if this command wrote them, unless --force says so.
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
    """The arguments of `genrst convert`."""
    add_document_arguments(parser, has_model=False)
    add_target_arguments(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--binary", action="store_true", help="binarise the trees")
    shape.add_argument("--nary", action="store_true", help="merge right-branching chains of one multinuclear relation")
    parser.add_argument(
        "--labels", choices=("fine", "coarse"), default="fine", help="coarse: GUM's 15 or RST-DT's 18 classes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert one file, or every file of a folder; 1 if one of them could not be converted."""
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
    """The content of a file; warns of what its format cannot hold."""
    content = format_documents([_change(document, suffix, arguments)], suffix)
    warn_of_loss(document, suffix)
    return content


def _change(document: Document, suffix: str, arguments: argparse.Namespace) -> Document:
    """The document with its tree as the options ask for it."""
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
