"""The teachers: parsers that find the trees of prepared documents together.

Teachers and students number their symbols differently, so features are translated: words, dependency relations, word
pieces and labels are matched by their spelling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from experiments.runs import find_trees
from genrst.encoder.tokenizer import IntArray, PieceTokenizer
from genrst.errors import ConfigError, UsageError
from genrst.parser.folders import find_model, is_ensemble, read_parser_config
from genrst.rnng.config import NONE, SPECIALS, UNK, Vocabulary
from genrst.rnng.examples import Example
from genrst.rnng.finder import Member, RnngModel, RnngSettings, load_rnng
from genrst.rnng.transitions.actions import ActionSet
from genrst.training.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Translation:
    """The model's number for each of our symbols; for actions, our number for each of the model's."""

    words: IntArray
    deprels: IntArray
    pieces: IntArray | None
    """None if the model reads no word pieces."""
    actions: IntArray

    def to_model(self, example: Example) -> Example:
        """A document as the model reads it. It keeps our actions, which the model may not all know."""
        deprels = self.deprels[np.asarray(example.syntax.deprels, dtype=np.int64)].tolist()
        return replace(
            example,
            edu_words=self.words[example.edu_words],
            token_words=self.words[example.token_words],
            syntax=replace(example.syntax, deprels=deprels),
            pieces=example.pieces if self.pieces is None else self.pieces[example.pieces],
        )

    def from_model(self, actions: Sequence[int]) -> tuple[int, ...]:
        """The model's actions in our numbers."""
        return tuple(self.actions[list(actions)].tolist())


def make_translation(prepared: Prepared, model: RnngModel) -> Translation:
    """How a model reads prepared features, which must have all of its labels, and word pieces if it needs them."""
    ours, theirs = prepared.symbols, model.symbols
    return Translation(
        _symbols(ours.words, theirs.words, SPECIALS),
        _symbols(ours.deprels, theirs.deprels, (NONE, UNK)),
        None if model.tokenizer is None else match_pieces(prepared.tokenizer, model.tokenizer),
        translate_actions(theirs.actions, ours.actions),
    )


def _symbols(ours: Vocabulary, theirs: Vocabulary, specials: Sequence[str]) -> IntArray:
    # The special symbols come first in both; looked up by name, they would be treated as ordinary words.
    return np.array([*range(len(specials)), *theirs.numbers(ours.symbols[len(specials) :])])


def match_pieces(spelling: str | None, tokenizer: PieceTokenizer) -> IntArray:
    """The number that a tokenizer gives to each piece of another, whose JSON is given."""
    from tokenizers import Tokenizer

    if spelling is None:
        raise UsageError("the features must be prepared with an encoder, for a model has one")
    ours, theirs = (Tokenizer.from_str(text).get_vocab() for text in (spelling, tokenizer.json))
    # An empty text is the unknown piece.
    ((unknown,),) = tokenizer([""])
    numbers = np.full(1 + max(ours.values()), unknown)
    for piece, number in ours.items():
        numbers[number] = theirs.get(piece, unknown)
    return numbers


def translate_actions(theirs: ActionSet, ours: ActionSet) -> IntArray:
    """Our number for each of the actions of a model; we must have all of them."""
    numbers = ours.numbers()
    actions = [theirs[number] for number in range(len(theirs))]
    if unknown := [action for action in actions if action not in numbers]:
        raise UsageError(f"all labels of a model must be among those of the features, got {unknown[0]}")
    return np.array([numbers[action] for action in actions])


@dataclass(frozen=True, slots=True)
class Teachers:
    """One or more parsers of equal weight that read documents prepared for other models."""

    models: Sequence[Member]
    translations: Sequence[Translation]
    settings: RnngSettings
    at_once: int
    """Documents that are searched side by side."""

    def __call__(self, examples: Sequence[Example]) -> list[tuple[int, ...]]:
        """The actions of each document, in its own numbers."""
        read = [[translation.to_model(example) for example in examples] for translation in self.translations]
        found = find_trees(self.models, read, self.settings, self.at_once)
        return [self.translations[0].from_model(one.parses[0].actions) for one in found]


def load_teachers(
    names: Sequence[str], prepared: Prepared, device: torch.device, settings: RnngSettings, at_once: int
) -> Teachers:
    """Teachers by name or folder; they must have the same labels, and their encoders compute as in training."""
    models = [_load_model(name, device) for name in names]
    for one, name in zip(models, names, strict=True):
        if one.model.symbols.actions != models[0].model.symbols.actions:
            raise ConfigError(f"{names[0]} and {name}: models that choose together must have the same labels")
    return Teachers(models, [make_translation(prepared, one.model) for one in models], settings, at_once)


def _load_model(name: str, device: torch.device) -> Member:
    folder = find_model(name)
    if is_ensemble(folder):
        raise UsageError(f"{name}: a teacher must have weights of its own, got an ensemble")
    return Member(load_rnng(folder, str(device), overlap=read_parser_config(folder).encoder_overlap))
