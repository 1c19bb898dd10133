"""Prepared documents for the segmenter on disk: one NumPy archive of small integers, without pickles."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genrst.corpora.files import write_atomically_with
from genrst.errors import CorpusFormatError
from genrst.text.segmenter.features import Tokens
from genrst.text.segmenter.symbols import COLUMNS, Symbols
from genrst.training.prepared import DAMAGE

FORMAT = 1
"""Counts up when the meaning of a prepared file changes, so that old ones are made again."""
KIND = "segmenter"

SETS = ("train", "train_raw", "silver", "dev", "dev_raw")
"""Gold documents with their own tokens and sentences or, if raw, with spaCy's; silver ones in one form or the other."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmenterExample:
    """A document: its tokens, whether each starts an EDU, and how many EDUs there are.

    In raw text an EDU may start inside a token, so that there can be more EDUs than tokens that start one.
    """

    tokens: Tokens
    starts_edu: NDArray[np.bool_]
    n_edus: int


@dataclass(frozen=True, slots=True, eq=False)
class SegmenterPrepared:
    """All documents as numbers, their symbols, and word vectors to start from."""

    symbols: Symbols
    sets: dict[str, list[SegmenterExample]]
    vectors: NDArray[np.float32] | None
    """A row per word of the vocabulary; rows of zeros for words without a vector."""


def save_segmenter_data(prepared: SegmenterPrepared, path: Path) -> None:
    """Write a prepared file, all of it or nothing."""
    header = {"format": FORMAT, "kind": KIND, "symbols": prepared.symbols.as_dict()}
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    for name in SETS:
        arrays |= {f"{name}.{column}": _small(values) for column, values in _columns(prepared.sets[name]).items()}
    if prepared.vectors is not None:
        arrays["vectors"] = prepared.vectors.astype(np.float16)
    write_atomically_with(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def _columns(examples: Sequence[SegmenterExample]) -> dict[str, NDArray[Any]]:
    symbols = np.concatenate([np.zeros((0, len(COLUMNS)), np.int32), *(one.tokens.symbols for one in examples)])
    return {
        "sizes": np.array([len(one.tokens) for one in examples]),
        "n_edus": np.array([one.n_edus for one in examples]),
        "heads": _joined([one.tokens.heads - np.arange(len(one.tokens)) for one in examples]),
        "starts_sentence": _joined([one.tokens.starts_sentence for one in examples]),
        "starts_edu": _joined([one.starts_edu for one in examples]),
        **dict(zip(COLUMNS, symbols.T, strict=True)),
    }


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, bool), *parts])


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the smallest type that holds them."""
    if not len(values):
        return values.astype(np.uint8)
    return values.astype(np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))


def load_segmenter_data(path: Path) -> SegmenterPrepared:
    """Read a prepared file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            if (header.get("kind"), header["format"]) != (KIND, FORMAT):
                raise CorpusFormatError(f"features must be prepared for a {KIND}, in format {FORMAT}", path)
            return SegmenterPrepared(
                Symbols.from_dict(header["symbols"]),
                {name: _examples(arrays, name) for name in SETS},
                arrays["vectors"].astype(np.float32) if "vectors" in arrays else None,
            )
    except DAMAGE as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"the file must hold prepared features, was: {error}", path) from error


def _examples(arrays: Any, name: str) -> list[SegmenterExample]:  # noqa: ANN401
    ends = np.cumsum(arrays[f"{name}.sizes"], dtype=np.int64)
    if not len(ends):
        return []
    symbols = np.stack([arrays[f"{name}.{column}"].astype(np.int32) for column in COLUMNS], axis=1)
    columns = (symbols, *(arrays[f"{name}.{column}"] for column in ("heads", "starts_sentence", "starts_edu")))
    parts = zip(*(np.split(column, ends[:-1]) for column in columns), arrays[f"{name}.n_edus"].tolist(), strict=True)
    return [
        SegmenterExample(
            Tokens(rows, heads + np.arange(len(heads)), starts_sentence.astype(np.bool_)),
            starts_edu.astype(np.bool_),
            n_edus,
        )
        for rows, heads, starts_sentence, starts_edu, n_edus in parts
    ]
