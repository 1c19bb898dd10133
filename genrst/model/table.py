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

    def rows(self, numbers: Tensor, columns: Sequence[int] | None = None) -> list[Tensor]:
        """Some rows of all columns, or of some."""
        places = self._places[numbers]
        chosen = self._columns if columns is None else [self._columns[column] for column in columns]
        return [column.index_select(0, places) for column in chosen]

    def append(self, rows: Sequence[Tensor]) -> int:
        """Add rows; returns the number of the first, the others follow it."""
        n_new = len(rows[0])
        stop = self._n_rows + n_new
        if stop > len(self._columns[0]):
            room = max(stop, 2 * len(self._columns[0])) - len(self._columns[0])
            self._columns = [torch.cat([column, column.new_empty(room, *column.shape[1:])]) for column in self._columns]
        for column, values in zip(self._columns, rows, strict=True):
            column[self._n_rows : stop] = values
        first, after = self.n_numbers, self.n_numbers + n_new
        self._places = _with_room(self._places, after)
        self._places[first:after] = torch.arange(self._n_rows, stop, device=self._places.device)
        self._n_rows, self.n_numbers = stop, after
        return first

    def keep(self, numbers: Tensor) -> None:
        """Give up all rows but these. Their room stays, for rows to come."""
        for column, kept in zip(self._columns, self.rows(numbers), strict=True):
            column[: len(numbers)] = kept
        self._n_rows = len(numbers)
        self._places = torch.full_like(self._places, -1)
        self._places[numbers] = torch.arange(self._n_rows, device=self._places.device)


def _with_room(column: Tensor, n_rows: int) -> Tensor:
    """The column, at least doubled if it is too short."""
    if n_rows <= len(column):
        return column
    return torch.cat([column, column.new_empty(max(n_rows - len(column), len(column)), *column.shape[1:])])
