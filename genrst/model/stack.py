"""The stack to a vector: an LSTM from its bottom to its top (equation 6), as in Dyer et al. (2015)."""

import torch
from torch import Tensor, nn

from genrst.model.states import HiddenCell


class StackLSTM(nn.Module):
    """h_S^N: the state after the topmost unit; that of the empty stack is learned."""

    def __init__(self, unit_size: int, stack_size: int) -> None:
        super().__init__()
        self.from_unit = nn.Linear(unit_size, 4 * stack_size)
        self.from_below = nn.Linear(stack_size, 4 * stack_size, bias=False)
        self.initial_hidden = nn.Parameter(torch.zeros(1, stack_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, stack_size))

    def empty(self) -> HiddenCell:
        """The state of the empty stack, one row."""
        return HiddenCell(self.initial_hidden, self.initial_cell)

    def inputs(self, units: Tensor) -> Tensor:
        """The unit's half of the gates, which can be computed once per unit.

        Shape: (units, unit_size) → (units, 4 · stack_size)
        """
        gates: Tensor = self.from_unit(units)
        return gates

    def forward(self, inputs: Tensor, below: HiddenCell) -> HiddenCell:
        """Push units onto stacks.

        Shape: (stacks, 4 · stack_size), 2 × (stacks, stack_size) → 2 × (stacks, stack_size)
        """
        gates = inputs + self.from_below(below.hidden)
        size = below.hidden.shape[1]
        enter, keep, leave = torch.sigmoid(gates[:, : 3 * size]).chunk(3, dim=1)
        cell = torch.addcmul(keep * below.cell, enter, torch.tanh(gates[:, 3 * size :]))
        return HiddenCell(leave * torch.tanh(cell), cell)
