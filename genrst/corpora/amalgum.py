"""AMALGUM in its compact form: `<genre>.jsonl.gz` and `label_map.tsv`. Silver trees, for training only.

Relations become GUM's coarse classes by the label map; `contrast` is the one doubtful entry of it.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from genrst.corpora.document import Document
from genrst.corpora.words import Word, assemble, spans_between
from genrst.errors import CorpusFormatError, CorpusNotFoundError, TreeError, UsageError
from genrst.trees.node import Leaf, Tree, Unit


def sources(folder: Path, split: str | None) -> list[Callable[[], Iterable[Document]]]:
    """A reader per genre; every document is for training."""
    if split not in (None, "train"):
        raise UsageError(f"AMALGUM has silver trees only, its split must be train, was: {split!r}")
    labels = read_label_map(folder / "label_map.tsv")
    return [partial(read_genre, path, labels) for path in sorted(folder.glob("*.jsonl.gz"))]


def read_label_map(path: Path) -> dict[tuple[str, str], str]:
    """GUM's coarse class by (relation, kind), where kind is `rst` or `multinuc`."""
    if not path.is_file():
        raise CorpusNotFoundError(f"{path}: the label map is missing")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["amalgum_label"], row["type"]): row["gum11_coarse"] for row in csv.DictReader(file, delimiter="\t")
        }


def read_genre(path: Path, labels: Mapping[tuple[str, str], str]) -> Iterator[Document]:
    """The documents of one file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield _document(json.loads(line), labels, path, number)
    except (EOFError, OSError, UnicodeDecodeError, ValueError, zlib.error) as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"a line must be a gzipped JSON object, was: {error}", path) from error


def _document(record: dict[str, Any], labels: Mapping[tuple[str, str], str], path: Path, line: int) -> Document:
    try:
        sentences = [
            [Word(form, head, deprel, tag, bool(space)) for form, tag, head, deprel, space in words]
            for words in record["tokens"]
        ]
        kinds = {
            start: kind or "p" for start, kind in zip(record["paragraphs"], record["paragraph_types"], strict=True)
        }
        annotated = assemble(sentences, kinds, {})
        return Document(
            record["id"],
            annotated.text,
            spans_between(annotated.tokens, [start for start, _ in record["edus"]]),
            _tree(record["tree"], labels),
            tokens=annotated.tokens,
            sentences=annotated.sentences,
            paragraphs=annotated.paragraphs,
            metadata={key: record[key] for key in ("genre", "licence", "part")},
        )
    except (KeyError, IndexError, TypeError, ValueError, TreeError) as error:
        raise CorpusFormatError(f"a record must have the documented form, was: {error!r}", path, line) from error


def _tree(nested: Any, labels: Mapping[tuple[str, str], str]) -> Tree:  # noqa: ANN401
    """Build the tree from nested lists, the deepest first."""
    order = [nested]
    for item in order:
        if not isinstance(item, int):
            order.extend(item[2])
    built: dict[int, Tree] = {}
    for item in reversed(order):
        if isinstance(item, int):
            continue
        relation, nuclearity, children = item
        kind = "rst" if "S" in nuclearity else "multinuc"
        nodes = tuple(Leaf(child) if isinstance(child, int) else built[id(child)] for child in children)
        built[id(item)] = Unit(labels.get((relation, kind), relation), nuclearity, nodes)
    return Leaf(nested) if isinstance(nested, int) else built[id(nested)]
