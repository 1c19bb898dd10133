"""GUM: trees from `rs4/`, text and annotation from `conllu/`, splits from the list of a release."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path

from genrst.corpora.conllu import AnnotatedText, read_conllu
from genrst.document import Document, join_runs
from genrst.errors import CorpusFormatError, CorpusNotFoundError, UsageError
from genrst.formats.rs3_reader import read_rs3
from genrst.io import read_bytes, read_table

SPLITS = ("train", "dev", "test")
_LISTS = {"11.1": "splits.tsv", "9.1": "splits_v9.1.tsv"}


def sources(
    folder: Path, split: str | None, *, version: str = "11.1", with_textless: bool = False
) -> list[Callable[[], Iterable[Document]]]:
    """A reader per document of a split (or of all), in the order of the release's list.

    Documents without text (Reddit, where words are underscores) are left out unless asked for.
    """
    if split not in (None, *SPLITS):
        raise UsageError(f"a split of GUM must be one of {', '.join(SPLITS)}, was: {split!r}")
    return [
        partial(_read_one, folder, row.get("v11_name") or row["doc"])
        for row in _read_list(folder, version)
        if (split is None or row["split"] == split) and (with_textless or row["text"] == "yes")
    ]


def _read_list(folder: Path, version: str) -> list[dict[str, str]]:
    if version not in _LISTS:
        raise UsageError(f"a version of GUM must be one of {', '.join(_LISTS)}, was: {version!r}")
    path = folder / _LISTS[version]
    if not path.is_file():
        raise CorpusNotFoundError(f"{path}: the list of splits (columns doc, split, text) is missing")
    return read_table(path, ("doc", "split", "text"))


def _read_one(folder: Path, name: str) -> list[Document]:
    return [read_document(folder, name)]


def read_document(folder: Path, name: str) -> Document:
    """Read one document of GUM by its name: its tree, with the raw text and syntax of its CoNLL-U file."""
    tree_path, syntax_path = folder / "rs4" / f"{name}.rs4", folder / "conllu" / f"{name}.conllu"
    document = read_rs3(read_bytes(tree_path), tree_path)
    annotated = read_conllu(read_bytes(syntax_path), syntax_path)
    genre = name.split("_")[1:2]
    return replace(attach(document, annotated, syntax_path), metadata={"genre": genre[0]} if genre else {})


def attach(document: Document, annotated: AnnotatedText, path: Path) -> Document:
    """The document with the text and annotation of a treebank; each EDU must have as many words in both.

    The words themselves are not compared: in all of GUM three differ between the two files, and those of Reddit are
    underscores. The first word always starts an EDU.
    """
    starts = sorted({0, *annotated.edu_starts})
    sizes = [stop - start for start, stop in pairwise((*starts, len(annotated.tokens)))]
    expected = [len(text.split()) for text in document.edu_texts]
    if sizes != expected:
        same = list(takewhile(lambda pair: pair[0] == pair[1], zip(sizes, expected, strict=False)))
        raise CorpusFormatError(
            f"EDUs must have the same words as the tree file ({len(expected)} EDUs, {sum(expected)} words), "
            f"was: {len(sizes)} EDUs, {sum(sizes)} words; they differ first at EDU {len(same) + 1}",
            path,
        )
    return replace(
        document,
        text=annotated.text,
        edus=join_runs(annotated.tokens, starts),
        tokens=annotated.tokens,
        sentences=annotated.sentences,
        paragraphs=annotated.paragraphs,
        entities=annotated.entities,
    )
