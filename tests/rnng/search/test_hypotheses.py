"""Tables against dictionaries, beams against lists, and the stacks of random derivations."""

import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from genrst.errors import GenrstError
from genrst.rnng.search.hypotheses import (
    COLLECT_STACKS,
    EMPTY_STACK,
    STACK_ROW,
    TOP,
    UNIT_ROW,
    Beams,
    Forest,
    Table,
    join_slots,
    start,
    where,
)
from genrst.rnng.transitions.actions import NO_UNIT
from tests.rnng.search.gpu_way import take_gpu_way
from tests.rnng.search.tables import TableScorer, wild

torch.set_num_threads(1)


def rows_of(values: list[int]) -> list[Tensor]:
    """Two columns, the second of vectors, from which a row can be told."""
    numbers = torch.tensor(values, dtype=torch.double)
    return [numbers, torch.stack([numbers, -numbers], dim=1).reshape(-1, 2)]


class TableModel:
    """A table, and the same as a list."""

    def __init__(self) -> None:
        self.table = Table(rows_of([0, 1]))
        self.rows = [0, 1]
        self._n_made = 2

    def append(self, count: int) -> None:
        values = [7 * (self._n_made + number) for number in range(count)]
        assert self.table.append(rows_of(values)).tolist() == list(range(len(self.rows), len(self.rows) + count))
        self.rows += values
        self._n_made += count

    def append_held(self, count: int) -> None:
        """Rows that the device counts, in two parts; nothing may move in memory."""
        self.table.hold(2 * count)
        places = [column.data_ptr() for column in self.table._columns]
        for _ in range(2):
            self.append(count)
        assert [column.data_ptr() for column in self.table._columns] == places
        self.table.release(2 * count)

    def retain(self, every: int) -> None:
        kept = [number for number in range(len(self.rows)) if number % every == 0 or number == len(self.rows) - 1]
        self.table.retain(torch.tensor(kept, dtype=torch.long))
        self.rows = [self.rows[number] for number in kept]

    def check(self) -> None:
        assert self.table.n_rows == len(self.rows)
        index = torch.arange(len(self.rows)).flip(0)
        expected = rows_of(self.rows[::-1])
        rows = self.table.rows(index)
        for found in (rows, [rows[0], rows[1]], [*rows[:1], *rows[1:]], [self.table[0][index], self.table[1][index]]):
            assert len(found) == 2
            assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["append", "append_held"]), st.integers(0, 40)),
            st.tuples(st.just("retain"), st.integers(1, 5)),
        )
    )
)
def test_a_table_is_a_list_of_rows(operations):
    model = TableModel()
    for name, argument in operations:
        getattr(model, name)(argument)
        model.check()


def test_the_room_of_dropped_rows_is_used_again():
    table = Table(rows_of([0]))
    table.append(rows_of(list(range(1, 1000))))
    for _ in range(20):
        table.retain(torch.arange(0, 1000, 10))
        assert table.append(rows_of(list(range(900)))).tolist() == list(range(100, 1000))
    assert [len(column) for column in table._columns] == [1000, 1000]


def test_the_first_rows_are_never_written_to():
    """They may be the parameters of a network."""
    first = torch.nn.Parameter(torch.tensor([3.0, 5.0]))
    table = Table([first])
    for _ in range(4):
        table.retain(torch.tensor([1]))
        table.append([torch.tensor([4.0])])
    assert first.tolist() == [3.0, 5.0]


def test_the_start_has_nothing_on_its_stacks():
    beams = start(TableScorer([3, 1, 7], wild()))
    assert beams.shape == (3, 1)
    assert beams.documents.tolist() == [0, 1, 2]
    assert beams.stacks.tolist() == [[EMPTY_STACK]] * 3
    for column in (beams.sizes, beams.n_generated, beams.action_logp, beams.word_logp):
        assert column.tolist() == [[0]] * 3
    assert beams.action_logp.dtype == beams.word_logp.dtype == torch.double
    assert beams.is_alive.all()


Row = tuple[float, ...]


