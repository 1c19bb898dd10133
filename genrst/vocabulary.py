"""Words to numbers. Types seen once in training are `<unk>`, as in the paper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

PAD, NONE, UNK, EOS = "<pad>", "<none>", "<unk>", "<eos>"
SPECIALS = (PAD, NONE, UNK, EOS)
PAD_ID, NONE_ID, UNK_ID, EOS_ID = range(4)
"""Numbers of the special symbols: a missing word of a unit, a missing unit, an unknown word, the end of an EDU."""

FIRST_OUTPUT_ID = UNK_ID
"""The language model generates the symbols from this one on; those before it occur only in features."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Symbols by number; the special ones come first."""

    symbols: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A text may hold "<pad>" as a word like any other; it must not be taken for the special symbol.
        reserved = {PAD, NONE, EOS}
        numbers = {symbol: number for number, symbol in enumerate(self.symbols) if symbol not in reserved}
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def from_words(cls, words: Iterable[str], min_count: int = 2) -> "Vocabulary":
        """The special symbols and every word seen at least `min_count` times, the most frequent first."""
        counts = Counter(words)
        kept = [word for word, count in counts.items() if count >= min_count and word not in SPECIALS]
        return cls((*SPECIALS, *sorted(kept, key=lambda word: (-counts[word], word))))

    @classmethod
    def from_labels(cls, labels: Iterable[str]) -> "Vocabulary":
        """A closed set of labels (dependency relations), with `<none>` and `<unk>` in front."""
        return cls((NONE, UNK, *sorted(set(labels) - {NONE, UNK})))

    def __len__(self) -> int:
        return len(self.symbols)

    def number(self, symbol: str) -> int:
        """The number of a word or label; that of `<unk>` if it is not in the vocabulary."""
        return self._numbers.get(symbol, self._numbers[UNK])

    def numbers(self, symbols: Sequence[str]) -> list[int]:
        """The numbers of some symbols."""
        return [self.number(symbol) for symbol in symbols]
