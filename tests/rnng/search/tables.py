"""Scorers by table, with which the answer of a search can be worked out by hand or by brute force.

The units on a stack, written out as the actions that build them, are the whole derivation so far: so tables are
functions of the actions done.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from genrst.rnng.search.scorer import Columns
from genrst.rnng.transitions.actions import NO_UNIT, States


class Place(NamedTuple):
    """A state, as tables see it."""

    document: int
    actions: tuple[int, ...]
    """Done so far."""
    is_legal: tuple[bool, ...]
    """Whether GEN and each label may come next."""


class Scores(NamedTuple):
    """What a table says about a state: a score per action (those of illegal ones do not count), and for the words."""

    actions: Sequence[float]
    words: float = 0.0


Table = Callable[[Place], Scores]


class Stack(NamedTuple):
    """What a number of a stack stands for."""

    actions: tuple[int, ...]
    starts: tuple[int, ...]
    """The first EDU of each unit."""


class TableScorer:
    """Knows units and stacks by numbers of its own, and checks on the way that search says the truth about spans."""

    device = torch.device("cpu")

    def __init__(self, n_edus: Sequence[int], table: Table, n_labels: int = 2) -> None:
        self.n_edus = tuple(n_edus)
        self.n_labels = n_labels
        self.table = table
        self.units: list[tuple[int, ...]] = [(0,)] * sum(self.n_edus)
        self.stacks = [Stack((), ())]

    def leaves(self) -> Columns:
        return [torch.arange(sum(self.n_edus))]

    def empty_stack(self) -> Columns:
        return [torch.tensor([0])]

    def compose(self, left: Columns, right: Columns, labels: Tensor) -> Columns:
        first = len(self.units)
        for a, b, label in zip(left[0].tolist(), right[0].tolist(), labels.tolist(), strict=True):
            self.units.append((*self.units[a], *self.units[b], label + 1))
        return [torch.arange(first, len(self.units))]

    def push(self, stacks: Columns, units: Columns) -> Columns:
        first = len(self.stacks)
        for stack, unit in zip(stacks[0].tolist(), units[0].tolist(), strict=True):
            below = self.stacks[stack]
            actions = (*below.actions, *self.units[unit])
            self.stacks.append(Stack(actions, (*below.starts, below.actions.count(0))))
        return [torch.arange(first, len(self.stacks))]

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        del n_alike
        documents, (stacks,), second, top, n_generated = states
        columns = (column.tolist() for column in (documents, stacks, second, top, n_generated))
        rows = [self._row(*row) for row in zip(*columns, strict=True)]
        actions, words = zip(*rows, strict=True) if rows else ((), ())
        shape = (len(rows), 1 + self.n_labels)
        return (
            torch.tensor(actions, dtype=torch.double).view(shape),
            torch.tensor(words, dtype=torch.double)[:n_words],
        )

    def _row(self, document: int, number: int, second: int, top: int, n_generated: int) -> tuple[list[float], float]:
        stack = self.stacks[number]
        assert (NO_UNIT, NO_UNIT, *stack.starts)[-2:] == (second, top)
        assert stack.actions.count(0) == n_generated
        is_legal = (n_generated < self.n_edus[document], *([second != NO_UNIT] * self.n_labels))
        actions, words = self.table(Place(document, stack.actions, is_legal))
        masked = [score if legal else -math.inf for score, legal in zip(actions, is_legal, strict=True)]
        return masked, words


def log_softmax(scores: Sequence[float], is_legal: Sequence[bool]) -> list[float]:
    """Normalise over the legal actions; the others have −∞."""
    total = sum(math.exp(score) for score, legal in zip(scores, is_legal, strict=True) if legal)
    return [s - math.log(total) if legal else -math.inf for s, legal in zip(scores, is_legal, strict=True)]


def wild(seed: int = 0, word_weight: float = 1.0) -> Table:
    """Random actions and words for every state, the same ones in the same place."""

    def table(place: Place) -> Scores:
        rng = random.Random(hash((seed, place.document, place.actions)))
        scores = [rng.gauss(0, 2) for _ in place.is_legal]
        return Scores(log_softmax(scores, place.is_legal), -word_weight * rng.uniform(0, 9))

    return table


def fixed(*scores: float) -> Table:
    """The same scores everywhere, normalised over the legal actions; words are certain."""
    return lambda place: Scores(log_softmax(scores, place.is_legal))


def uniform(word_logp: float = -20.0) -> Table:
    """All legal actions are equally likely, and all EDUs too."""
    return lambda place: Scores(log_softmax([0.0] * len(place.is_legal), place.is_legal), word_logp)


def constant(action_logp: float = -1.0) -> Table:
    """The same score for every action, forced or not."""
    return lambda place: Scores([action_logp] * len(place.is_legal))


def following(*derivations: Sequence[int], margin: float = 0.1) -> Table:
    """In each document the actions of one derivation are a little likelier than all others."""

    def table(place: Place) -> Scores:
        gold = derivations[place.document]
        n_done = len(place.actions)
        best = gold[n_done] if place.actions == tuple(gold[:n_done]) and n_done < len(gold) else -1
        scores = [margin if action == best else 0.0 for action in range(len(place.is_legal))]
        return Scores(log_softmax(scores, place.is_legal))

    return table
