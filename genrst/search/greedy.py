"""Greedy search: in every document the best structural action at every step, all documents side by side.

GEN competes with RE by p_trans alone: the words of an EDU are never likelier than 1, so if they counted, GEN would
always come last and every tree would branch to the left. Words are scored along the way, not chosen by.
"""

from dataclasses import dataclass, field

import numpy as np

from genrst.errors import GenrstError
from genrst.search.scorer import EMPTY_STACK, NO_UNIT, Scorer


@dataclass(slots=True)
class _Parse:
    """The one hypothesis of a document: units, their first EDUs, and the stacks under and with each of them."""

    n_edus: int
    n_generated: int = 0
    units: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stacks: list[int] = field(default_factory=lambda: [EMPTY_STACK])
    actions: list[int] = field(default_factory=list)
    action_logp: float = 0.0

    @property
    def is_complete(self) -> bool:
        return self.n_generated == self.n_edus and len(self.units) == 1

    def start_of(self, place: int) -> int:
        return self.starts[place] if len(self.starts) >= -place else NO_UNIT


@dataclass(frozen=True, slots=True)
class Parse:
    """The actions found for a document and their structural log-probability."""

    actions: tuple[int, ...]
    action_logp: float


def search_greedily(scorer: Scorer) -> list[Parse]:
    """Parse all documents of a scorer."""
    parses = [_Parse(n_edus) for n_edus in scorer.n_edus]
    while active := [number for number, parse in enumerate(parses) if not parse.is_complete]:
        _step(scorer, np.array(active), [parses[number] for number in active])
    return [Parse(tuple(parse.actions), parse.action_logp) for parse in parses]


def _step(scorer: Scorer, documents: np.ndarray[tuple[int], np.dtype[np.int64]], parses: list[_Parse]) -> None:
    """One action in each document."""
    logp = scorer.action_logp(
        documents,
        np.array([parse.stacks[-1] for parse in parses]),
        np.array([parse.start_of(-2) for parse in parses]),
        np.array([parse.start_of(-1) for parse in parses]),
        np.array([parse.n_generated for parse in parses]),
    )
    best, scores = logp.argmax(axis=1), logp.max(axis=1)
    if not np.isfinite(scores).all():
        raise GenrstError(f"the log-probability of an action must be a number, was: {scores[~np.isfinite(scores)][0]}")
    for parse, action, score in zip(parses, best.tolist(), scores.tolist(), strict=True):
        parse.actions.append(action)
        parse.action_logp += score
    _generate(scorer, [(d, p) for d, p, a in zip(documents.tolist(), parses, best, strict=True) if a == 0])
    _reduce(scorer, [parse for parse, action in zip(parses, best, strict=True) if action > 0])


def _generate(scorer: Scorer, chosen: list[tuple[int, _Parse]]) -> None:
    if not chosen:
        return
    edus = np.array([parse.n_generated for _, parse in chosen])
    units = scorer.leaves(np.array([document for document, _ in chosen]), edus)
    stacks = scorer.push(np.array([parse.stacks[-1] for _, parse in chosen]), units)
    for (_, parse), unit, stack in zip(chosen, units.tolist(), stacks.tolist(), strict=True):
        parse.units.append(unit)
        parse.starts.append(parse.n_generated)
        parse.stacks.append(stack)
        parse.n_generated += 1


def _reduce(scorer: Scorer, parses: list[_Parse]) -> None:
    if not parses:
        return
    right = np.array([parse.units.pop() for parse in parses])
    left = np.array([parse.units.pop() for parse in parses])
    units = scorer.compose(left, right, np.array([parse.actions[-1] - 1 for parse in parses]))
    for parse in parses:
        del parse.stacks[-2:], parse.starts[-1:]
    stacks = scorer.push(np.array([parse.stacks[-1] for parse in parses]), units)
    for parse, unit, stack in zip(parses, units.tolist(), stacks.tolist(), strict=True):
        parse.units.append(unit)
        parse.stacks.append(stack)
