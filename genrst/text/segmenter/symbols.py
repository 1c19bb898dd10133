"""The symbols of tokens as numbers: a vocabulary for every column of features."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from genrst.errors import ConfigError
from genrst.model.vocabulary import SPECIALS, Vocabulary

COLUMNS = ("word", "prefix", "suffix", "shape", "tag", "deprel", "gap", "kind")
"""The symbols of a token: four of its letters, two of its syntax, what stands before it, and its paragraph's kind."""


class Numbering(Protocol):
    """Gives numbers to symbols."""

    def number(self, rows: Iterable[tuple[str, ...]]) -> NDArray[np.int32]:
        """The symbols of tokens as numbers. *Shape:* (tokens, columns)"""
        ...


@dataclass(frozen=True, slots=True)
class Symbols:
    """A vocabulary per column, in the order of `COLUMNS`; what it lacks is `<unk>`."""

    vocabularies: tuple[Vocabulary, ...]

    def number(self, rows: Iterable[tuple[str, ...]]) -> NDArray[np.int32]:
        """The symbols of tokens as numbers. *Shape:* (tokens, columns)"""
        columns = zip(self.vocabularies, zip(*rows, strict=True), strict=True)
        return np.array([vocabulary.numbers(column) for vocabulary, column in columns], dtype=np.int32).T

    def as_dict(self) -> dict[str, list[str]]:
        """Plain data for JSON."""
        return {name: list(v.symbols) for name, v in zip(COLUMNS, self.vocabularies, strict=True)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Symbols":
        """The inverse of `as_dict`."""
        try:
            columns = [tuple(map(str, data[name])) for name in COLUMNS]
        except (KeyError, TypeError) as error:
            raise ConfigError(f"symbols must have a list for each of {', '.join(COLUMNS)}, was: {error!r}") from error
        for name, symbols in zip(COLUMNS, columns, strict=True):
            if symbols[: len(SPECIALS)] != SPECIALS:
                raise ConfigError(f"symbols: {name} must start with {' '.join(SPECIALS)}, was: {symbols[:4]}")
        return cls(tuple(map(Vocabulary, columns)))


class OpenSymbols:
    """Numbers every symbol it meets, so that a corpus is read once; `close` then keeps the frequent ones."""

    def __init__(self) -> None:
        self._numbers: list[dict[str, int]] = [{} for _ in COLUMNS]

    def number(self, rows: Iterable[tuple[str, ...]]) -> NDArray[np.int32]:
        """The symbols of tokens as numbers. *Shape:* (tokens, columns)"""
        found = [
            [numbers.setdefault(symbol, len(numbers)) for numbers, symbol in zip(self._numbers, row, strict=True)]
            for row in rows
        ]
        return np.array(found, dtype=np.int32).reshape(-1, len(COLUMNS))

    def close(self, numbered: Iterable[NDArray[np.int32]], min_count: int, limits: Mapping[str, int]) -> Symbols:
        """The vocabularies of symbols seen `min_count` times or more, of some columns only the most frequent."""
        counts = [np.zeros(len(numbers), np.int64) for numbers in self._numbers]
        for rows in numbered:
            for count, column in zip(counts, rows.T, strict=True):
                count += np.bincount(column, minlength=len(count))
        return Symbols(
            tuple(
                _vocabulary(dict(zip(numbers, count.tolist(), strict=True)), min_count, limits.get(name))
                for name, numbers, count in zip(COLUMNS, self._numbers, counts, strict=True)
            )
        )

    def renumbering(self, symbols: Symbols) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        """A function that turns numbers given here into those of closed vocabularies."""
        tables = [
            np.array(vocabulary.numbers(list(numbers)), dtype=np.int32)
            for vocabulary, numbers in zip(symbols.vocabularies, self._numbers, strict=True)
        ]
        return lambda rows: np.stack([table[column] for table, column in zip(tables, rows.T, strict=True)], axis=1)


def _vocabulary(counts: Mapping[str, int], min_count: int, limit: int | None) -> Vocabulary:
    kept = [symbol for symbol, count in counts.items() if count >= min_count and symbol not in SPECIALS]
    kept.sort(key=lambda symbol: (-counts[symbol], symbol))
    return Vocabulary((*SPECIALS, *kept[:limit]))
