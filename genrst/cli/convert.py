"""Convert RST files: .dis, .rs3, .rs4, .json, .jsonl, .edus in; .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus out.

  genrst convert article.rs3 article.dis
  genrst convert corpus/ corpus.jsonl
  genrst convert corpus/ converted/ --to rs3
  genrst convert - - --from json --to dis < article.json

The suffix says the format. A folder is converted file by file: files that cannot be converted are reported and do not
stop the others. Files of IN are never overwritten.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from genrst.cli.transfer import Transfer, add_file_arguments, target_suffix
from genrst.errors import CorpusWarning

if TYPE_CHECKING:
    from genrst.document import Document

    Change: TypeAlias = Callable[[Document], Document]

HELP = "convert between RST file formats"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst convert`."""
    add_file_arguments(parser)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--binary", action="store_true", help="binarise the trees")
    shape.add_argument("--nary", action="store_true", help="merge right-branching chains of one multinuclear relation")
    parser.add_argument(
        "--labels", choices=("fine", "coarse"), default="fine", help="coarse: GUM's 15 or RST-DT's 18 classes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert one file, or every file of a folder; 1 if one of them could not be converted."""
    from genrst.formats.files import FORMATS, format_documents

    change = _change(arguments)

    def make(documents: "list[Document]", suffix: str) -> str:
        content = format_documents(map(change, documents), suffix)
        for document in documents:
            _warn_of_loss(document, suffix)
        return content

    return Transfer(arguments, target_suffix(arguments, FORMATS), "convert", make).run()


def _change(arguments: argparse.Namespace) -> "Change":
    """What is done to each tree on the way."""
    from dataclasses import replace

    from genrst.trees.binarise import binarise, flatten
    from genrst.trees.node import relabel, units
    from genrst.trees.relations import detect_inventory

    def change(document: "Document") -> "Document":
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

    return change


def _warn_of_loss(document: "Document", suffix: str) -> None:
    n_lost = len(document.signals) + len(document.secondary_edges)
    if n_lost and suffix.lower() not in (".rs4", ".json", ".jsonl"):
        message = f"{document.id}: {suffix} holds no signals or secondary edges, {n_lost} are left out"
        warnings.warn(CorpusWarning(message), stacklevel=2)
