"""Convert RST files: .dis, .rs3, .rs4, .json, .jsonl, .edus in; .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus out.

  genrst convert article.rs3 article.dis
  genrst convert corpus/ corpus.jsonl
  genrst convert corpus/ converted/ --to rs3
  genrst convert - - --from json --to dis < article.json

The suffix says the format. A folder is converted file by file: files that cannot be read are reported and do not stop
the others.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from genrst.apps.corpus_arguments import add_roots_argument
from genrst.apps.messages import complain
from genrst.apps.progress import progress
from genrst.errors import CorpusWarning, GenrstError, UsageError

if TYPE_CHECKING:
    from genrst.corpora.document import Document

    Change: TypeAlias = Callable[[Document], Document]

HELP = "convert between RST file formats"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `genrst convert`."""
    parser.add_argument("source", metavar="IN", help="a file, a folder, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file, a folder (with --to), or - for standard output")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="format of standard input: dis, rs3, …")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="format of files in a folder, or of -")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--binary", action="store_true", help="binarise the trees")
    shape.add_argument("--nary", action="store_true", help="merge right-branching chains of one multinuclear relation")
    parser.add_argument(
        "--labels", choices=("fine", "coarse"), default="fine", help="coarse: GUM's 15 or RST-DT's 18 classes"
    )
    add_roots_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Convert one file, or every file of a folder; 1 if one of them could not be read."""
    change = _change(arguments)
    target = arguments.target
    if target != "-" and (Path(target).is_dir() or not Path(target).suffix):
        return _convert_into_folder(arguments, change)
    failures: list[GenrstError] = []
    documents = [change(document) for _, document in _read(arguments, failures)]
    if documents:
        _write_one_file(documents, arguments)
    return 1 if failures else 0


def _read(arguments: argparse.Namespace, failures: "list[GenrstError]") -> "Iterator[tuple[Path, Document]]":
    """The documents with their files; a file that cannot be read is reported and counted, unless it is the only one."""
    from genrst.corpora.files import ReadOptions, document_files, read_content, read_file

    options = ReadOptions(arguments.roots)
    if arguments.source == "-":
        path = Path(f"stdin.{_required(arguments.source_format, '--from', 'standard input')}")
        yield from ((path, document) for document in read_content(sys.stdin.buffer.read(), path, options))
        return
    files = document_files(arguments.source)
    for file in progress(files, "converting", len(files)):
        try:
            documents = read_file(file, options)
        except GenrstError as error:
            if len(files) == 1:
                raise
            complain(error)
            failures.append(error)
            continue
        yield from ((file, document) for document in documents)


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


def _write_one_file(documents: "list[Document]", arguments: argparse.Namespace) -> None:
    from genrst.corpora.files import format_documents, write_documents

    if arguments.target == "-":
        suffix = f".{_required(arguments.target_format, '--to', 'standard output')}"
        _warn_of_loss(documents, suffix)
        sys.stdout.write(format_documents(documents, suffix))
    else:
        _warn_of_loss(documents, Path(arguments.target).suffix)
        write_documents(documents, arguments.target)


def _convert_into_folder(arguments: argparse.Namespace, change: "Change") -> int:
    from genrst.corpora.files import write

    suffix = f".{_required(arguments.target_format, '--to', 'a folder')}"
    source, folder = Path(arguments.source), Path(arguments.target)
    failures: list[GenrstError] = []
    written: dict[Path, Path] = {}
    for file, document in _read(arguments, failures):
        below = file.parent.relative_to(source) if source.is_dir() else Path()
        # A file name has no slash; a document id from a .jsonl may.
        path = folder / below / (document.id.replace("/", "_") + suffix)
        if path in written:
            raise UsageError(f"{file} and {written[path]} would both become {path}")
        _warn_of_loss([document], suffix)
        write(change(document), path)
        written[path] = file
    return 1 if failures else 0


def _warn_of_loss(documents: "list[Document]", suffix: str) -> None:
    n_lost = sum(len(document.signals) + len(document.secondary_edges) for document in documents)
    if n_lost and suffix not in (".rs4", ".json", ".jsonl"):
        names = ", ".join(document.id for document in documents[:3])
        warnings.warn(
            CorpusWarning(f"{names}: {suffix} holds no signals or secondary edges, {n_lost} are left out"), stacklevel=2
        )


def _required(value: str | None, option: str, what: str) -> str:
    if value is None:
        raise UsageError(f"{what} has no suffix, so {option} FORMAT is needed")
    return value.removeprefix(".")
