"""Units to vectors: a binary TreeLSTM over the children, with the nuclear EDU and the relation (equations 4 and 5)."""

import torch
from torch import Tensor, nn

from genrst.model.states import HiddenCell


class Composition(nn.Module):
    """h_U of leaves and of units.

    The paper names the TreeLSTM of Teng and Zhang (2017) without equations; the gates here are the common binary
    ones (Tai et al. 2015), with a forget gate per child. A leaf's memory cell is a linear map of its EDU, as its
    hidden state is.
    """

    def __init__(self, edu_size: int, relation_size: int, unit_size: int, n_labels: int) -> None:
        super().__init__()
        self.leaf = nn.Linear(edu_size, 2 * unit_size)
        self.relations = nn.Embedding(n_labels, relation_size)
        self.from_input = nn.Linear(edu_size + relation_size, 5 * unit_size)
        self.from_children = nn.Linear(2 * unit_size, 5 * unit_size, bias=False)

    def leaves(self, edus: Tensor) -> HiddenCell:
        """The states of EDUs as units.

        Shape: (EDUs, edu_size) → 2 × (EDUs, unit_size)
        """
        hidden, cell = self.leaf(edus).chunk(2, dim=-1)
        return HiddenCell(hidden, cell)

    def inputs(self, nuclear_edus: Tensor, labels: Tensor) -> Tensor:
        """The part of the gates that does not depend on the children, so that it can be computed for all units at once.

        Shape: (units, edu_size), (units) → (units, 5 · unit_size)
        """
        gates: Tensor = self.from_input(torch.cat([nuclear_edus, self.relations(labels)], dim=-1))
        return gates

    def forward(self, inputs: Tensor, left: HiddenCell, right: HiddenCell) -> HiddenCell:
        """Compose pairs of units.

        Shape: (units, 5 · unit_size), 2 × (units, unit_size) twice → 2 × (units, unit_size)
        """
        gates = inputs + self.from_children(torch.cat([left.hidden, right.hidden], dim=-1))
        size = left.hidden.shape[1]
        enter, keep_left, keep_right, leave = torch.sigmoid(gates[:, : 4 * size]).chunk(4, dim=1)
        cell = torch.addcmul(keep_left * left.cell, keep_right, right.cell)
        cell = torch.addcmul(cell, enter, torch.tanh(gates[:, 4 * size :]))
        return HiddenCell(leave * torch.tanh(cell), cell)
