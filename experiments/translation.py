"""From the numbers of prepared features to those of a model that was trained with others.

Symbols are the same if they are written the same: words, dependency relations, word pieces, the labels of actions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genrst.errors import UsageError
from genrst.model.encoder.files import PieceTokenizer
from genrst.model.examples import Example
from genrst.model.schedule import IntArray
from genrst.model.storage import Model
from genrst.training.data import Prepared
from genrst.transitions.actions import ActionSet
from genrst.vocabulary import NONE, SPECIALS, UNK, Vocabulary


@dataclass(frozen=True, slots=True)
class Translation:
    """The model's number for each of ours, and for actions the other way round."""

    words: IntArray
    deprels: IntArray
    pieces: IntArray | None
    """None if the model reads no word pieces."""
    actions: IntArray

    def to_model(self, example: Example) -> Example:
        """A document as the model reads it. It keeps our actions: the model may not know them all."""
        deprels = self.deprels[np.asarray(example.syntax.deprels, dtype=np.int64)].tolist()
        return replace(
            example,
            edu_words=self.words[example.edu_words],
            token_words=self.words[example.token_words],
            syntax=replace(example.syntax, deprels=deprels),
            pieces=example.pieces if self.pieces is None else self.pieces[example.pieces],
        )

    def from_model(self, actions: Sequence[int]) -> tuple[int, ...]:
        """Our numbers of the model's actions."""
        return tuple(self.actions[list(actions)].tolist())


def make_translation(prepared: Prepared, model: Model) -> Translation:
    """How a model reads prepared features; they must have all of its labels, and word pieces if it needs them."""
    ours, theirs = prepared.symbols, model.symbols
    return Translation(
        _symbols(ours.words, theirs.words, SPECIALS),
        _symbols(ours.deprels, theirs.deprels, (NONE, UNK)),
        None if model.tokenizer is None else _pieces(prepared.tokenizer, model.tokenizer),
        _actions(theirs.actions, ours.actions),
    )


def _symbols(ours: Vocabulary, theirs: Vocabulary, specials: Sequence[str]) -> IntArray:
    # The special symbols come first in either; asked for by name they would be words like any other.
    return np.array([*range(len(specials)), *theirs.numbers(ours.symbols[len(specials) :])])


def _pieces(spelling: str | None, tokenizer: PieceTokenizer) -> IntArray:
    from tokenizers import Tokenizer

    if spelling is None:
        raise UsageError("the features must be prepared with an encoder, for a model has one")
    ours, theirs = (Tokenizer.from_str(text).get_vocab() for text in (spelling, tokenizer.json))
    # A text of nothing is the unknown piece.
    ((unknown,),) = tokenizer([""])
    numbers = np.full(1 + max(ours.values()), unknown)
    for piece, number in ours.items():
        numbers[number] = theirs.get(piece, unknown)
    return numbers


def _actions(theirs: ActionSet, ours: ActionSet) -> IntArray:
    numbers = ours.numbers()
    actions = [theirs[number] for number in range(len(theirs))]
    if unknown := [action for action in actions if action not in numbers]:
        raise UsageError(f"all labels of a model must be among those of the features, was: {unknown[0]}")
    return np.array([numbers[action] for action in actions])
