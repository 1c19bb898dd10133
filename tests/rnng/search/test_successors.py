import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from genrst.errors import GenrstError
from genrst.rnng.search.hypotheses import Beams, Forest, start
from genrst.rnng.search.successors import Chosen, Sources, Successors, build, choose, chosen_from, expand
from tests.rnng.search.gpu_way import DenseScorer, take_gpu_way
from tests.rnng.search.tables import Place, Scores, TableScorer, wild

torch.set_num_threads(1)

SCORES = st.sampled_from([-math.inf, -2.5, -1.0, 0.0, 3.0])
ROWS = st.integers(1, 9).flatmap(lambda width: st.lists(st.lists(SCORES, min_size=width, max_size=width), min_size=1))


def tensor(rows: list[list[float]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.double)


@given(ROWS, st.integers(1, 12), st.booleans())
def test_the_best_are_chosen_in_order(rows, k, waits):
    """Equal scores keep their order. In the way of a GPU, slots stay although nothing could fill them."""
    n_alive = max(sum(score > -math.inf for score in row) for row in rows)
    n_chosen = min(k, len(rows[0]), max(1, n_alive) if waits else k)
    expected = [sorted(range(len(row)), key=lambda column: -row[column])[:n_chosen] for row in rows]
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not waits:
            take_gpu_way(monkeypatch)
        assert choose(tensor(rows), k).tolist() == expected


@given(ROWS, st.integers(1, 12), st.integers(0, 1000))
def test_random_choices_change_only_ties(rows, k, seed):
    drawn = choose(tensor(rows), k, torch.Generator().manual_seed(seed)).tolist()
    in_order = choose(tensor(rows), k).tolist()
    for row, columns, expected in zip(rows, drawn, in_order, strict=True):
        assert len({*columns}) == len(columns)
        assert [row[column] for column in columns] == [row[column] for column in expected]


@pytest.mark.slow
def test_random_ties_are_uniform():
    """Every order of four equal columns, below a better one, beside another row; χ² with 23 degrees of freedom."""
    scores = tensor([[1.0, 1.0, 2.0, 1.0, 1.0], [5.0, 5.0, -math.inf, -math.inf, -math.inf]])
    generator = torch.Generator().manual_seed(0)
    n_draws, counts = 4800, dict[tuple[int, ...], int]()
    for _ in range(n_draws):
        best, *order = choose(scores, 5, generator)[0].tolist()
        assert best == 2
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    expected = n_draws / 24
    assert len(counts) == 24
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 49.7, "p > 0.001"


def test_of_nothing_nothing_is_chosen():
    assert choose(torch.zeros(0, 4), 3).shape == (0, 3)


class Expansion:
    """Beams of documents, grown by random choices, and what the table says about each of their derivations."""

    def __init__(self, scorer: TableScorer, table_seed: int) -> None:
        self.scorer, self.forest = scorer, Forest(scorer)
        self.beams = start(scorer)
        self._table = wild(table_seed)

    def actions(self, beam: int, place: int) -> tuple[int, ...]:
        return self.scorer.stacks[int(self.beams.stacks[beam, place])].actions

    def logp(self, document: int, actions: tuple[int, ...]) -> tuple[float, float]:
        """Of a derivation, action by action."""
        of_actions = of_words = 0.0
        for step, action in enumerate(actions):
            scores = self._table(Place(document, actions[:step], self.is_legal(document, actions[:step])))
            of_actions += scores.actions[action]
            of_words += scores.words if action == 0 else 0.0
        return of_actions, of_words

    def is_legal(self, document: int, actions: tuple[int, ...]) -> tuple[bool, ...]:
        n_generated = actions.count(0)
        can_reduce = 2 * n_generated - len(actions) >= 2
        return (n_generated < self.scorer.n_edus[document], *([can_reduce] * self.scorer.n_labels))

    def check(self, successors: Successors, word_weight: float, max_stack: int | None) -> None:
        """All successors have the log-probabilities of their derivations, and there are no others."""
        for beam, document in enumerate(self.beams.documents.tolist()):
            for place in range(self.beams.shape[1]):
                found = [successors.generate_logp[beam, place], *successors.reduce_logp[beam, place]]
                scores = [successors.generate_scores[beam, place], *successors.reduce_scores[beam, place]]
                words = [successors.word_logp[beam, place], *[self.beams.word_logp[beam, place]] * (len(found) - 1)]
                done = self.actions(beam, place)
                is_legal = list(self.is_legal(document, done))
                is_legal[0] &= max_stack is None or int(self.beams.sizes[beam, place]) < max_stack
                for action, legal in enumerate(is_legal):
                    if not (legal and self.beams.is_alive[beam, place]):
                        assert found[action] == scores[action] == -math.inf
                        continue
                    of_actions, of_words = self.logp(document, (*done, action))
                    assert float(found[action]) == pytest.approx(of_actions, abs=1e-9)
                    assert float(scores[action]) == pytest.approx(of_actions + word_weight * of_words, abs=1e-9)
                    assert float(words[action]) == pytest.approx(of_words, abs=1e-9)

    def grow(self, successors: Successors, columns: Tensor) -> None:
        """Build what columns stand for, each document's beam from itself, and check it against the actions done."""
        scores = torch.cat([successors.generate_scores, successors.reduce_scores.flatten(1)], dim=1)
        sources = torch.arange(len(columns))
        chosen = chosen_from(scores, columns, Sources(sources, sources, sources), successors)
        before, expected = self.beams, dict[tuple[int, int], tuple[int, ...]]()
        for beam, place in (scores.gather(1, columns) > -math.inf).nonzero().tolist():
            expected[beam, place] = self._after(beam, int(columns[beam, place]))
        self.beams = build(self.forest, before, successors, before.documents, chosen)
        assert self.beams.is_alive.nonzero().tolist() == [list(where) for where in expected]
        for (beam, place), actions in expected.items():
            assert self.actions(beam, place) == actions
            assert int(self.beams.n_generated[beam, place]) == actions.count(0)
            assert int(self.beams.sizes[beam, place]) == 2 * actions.count(0) - len(actions)
            logp = float(self.beams.action_logp[beam, place]), float(self.beams.word_logp[beam, place])
            assert logp == pytest.approx(self.logp(beam, actions), abs=1e-9)

    def _after(self, beam: int, column: int) -> tuple[int, ...]:
        """What was done before the successor in a column, and its action."""
        n_slots, n_labels = self.beams.shape[1], self.scorer.n_labels
        if column < n_slots:
            return (*self.actions(beam, column), 0)
        parent, label = divmod(column - n_slots, n_labels)
        return (*self.actions(beam, parent), label + 1)


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from([1.0, 0.3]),
    st.sampled_from([None, 2, 3]),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_successors_are_all_legal_actions_with_their_scores(sizes, n_labels, word_weight, max_stack, waits, seed):
    """Whatever random successors are kept, and whatever slots stay empty."""
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not waits:
            take_gpu_way(monkeypatch)
        scorer = (TableScorer if waits else DenseScorer)(sizes, wild(seed), n_labels)
        expansion = Expansion(scorer, seed)
        for _ in range(2 * max(sizes) - 1):
            successors = expand(expansion.forest, expansion.beams, word_weight, max_stack, is_level=False)
            expansion.check(successors, word_weight, max_stack)
            n_columns = successors.generate_scores.shape[1] * (1 + n_labels)
            n_chosen = rng.randint(1, min(5, n_columns))
            columns = [rng.sample(range(n_columns), n_chosen) for _ in sizes]
            expansion.grow(successors, torch.tensor(columns))
            expansion.forest.check()


@pytest.mark.parametrize("waits", [True, False])
def test_words_are_asked_for_where_an_edu_can_come(waits, monkeypatch):
    """On a CPU of those hypotheses and no others; elsewhere of the beams that may generate, the first ones."""
    asked = []

    class Listening(DenseScorer):
        def score(self, states, n_words, n_alike=1):
            asked.append((len(states.documents), n_words, n_alike))
            return super().score(states, n_words, n_alike)

    if not waits:
        take_gpu_way(monkeypatch)
    scorer = Listening([3, 2, 2], wild())
    forest, beams = Forest(scorer), start(scorer)
    for _ in range(2):
        chosen = Chosen(torch.arange(3)[:, None], torch.zeros(3, 1, dtype=torch.long), torch.ones(3, 1).bool())
        beams = build(forest, beams, expand(forest, beams), beams.documents, chosen)
    dead = beams.keep(torch.tensor([[True], [True], [False]]))
    both = beams.slots(torch.tensor([[0, 0]] * 3))
    asked.clear()
    for one, word_weight in ((beams, 1.0), (beams, 0.0), (dead, 1.0), (both, 1.0)):
        expand(forest, one, word_weight, n_generating=1)
    assert asked == [(3, 1, 1), (3, 0, 1), (2 if waits else 3, 1, 1), (6, 2, 1 if waits else 2)]


def offered(n_beams: int, n_slots: int, n_labels: int) -> Successors:
    generates, reduces = torch.zeros(n_beams, n_slots), torch.zeros(n_beams, n_slots, n_labels)
    return Successors(generates, generates, reduces, generates, reduces)


def test_what_columns_stand_for():
    """Those that generate come from one beam, those that reduce from another; nothing comes from nowhere."""
    scores = torch.arange(8.0)[None].repeat(3, 1)
    scores[1, 2:] = scores[2, :2] = -math.inf
    every = torch.arange(8)[None].repeat(3, 1)
    sources = Sources(torch.arange(3), torch.tensor([1, 3, -1]), torch.tensor([2, -1, 0]))
    chosen = chosen_from(scores, every, sources, offered(4, 2, 3))
    assert chosen.actions.tolist() == [[0, 0, 1, 2, 3, 1, 2, 3]] * 3
    assert chosen.parents[0].tolist() == [2, 3, 4, 4, 4, 5, 5, 5]
    assert chosen.parents[1, :2].tolist() == [6, 7]
    assert chosen.parents[2, 2:].tolist() == [0, 0, 0, 1, 1, 1]
    assert (chosen.parents >= 0).all(), "also of what is not there"
    assert chosen.is_there.tolist() == [[True] * 8, [True] * 2 + [False] * 6, [False] * 2 + [True] * 6]


def pair(scorer: TableScorer, forest: Forest) -> Beams:
    """Both EDUs of a document on the stack."""
    beams = start(scorer)
    for _ in range(2):
        zero = torch.zeros(1, 1, dtype=torch.long)
        beams = build(forest, beams, expand(forest, beams), beams.documents, Chosen(zero, zero, zero == 0))
    return beams


def test_only_what_is_chosen_is_built():
    scorer = TableScorer([2], wild(), n_labels=50)
    forest = Forest(scorer)
    beams = pair(scorer, forest)
    successors = expand(forest, beams)
    assert int((successors.reduce_scores > -math.inf).sum()) == 50
    actions = torch.tensor([[8, 31, 5]])
    chosen = Chosen(torch.zeros_like(actions), actions, torch.tensor([[True, True, False]]))
    built = build(forest, beams, successors, beams.documents, chosen)
    assert forest.actions(built.stacks[0, :2]) == [(0, 0, 8), (0, 0, 31)]
    assert built.is_alive.tolist() == [[True, True, False]]
    assert len(scorer.units) == 4
    nothing = torch.zeros(1, 0, dtype=torch.long)
    chosen = Chosen(nothing, nothing, nothing == 0)
    assert build(forest, beams, successors, beams.documents, chosen).shape == (1, 0)


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("is_word", [False, True])
def test_scores_that_are_no_numbers_are_an_error(number, is_word):
    scores = Scores([0.0] * 3, number) if is_word else Scores([number, 0.0, 0.0])
    scorer = TableScorer([2], lambda place: scores)
    forest = Forest(scorer)
    expand(forest, start(scorer))
    with pytest.raises(GenrstError, match="log-probability of an action must be a number, got nan or inf"):
        forest.check()