def random_beams(n_beams: int, n_slots: int, seed: int) -> Beams:
    """Beams whose hypotheses can be told from each other, some of them dead."""
    rng = random.Random(seed)

    def column() -> Tensor:
        return torch.tensor([[rng.random() for _ in range(n_slots)] for _ in range(n_beams)]).view(n_beams, n_slots)

    action_logp = column().masked_fill(column() < 0.3, -torch.inf)
    return Beams(10 * torch.arange(n_beams), column(), column(), column(), action_logp, column())


def plain(beams: Beams) -> list[tuple[int, list[Row]]]:
    """The same as lists: of each beam its document and the rows of its slots."""
    columns = [column.tolist() for column in beams[1:]]
    rows = [list(zip(*slots, strict=True)) for slots in zip(*columns, strict=True)]
    return list(zip(beams.documents.tolist(), rows, strict=True))


def living(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[3] > -math.inf]


SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))


@given(SHAPES, st.data())
def test_rows_and_slots_keep_columns_in_step(shape, data):
    n_beams, n_slots, n_chosen, seed = shape
    beams = random_beams(n_beams, n_slots, seed)
    assert beams.shape == (n_beams, n_slots)
    rows = data.draw(st.lists(st.integers(0, n_beams - 1), max_size=4))
    expected = [plain(beams)[row] for row in rows]
    assert plain(beams.rows(torch.tensor(rows, dtype=torch.long))) == expected
    chosen = st.lists(st.integers(0, n_slots - 1), min_size=n_chosen, max_size=n_chosen)
    index = data.draw(st.lists(chosen, min_size=n_beams, max_size=n_beams))
    expected = [
        (document, [slots[slot] for slot in columns])
        for (document, slots), columns in zip(plain(beams), index, strict=True)
    ]
    assert plain(beams.slots(torch.tensor(index))) == expected


@given(SHAPES, st.data())
def test_hypotheses_are_dropped_without_moving_the_others(shape, data):
    n_beams, n_slots, _, seed = shape
    beams = random_beams(n_beams, n_slots, seed)
    of_beam = st.lists(st.booleans(), min_size=n_slots, max_size=n_slots)
    is_kept = data.draw(st.lists(of_beam, min_size=n_beams, max_size=n_beams))
    for one, before, kept in zip(plain(beams.keep(torch.tensor(is_kept))), plain(beams), is_kept, strict=True):
        assert one[0] == before[0]
        for found, row, is_left in zip(one[1], before[1], kept, strict=True):
            assert (found == row) if is_left else found[3] == -math.inf


@given(SHAPES, st.data())
def test_joined_beams_hold_the_hypotheses_of_both(shape, data):
    n_beams, n_left, n_right, seed = shape
    left, right = random_beams(n_beams, n_left, seed), random_beams(n_beams, n_right, seed + 1)
    joined = plain(join_slots(left, right))
    assert joined == [
        (document, [*first, *second])
        for (document, first), (_, second) in zip(plain(left), plain(right), strict=True)
    ]  # fmt: skip
    is_first = data.draw(st.lists(st.booleans(), min_size=n_beams, max_size=n_beams))
    mixed = where(torch.tensor(is_first)[:, None], left, right)
    assert mixed.shape == (n_beams, max(n_left, n_right))
    for found, first, second, takes_first in zip(plain(mixed), plain(left), plain(right), is_first, strict=True):
        chosen = first if takes_first else second
        assert (found[0], living(found[1])) == (chosen[0], living(chosen[1]))


def test_scores_weigh_words():
    beams = random_beams(3, 4, 0)
    for (_, slots), scores in zip(plain(beams), beams.scores(0.25).tolist(), strict=True):
        assert scores == pytest.approx([actions + 0.25 * words for _, _, _, actions, words in slots])


