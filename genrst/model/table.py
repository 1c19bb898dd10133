"""Rows of tensors that grow, are addressed by numbers handed out once, and can be given up again."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Table:
    """Several columns of equal height; a row's number stays when rows before it are given up."""

    def __init__(self, first: Sequence[Tensor]) -> None:
        # A copy, as they may be parameters of a network.
        self._columns = [column.clone() for column in first]
        self._n_rows = len(first[0])
        self._places = torch.arange(self._n_rows, device=first[0].device)
        self.n_numbers = self._n_rows
        """How many numbers have been handed out."""
        self._counted: Tensor | None = None
        """Rows and numbers, while they are counted on the device."""

    def rows(self, numbers: Tensor, columns: Sequence[int] | None = None) -> list[Tensor]:
        """Some rows of all columns, or of some."""
        places = self._places[numbers]
        chosen = self._columns if columns is None else [self._columns[column] for column in columns]
        return [column.index_select(0, places) for column in chosen]

    def append(self, rows: Sequence[Tensor]) -> int | Tensor:
        """Add rows; returns the number of the first, the others follow it."""
        n_new = len(rows[0])
        if self._counted is not None:
            return self._append_where_counted(rows, n_new)
        self._make_room(n_new)
        stop = self._n_rows + n_new
        for column, values in zip(self._columns, rows, strict=True):
            column[self._n_rows : stop] = values
        first, after = self.n_numbers, self.n_numbers + n_new
        self._places[first:after] = torch.arange(self._n_rows, stop, device=self._places.device)
        self._n_rows, self.n_numbers = stop, after
        return first

    def _append_where_counted(self, rows: Sequence[Tensor], n_new: int) -> Tensor:
        assert self._counted is not None
        places, numbers = self._counted[:, None] + torch.arange(n_new, device=self._places.device)
        for column, values in zip(self._columns, rows, strict=True):
            column.index_copy_(0, places, values)
        self._places.index_copy_(0, numbers, places)
        self._counted += n_new
        first: Tensor = numbers[0]
        return first

    def hold(self, n_new: int) -> None:
        """Make room for so many rows. Until `release` nothing moves in memory, and the device counts."""
        self._make_room(n_new, at_least=1)
        self._counted = torch.tensor([self._n_rows, self.n_numbers], device=self._places.device)

    def release(self, n_new: int) -> None:
        """Count as before; so many rows were added."""
        self._n_rows += n_new
        self.n_numbers += n_new
        self._counted = None

    def keep(self, numbers: Tensor) -> None:
        """Give up all rows but these. Their room stays, for rows to come."""
        for column, kept in zip(self._columns, self.rows(numbers), strict=True):
            column[: len(numbers)] = kept
        self._n_rows = len(numbers)
        self._places = torch.full_like(self._places, -1)
        self._places[numbers] = torch.arange(self._n_rows, device=self._places.device)

    def _make_room(self, n_new: int, at_least: int = 2) -> None:
        self._columns = [_with_room(column, self._n_rows + n_new, at_least) for column in self._columns]
        self._places = _with_room(self._places, self.n_numbers + n_new, at_least)


def _with_room(column: Tensor, n_rows: int, at_least: int) -> Tensor:
    """The column; if it is too short, with room for so many rows, and at least so many times as long as it was."""
    if n_rows <= len(column):
        return column
    n_more = max(n_rows, at_least * len(column)) - len(column)
    return torch.cat([column, column.new_empty(n_more, *column.shape[1:])])
