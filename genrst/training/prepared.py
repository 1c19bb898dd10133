"""Prepared features: the input of training, its archive format, and the cache of archives.

An archive is a NumPy file without pickles. Its name is a hash of its sources. It can be copied to a machine that has
neither spaCy nor the corpus. `genrst.training.data` creates it. Each column of an example, such as its word pieces, is
stored as one array for all documents of a split, with the size of each document's part.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.document import Document
from genrst.errors import CorpusFormatError
from genrst.io import max_unpacked, tell, write_atomically_with
from genrst.training.kinds import TaskKind, types_of

FORMAT = 2
"""Increase this number when the meaning of a prepared file changes, so that old files are rebuilt."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Training and dev documents as numbers, their symbols, and the initial word vectors."""

    kind: TaskKind
    symbols: Any
    """The labels of a chart parser, or the symbols of the paper's model."""
    train: list[Any]
    dev: list[Any]
    vectors: NDArray[np.float32] | None
    """One row per word of the vocabulary; zeros for words without a vector."""
    notes: dict[str, Any]
    """Notes for the log: what was prepared, and how."""
    silver: list[Any] = field(default_factory=list)
    """Training documents with automatic trees."""
    tokenizer: str | None = None
    """The `tokenizer.json` that produced the word pieces, if there are any."""


def save_prepared(prepared: Prepared, path: Path) -> None:
    """Write a prepared file atomically."""
    splits = {"train": prepared.train, "dev": prepared.dev, "silver": prepared.silver}
    ids = {split: [example.id for example in examples] for split, examples in splits.items()}
    symbols = prepared.symbols.as_dict()
    header = {"format": FORMAT, "kind": prepared.kind, "symbols": symbols, **ids, "notes": prepared.notes}
    every = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    for split, examples in splits.items():
        every |= {f"{split}.{name}": column for name, column in _pack(examples).items()}
    if prepared.tokenizer is not None:
        every["tokenizer"] = np.frombuffer(prepared.tokenizer.encode(), dtype=np.uint8)
    if prepared.vectors is not None:
        every["vectors"] = prepared.vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **every))  # type: ignore[arg-type]


def _pack(examples: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of all examples, which must be the same, and the sizes of their parts."""
    rows = [example.as_columns() for example in examples]
    columns: dict[str, NDArray[Any]] = {}
    for name in rows[0] if rows else ():
        parts = [row[name].ravel() for row in rows]
        columns[name] = np.concatenate(parts)
        columns[f"{name}.sizes"] = np.array([len(part) for part in parts], dtype=np.int32)
    return columns


def load_prepared(path: Path) -> Prepared:
    """Read a prepared file."""
    with _open_archive(path) as (header, arrays):
        symbols_type, example_type = types_of(header["kind"])
        splits = {split: _unpack(arrays, split, header[split], example_type) for split in ("train", "dev", "silver")}
        return Prepared(
            header["kind"],
            symbols_type.from_dict(header["symbols"]),
            splits["train"],
            splits["dev"],
            arrays["vectors"].astype(np.float32) if "vectors" in arrays else None,
            header["notes"],
            splits["silver"],
            bytes(arrays["tokenizer"]).decode() if "tokenizer" in arrays else None,
        )


def _unpack(arrays: Mapping[str, NDArray[Any]], split: str, ids: Sequence[str], example_type: type[Any]) -> list[Any]:
    prefix, suffix = f"{split}.", ".sizes"
    names = [name.removesuffix(suffix) for name in arrays if name.startswith(prefix) and name.endswith(suffix)]
    columns = {
        name.removeprefix(prefix): np.split(arrays[name], np.cumsum(arrays[name + suffix])[:-1]) for name in names
    }
    rows = ({name: parts[number] for name, parts in columns.items()} for number in range(len(ids)))
    return [example_type.from_columns(id, row) for id, row in zip(ids, rows, strict=True)]


def content_key(documents: Iterable[Document], settings: object) -> str:
    """Return the cache key of prepared features, which changes with any text, EDU, tree or setting."""
    digest = hashlib.sha256(repr((FORMAT, settings)).encode())
    for document in documents:
        digest.update(repr((document.id, document.text, document.edus, document.tree)).encode("utf-8", "surrogatepass"))
        digest.update(repr((document.tokens, document.sentences, document.paragraphs)).encode())
    return digest.hexdigest()[:16]


def file_version(name: str) -> tuple[int, int] | None:
    """Return a fingerprint of a file's content, or None if there is no such file."""
    path = Path(name)
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None


def prepare_once(cache: Path, key: str, make: Callable[[Path], None]) -> Path:
    """Return the prepared file of a key; it is made if it is not in the cache.

    A new file is read back as well. Writing rounds word vectors, and the first run must equal all later ones.
    """
    path = cache / f"{key}.npz"
    is_new = not path.is_file()
    if is_new:
        make(path)
    tell(f"prepared features: {path}{' (new)' if is_new else ''}")
    return path


def _check_size(arrays: np.lib.npyio.NpzFile, path: Path) -> None:
    """Reject an archive that unpacks to far more than its size."""
    n_bytes = sum(member.file_size for member in arrays.zip.infolist()) if arrays.zip is not None else 0
    if n_bytes > (allowed := max_unpacked(path)):
        raise CorpusFormatError(f"the file must unpack to at most {allowed} bytes, got {n_bytes}", path)


_DAMAGE = (
    *(OSError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)
"""The exceptions of NumPy, zip and JSON for a truncated or damaged archive."""


@contextmanager
def _open_archive(path: Path) -> Iterator[tuple[dict[str, Any], Mapping[str, NDArray[Any]]]]:
    """Open the header and the arrays of an archive; every error becomes a `CorpusFormatError`."""
    try:
        # For any other file, NumPy's message would suggest loading pickles, which is unsafe.
        if path.is_file() and not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("not a NumPy archive, or truncated")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            _check_size(arrays, path)
            header = json.loads(bytes(arrays["header"]))
            if header["format"] != FORMAT:
                rule = f"the format of prepared features must be {FORMAT}"
                raise CorpusFormatError(f"{rule}, got {header['format']}", path)
            yield header, arrays
    except _DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"not a file of prepared features: {error}", path) from error
