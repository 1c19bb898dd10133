"""The folder layouts of published corpora: where each keeps its trees, texts, syntax and splits.

Each corpus is an entry of `LAYOUTS`. The files themselves are read by `genrst.formats`, `conllu` and `amalgum`.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from genrst.corpora.amalgum import CLASSES, read_genre
from genrst.corpora.conllu import attach, read_conllu, read_disrpt
from genrst.document import Document
from genrst.errors import CorpusNotFoundError, UsageError
from genrst.formats.files import read_file
from genrst.formats.rs3_reader import VIRTUAL_ROOT, Roots
from genrst.io import decode, read_bytes, read_table
from genrst.trees.node import Unit, relabel

SPLITS = ("train", "dev", "test")
VERSION = "11.1"
"""The version of GUM whose splits are listed in its own folder."""
N_DRAWN = 25
_SEED = 2019
_LISTED = "listed"
_PACKAGE = Path(__file__).parent
_WITH_EDUS = ("rst", "erst", "sdrt", "dep")
"""The frameworks of DISRPT that have EDUs. The others have connectives."""
_ITEM = re.compile(r"^(##\s+(?P<heading>\S+)|\s*[*-]\s+(?P<item>\S+))\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CorpusLayout:
    """The layout of a corpus. Patterns are for `Path.glob`, relative to the folder of the corpus."""

    name: str
    marks: Sequence[str]
    """Patterns that must all match for the corpus to be recognised."""
    trees: Mapping[str, Sequence[str]]
    """The files of each split, or of `_LISTED` if a list defines the splits. A list in the folder takes precedence."""
    syntax: tuple[str, str] | None = None
    """The folder of trees and the folder of CoNLL-U files. The rest of the path must be the same."""
    places: Sequence[str] = ("",)
    """The subfolders that may hold the corpus."""
    drawn: Sequence[str] = ()
    """Unpublished splits, drawn with a fixed seed: each is a tenth of the training documents, at most 25."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Lists of splits for other versions, bundled for folders that do not have them."""
    left_out: str = ""
    """A bundled list of documents that are never read."""
    classes: Mapping[str, str] = field(default_factory=dict)
    """A mapping of relation names to new ones."""
    joins_roots: bool = False
    """Whether files with several trees are common in this corpus, so that the trees are joined."""
    read: Callable[[Path], Iterable[Document]] | None = None
    """The reader for files that hold several documents."""


def _in_splits(*patterns: str) -> dict[str, Sequence[str]]:
    """Return patterns for each split, with the split's name filled in."""
    return {split: [pattern.format(split) for pattern in patterns] for split in SPLITS}


