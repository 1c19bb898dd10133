import random

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.search.hypotheses import Columns, Forest, Hypotheses, join, start
from genrst.search.scorer import EMPTY_STACK, NO_UNIT
from tests.search.tables import TableScorer, wild

torch.set_num_threads(1)
CPU = torch.device("cpu")


@given(st.lists(st.lists(st.integers(0, 5000), max_size=5, unique=True), max_size=8))
def test_columns_keep_what_was_put_however_they_grow(rows):
    columns, expected = Columns(2, CPU), dict[int, int]()
    for number, places in enumerate(rows):
        columns.put(torch.tensor(places, dtype=torch.long), torch.tensor(places, dtype=torch.long) + number, number)
        expected |= dict.fromkeys(places, number)
    for place, number in expected.items():
        assert (int(columns[0][place]), int(columns[1][place])) == (place + number, number)
    unset = set(range(len(columns[0]))) - expected.keys()
    assert (columns[0][torch.tensor(sorted(unset))] == -1).all()


def test_the_start_has_nothing_on_its_stacks():
    hypotheses = start(TableScorer([3, 1, 7], wild()))
    assert len(hypotheses) == 3
    assert hypotheses.documents.tolist() == [0, 1, 2]
    assert hypotheses.stacks.tolist() == [EMPTY_STACK] * 3
    for column in (hypotheses.sizes, hypotheses.n_generated, hypotheses.action_logp, hypotheses.word_logp):
        assert column.tolist() == [0] * 3
    assert hypotheses.action_logp.dtype == torch.double


def test_rows_and_joins_keep_columns_in_step():
    one = Hypotheses(*(torch.arange(4) + 10 * column for column in range(6)))
    two = join([one.rows(torch.tensor([3, 0])), one.rows(torch.tensor([], dtype=torch.long)), one])
    assert two.documents.tolist() == [3, 0, 0, 1, 2, 3]
    assert two.word_logp.tolist() == [53, 50, 50, 51, 52, 53]


class Walk:
    """Random computations of some documents, side by side in one forest, with the plain record of each."""

    def __init__(self, sizes: list[int], seed: int) -> None:
        self.scorer = TableScorer(sizes, wild())
        self.forest = Forest(self.scorer)
        self.hypotheses = start(self.scorer)
        self.units: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in sizes]
        self._rng = random.Random(seed)

    def step(self) -> None:
        """One action of each document that is not complete."""
        stacks, sizes, n_generated = (
            getattr(self.hypotheses, name).clone() for name in ("stacks", "sizes", "n_generated")
        )
        for document, units in enumerate(self.units):
            row = torch.tensor([document])
            one = self.hypotheses.rows(row)
            is_left = int(one.n_generated) < self.scorer.n_edus[document]
            if is_left and (len(units) < 2 or self._rng.random() < 0.5):
                units.append((int(one.n_generated), (0,)))
                stacks[document], n_generated[document] = self.forest.generate(one), one.n_generated + 1
            elif len(units) >= 2:
                label = self._rng.randrange(2)
                (first, left), (_, right) = units[-2:]
                units[-2:] = [(first, (*left, *right, label + 1))]
                stacks[document] = self.forest.reduce(one, torch.tensor([label]))
            sizes[document] = len(units)
        old = self.hypotheses
        self.hypotheses = Hypotheses(old.documents, stacks, sizes, n_generated, old.action_logp, old.word_logp)


@settings(deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(0, 10**6), st.booleans())
def test_a_forest_remembers_computations(sizes, seed, collects):
    """Also after the scorer was told to forget what is no longer reached."""
    walk = Walk(sizes, seed)
    for _ in range(2 * max(sizes)):
        walk.step()
        second, top = walk.forest.tops(walk.hypotheses)
        starts = [[NO_UNIT, NO_UNIT, *(first for first, _ in units)][-2:] for units in walk.units]
        assert [list(pair) for pair in zip(second.tolist(), top.tolist(), strict=True)] == starts
        if collects:
            walk.forest.collect(walk.hypotheses)
            alive = {walk.scorer.stacks[stack].actions for stack in walk.hypotheses.stacks.tolist()}
            assert alive == {tuple(a for _, unit in units for a in unit) for units in walk.units}
            assert len(walk.scorer.units) == sum(len(units) for units in walk.units)
            assert len(walk.scorer.stacks) == 1 + len(walk.scorer.units)
    assert walk.forest.actions(walk.hypotheses.stacks) == [units[0][1] for units in walk.units]


def test_stacks_that_are_shared_are_kept_once():
    scorer = TableScorer([3], wild())
    forest = Forest(scorer)
    one = start(scorer)
    zero = torch.zeros(1, dtype=torch.long)
    first = forest.generate(one)
    below = Hypotheses(zero, first, zero + 1, zero + 1, one.action_logp, one.word_logp)
    above = [forest.generate(below) for _ in range(2)]
    both = Hypotheses(zero.repeat(2), torch.cat(above), zero.repeat(2) + 2, zero.repeat(2) + 2, zero, zero)
    forest.collect(both)
    assert scorer.stacks.keys() == {EMPTY_STACK, int(first), *(int(stack) for stack in above)}


def test_deep_trees_do_not_recurse():
    scorer = TableScorer([1200], wild())
    forest = Forest(scorer)
    one, n_edus = start(scorer), 1200
    stacks, actions = one.stacks, list[int]()
    for edu in range(n_edus):
        state = Hypotheses(
            one.documents, stacks, torch.tensor([min(edu, 1)]), torch.tensor([edu]), *[one.word_logp] * 2
        )
        stacks = forest.generate(state)
        actions.append(0)
        if edu:
            state = Hypotheses(one.documents, stacks, torch.tensor([2]), torch.tensor([edu + 1]), *[one.word_logp] * 2)
            stacks = forest.reduce(state, torch.tensor([edu % 2]))
            actions.append(edu % 2 + 1)
    assert forest.actions(stacks) == [tuple(actions)]
