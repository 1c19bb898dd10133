"""A document as numbers: all that the network reads, without text or spaCy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from genrst.model.schedule import Computation, IntArray, run
from genrst.model.vocabulary import NONE_ID, PAD_ID
from genrst.transitions.actions import GENERATE
from genrst.transitions.features import NOTHING, Features, Syntax
from genrst.transitions.layout import boundaries, unit_layout


def _nothing() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Example:
    """The words and the syntax of a document, and its gold actions if it has a tree."""

    id: str
    edu_words: IntArray
    """The words of all EDUs, one after the other."""
    edu_lengths: IntArray
    token_words: IntArray
    """The word of every token, for features; an entity's tokens all have its type."""
    syntax: Syntax
    actions: tuple[int, ...] = ()
    pieces: IntArray = field(default_factory=_nothing)
    """The word pieces of all EDUs, one after the other; none unless a pretrained encoder reads them."""
    piece_lengths: IntArray = field(default_factory=_nothing)

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""
        return len(self.edu_lengths)


class StateFeatures(NamedTuple):
    """The features of states as the network looks them up, a row per state."""

    words: IntArray
    """Shape: (states, 8): three head words of the top unit, three of the second, the two of the dominance relation."""
    comparisons: IntArray
    """Shape: (states, 2): sentences, paragraphs."""
    deprels: IntArray
    """Shape: (states)"""
    layout: IntArray
    """Shape: (states, 6): three numbers of the top unit, three of the second."""
    boundaries: IntArray
    """Shape: (states): what the next EDU begins; 0 when none is left."""


class Followed(NamedTuple):
    """A computation, the features of the state before each of its steps, and what is right to do there."""

    computation: Computation
    features: StateFeatures
    right_actions: IntArray
    """Shape: (steps, 2): the actions that are right, the same one twice if there is only one."""


def follow(example: Example, nucleus_is_right: Sequence[bool], has_kinds: bool = False) -> Followed:
    """Run the actions of an example, all of which are right; `has_kinds` is that of the network."""
    computation = run(example.actions, nucleus_is_right)
    rows = [encode_features(example, _features_before(example, computation, step)) for step in range(len(computation))]
    words, comparisons, deprels = zip(*rows, strict=True)
    found = boundaries(example.syntax, has_kinds)
    following = np.array([*found, 0])[n_read(example.actions)]
    features = StateFeatures(
        np.array(words), np.array(comparisons), np.array(deprels), _layouts(found, computation), following
    )
    return Followed(computation, features, np.repeat(np.array(example.actions)[:, None], 2, axis=1))


def _layouts(found: Sequence[int], computation: Computation) -> IntArray:
    """The layout of the top two units before each step."""
    spans = list(zip(computation.start.tolist(), computation.stop.tolist(), strict=True))
    of_unit = [unit_layout(found, *span) for span in spans]
    nothing = unit_layout(found, -1, -1)
    below = [of_unit[second] if second >= 0 else nothing for second in computation.below.tolist()]
    after = [(*top, *second) for top, second in zip(of_unit, below, strict=True)]
    return np.array([(*nothing, *nothing), *after[:-1]])


def _features_before(example: Example, computation: Computation, step: int) -> Features:
    top = step - 1
    if top < 0:
        return example.syntax.features_of_one(0, 0)
    second = int(computation.below[top])
    start, stop = int(computation.start[top]), int(computation.stop[top])
    if second < 0:
        return example.syntax.features_of_one(start, stop)
    return example.syntax.features(int(computation.start[second]), start, stop)


def encode_features(example: Example, features: Features) -> tuple[list[int], tuple[int, int], int]:
    """Words, comparisons and dependency relation of one state as the network looks them up."""
    missing_right = PAD_ID if features.n_units >= 1 else NONE_ID
    missing_left = PAD_ID if features.n_units == 2 else NONE_ID
    words = example.token_words
    heads = [missing_right if token == NOTHING else int(words[token]) for token in features.right_heads]
    heads += [missing_left if token == NOTHING else int(words[token]) for token in features.left_heads]
    word, head, deprel = features.dominance
    heads += [NONE_ID if token == NOTHING else int(words[token]) for token in (word, head)]
    return heads, (features.sentence, features.paragraph), 0 if deprel == NOTHING else deprel


def is_generate(actions: Sequence[int]) -> IntArray:
    """The steps at which an EDU is generated."""
    return np.flatnonzero(np.asarray(actions) == GENERATE)


def n_read(actions: Sequence[int]) -> IntArray:
    """The EDUs read before each step."""
    is_generated = np.asarray(actions) == GENERATE
    before: IntArray = np.cumsum(is_generated) - is_generated
    return before
