"""What a model is made with: its sizes (the `[model]` table, `config.json`) and all that it numbers (`symbols.json`).

Symbols are words, dependency relations and actions. Words seen too seldom in training are `<unk>`.
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
    """The paper's model; the defaults are its sizes (section 5.3)."""

    kind: Literal["generative", "discriminative"] = "generative"
    """Whether words are generated, or only conditioned on with a view of the EDUs to come."""
    word_size: int = 300
    """Width of word embeddings, shared by the EDU encoder, the decoder's input and output, and the features."""
    edu_size: int = 512
    """Width of each direction of the EDU encoder."""
    edu_layers: int = 2
    """Layers of the EDU encoder."""
    encoder: str | None = None
    """A pretrained encoder in place of the EDU encoder: a name on Hugging Face, which may end with @ and
    a commit, or a folder (not the paper's)."""
    encoder_window: int = 512
    """The most word pieces that the pretrained encoder reads at once; fewer if it has fewer positions."""
    encoder_overlap: float = 0.5
    """The fraction of a window that is also in the one before it, so that every EDU is read with context."""
    document_size: int | None = None
    """Width of an LSTM over the EDU vectors of a document, which is added to them (not the paper's)."""
    unit_size: int = 512
    """Width of a unit: of the TreeLSTM's hidden state."""
    relation_size: int = 100
    """Width of the embedding of a relation and nuclearity."""
    stack_size: int = 512
    """Width of the stack LSTM."""
    decoder_size: int = 512
    """Width of the decoder LSTM of the EDU language model."""
    lookahead_size: int = 512
    """Width of the backward LSTM over EDUs not yet read (discriminative only)."""
    boundary_size: int = 10
    """Width of the embeddings that compare sentences and paragraphs."""
    deprel_size: int = 50
    """Width of dependency relation embeddings."""
    layout_size: int | None = None
    """Width of embeddings of the layout of units. With it GEN comes in three kinds: in a sentence, with a new sentence,
    with a new paragraph. The paper has neither."""
    layout_kinds: bool = False
    """Whether headings, list items and turns of speakers are kinds, too; then there are six. Needs `layout_size`."""
    direct_size: int | None = None
    """Width to which the first, last and nuclear EDU of the top two units enter the state (not the paper's)."""
    hidden_size: int | None = None
    """Width of a hidden layer between the state and what is predicted from it (not the paper's)."""
    output_words: int | None = None
    """How many of the most frequent words are generated; the others are generated as `<unk>`. All if not given."""
    dropout: float = 0.0
    """Fraction of the EDU vectors and of the hidden layer that is dropped in training (the paper has none)."""
    word_dropout: float = 0.0
    """Fraction of the vector that the next word is predicted from that is dropped in training: for words that are
    learned by heart before trees are good (generative)."""

    def __post_init__(self) -> None:
        check_sizes(dataclasses.asdict(self), "model")
        # There must be room for what stands around the text, and for some of it.
        check_ranges(self, "model", {"encoder_window": self.encoder_window >= 8})
        if self.layout_kinds and self.layout_size is None:
            raise ConfigError("model.layout_kinds needs a width for layout: set model.layout_size")


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
                raise ValueError(f"every label must be a relation with one of {', '.join(NUCLEARITIES)}")
            return cls(Vocabulary(words), Vocabulary(deprels), ActionSet(labels))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"the symbols are malformed: {error!r}") from error


def strings(data: object, name: str, first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Some symbols from plain data: a list of strings, the first of which must be these."""
    if not isinstance(data, list) or not all(isinstance(one, str) for one in data):
        raise TypeError(f"{name} must be a list of strings")
    if tuple(data[: len(first)]) != first:
        raise ValueError(f"{name} must start with {' '.join(first)}")
    return tuple(data)


def make_symbols(words: Iterable[str], deprels: Iterable[str], actions: ActionSet, min_count: int = 2) -> Symbols:
    """The vocabularies of a training set."""
    return Symbols(Vocabulary.from_words(words, min_count), Vocabulary.from_labels(deprels), actions)