LAYOUTS = (
    CorpusLayout(
        "gum",
        marks=["rst/rstweb", "dep"],
        trees={_LISTED: ["rst/rstweb/*.rs4", "rst/rstweb/*.rs3"]},
        syntax=("rst/rstweb", "dep"),
        lists={"9.1": "gum-9.1.tsv"},
    ),
    CorpusLayout(
        "gum",
        marks=["rs4", "conllu"],
        trees={_LISTED: ["rs4/*.rs4"]},
        syntax=("rs4", "conllu"),
        lists={"9.1": "gum-9.1.tsv"},
    ),
    CorpusLayout(
        "rstdt",
        marks=["TRAINING", "TEST"],
        trees={"train": ["TRAINING/*.dis"], "test": ["TEST/*.dis"]},
        places=[f"{below}RSTtrees-WSJ-main-1.0" for below in ("", "data/", "rst_discourse_treebank/data/")] + [""],
        drawn=["dev"],
    ),
    CorpusLayout(
        "amalgum",
        marks=["*/*/rst/AMALGUM_*.rs3"],
        trees={"train": ["amalgum*/*/rst/*.rs3"]},
        syntax=("rst", "dep"),
        left_out="amalgum-left-out.tsv",
        classes=CLASSES,
    ),
    CorpusLayout("amalgum", ["*.jsonl.gz"], {"train": ["*.jsonl.gz"]}, classes=CLASSES, read=read_genre),
    CorpusLayout("pcc", ["rst/maz-*.rs3"], {"train": ["rst/*.rs3"]}, drawn=["test", "dev"], joins_roots=True),
    CorpusLayout("pcc", ["rs3/maz-*.rs3"], {"train": ["rs3/*.rs3"]}, drawn=["test", "dev"], joins_roots=True),
    CorpusLayout(
        "gcdt",
        marks=["rs3/train/gcdt_*.rs3", "conllu/train"],
        trees=_in_splits("rs3/{}/*.rs3"),
        syntax=("rs3", "conllu"),
        places=["data", ""],
    ),
    CorpusLayout(
        "rrt",
        marks=["news1", "news2", "blogs"],
        trees={"train": ["**/*.rs3"]},
        places=["", "RuRsTreebank_full"],
        drawn=["test", "dev"],
        joins_roots=True,
    ),
    CorpusLayout(
        "rrt",
        marks=["edu_split_with_rel", "further_annotation"],
        trees={"train": ["further_annotation/*.rs3", "edu_split_with_rel/*.rs3"]},
        drawn=["test", "dev"],
        joins_roots=True,
    ),
    CorpusLayout("prstc", ["Corpus/etemad*.rs3"], {"train": ["Corpus/*.rs3"]}, drawn=["test", "dev"]),
    CorpusLayout(
        "disrpt",
        marks=["*.*.*_*.tok"],
        trees=_in_splits(*(f"*.{kind}.*_{{}}.{form}" for form in ("conllu", "tok") for kind in _WITH_EDUS)),
        read=read_disrpt,
    ),
)
"""The known corpora, as published. GUM and AMALGUM are also known in the compact form of early versions of genrst."""


