"""The configuration of a model (the `[model]` table, `config.json`) and its symbols (`symbols.json`).

Symbols are words, dependency relations and actions. Words that are too rare in the training set become `<unk>`.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from genrst.config import check_ranges, check_sizes
from genrst.errors import ConfigError
from genrst.rnng.transitions.actions import NUCLEARITIES, ActionSet, Reduce


@dataclass(frozen=True, slots=True)
class RnngConfig:
    """The configuration of the paper's model. The defaults are the paper's sizes (section 5.3)."""

    kind: Literal["generative", "discriminative"] = "generative"
    """Whether the model generates words, or conditions on them and on a lookahead at the next EDUs."""
    word_size: int = 300
    """Width of word embeddings, shared by the EDU encoder, the decoder's input and output, and the features."""
    edu_size: int = 512
    """Width of each direction of the EDU encoder."""
    edu_layers: int = 2
    """Layers of the EDU encoder."""
    encoder: str | None = None
    """A pretrained encoder in place of the EDU encoder (not in the paper): a folder, or a name on Hugging Face, with an
    optional @ and commit."""
    encoder_window: int = 512
    """The maximum number of word pieces that the pretrained encoder reads at once; fewer if it has fewer positions."""
    encoder_overlap: float = 0.5
    """The fraction of a window that overlaps with the previous one, so that every EDU is read with context."""
    document_size: int | None = None
    """Width of an LSTM over the EDU vectors of a document, whose output is added to them (not in the paper)."""
    unit_size: int = 512
    """Width of a unit, that is, of the TreeLSTM's hidden state."""
    relation_size: int = 100
    """Width of the embedding of a relation and nuclearity."""
    stack_size: int = 512
    """Width of the stack LSTM."""
    decoder_size: int = 512
    """Width of the decoder LSTM of the EDU language model."""
    lookahead_size: int = 512
    """Width of the backward LSTM over unread EDUs (discriminative only)."""
    boundary_size: int = 10
    """Width of the embeddings that compare sentences and paragraphs."""
    deprel_size: int = 50
    """Width of dependency relation embeddings."""
    layout_size: int | None = None
    """Width of embeddings of the layout of units (not in the paper). It also splits GEN into three kinds: within a
    sentence, with a new sentence, with a new paragraph."""
    layout_kinds: bool = False
    """Whether headings, list items and turns of speakers add three more kinds of GEN. Requires `layout_size`."""
    direct_size: int | None = None
    """Width of the first, last and nuclear EDU of the top two units in the state (not in the paper)."""
    hidden_size: int | None = None
    """Width of a hidden layer between the state and the predictions (not in the paper)."""
    output_words: int | None = None
    """The number of most frequent words to generate. All others are generated as `<unk>`. By default, all words."""
    dropout: float = 0.0
    """Dropout of the EDU vectors and of the hidden layer (not in the paper)."""
    word_dropout: float = 0.0
    """Dropout of the vector that the next word is predicted from (generative only). It helps if the model memorises
    words before its trees are good."""

    def __post_init__(self) -> None:
        check_sizes(dataclasses.asdict(self), "model")
        # A window must have room for its prefix and suffix, and for some text.
        check_ranges(self, "model", {"encoder_window": self.encoder_window >= 8})
        if self.layout_kinds and self.layout_size is None:
            raise ConfigError("model.layout_kinds needs a width for layout: set model.layout_size")


PAD, NONE, UNK, EOS = "<pad>", "<none>", "<unk>", "<eos>"
SPECIALS = (PAD, NONE, UNK, EOS)
PAD_ID, NONE_ID, UNK_ID, EOS_ID = range(4)
"""The numbers of the special symbols: a missing word of a unit, a missing unit, an unknown word, the end of an EDU."""

FIRST_OUTPUT_ID = UNK_ID
"""The first symbol that the language model can generate. Those before it occur only in features."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Numbered symbols. The special ones come first."""

    symbols: tuple[str, ...]
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # If a text has a word such as "<pad>", it must not be confused with the special symbol.
        reserved = {PAD, NONE, EOS}
        numbers = {symbol: number for number, symbol in enumerate(self.symbols) if symbol not in reserved}
        object.__setattr__(self, "_numbers", numbers)

    @classmethod
    def from_words(cls, words: Iterable[str], min_count: int = 2) -> "Vocabulary":
        """Build a vocabulary of the special symbols and all words seen at least `min_count` times, by frequency."""
        counts = Counter(words)
        kept = [word for word, count in counts.items() if count >= min_count and word not in SPECIALS]
        return cls((*SPECIALS, *sorted(kept, key=lambda word: (-counts[word], word))))

    @classmethod
    def from_labels(cls, labels: Iterable[str]) -> "Vocabulary":
        """Build a vocabulary of labels (dependency relations), after `<none>` and `<unk>`."""
        return cls((NONE, UNK, *sorted(set(labels) - {NONE, UNK})))

    def __len__(self) -> int:
        return len(self.symbols)

    def number(self, symbol: str) -> int:
        """Return the number of a word or label; that of `<unk>` if it is not in the vocabulary."""
        return self._numbers.get(symbol, self._numbers[UNK])

    def numbers(self, symbols: Sequence[str]) -> list[int]:
        """Return the numbers of symbols."""
        return [self.number(symbol) for symbol in symbols]


@dataclass(frozen=True, slots=True)
class Symbols:
    """The vocabularies of a model."""

    words: Vocabulary
    deprels: Vocabulary
    actions: ActionSet

    @property
    def nucleus_is_right(self) -> tuple[bool, ...]:
        """Whether each action builds a unit whose only nucleus is the right child."""
        return (False, *(label.nuclearity == "SN" for label in self.actions.labels))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "words": list(self.words.symbols),
            "deprels": list(self.deprels.symbols),
            "labels": [[label.relation, label.nuclearity] for label in self.actions.labels],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Symbols":
        """Build the symbols from the data that `as_dict` returns."""
        try:
            words, deprels = strings(data["words"], "words", SPECIALS), strings(data["deprels"], "deprels", (NONE, UNK))
            labels = tuple(Reduce(*strings(label, "labels")) for label in data["labels"])
            if not labels or any(label.nuclearity not in NUCLEARITIES for label in labels):
                raise ValueError(f"every label must be a relation with one of {', '.join(NUCLEARITIES)}")
            return cls(Vocabulary(words), Vocabulary(deprels), ActionSet(labels))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"the symbols are malformed: {error!r}") from error


def strings(data: object, name: str, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Read symbols from plain data, a list of strings that must begin with `first`."""
    if not isinstance(data, list) or not all(isinstance(one, str) for one in data):
        raise TypeError(f"{name} must be a list of strings")
    if tuple(data[: len(first)]) != first:
        raise ValueError(f"{name} must start with {' '.join(first)}")
    return tuple(data)


def make_symbols(words: Iterable[str], deprels: Iterable[str], actions: ActionSet, min_count: int = 2) -> Symbols:
    """Build the vocabularies of a training set."""
    return Symbols(Vocabulary.from_words(words, min_count), Vocabulary.from_labels(deprels), actions)
