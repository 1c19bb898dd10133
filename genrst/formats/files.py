"""Read and write documents in the format given by the file suffix.

The module of each format is imported on first use. Corpora with splits are loaded by `genrst.corpora.corpus`.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusNotFoundError, CorpusWarning, TreeError, UsageError
from genrst.formats.folder import Listing, list_folder
from genrst.io import read_bytes, write_atomically

if TYPE_CHECKING:
    from genrst.formats.rs3_reader import Roots

FORMATS = (".dis", ".rs3", ".rs4", ".json", ".jsonl", ".rsd", ".edus", ".txt")
"""The suffixes of all formats."""
READABLE = tuple(suffix for suffix in FORMATS if suffix != ".rsd")
WRITABLE = tuple(suffix for suffix in FORMATS if suffix != ".txt")

TREE_SUFFIXES = (".dis", ".rs3", ".rs4", ".json", ".jsonl")
"""The formats that can hold trees. Only these are read from a folder."""

RAW_SUFFIXES = (".txt", ".md", ".markdown", ".html", ".htm", ".docx", ".pdf", ".eml")
"""The formats of raw text, without EDUs, which `genrst.formats.texts` reads."""

TEXT_SUFFIXES = (*TREE_SUFFIXES, ".edus", *RAW_SUFFIXES)
"""The formats that can be parsed."""


def read(path: str | Path, *, roots: "Roots" = "error", with_tree: bool = True) -> Document:
    """Read a file that holds a single document."""
    documents = list(read_documents(path, roots=roots, with_tree=with_tree))
    if len(documents) != 1:
        raise CorpusFormatError(f"the file must hold one document, got {len(documents)}", path)
    return documents[0]


def read_documents(path: str | Path, *, roots: "Roots" = "error", with_tree: bool = True) -> Iterator[Document]:
    """Read all documents of a file, or of all files with trees below a folder, sorted by name."""
    path = Path(path)
    for file in list_documents(path).files if path.is_dir() else [path]:
        yield from read_file(file, roots=roots, with_tree=with_tree)


def read_file(
    path: Path, *, roots: "Roots" = "error", with_tree: bool = True, content: bytes | None = None
) -> list[Document]:
    """Read the documents of a file, whose content may be passed in.

    A `.dis` document takes its text from the text file beside it, if there is one.
    """
    documents = read_content(read_bytes(path) if content is None else content, path, roots=roots, with_tree=with_tree)
    if path.suffix.lower() != ".dis":
        return documents
    from genrst.formats.plain import attach_text_beside

    return [attach_text_beside(document, path) for document in documents]


def read_content(content: bytes, path: Path, *, roots: "Roots" = "error", with_tree: bool = True) -> list[Document]:
    """Read documents from bytes. The path determines the format and appears in messages.

    `roots` determines what happens to files with several trees, `with_tree` whether trees are read at all.
    """
    try:
        match _format(path.suffix, path.name):
            case ".dis":
                from genrst.formats.dis import read_dis

                return [read_dis(content, path, with_tree=with_tree)]
            case ".rs3" | ".rs4":
                from genrst.formats.rs3_reader import read_rs3

                return [read_rs3(content, path, roots=roots, with_tree=with_tree)]
            case ".json" | ".jsonl" as suffix:
                from genrst.formats.json_format import read_json, read_jsonl

                return (read_json if suffix == ".json" else read_jsonl)(content, path, with_tree=with_tree)
            case ".edus" | ".txt":
                from genrst.formats.plain import read_edus

                return [read_edus(content, path)]
            case _:
                raise UsageError(f"{path}: {path.suffix} files can be written, but not read")
    except TreeError as error:
        raise CorpusFormatError(str(error), path) from error


def list_documents(folder: Path) -> Listing:
    """List the files with trees below a folder, and the files that are left out."""
    listing = list_folder(folder, TREE_SUFFIXES, texts=(".edus", *RAW_SUFFIXES))
    if not listing.files:
        suffixes = ", ".join(TREE_SUFFIXES)
        raise CorpusNotFoundError(f"{folder}: the folder has no files with trees ({suffixes})")
    return listing


def write(document: Document, path: str | Path) -> None:
    """Write a document in the format given by the suffix of the path."""
    write_documents([document], path)


def write_documents(documents: Iterable[Document], path: str | Path) -> None:
    """Write documents to a file. Only `.jsonl` can hold more than one."""
    path = Path(path)
    _format(path.suffix, path.name)  # reports a wrong suffix together with the file name
    write_atomically(path, format_documents(documents, path.suffix))


def format_documents(documents: Iterable[Document], suffix: str) -> str:
    """Return the text of a file with these documents.

    Reading the file gives equal documents, except that formats other than JSON change white space. Documents with
    content that the format cannot represent are an error.
    """
    if (kind := _format(suffix)) not in WRITABLE:
        raise UsageError(f"{suffix} files can be read, but not written")
    documents = list(documents)
    if kind != ".jsonl" and len(documents) != 1:
        raise UsageError(f"a {suffix} file holds one document, got {len(documents)}; write .jsonl or a folder")
    text = _text_of(documents, kind)
    # Lone surrogates cannot be encoded as UTF-8, and a NUL would make the file look like binary data.
    if found := re.search("[\0\ud800-\udfff]", text):
        rule = f"{suffix} files cannot hold the character U+{ord(found[0]):04X}"
        raise UsageError(f"{documents[0].id}: {rule}; write .json instead")
    return text


def _text_of(documents: Sequence[Document], suffix: str) -> str:
    match suffix:
        case ".dis":
            from genrst.formats.dis import write_dis as write_one
        case ".rs3":
            from genrst.formats.rs3_writer import write_rs3 as write_one
        case ".rs4":
            from genrst.formats.rs3_writer import write_rs4 as write_one
        case ".json":
            from genrst.formats.json_format import write_json as write_one
        case ".jsonl":
            from genrst.formats.json_format import write_jsonl

            return write_jsonl(documents)
        case ".rsd":
            from genrst.formats.rsd import write_rsd as write_one
        case _:
            from genrst.formats.plain import write_edus as write_one
    return write_one(documents[0])


def warn_of_loss(document: Document, suffix: str) -> None:
    """Warn about the parts of a document that the format of this suffix leaves out."""
    if suffix.lower() in (".json", ".jsonl"):
        return
    n_beside = len(document.signals) + len(document.secondary_edges) if suffix.lower() not in (".rs4", ".rsd") else 0
    from genrst.formats.rs3_kept import notes_of

    n_notes = len(notes_of(document)) if suffix.lower() not in (".rs3", ".rs4") else 0
    kinds = {"signals or secondary edges": n_beside, "constraints": len(document.constraints), "notes": n_notes}
    for things, n_lost in kinds.items():
        if n_lost:
            lost = f"{n_lost} {'is' if n_lost == 1 else 'are'} left out"
            message = f"{document.id}: {suffix} files cannot hold {things}; {lost}"
            warnings.warn(CorpusWarning(message), stacklevel=3)


def _format(suffix: str, name: str | None = None) -> str:
    """Return the suffix in lower case, or raise an error if it is unknown."""
    if suffix.lower() not in FORMATS:
        raise UsageError(f"a file name must end in one of {', '.join(FORMATS)}, got {name or suffix or 'nothing'}")
    return suffix.lower()