@dataclass(frozen=True, slots=True)
class FoundCorpus:
    """A corpus that was recognised in a folder."""

    layout: CorpusLayout
    folder: Path
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """The documents that are not read, by reason."""
    joined: list[str] = field(default_factory=list)
    """The documents whose trees this layout joins."""

    def files(self, split: str | None, version: str = VERSION) -> list[Path]:
        """Return the files of a split, or all files."""
        path = self._find_list(version)
        rows = self._drawn() if path is None else self._listed(path)
        known = {*self.layout.trees, *self.layout.drawn, *(split for split, _ in rows)} - {_LISTED}
        if split not in (None, *known):
            names = ", ".join(sorted(known, key=lambda name: (*SPLITS, name).index(name)))
            raise UsageError(f"a split of {self.layout.name} must be one of {names}, got {split!r}")
        never = _read_list(_PACKAGE / self.layout.left_out) if self.layout.left_out else {}
        wanted = [path for own, path in rows if split in (None, own)]
        self._leave_out("excluded, see docs/reference/corpora.md", (path.stem for path in wanted if path.stem in never))
        if path is not None and version == VERSION:
            listed = {path for _, path in rows}
            self._leave_out(f"not in {path.name}", (one.name for one in self._trees() if one not in listed))
        return [path for path in wanted if path.stem not in never]

    def _leave_out(self, reason: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.left_out.setdefault(reason, []):
                self.left_out[reason].append(name)

    def read(self, path: Path, roots: Roots, with_textless: bool = False) -> Iterator[Document]:
        """Yield the documents of a file. Those without words (only underscores) are skipped unless `with_textless`."""
        classes, read = self.layout.classes, self.layout.read
        for document in [self._read_one(path, roots)] if read is None else read(path):
            if not with_textless and set(document.text or "x") <= set("_ \n"):
                self._leave_out("without words; include them with --with-textless", [document.id])
                continue
            if classes and document.tree is not None:
                document = replace(document, tree=relabel(document.tree, lambda name: classes.get(name, name)))
            yield document

    def _read_one(self, path: Path, roots: Roots) -> Document:
        (document,) = read_file(path, roots="join" if self.layout.joins_roots else roots)
        if roots == "error" and isinstance(document.tree, Unit) and document.tree.relation == VIRTUAL_ROOT:
            self.joined.append(document.id)
        if not self.layout.syntax:
            return document
        trees, syntax = self.layout.syntax
        below = f"/{path.relative_to(self.folder).as_posix()}".replace(f"/{trees}/", f"/{syntax}/", 1)
        path = (self.folder / below[1:]).with_suffix(".conllu")
        document = attach(document, read_conllu(read_bytes(path), path), path)
        genre = document.id.split("_")[1:2]
        return replace(document, metadata={"genre": genre[0]} if genre else {})

    def _find(self, patterns: Iterable[str]) -> list[Path]:
        """Return the matching files, sorted. For several formats of a document, the earlier pattern wins."""
        found: dict[Path, Path] = {}
        for pattern in patterns:
            for path in self.folder.glob(pattern):
                found.setdefault(path.with_suffix(""), path)
        return sorted(found.values())

    def _trees(self) -> list[Path]:
        return self._find(pattern for patterns in self.layout.trees.values() for pattern in patterns)

    def _listed(self, path: Path) -> list[tuple[str, Path]]:
        """Return every file of a list with its split, in the order of the list."""
        patterns = [pattern for patterns in self.layout.trees.values() for pattern in patterns]
        found = {path.stem: path for path in self._trees()}
        rows = []
        for name, (split, new_name) in _read_list(path).items():
            # A missing file is kept, so that reading it raises an error.
            file = found.get(new_name) or found.get(name) or self.folder / patterns[0].replace("*", new_name)
            rows.append((split, file))
        return rows

    def _find_list(self, version: str) -> Path | None:
        lists = self.layout.lists
        if version == VERSION or not lists:
            candidates = [self.folder / "splits.tsv", self.folder / "splits.md"]
        elif version in lists:
            candidates = [self.folder / f"splits_v{version}.tsv", _PACKAGE / lists[version]]
        else:
            known = ", ".join((VERSION, *lists))
            raise UsageError(f"a version of {self.layout.name} must be one of {known}, got {version!r}")
        path = next(filter(Path.is_file, candidates), None)
        if path is None and _LISTED in self.layout.trees:
            raise CorpusNotFoundError(f"{candidates[0]}: the list of splits (or {candidates[1].name}) is missing")
        return path

    def _drawn(self) -> list[tuple[str, Path]]:
        """Return every file with the split of its folder, or with a drawn split."""
        rows = [(split, path) for split, patterns in self.layout.trees.items() for path in self._find(patterns)]
        train = [path for split, path in rows if split == "train"]
        drawn: dict[Path, str] = {}
        for split in self.layout.drawn:
            rest = [path for path in train if path not in drawn]
            drawn |= dict.fromkeys(random.Random(_SEED).sample(rest, min(N_DRAWN, len(train) // 10)), split)
        return [(drawn.get(path, split), path) for split, path in rows]


def _read_list(path: Path) -> dict[str, tuple[str, str]]:
    """Map document names to splits and current names, read from a table or a Markdown list with headings."""
    if path.suffix == ".tsv":
        rows = read_table(path, ("doc", "split"))
        return {row["doc"]: (row["split"], row.get("v11_name") or row["doc"]) for row in rows}
    listed, split = {}, ""
    for found in _ITEM.finditer(decode(read_bytes(path), path)):
        if found["heading"]:
            split = found["heading"]
        elif split:
            listed[found["item"]] = split, found["item"]
    return listed


def find_corpus(path: Path, name: str | None = None) -> FoundCorpus | None:
    """Recognise the corpus in a folder; None if it is unknown. With a name, the corpus must be the one of that name."""
    for layout in LAYOUTS:
        for place in layout.places if name in (None, layout.name) else ():
            if all(any(path.glob(f"{place}/{mark}" if place else mark)) for mark in layout.marks):
                return FoundCorpus(layout, path / place)
    if name is None:
        return None
    marks = " or ".join(" and ".join(layout.marks) for layout in LAYOUTS if layout.name == name)
    raise CorpusNotFoundError(f"{path}: not a folder of {name}; it must have {marks}")
