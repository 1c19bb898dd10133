"""Everything a model numbers: words, dependency relations, actions. Saved beside its weights.

Words seen too seldom in training are `<unk>`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genrst.errors import ConfigError
from genrst.rnng.transitions.actions import NUCLEARITIES, ActionSet, Reduce

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


@dataclass(frozen=True, slots=True)
class Symbols:
    """The vocabularies of a model."""

    words: Vocabulary
    deprels: Vocabulary
    actions: ActionSet

    @property
    def nucleus_is_right(self) -> tuple[bool, ...]:
        """For each action number whether it makes units whose only nucleus is the right child."""
        return (False, *(label.nuclearity == "SN" for label in self.actions.labels))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "words": list(self.words.symbols),
            "deprels": list(self.deprels.symbols),
            "labels": [[label.relation, label.nuclearity] for label in self.actions.labels],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Symbols":
        """The inverse of `as_dict`."""
        try:
            words, deprels = strings(data["words"], "words", SPECIALS), strings(data["deprels"], "deprels", (NONE, UNK))
            labels = tuple(Reduce(*strings(label, "labels")) for label in data["labels"])
            if not labels or any(label.nuclearity not in NUCLEARITIES for label in labels):
                raise ValueError(f"labels that are not relations with {', '.join(NUCLEARITIES)}")
            return cls(Vocabulary(words), Vocabulary(deprels), ActionSet(labels))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"symbols must be words, deprels and labels, was: {error!r}") from error


def strings(data: object, name: str, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Some symbols from plain data: a list of strings, the first of which must be these."""
    if not isinstance(data, list) or not all(isinstance(one, str) for one in data):
        raise TypeError(f"{name} that are no strings")
    if tuple(data[: len(first)]) != first:
        raise ValueError(f"{name} that do not start with {' '.join(first)}")
    return tuple(data)


def make_symbols(words: Iterable[str], deprels: Iterable[str], actions: ActionSet, min_count: int = 2) -> Symbols:
    """The vocabularies of a training set."""
    return Symbols(Vocabulary.from_words(words, min_count), Vocabulary.from_labels(deprels), actions)
