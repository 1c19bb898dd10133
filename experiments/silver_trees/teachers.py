"""Teachers: an ensemble of parsers that finds the trees of prepared documents.

Teachers and students number their symbols differently, so features are translated: words, dependency relations, word
pieces and labels are matched by name.
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
    """The model's number of each of our symbols; for actions, our number of each of the model's."""

    words: IntArray
    deprels: IntArray
    pieces: IntArray | None
    """None if the model does not use word pieces."""
    actions: IntArray

    def to_model(self, example: Example) -> Example:
        """Translate a document for the model; actions are kept, because the model may not have all of them."""
        deprels = self.deprels[np.asarray(example.syntax.deprels, dtype=np.int64)].tolist()
        return replace(
            example,
            edu_words=self.words[example.edu_words],
            token_words=self.words[example.token_words],
            syntax=replace(example.syntax, deprels=deprels),
            pieces=example.pieces if self.pieces is None else self.pieces[example.pieces],
        )

    def from_model(self, actions: Sequence[int]) -> tuple[int, ...]:
        """Translate the model's actions to our numbers."""
        return tuple(self.actions[list(actions)].tolist())


def make_translation(prepared: Prepared, model: RnngModel) -> Translation:
    """Make the translation for a model; the features must have all its labels, and word pieces if it needs them."""
    ours, theirs = prepared.symbols, model.symbols
    return Translation(
        _symbols(ours.words, theirs.words, SPECIALS),
        _symbols(ours.deprels, theirs.deprels, (NONE, UNK)),
        None if model.tokenizer is None else match_pieces(prepared.tokenizer, model.tokenizer),
        translate_actions(theirs.actions, ours.actions),
    )


def _symbols(ours: Vocabulary, theirs: Vocabulary, specials: Sequence[str]) -> IntArray:
    # Special symbols come first in both vocabularies; a lookup by name would treat them as ordinary words.
    return np.array([*range(len(specials)), *theirs.numbers(ours.symbols[len(specials) :])])


def match_pieces(spelling: str | None, tokenizer: PieceTokenizer) -> IntArray:
    """Return a tokenizer's number of each piece of another tokenizer, which is given as JSON."""
    from tokenizers import Tokenizer

    if spelling is None:
        raise UsageError("the features have no word pieces, which a teacher needs; prepare them with an encoder")
    ours, theirs = (Tokenizer.from_str(text).get_vocab() for text in (spelling, tokenizer.json))
    # An empty text is encoded as the unknown piece.
    ((unknown,),) = tokenizer([""])
    numbers = np.full(1 + max(ours.values()), unknown)
    for piece, number in ours.items():
        numbers[number] = theirs.get(piece, unknown)
    return numbers


def translate_actions(theirs: ActionSet, ours: ActionSet) -> IntArray:
    """Return our number of each action of a model; we must have all of them."""
    numbers = ours.numbers()
    actions = [theirs[number] for number in range(len(theirs))]
    if unknown := [action for action in actions if action not in numbers]:
        raise UsageError(f"the features lack a label of the model: {unknown[0]}")
    return np.array([numbers[action] for action in actions])


@dataclass(frozen=True, slots=True)
class Teachers:
    """One or more parsers with equal weights, for documents prepared for other models."""

    models: Sequence[Member]
    translations: Sequence[Translation]
    settings: RnngSettings
    at_once: int
    """The number of documents searched at once."""

    def __call__(self, examples: Sequence[Example]) -> list[tuple[int, ...]]:
        """Return the actions of each document, in its own numbers."""
        read = [[translation.to_model(example) for example in examples] for translation in self.translations]
        found = find_trees(self.models, read, self.settings, self.at_once)
        return [self.translations[0].from_model(one.parses[0].actions) for one in found]


def load_teachers(
    names: Sequence[str], prepared: Prepared, device: torch.device, settings: RnngSettings, at_once: int
) -> Teachers:
    """Load teachers by name or folder. They must have the same labels; encoders run in training precision."""
    models = [_load_model(name, device) for name in names]
    for one, name in zip(models, names, strict=True):
        if one.model.symbols.actions != models[0].model.symbols.actions:
            raise ConfigError(f"{names[0]} and {name}: the teachers must have the same labels")
    return Teachers(models, [make_translation(prepared, one.model) for one in models], settings, at_once)


def _load_model(name: str, device: torch.device) -> Member:
    folder = find_model(name)
    if is_ensemble(folder):
        raise UsageError(f"{name}: a teacher must not be an ensemble")
    return Member(load_rnng(folder, str(device), overlap=read_parser_config(folder).encoder_overlap))
