"""Everything a model numbers: words, dependency relations, actions. Saved beside its weights."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from genrst.errors import ConfigError
from genrst.transitions.actions import ActionSet, Reduce
from genrst.vocabulary import NONE, SPECIALS, UNK, Vocabulary


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
            for name, first in (("words", SPECIALS), ("deprels", (NONE, UNK))):
                if tuple(data[name][: len(first)]) != first:
                    raise ValueError(f"{name} that do not start with {' '.join(first)}")
            labels = tuple(Reduce(relation, nuclearity) for relation, nuclearity in data["labels"])
            return cls(Vocabulary(tuple(data["words"])), Vocabulary(tuple(data["deprels"])), ActionSet(labels))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"symbols must be words, deprels and labels, was: {error!r}") from error


def make_symbols(words: Iterable[str], deprels: Iterable[str], actions: ActionSet, min_count: int = 2) -> Symbols:
    """The vocabularies of a training set."""
    return Symbols(Vocabulary.from_words(words, min_count), Vocabulary.from_labels(deprels), actions)
