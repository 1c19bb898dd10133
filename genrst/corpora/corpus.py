"""Load the documents of a corpus, or of one of its splits.

`load_corpus` recognises a published corpus by the layout of its folder (`genrst.corpora.layouts`). All other folders
are corpora named `files`, which hold any files that `genrst.formats.files` can read.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from genrst.corpora.layouts import LAYOUTS, VERSION, find_corpus
from genrst.document import Document
from genrst.errors import CorpusNotFoundError, CorpusWarning, GenrstError, UsageError
from genrst.formats.files import list_documents, read_file
from genrst.formats.folder import OUTPUT, SAME_NAME, Listing, describe_left_out
from genrst.formats.rs3_reader import Roots

CORPORA = (*dict.fromkeys(layout.name for layout in LAYOUTS), "files")
"""The names that `load_corpus` accepts."""

_BEST_FIRST = (".rs4", ".rs3", ".dis", ".json", ".jsonl")
"""The order of preference if a document exists in several formats. The most complete format comes first."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents that are read on demand. Iterating twice reads the files twice."""

    name: str
    split: str | None
    sources: tuple[Callable[[], Iterable[Document]], ...]
    on_bad: Callable[[GenrstError], object] | None = None
    """A callback for the error of a file that cannot be read. If it is None, the error is raised."""
    folder: Path = Path()
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """The files and documents that are not read, by reason. Complete after all sources have been read."""
    joined: list[str] = field(default_factory=list)
    """The documents whose trees the layout joined on its own. Complete after all sources have been read."""

    def __iter__(self) -> Iterator[Document]:
        for source in self.sources:
            try:
                yield from source()
            except GenrstError as error:
                if self.on_bad is None:
                    raise
                self.on_bad(error)

    def __len__(self) -> int:
        """The number of files, which may differ from the number of documents."""
        return len(self.sources)


def load_corpus(
    path: str | Path,
    name: str | None = None,
    split: str | None = None,
    *,
    version: str = VERSION,
    with_textless: bool = False,
    roots: Roots = "error",
    skip_bad: bool = False,
) -> Corpus:
    """Open a corpus, with a warning about files that are left out because the same document is in another file.

    `name` is recognised from the folder unless it is given. `version` selects the version of GUM's splits.
    `with_textless` includes documents whose words are missing. `roots` determines what happens to `.rs3` files with
    several trees, `skip_bad` whether to skip files that cannot be read.
    """
    opened = open_corpus(
        path, name, split, version=version, with_textless=with_textless, roots=roots, skip_bad=skip_bad
    )
    repeated = {reason: names for reason, names in opened.left_out.items() if reason in (OUTPUT, SAME_NAME)}
    if line := describe_left_out(opened.folder, repeated):
        warnings.warn(CorpusWarning(line), stacklevel=2)
    return opened


def open_corpus(
    path: str | Path,
    name: str | None = None,
    split: str | None = None,
    *,
    version: str = VERSION,
    with_textless: bool = False,
    roots: Roots = "error",
    skip_bad: bool = False,
) -> Corpus:
    """Open a corpus without warnings, for callers that report `left_out` themselves."""
    path = Path(path)
    if not path.exists():
        raise CorpusNotFoundError(f"{path}: no such file or folder")
    if name not in (None, *CORPORA):
        raise UsageError(f"a corpus must be one of {', '.join(CORPORA)}, got {name!r}")
    on_bad = _warn if skip_bad else None
    opened = None if name == "files" else find_corpus(path, name)
    if opened is None:
        listing = _plain_files(path, split)
        sources = [partial(read_file, file, roots=roots) for file in listing.files]
        return Corpus("files", split, tuple(sources), on_bad, listing.folder, listing.left_out)
    files = opened.files(split, version)
    if not files:
        raise CorpusNotFoundError(f"{path}: {opened.layout.name} has no documents in split {split!r}")
    readers = tuple(partial(opened.read, file, roots, with_textless) for file in files)
    return Corpus(opened.layout.name, split, readers, on_bad, opened.folder, opened.left_out, opened.joined)


def _warn(error: GenrstError) -> None:
    warnings.warn(CorpusWarning(f"{error}; skipped"), stacklevel=2)


def _plain_files(path: Path, split: str | None) -> Listing:
    """List the files of a folder, or of the subfolder named after the split.

    If a document exists in several formats, only the most complete one is listed.
    """
    if split is not None:
        path = path / split
        if not path.is_dir():
            raise CorpusNotFoundError(f"{path}: no such folder; a split of a plain folder is a subfolder of that name")
    if not path.is_dir():
        return Listing(path.parent, [path])
    listing = list_documents(path)
    best: dict[str, str] = {}
    for file in listing.files:
        suffix = file.suffix.lower()
        best[file.stem] = min(best.get(file.stem, suffix), suffix, key=_BEST_FIRST.index)
    listing.keep({file for file in listing.files if file.suffix.lower() in (best[file.stem], ".jsonl")}, SAME_NAME)
    return listing
