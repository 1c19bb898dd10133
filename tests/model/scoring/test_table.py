import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genrst.model.scoring.scorer import Table

torch.set_num_threads(1)


def rows_of(values: list[int]) -> list[torch.Tensor]:
    """Two columns, the second of vectors, from which a row can be told."""
    numbers = torch.tensor(values, dtype=torch.double)
    return [numbers, torch.stack([numbers, -numbers], dim=1).reshape(-1, 2)]


class TableModel:
    """A table, and the same as a dictionary."""

    def __init__(self) -> None:
        self.table = Table(rows_of([0, 1]))
        self.rows = {0: 0, 1: 1}
        self.n_numbers = 2

    def append(self, count: int) -> None:
        numbers = list(range(self.n_numbers, self.n_numbers + count))
        assert self.table.append(rows_of([7 * number for number in numbers])) == self.n_numbers
        self.rows |= {number: 7 * number for number in numbers}
        self.n_numbers += count
        assert self.table.n_numbers == self.n_numbers

    def append_held(self, count: int) -> None:
        """Rows that the device counts, in two parts; nothing may move in memory."""
        self.table.hold(2 * count)
        places = [column.data_ptr() for column in self.table._columns]
        n_numbers = self.table.n_numbers
        for first in (n_numbers, n_numbers + count):
            numbers = list(range(first, first + count))
            if count:
                assert int(self.table.append(rows_of([7 * number for number in numbers]))) == first
            self.rows |= {number: 7 * number for number in numbers}
        assert [column.data_ptr() for column in self.table._columns] == places
        self.table.release(2 * count)
        self.n_numbers += 2 * count
        assert self.table.n_numbers == self.n_numbers

    def keep(self, every: int) -> None:
        kept = [number for number in self.rows if number % every == 0 or number == self.n_numbers - 1]
        self.table.keep(torch.tensor(kept, dtype=torch.long))
        self.rows = {number: self.rows[number] for number in kept}

    def check(self) -> None:
        numbers = torch.tensor(list(reversed(self.rows)), dtype=torch.long)
        expected = rows_of([self.rows[number] for number in numbers.tolist()])
        for found, column in zip(self.table.rows(numbers), expected, strict=True):
            assert torch.equal(found, column)
        (second,) = self.table.rows(numbers, columns=[1])
        assert torch.equal(second, expected[1])


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["append", "append_held"]), st.integers(0, 40)),
            st.tuples(st.just("keep"), st.integers(1, 5)),
        )
    )
)
def test_a_table_is_a_dictionary_of_rows(operations):
    model = TableModel()
    for name, argument in operations:
        getattr(model, name)(argument)
        model.check()


def test_room_of_rows_that_were_given_up_is_used_again():
    table = Table(rows_of([0]))
    assert table.append(rows_of(list(range(1, 1000)))) == 1
    for first in range(1000, 20_000, 900):
        table.keep(torch.arange(first - 90, first, 10))
        assert table.append(rows_of(list(range(900)))) == first, "numbers are not used again"
    assert [len(column) for column in table._columns] == [1000, 1000]


def test_rows_that_were_given_up_are_gone():
    table = Table(rows_of([0, 1, 2]))
    table.keep(torch.tensor([2]))
    with pytest.raises((IndexError, RuntimeError)):
        table.rows(torch.tensor([0]))


def test_the_first_rows_are_never_written_to():
    """They may be the parameters of a network."""
    first = torch.tensor([3.0, 5.0])
    table = Table([first])
    for number in range(1, 5):
        table.keep(torch.tensor([number]))
        table.append([torch.tensor([4.0])])
    assert first.tolist() == [3.0, 5.0]
