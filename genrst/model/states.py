"""The pair of vectors that every recurrent part passes on."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class HiddenCell(NamedTuple):
    """Hidden states and memory cells, a row each."""

    hidden: Tensor
    cell: Tensor

    def rows(self, index: Tensor) -> "HiddenCell":
        """Some of the rows."""
        return HiddenCell(self.hidden.index_select(0, index), self.cell.index_select(0, index))


def stack_rows(parts: Sequence[HiddenCell]) -> HiddenCell:
    """Several blocks of rows, one below the other."""
    return HiddenCell(torch.cat([part.hidden for part in parts]), torch.cat([part.cell for part in parts]))