class Walk:
    """Random derivations of some documents, side by side in one forest, with the plain record of each."""

    def __init__(self, sizes: list[int], seed: int, has_dead: bool) -> None:
        self.scorer = TableScorer(sizes, wild())
        self.forest = Forest(self.scorer)
        self.stacks = [EMPTY_STACK] * len(sizes)
        self.units: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in sizes]
        self.n_generated = [0] * len(sizes)
        self._rng, self._has_dead = random.Random(seed), has_dead

    def step(self) -> None:
        """One action of each document that is not complete, and in the way of a GPU of slots without a hypothesis."""
        rows = []
        for document, units in enumerate(self.units):
            is_left = self.n_generated[document] < self.scorer.n_edus[document]
            if is_left and (len(units) < 2 or self._rng.random() < 0.5):
                rows.append((document, self.stacks[document], self.n_generated[document], 0))
            elif len(units) >= 2:
                rows.append((document, self.stacks[document], self.n_generated[document], self._rng.randint(1, 2)))
        dead = [self._dead() for _ in range(3 * self._has_dead)]
        if not rows + dead:
            return
        stacks = self.forest.advance(*torch.tensor([*rows, *dead]).T).tolist()
        assert len(stacks) == len(rows) + len(dead)
        for (document, _, _, action), stack in zip(rows, stacks[: len(rows)], strict=True):
            self.stacks[document] = stack
            self._record(document, action)

    def _dead(self) -> tuple[int, int, int, int]:
        return self._rng.randrange(len(self.stacks)), EMPTY_STACK, self._rng.randint(0, 99), self._rng.randint(0, 2)

    def _record(self, document: int, action: int) -> None:
        units = self.units[document]
        if action == 0:
            units.append((self.n_generated[document], (0,)))
            self.n_generated[document] += 1
        else:
            (first, left), (_, right) = units[-2:]
            units[-2:] = [(first, (*left, *right, action))]


