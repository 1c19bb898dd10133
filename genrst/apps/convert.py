"""Convert RST files: .dis, .rs3, .rs4, .json, .jsonl, .edus in; .dis, .rs3, .rs4, .json, .jsonl, .rsd, .edus out.

  genrst convert article.rs3 article.dis
  genrst convert corpus/ corpus.jsonl
  genrst convert corpus/ converted/ --to rs3
  genrst convert - - --from json --to dis < article.json

The suffix says the format. A folder is converted file by file: files that cannot be converted are reported and do not
stop the others. Files of IN are never overwritten.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from genrst.apps.corpus_arguments import add_roots_argument
from genrst.apps.messages import complain, show_file
from genrst.apps.progress import progress
from genrst.errors import CorpusFormatError, CorpusWarning, GenrstError, UsageError

if TYPE_CHECKING:
    from genrst.corpora.document import Document

    Change: TypeAlias = Callable[[Document], Document]
    Documents: TypeAlias = Iterator[tuple[Path, Document]]

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
    """Convert one file, or every file of a folder; 1 if one of them could not be converted."""
    from genrst.corpora.files import document_files

    _check_formats(arguments)
    files = [] if arguments.source == "-" else document_files(arguments.source)
    inputs = {file.resolve() for file in files}
    failures: list[GenrstError] = []
    documents = _read(files, arguments, failures)
    if _is_folder(arguments.target):
        n_documents = _write_folder(documents, inputs, arguments, failures)
    else:
        n_documents = _write_file(documents, inputs, arguments)
    if not n_documents and not failures:
        raise CorpusFormatError("there must be a document to convert, was: none", arguments.source)
    return 1 if failures else 0


def _check_formats(arguments: argparse.Namespace) -> None:
    """Before anything is read: formats must be known, and given just where no suffix says them."""
    source, target = arguments.source, arguments.target
    if source == "-":
        _suffix(arguments.source_format, "--from", "standard input")
    elif arguments.source_format is not None:
        raise UsageError(f"--from must go with standard input (-), was: {source}")
    if target == "-" or _is_folder(target):
        _suffix(arguments.target_format, "--to", "standard output" if target == "-" else "a folder")
    elif arguments.target_format is not None:
        raise UsageError(f"--to must go with a folder or standard output (-), was: {target}")


def _suffix(name: str | None, option: str, what: str = "") -> str:
    from genrst.corpora.files import FORMATS

    if name is None:
        raise UsageError(f"{what} has no suffix, so {option} FORMAT is needed")
    suffix = f".{name.removeprefix('.').lower()}"
    if suffix not in FORMATS:
        raise UsageError(f"{option} must be one of {', '.join(FORMATS).replace('.', '')}, was: {name}")
    return suffix


def _is_folder(target: str) -> bool:
    return target != "-" and (target.endswith(os.sep) or Path(target).is_dir() or not Path(target).suffix)


def _read(files: list[Path], arguments: argparse.Namespace, failures: list[GenrstError]) -> "Documents":
    """The documents with their files; a file that cannot be read is reported and counted, unless it is the only one."""
    from genrst.corpora.files import ReadOptions, read_content, read_file

    options = ReadOptions(arguments.roots)
    change = _change(arguments)
    if arguments.source == "-":
        path = Path(f"stdin{_suffix(arguments.source_format, '--from')}")
        yield from ((path, change(document)) for document in read_content(_standard_input(), path, options))
    for file in progress(files, "converting", len(files)):
        try:
            documents = read_file(file, options)
        except GenrstError as error:
            if len(files) == 1:
                raise
            complain(error)
            failures.append(error)
            continue
        yield from ((file, change(document)) for document in documents)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise GenrstError("standard input must be open, was: closed")
    return sys.stdin.buffer.read()


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


def _write_file(documents: "Documents", inputs: set[Path], arguments: argparse.Namespace) -> int:
    """Write all documents to one file, or to standard output; how many there are."""
    from genrst.corpora.files import format_documents, write_atomically

    target = None if arguments.target == "-" else Path(arguments.target)
    suffix = target.suffix if target else _suffix(arguments.target_format, "--to")
    converted = [document for _, document in documents]
    if not converted:
        return 0
    content = format_documents(converted, suffix).encode("utf-8", "surrogatepass")
    for document in converted:
        _warn_of_loss(document, suffix)
    if target is None:
        show_file(content)
    else:
        _protect(inputs, target)
        write_atomically(target, content)
    return len(converted)


def _write_folder(
    documents: "Documents", inputs: set[Path], arguments: argparse.Namespace, failures: list[GenrstError]
) -> int:
    """Write every document to a file of its own; how many there are."""
    from genrst.corpora.files import format_documents, write_atomically

    suffix = _suffix(arguments.target_format, "--to")
    source, folder = Path(arguments.source), Path(arguments.target)
    made: dict[Path, Path] = {}
    for file, document in documents:
        below = file.parent.relative_to(source) if file.resolve() in inputs and source.is_dir() else Path()
        path = folder / below / f"{_file_name(document.id)}{suffix}"
        _protect(inputs, path)
        if path in made:
            raise UsageError(f"{file} and {made[path]} would both become {path}")
        made[path] = file
        try:
            content = format_documents([document], suffix)
        except GenrstError as error:
            complain(error)
            failures.append(error)
            continue
        _warn_of_loss(document, suffix)
        write_atomically(path, content)
    return len(made)


def _file_name(document_id: str) -> str:
    """The id, or what a file system takes of it: an id from a `.json` file may have any characters."""
    name = document_id.replace("/", "_").replace("\0", "_")
    return name.encode("utf-8", "replace").decode("utf-8") or "document"


def _protect(inputs: set[Path], path: Path) -> None:
    if path.resolve() in inputs:
        raise UsageError(f"{path}: OUT must not overwrite a file of IN")


def _warn_of_loss(document: "Document", suffix: str) -> None:
    n_lost = len(document.signals) + len(document.secondary_edges)
    if n_lost and suffix.lower() not in (".rs4", ".json", ".jsonl"):
        message = f"{document.id}: {suffix} holds no signals or secondary edges, {n_lost} are left out"
        warnings.warn(CorpusWarning(message), stacklevel=2)
