"""Prepared features on disk: all that training needs in one file of integers, named by what it was made from.

The file is a NumPy archive without pickles, so it can be carried to a machine that has neither spaCy nor the corpus.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.document import Document
from genrst.corpora.files import write_atomically_with
from genrst.errors import CorpusFormatError
from genrst.model.example import Example
from genrst.model.symbols import Symbols
from genrst.transitions.features import Syntax

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""

DAMAGE = (OSError, EOFError, LookupError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
"""What NumPy, zip and JSON raise when an archive was cut or changed."""

COLUMNS = (
    "edu_words",
    "edu_lengths",
    "token_words",
    "heads",
    "deprels",
    "edu_tokens",
    "sentences",
    "paragraphs",
    "kinds",
    "actions",
    "pieces",
    "piece_lengths",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Training and development documents as numbers, their symbols, and word vectors to start from."""

    symbols: Symbols
    train: list[Example]
    dev: list[Example]
    vectors: NDArray[np.float32] | None
    """A row per word of the vocabulary; rows of zeros for words without a vector."""
    notes: dict[str, Any]
    """What was prepared and how, for the log."""
    silver: list[Example] = field(default_factory=list)
    """Training documents with automatic trees."""
    tokenizer: str | None = None
    """The `tokenizer.json` by which word pieces were made, if there are any."""


def content_key(documents: Iterable[Document], settings: object) -> str:
    """A name for prepared features: changes with any text, EDU, tree or setting."""
    digest = hashlib.sha256(repr((FORMAT, settings)).encode())
    for document in documents:
        digest.update(repr((document.id, document.text, document.edus, document.tree)).encode("utf-8", "surrogatepass"))
        digest.update(repr((document.tokens, document.sentences, document.paragraphs)).encode())
    return digest.hexdigest()[:16]


def save_prepared(prepared: Prepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    header = {
        "format": FORMAT,
        "symbols": prepared.symbols.as_dict(),
        "train": [example.id for example in prepared.train],
        "dev": [example.id for example in prepared.dev],
        "silver": [example.id for example in prepared.silver],
        "notes": prepared.notes,
    }
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    for split, examples in (("train", prepared.train), ("dev", prepared.dev), ("silver", prepared.silver)):
        for column in COLUMNS if examples else ():
            parts = [_column(example, column) for example in examples]
            arrays[f"{split}.{column}"] = np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
            arrays[f"{split}.{column}.sizes"] = np.array([len(part) for part in parts], dtype=np.int32)
    if prepared.tokenizer is not None:
        arrays["tokenizer"] = np.frombuffer(prepared.tokenizer.encode(), dtype=np.uint8)
    if prepared.vectors is not None:
        arrays["vectors"] = prepared.vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def _column(example: Example, column: str) -> Sequence[int] | NDArray[np.int64]:
    values: Sequence[int] | NDArray[np.int64] = getattr(example if hasattr(example, column) else example.syntax, column)
    return values


def load_prepared(path: Path) -> Prepared:
    """Read a prepared file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            if header["format"] != FORMAT:
                raise CorpusFormatError(f"prepared features must be of format {FORMAT}, was: {header['format']}", path)
            return Prepared(
                Symbols.from_dict(header["symbols"]),
                _examples(arrays, "train", header["train"]),
                _examples(arrays, "dev", header["dev"]),
                arrays["vectors"].astype(np.float32) if "vectors" in arrays else None,
                header["notes"],
                # A file of before there was silver has none.
                _examples(arrays, "silver", header["silver"]) if header.get("silver") else [],
                bytes(arrays["tokenizer"]).decode() if "tokenizer" in arrays else None,
            )
    except DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error


def _examples(arrays: Any, split: str, ids: Sequence[str]) -> list[Example]:  # noqa: ANN401
    columns = {}
    for column in COLUMNS:
        if f"{split}.{column}" not in arrays:
            # A file of before there were word pieces, or kinds.
            columns[column] = [np.zeros(0, dtype=np.int64)] * len(ids)
            continue
        ends = np.cumsum(arrays[f"{split}.{column}.sizes"])
        columns[column] = np.split(arrays[f"{split}.{column}"].astype(np.int64), ends[:-1])
    return [_example(id, {column: parts[row] for column, parts in columns.items()}) for row, id in enumerate(ids)]


def _example(id: str, columns: dict[str, NDArray[np.int64]]) -> Example:
    names = ("heads", "deprels", "edu_tokens", "sentences", "paragraphs", "kinds")
    syntax = Syntax(*(columns[name].tolist() for name in names))
    return Example(
        id,
        columns["edu_words"],
        columns["edu_lengths"],
        columns["token_words"],
        syntax,
        tuple(columns["actions"].tolist()),
        columns["pieces"],
        columns["piece_lengths"],
    )
