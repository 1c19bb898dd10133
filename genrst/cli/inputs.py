"""The arguments by which several verbs choose documents of a corpus.

What `parse` and `segment` read: texts and documents from files, folders and standard input.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from genrst.errors import CorpusNotFoundError, GenrstError, UsageError

if TYPE_CHECKING:
    from genrst.corpora.corpus import Corpus
    from genrst.document import Document
    from genrst.parser.stages import Text

    Named: TypeAlias = Text | Document


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them to a verb."""
    group = parser.add_argument_group("choosing documents")
    group.add_argument(
        "--corpus", metavar="NAME", help="gum, rstdt, amalgum or files (default: by the folder's layout)"
    )
    group.add_argument("--split", metavar="NAME", help="train, dev or test (default: all documents)")
    group.add_argument("--gum-version", metavar="V", default="11.1", help="list of splits: 11.1 (default) or 9.1")
    group.add_argument("--with-textless", action="store_true", help="include GUM documents whose words are missing")
    add_roots_argument(group)


def add_roots_argument(parser: "argparse._ActionsContainer") -> None:
    """Add the argument that says what to do with files of several trees."""
    parser.add_argument(
        "--roots", choices=("error", "join"), default="error", help="a file of several trees: an error, or join them"
    )


def open_corpus(path: str, arguments: argparse.Namespace) -> "Corpus":
    """Open the corpus that the arguments choose."""
    from genrst.corpora.corpus import load_corpus

    return load_corpus(
        path,
        arguments.corpus,
        arguments.split,
        version=arguments.gum_version,
        with_textless=arguments.with_textless,
        roots=arguments.roots,
    )


SUFFIXES = (".dis", ".rs3", ".rs4", ".json", ".jsonl", ".edus", ".txt", ".md")
"""What is looked for in a folder. Of several files with one stem the first in this order is read."""

_STANDARD_INPUT = Path("stdin")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or standard input; `folder` is the one in which it was found."""

    path: Path
    folder: Path | None = None

    @property
    def below(self) -> Path:
        """Where it lies in that folder."""
        return Path() if self.folder is None else self.path.parent.relative_to(self.folder)

    @property
    def is_standard_input(self) -> bool:
        """Whether it is no file."""
        return self.path is _STANDARD_INPUT

    def read(self, has_edus: bool = False) -> "list[Named]":
        """Its raw text or, from files of other formats, its documents; `has_edus` says that a line is an EDU."""
        from genrst.formats.files import FORMATS, ReadOptions, read_file
        from genrst.formats.plain import read_edus
        from genrst.io import decode, read_bytes
        from genrst.parser.stages import Text

        if not self.is_standard_input and self.path.is_dir():
            raise CorpusNotFoundError(f"{self.path}: a folder must hold files ({', '.join(SUFFIXES)}), was: none")
        if self.path.suffix.lower() in FORMATS.keys() - {".txt"}:
            return [*read_file(self.path, ReadOptions(with_tree=False))]
        content = standard_input() if self.is_standard_input else read_bytes(self.path)
        return [read_edus(content, self.path) if has_edus else Text(self.path.stem, decode(content, self.path))]


def find_sources(inputs: Sequence[str]) -> list[Source]:
    """The files and folders of a command line, file by file."""
    if inputs.count("-") > 1:
        raise UsageError(f"standard input (-) can be read once, was: {inputs.count('-')} times")
    return [source for name in inputs for source in _sources(name)]


def _sources(name: str) -> Iterator[Source]:
    path = Path(name)
    if name == "-":
        yield Source(_STANDARD_INPUT)
    elif path.is_dir() and (files := _files(path)):
        yield from (Source(file, path) for file in files)
    else:
        yield Source(path)


def _files(folder: Path) -> list[Path]:
    """The files below a folder, one for each stem."""
    found = sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    by_stem: dict[Path, Path] = {}
    for file in sorted(found, key=lambda file: SUFFIXES.index(file.suffix.lower())):
        by_stem.setdefault(file.with_suffix(""), file)
    return sorted(by_stem.values())


def standard_input() -> bytes:
    """All bytes of standard input."""
    if sys.stdin is None:
        raise GenrstError("standard input must be open, was: closed")
    return sys.stdin.buffer.read()
