"""Prepared features: what training reads, the archive in which it lies, and the cache of archives.

An archive is a NumPy file of integers without pickles, named by what it was made from, so that it can be carried to a
machine that has neither spaCy nor the corpus. `genrst.training.data` makes it. The segmenter shares the cache and the
archive (`genrst.segmenter.data`).
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document
from genrst.errors import CorpusFormatError
from genrst.io import max_unpacked, tell, write_atomically_with
from genrst.rnng.examples import Example, SoftTree
from genrst.rnng.symbols import Symbols
from genrst.rnng.transitions.features import Syntax

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""
PARSER = "parser"
"""What an archive is for, unless its header says otherwise."""
SYNTAX_COLUMNS = ("heads", "deprels", "edu_tokens", "sentences", "paragraphs", "kinds")
COLUMNS = ("edu_words", "edu_lengths", "token_words", *SYNTAX_COLUMNS, "actions", "pieces", "piece_lengths", "fine")
SOFT_COLUMNS = {"units": np.int32, "p": np.float16, "labels": np.int32, "label_p": np.float16}


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
    """The `tokenizer.json` that made the word pieces, if there are any."""


def save_prepared(prepared: Prepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    splits = {"train": prepared.train, "dev": prepared.dev, "silver": prepared.silver}
    ids = {split: [example.id for example in examples] for split, examples in splits.items()}
    header = {"format": FORMAT, "symbols": prepared.symbols.as_dict(), **ids, "notes": prepared.notes}
    arrays: dict[str, NDArray[Any]] = {}
    for split, examples in splits.items():
        for column in COLUMNS if examples else ():
            parts = [getattr(one.syntax if column in SYNTAX_COLUMNS else one, column) for one in examples]
            arrays[f"{split}.{column}"] = np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
            arrays[f"{split}.{column}.sizes"] = np.array([len(part) for part in parts], dtype=np.int32)
        arrays |= _soft_arrays(split, [one.soft for one in examples if one.soft is not None])
        if starts := [one.starts for one in examples if one.starts is not None]:
            arrays[f"{split}.starts"] = np.concatenate(starts).astype(np.float16)
    if prepared.tokenizer is not None:
        arrays["tokenizer"] = np.frombuffer(prepared.tokenizer.encode(), dtype=np.uint8)
    save_archive(path, header, arrays, prepared.vectors)


def _soft_arrays(split: str, trees: Sequence[SoftTree]) -> dict[str, NDArray[Any]]:
    """Soft trees as columns; all documents of a split have one or none has."""
    if not trees:
        return {}
    columns = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in SOFT_COLUMNS}
    arrays = {f"{split}.soft.{name}": column.astype(SOFT_COLUMNS[name]) for name, column in columns.items()}
    return {**arrays, f"{split}.soft.sizes": np.array([len(tree.p) for tree in trees], dtype=np.int32)}


def load_prepared(path: Path) -> Prepared:
    """Read a prepared file."""
    with open_archive(path, PARSER) as (header, arrays, vectors):
        return Prepared(
            Symbols.from_dict(header["symbols"]),
            _examples(arrays, "train", header["train"]),
            _examples(arrays, "dev", header["dev"]),
            vectors,
            header["notes"],
            _examples(arrays, "silver", header["silver"]),
            bytes(arrays["tokenizer"]).decode() if "tokenizer" in arrays else None,
        )


def _examples(arrays: Mapping[str, NDArray[Any]], split: str, ids: Sequence[str]) -> list[Example]:
    if not ids:
        return []
    columns = []
    for column in (f"{split}.{name}" for name in COLUMNS):
        ends = np.cumsum(arrays[f"{column}.sizes"])
        columns.append(np.split(arrays[column].astype(np.int64), ends[:-1]))
    rows = zip(ids, *columns, strict=True)
    examples = [_example(id, dict(zip(COLUMNS, row, strict=True))) for id, *row in rows]
    if f"{split}.soft.sizes" in arrays:
        examples = [replace(one, soft=soft) for one, soft in zip(examples, _soft_trees(arrays, split), strict=True)]
    if f"{split}.starts" in arrays:
        ends = np.cumsum([len(one.pieces) for one in examples])[:-1]
        starts = np.split(arrays[f"{split}.starts"].astype(np.float32), ends)
        examples = [replace(one, starts=own) for one, own in zip(examples, starts, strict=True)]
    return examples


def _soft_trees(arrays: Mapping[str, NDArray[Any]], split: str) -> Iterator[SoftTree]:
    ends = np.cumsum(arrays[f"{split}.soft.sizes"])[:-1]
    parts = {name: np.split(arrays[f"{split}.soft.{name}"], ends) for name in SOFT_COLUMNS}
    for places, p, labels, label_p in zip(*parts.values(), strict=True):
        yield SoftTree(
            places.astype(np.int64), p.astype(np.float32), labels.astype(np.int64), label_p.astype(np.float32)
        )


def _example(id: str, columns: dict[str, Any]) -> Example:
    syntax = Syntax(**{name: columns.pop(name).tolist() for name in SYNTAX_COLUMNS})
    return Example(id, syntax=syntax, actions=tuple(columns.pop("actions").tolist()), **columns)


def content_key(documents: Iterable[Document], settings: object) -> str:
    """A name for prepared features: changes with any text, EDU, tree or setting."""
    digest = hashlib.sha256(repr((FORMAT, settings)).encode())
    for document in documents:
        digest.update(repr((document.id, document.text, document.edus, document.tree)).encode("utf-8", "surrogatepass"))
        digest.update(repr((document.tokens, document.sentences, document.paragraphs)).encode())
    return digest.hexdigest()[:16]


def file_version(name: str) -> tuple[int, int] | None:
    """What changes with the content of a file; None if there is no such file."""
    path = Path(name)
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None


def prepare_once(cache: Path, key: str, make: Callable[[Path], None]) -> Path:
    """The prepared file of a key, made unless it is in the cache.

    Read it back even if it is new: it rounds word vectors, and the first run must be like all later ones.
    """
    path = cache / f"{key}.npz"
    is_new = not path.is_file()
    if is_new:
        make(path)
    tell(f"prepared features: {path}{' (new)' if is_new else ''}")
    return path


def save_archive(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], vectors: NDArray[np.float32] | None
) -> None:
    """Write a NumPy archive: plain data as JSON, arrays, and word vectors in half precision."""
    every = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays}
    if vectors is not None:
        every["vectors"] = vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **every))  # type: ignore[arg-type]


def _check_size(arrays: np.lib.npyio.NpzFile, path: Path) -> None:
    """Refuse an archive that unpacks to far more than its size."""
    n_bytes = sum(member.file_size for member in arrays.zip.infolist()) if arrays.zip is not None else 0
    if n_bytes > (allowed := max_unpacked(path)):
        raise CorpusFormatError(f"the file must unpack to at most {allowed} bytes, was: {n_bytes}", path)


_DAMAGE = (
    *(OSError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy, zip and JSON raise when an archive was cut or changed."""


@contextmanager
def open_archive(
    path: Path, kind: str
) -> Iterator[tuple[dict[str, Any], Mapping[str, NDArray[Any]], NDArray[np.float32] | None]]:
    """The header, arrays and word vectors of an archive; whatever reading it raises becomes a `CorpusFormatError`."""
    try:
        # Of any other file NumPy would say that it holds pickles, and how to load them unsafely.
        if path.is_file() and not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("no NumPy archive, or a part of one")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            _check_size(arrays, path)
            header = json.loads(bytes(arrays["header"]))
            found = header.get("kind", PARSER), header["format"]
            if found != (kind, FORMAT):
                rule = f"features must be prepared for a {kind} in format {FORMAT}"
                raise CorpusFormatError(f"{rule}, was: for a {found[0]} in format {found[1]}", path)
            yield header, arrays, arrays["vectors"].astype(np.float32) if "vectors" in arrays else None
    except _DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error
