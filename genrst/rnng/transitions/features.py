"""Structural features of the top two units as plain integers (section 3.3.2 of the paper).

They depend only on which EDUs the two units cover, never on the trees inside: the left unit covers the EDUs
[start, middle), the right one [middle, stop). Words are token numbers of the document; `NOTHING` stands for padding.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

NOTHING = -1
"""Where a feature has no word: padding, or a dummy unit."""

N_HEAD_WORDS = 3


class Comparison(IntEnum):
    """How two units lie with respect to sentences, or to paragraphs."""

    NO_PAIR = 0
    """Fewer than two units are on the stack."""
    SAME = 1
    """Both lie inside the same one."""
    DIFFERENT = 2
    """Each lies inside one, but not the same."""
    INCOMPARABLE = 3
    """One of them spans several."""


class Dominance(NamedTuple):
    """A syntactic dependency between the two units: a word of one whose head is in the other."""

    word: int
    head: int
    deprel: int


NO_DOMINANCE = Dominance(NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class Features:
    """What the paper's model sees of the top two units besides their vectors."""

    n_units: int
    """How many of the two there are."""
    right_heads: tuple[int, int, int]
    """Up to three words of the topmost unit whose syntactic head is outside it."""
    left_heads: tuple[int, int, int]
    """The same for the second unit."""
    sentence: Comparison
    paragraph: Comparison
    dominance: Dominance


_NO_HEADS = (NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class Syntax:
    """The parts of a document that features are made of, as integers.

    `heads` gives each token's head (a root is its own), `deprels` numbers its relation; `edu_tokens` has the first
    token of every EDU and the number of tokens at its end; `sentences` and `paragraphs` number those of every EDU;
    `kinds` says what every EDU begins (`genrst.rnng.transitions.boundaries.Kind`); it is empty if that is not known.
    """

    heads: Sequence[int]
    deprels: Sequence[int]
    edu_tokens: Sequence[int]
    sentences: Sequence[int]
    paragraphs: Sequence[int]
    kinds: Sequence[int] = ()

    def features(self, start: int, middle: int, stop: int) -> Features:
        """The features of the units [start, middle) and [middle, stop)."""
        return Features(
            2,
            self.head_words(middle, stop),
            self.head_words(start, middle),
            _compare(self.sentences, start, middle, stop),
            _compare(self.paragraphs, start, middle, stop),
            self.dominance(start, middle, stop),
        )

    def features_of_one(self, start: int, stop: int) -> Features:
        """The features of a stack that holds only the unit [start, stop), or nothing if start = stop."""
        n_units = int(start < stop)
        heads = self.head_words(start, stop) if n_units else _NO_HEADS
        return Features(n_units, heads, _NO_HEADS, Comparison.NO_PAIR, Comparison.NO_PAIR, NO_DOMINANCE)

    def head_words(self, start: int, stop: int) -> tuple[int, int, int]:
        """The first three tokens of a unit whose head is outside it; the head of a root is outside everything."""
        first, last = self.edu_tokens[start], self.edu_tokens[stop]
        found: list[int] = []
        for token in range(first, last):
            head = self.heads[token]
            if head == token or not first <= head < last:
                found.append(token)
                if len(found) == N_HEAD_WORDS:
                    break
        found += [NOTHING] * (N_HEAD_WORDS - len(found))
        return found[0], found[1], found[2]

    def dominance(self, start: int, middle: int, stop: int) -> Dominance:
        """The first dependency between the two units, by the position of the dependent.

        Only the sentence at the border can hold one, so only its part of both units is searched.
        """
        if self.sentences[middle - 1] != self.sentences[middle]:
            return NO_DOMINANCE
        border = self.sentences[middle]
        start = bisect_left(self.sentences, border, start, middle)
        stop = bisect_right(self.sentences, border, middle, stop)
        first, split, last = self.edu_tokens[start], self.edu_tokens[middle], self.edu_tokens[stop]
        for token in range(first, last):
            head = self.heads[token]
            if first <= head < last and (token < split) != (head < split):
                return Dominance(token, head, self.deprels[token])
        return NO_DOMINANCE


def _compare(groups: Sequence[int], start: int, middle: int, stop: int) -> Comparison:
    """Groups are numbered in order, so a unit lies inside one if its first and last EDU do."""
    if groups[start] != groups[middle - 1] or groups[middle] != groups[stop - 1]:
        return Comparison.INCOMPARABLE
    return Comparison.SAME if groups[start] == groups[middle] else Comparison.DIFFERENT
