"""Reading and writing documents by the suffix of their file.

Each format has a module of its own; named corpora with splits are in `genrst.corpora.corpus`.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusNotFoundError, CorpusWarning, TreeError, UsageError
from genrst.formats.dis import read_dis, write_dis
from genrst.formats.json_format import read_json, read_jsonl, write_json, write_jsonl
from genrst.formats.plain import attach_text_beside, read_edus, write_edus
from genrst.formats.rs3_reader import Roots, read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.formats.rsd import write_rsd
from genrst.io import read_bytes, write_atomically


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`roots`: what to do with a file of several trees; `with_tree`: whether trees are read at all."""

    roots: Roots = "error"
    with_tree: bool = True


DEFAULTS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how its bytes become documents, and documents its text; None where it is one-way."""

    read: Callable[[bytes, Path, ReadOptions], list[Document]] | None
    write: Callable[[Sequence[Document]], str] | None
    holds_many: bool = False


def _read_rs3(content: bytes, path: Path, options: ReadOptions) -> list[Document]:
    return [read_rs3(content, path, roots=options.roots, with_tree=options.with_tree)]


def _one(write: Callable[[Document], str]) -> Callable[[Sequence[Document]], str]:
    return lambda documents: write(documents[0])


FORMATS: dict[str, Format] = {
    ".dis": Format(
        lambda content, path, options: [read_dis(content, path, with_tree=options.with_tree)], _one(write_dis)
    ),
    ".rs3": Format(_read_rs3, _one(write_rs3)),
    ".rs4": Format(_read_rs3, _one(write_rs4)),
    ".json": Format(
        lambda content, path, options: read_json(content, path, with_tree=options.with_tree), _one(write_json)
    ),
    ".jsonl": Format(
        lambda content, path, options: read_jsonl(content, path, with_tree=options.with_tree), write_jsonl, True
    ),
    ".rsd": Format(None, _one(write_rsd)),
    ".edus": Format(lambda content, path, options: [read_edus(content, path)], _one(write_edus)),
    ".txt": Format(lambda content, path, options: [read_edus(content, path)], None),
}
"""The formats by suffix."""

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
"""What strings may hold and text files may not: half of a surrogate pair is no UTF-8, and NUL means binary data."""

TREE_SUFFIXES = (".dis", ".rs3", ".rs4", ".json", ".jsonl")
"""What is looked for in a folder: the formats that can hold trees."""

RAW_SUFFIXES = (".txt", ".md")
"""What surely holds text whose EDUs are unknown."""

TEXT_SUFFIXES = (*TREE_SUFFIXES, ".edus", *RAW_SUFFIXES)
"""What can be parsed."""


def read(path: str | Path, *, roots: Roots = "error", with_tree: bool = True) -> Document:
    """Read the one document of a file."""
    documents = list(read_documents(path, roots=roots, with_tree=with_tree))
    if len(documents) != 1:
        raise CorpusFormatError(f"the file must hold one document, was: {len(documents)}", path)
    return documents[0]


def read_documents(path: str | Path, *, roots: Roots = "error", with_tree: bool = True) -> Iterator[Document]:
    """Read all documents of a file, or of every file with trees below a folder, in the order of their names."""
    for file in document_files(path):
        yield from read_file(file, ReadOptions(roots, with_tree))


def read_file(path: Path, options: ReadOptions = DEFAULTS, content: bytes | None = None) -> list[Document]:
    """Read the documents of one file, whose content may be known; a `.dis` file gets its text from the file beside it,
    if there is one.
    """
    documents = read_content(read_bytes(path) if content is None else content, path, options)
    is_dis = path.suffix.lower() == ".dis"
    return [attach_text_beside(document, path) for document in documents] if is_dis else documents


def read_content(content: bytes, path: Path, options: ReadOptions = DEFAULTS) -> list[Document]:
    """Read documents from bytes; the path tells the format, and is named in messages."""
    reader = _format(path.suffix, path.name).read
    if reader is None:
        raise UsageError(f"{path.suffix} files can be written, not read: {path}")
    try:
        return reader(content, path, options)
    except TreeError as error:
        raise CorpusFormatError(str(error), path) from error


def document_files(path: str | Path) -> list[Path]:
    """The file itself, or the files with trees below a folder, sorted by name."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in TREE_SUFFIXES and file.is_file())
    if not found:
        suffixes = ", ".join(TREE_SUFFIXES)
        raise CorpusNotFoundError(f"{path}: the folder must hold files with trees ({suffixes}), was: none")
    return found


def write(document: Document, path: str | Path) -> None:
    """Write a document in the format of the path's suffix."""
    write_documents([document], path)


def write_documents(documents: Iterable[Document], path: str | Path) -> None:
    """Write documents to one file; only `.jsonl` holds several."""
    path = Path(path)
    _format(path.suffix, path.name)  # so that a wrong suffix is reported with the name of the file
    write_atomically(path, format_documents(documents, path.suffix))


def format_documents(documents: Iterable[Document], suffix: str) -> str:
    """The text of a file with these documents, which reads back as they are, but for white space outside of JSON.

    What the format cannot hold is an error.
    """
    target = _format(suffix)
    if target.write is None:
        raise UsageError(f"{suffix} files can be read, not written")
    documents = list(documents)
    if not target.holds_many and len(documents) != 1:
        raise UsageError(f"a {suffix} file holds one document, was: {len(documents)}; write .jsonl or a folder")
    text = target.write(documents)
    if found := _NOT_TEXT.search(text):
        rule = f"a document must have characters of Unicode text to be written as {suffix}"
        raise UsageError(f"{documents[0].id}: {rule}, was: U+{ord(found[0]):04X}; .json can hold it")
    return text


def warn_of_loss(document: Document, suffix: str) -> None:
    """Warn of what belongs to a document's tree and the format of this suffix leaves out."""
    n_lost = len(document.signals) + len(document.secondary_edges)
    if n_lost and suffix not in (".rs4", ".json", ".jsonl"):
        message = f"{document.id}: {suffix} holds no signals or secondary edges, {n_lost} are left out"
        warnings.warn(CorpusWarning(message), stacklevel=3)


def _format(suffix: str, name: str | None = None) -> Format:
    if suffix.lower() not in FORMATS:
        raise UsageError(f"a file name must end in one of {', '.join(FORMATS)}, was: {name or suffix or 'nothing'}")
    return FORMATS[suffix.lower()]