@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_forest_remembers_derivations(sizes, seed, collects, waits):
    """Also after what is no longer reached was dropped."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if not waits:
            take_gpu_way(monkeypatch)
        walk = Walk(sizes, seed, has_dead=not waits)
        for _ in range(2 * max(sizes)):
            walk.step()
            second, top = walk.forest.tops(torch.tensor(walk.stacks))
            starts = [[NO_UNIT, NO_UNIT, *(first for first, _ in units)][-2:] for units in walk.units]
            assert [list(pair) for pair in zip(second.tolist(), top.tolist(), strict=True)] == starts
            if collects:
                walk.forest.collect(torch.tensor(walk.stacks), max(len(units) for units in walk.units))
                assert_nothing_else_is_held(walk)
        assert walk.forest.actions(torch.tensor(walk.stacks)) == [units[0][1] for units in walk.units]


def assert_nothing_else_is_held(walk: Walk) -> None:
    alive = {walk.scorer.stacks[stack].actions for stack in walk.stacks}
    assert alive == {tuple(action for _, unit in units for action in unit) for units in walk.units}
    composed = [unit for units in walk.units for _, unit in units if unit != (0,)]
    assert walk.forest._known_units.n_rows == sum(walk.scorer.n_edus) + len(composed), "leaves stay"
    assert walk.forest._known_stacks.n_rows == 1 + sum(len(units) for units in walk.units)


def columns(*rows: tuple[int, int, int, int]) -> tuple[Tensor, ...]:
    """Document, stack, generated EDUs and action of some hypotheses."""
    return tuple(torch.tensor(rows).T)


def known(forest: Forest, column: int) -> set[int]:
    """The numbers of the stacks or units that the scorer could be asked about."""
    table = forest._stacks if column == STACK_ROW else forest._units
    return {*(table[column][: table.n_rows] >= 0).nonzero()[:, 0].tolist()}


class Pairs:
    """Two hypotheses of one document with the same two EDUs on their stacks."""

    def __init__(self) -> None:
        self.scorer = TableScorer([2, 2], wild())
        self.forest = Forest(self.scorer)
        first = self.forest.advance(*columns((1, EMPTY_STACK, 0, 0), (1, EMPTY_STACK, 0, 0))).tolist()
        self.stacks = self.forest.advance(*columns(*((1, stack, 1, 0) for stack in first))).tolist()

    def reduce(self, *labels: int) -> list[int]:
        """The units on the stacks after reductions with these labels, of the one and the other in turn."""
        rows = [(1, self.stacks[number % 2], 2, label + 1) for number, label in enumerate(labels)]
        after = self.forest.advance(*columns(*rows))
        assert self.forest.actions(after) == [(0, 0, label + 1) for label in labels]
        return self.forest._stacks[TOP][after].tolist()


def test_a_unit_is_composed_once():
    """However many hypotheses build it, in one step or in several; other labels make other units."""
    pairs = Pairs()
    first = pairs.reduce(1, 0, 1, 1)
    assert len(pairs.scorer.units) == 4 + 2
    assert first == [first[0], first[1], first[0], first[0]] != [first[0]] * 4
    assert pairs.reduce(0, 1) == [first[1], first[0]]
    assert len(pairs.scorer.units) == 4 + 2


def test_a_unit_that_was_dropped_is_composed_again():
    """A look at the old one would be an error."""
    pairs = Pairs()
    (before,) = pairs.reduce(1)
    pairs.forest.collect(torch.tensor(pairs.stacks), 2)
    assert before not in known(pairs.forest, UNIT_ROW)
    with pytest.raises((IndexError, RuntimeError)):
        pairs.forest._push(torch.tensor([EMPTY_STACK]), torch.tensor([before]))
    (after,) = pairs.reduce(1)
    assert after > before, "numbers are not used again"
    assert pairs.scorer.units[after] == (0, 0, 2)
    pairs.forest.collect(torch.tensor([*pairs.stacks, pairs.forest._stacks.n_rows - 1]), 2)
    assert pairs.reduce(1) == [after], "while it is held it is known"


def test_the_same_actions_in_two_documents_are_two_units():
    scorer = TableScorer([2, 2], wild())
    forest, stacks = Forest(scorer), [EMPTY_STACK] * 2
    for n_generated, action in ((0, 0), (1, 0), (2, 1)):
        rows = [(document, stack, n_generated, action) for document, stack in enumerate(stacks)]
        stacks = forest.advance(*columns(*rows)).tolist()
    assert len(scorer.units) == 4 + 2


def test_a_forest_is_full_when_many_stacks_were_made_since_the_last_collection(monkeypatch):
    monkeypatch.setitem(COLLECT_STACKS, "cpu", 10)
    forest = Forest(TableScorer([2], wild()))
    for _ in range(3):
        forest.collect(torch.tensor([EMPTY_STACK]), 0)
        for n_made in range(1, 20):
            (stack,) = forest.advance(*columns((0, EMPTY_STACK, 0, 0))).tolist()
            assert stack
            assert forest.is_full == (n_made > 10)


def test_what_is_broken_is_not_collected():
    """So a long search is not over before it says so."""
    forest = Forest(TableScorer([2], wild()))
    forest.watch(torch.tensor([math.nan]))
    with pytest.raises(GenrstError, match="must be a number"):
        forest.collect(torch.tensor([EMPTY_STACK]), 0)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_an_error_once_it_is_looked_at(number):
    forest = Forest(TableScorer([2], wild()))
    forest.watch(torch.tensor([-1.0, -math.inf]), torch.zeros(0), torch.tensor([[0.0]]))
    forest.check()
    forest.watch(torch.tensor([-1.0]), torch.tensor([[-2.0, number]]))
    forest.watch(torch.tensor([-1.0]))
    with pytest.raises(GenrstError, match="log-probability of an action must be a number, got nan or inf"):
        forest.check()


@pytest.mark.slow
def test_deep_trees_do_not_recurse():
    n_edus = 1200
    forest = Forest(TableScorer([n_edus], wild()))
    stack, actions = EMPTY_STACK, list[int]()
    for edu in range(n_edus):
        for n_generated, action in ((edu, 0), (edu + 1, edu % 2 + 1))[: 1 + (edu > 0)]:
            (stack,) = forest.advance(*columns((0, stack, n_generated, action))).tolist()
            actions.append(action)
    assert forest.actions(torch.tensor([stack])) == [tuple(actions)]
