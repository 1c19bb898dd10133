"""Corpora: a name, a split, and the documents in it.

`load_corpus` recognises a corpus by the layout of its folder: `gum`, `rstdt` (as the LDC ships it), `amalgum`, or any
file or folder that `genrst.formats.files` reads.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from genrst.corpora import amalgum, gum, rstdt
from genrst.document import Document
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.formats.files import ReadOptions, document_files, read_file
from genrst.formats.rs3_reader import Roots

CORPORA = ("gum", "rstdt", "amalgum", "files")
"""The names that `load_corpus` takes."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents that are read on demand; iterating twice reads twice."""

    name: str
    split: str | None
    sources: tuple[Callable[[], Iterable[Document]], ...]

    def __iter__(self) -> Iterator[Document]:
        for source in self.sources:
            yield from source()

    def __len__(self) -> int:
        """The number of files, which is the number of documents unless a file holds several."""
        return len(self.sources)


def load_corpus(
    path: str | Path,
    name: str | None = None,
    split: str | None = None,
    *,
    version: str = "11.1",
    with_textless: bool = False,
    roots: Roots = "error",
) -> Corpus:
    """Open a corpus.

    `name` is recognised from the folder unless given. `version` and `with_textless` are GUM's: the list of splits, and
    whether its documents without words are included. `roots` is for `.rs3` files of several trees.
    """
    path = Path(path)
    if not path.exists():
        raise CorpusNotFoundError(f"{path}: no such file or folder")
    name = name or detect_corpus(path)
    match name:
        case "gum":
            sources = gum.sources(path, split, version=version, with_textless=with_textless)
        case "rstdt":
            sources = rstdt.sources(path, split)
        case "amalgum":
            sources = amalgum.sources(path, split)
        case "files":
            sources = _file_sources(path, split, ReadOptions(roots))
        case _:
            raise UsageError(f"a corpus must be one of {', '.join(CORPORA)}, was: {name!r}")
    if not sources:
        raise CorpusNotFoundError(f"{path}: {name} must have documents in split {split!r}, was: none")
    return Corpus(name, split, tuple(sources))


def detect_corpus(path: Path) -> str:
    """The name of the corpus whose layout a folder has; `files` for anything else."""
    if (path / "rs4").is_dir() and (path / "conllu").is_dir():
        return "gum"
    if (path / "label_map.tsv").is_file() and any(path.glob("*.jsonl.gz")):
        return "amalgum"
    return "rstdt" if rstdt.find_main(path) is not None else "files"


def _file_sources(path: Path, split: str | None, options: ReadOptions) -> list[Callable[[], Iterable[Document]]]:
    """The files of a folder; a split is a subfolder of that name."""
    if split is not None:
        path = path / split
        if not path.is_dir():
            raise CorpusNotFoundError(f"{path}: a split of a plain folder must be a subfolder of that name")
    return [lambda file=file: read_file(file, options) for file in document_files(path)]  # type: ignore[misc]
