"""The searches as plain loops, one state at a time, for one document: the judges of the fast ones.

Also the enumeration of all trees, which every search must agree with if nothing is pruned.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from genrst.rnng.search.results import Parse
from genrst.rnng.search.scorer import Columns, Scorer
from genrst.rnng.transitions.actions import GENERATE, NO_UNIT, States


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A derivation: the units on the stack with their first EDUs, and the stacks up to each of them."""

    stacks: tuple[Columns, ...]
    units: tuple[tuple[Columns, int], ...] = ()
    n_generated: int = 0
    actions: tuple[int, ...] = ()
    action_logp: float = 0.0
    word_logp: float = 0.0

    @property
    def logp(self) -> float:
        """The log-probability of the derivation."""
        return self.action_logp + self.word_logp

    @property
    def parse(self) -> Parse:
        """The derivation as a result."""
        return Parse(self.actions, self.action_logp, self.word_logp)


class Machine:
    """The transition system over a scorer of one document."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._leaves = scorer.leaves()
        (self.n_edus,) = scorer.n_edus

    @property
    def start(self) -> State:
        """Nothing generated, an empty stack."""
        return State((self._scorer.empty_stack(),))

    def is_complete(self, state: State) -> bool:
        """Whether all EDUs are generated and one tree is left."""
        return state.n_generated == self.n_edus and len(state.units) == 1

    def successors(self, state: State) -> Iterator[State]:
        """The states after each legal action."""
        starts = [NO_UNIT, NO_UNIT, *(start for _, start in state.units)][-2:]
        can_generate = state.n_generated < self.n_edus
        document, second, top, n_generated = (self._row(value) for value in (0, *starts, state.n_generated))
        states = States(document, state.stacks[-1], second, top, n_generated)
        logp, words = self._scorer.score(states, n_words=int(can_generate))
        scores = logp[0].double().tolist()
        if can_generate:
            yield self._generate(state, scores[GENERATE], float(words[0]))
        if len(state.units) >= 2:
            for label, score in enumerate(scores[1:]):
                yield self._reduce(state, label, score)

    def _generate(self, state: State, action_logp: float, word_logp: float) -> State:
        edu = state.n_generated
        unit = [column[edu : edu + 1] for column in self._leaves]
        return State(
            (*state.stacks, self._scorer.push(state.stacks[-1], unit)),
            (*state.units, (unit, edu)),
            state.n_generated + 1,
            (*state.actions, GENERATE),
            state.action_logp + action_logp,
            state.word_logp + word_logp,
        )

    def _reduce(self, state: State, label: int, action_logp: float) -> State:
        (left, start), (right, _) = state.units[-2:]
        unit = self._scorer.compose(left, right, self._row(label))
        return State(
            (*state.stacks[:-2], self._scorer.push(state.stacks[-3], unit)),
            (*state.units[:-2], (unit, start)),
            state.n_generated,
            (*state.actions, label + 1),
            state.action_logp + action_logp,
            state.word_logp,
        )

    def _row(self, value: int) -> Tensor:
        return torch.tensor([value], device=self._scorer.device)


def _best(states: list[State], k: int) -> list[State]:
    return sorted(states, key=lambda state: -state.logp)[:k]


def enumerate_all(scorer: Scorer) -> list[Parse]:
    """Every tree of a document, the likeliest first. There are Catalan(m − 1)·labels^(m − 1) of them."""
    machine = Machine(scorer)
    pending, complete = [machine.start], []
    while pending:
        state = pending.pop()
        if machine.is_complete(state):
            complete.append(state)
        else:
            pending.extend(machine.successors(state))
    return [state.parse for state in _best(complete, len(complete))]


def search_bags_literally(scorer: Scorer, k: int) -> dict[tuple[int, int], list[State]]:
    """Algorithm 2; returns all beams, by the numbers of GEN and RE actions. The answer is in the last one."""
    machine = Machine(scorer)
    m = machine.n_edus
    beams: dict[tuple[int, int], list[State]] = {(0, 0): [machine.start]}
    for i in range(m + 1):
        for j in range(max(i, 1)):
            beams[i, j] = _best(beams.get((i, j), []), k)
            for state in beams[i, j]:
                for after in machine.successors(state):
                    cell = (i + 1, j) if after.n_generated > state.n_generated else (i, j + 1)
                    beams.setdefault(cell, []).append(after)
    return beams


def search_actions_literally(scorer: Scorer, k: int) -> list[Parse]:
    """One beam of the k best derivations of each length."""
    machine = Machine(scorer)
    beam = [machine.start]
    for _ in range(2 * machine.n_edus - 1):
        beam = _best([after for state in beam for after in machine.successors(state)], k)
    return [state.parse for state in beam]


def search_words_literally(scorer: Scorer, k: int, k_w: int, k_s: int) -> list[Parse]:
    """Word-level search with fast-tracking (see `genrst.rnng.search.word`)."""
    machine = Machine(scorer)
    current, complete = [machine.start], list[State]()
    while current:
        waiting: list[State] = []
        while current and len(waiting) < k_w and len(complete) < k:
            successors = [after for state in current for after in machine.successors(state)]
            done = [after for after in successors if machine.is_complete(after)]
            position = current[0].n_generated
            fast = _best([after for after in successors if after.n_generated > position], k_s)
            kept = _best([after for after in successors if after not in fast], k)
            complete += [after for after in (*fast, *kept) if after in done]
            waiting += [after for after in (*fast, *kept) if after.n_generated > position and after not in done]
            current = [after for after in kept if after.n_generated == position and after not in done]
        current = [] if len(complete) >= k and not waiting else _best(waiting, k_w)
    return [state.parse for state in _best(complete, k)]
