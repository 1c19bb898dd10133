"""What EDUs mean in their document: an LSTM over their vectors, added to them (not the paper's).

It runs from left to right in a generative model, where no EDU may know of later ones, and both ways otherwise.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence


class DocumentEncoder(nn.Module):
    """What is added to the vectors of EDUs; initial states are learned."""

    def __init__(self, edu_size: int, document_size: int, is_causal: bool) -> None:
        super().__init__()
        n_directions = 1 if is_causal else 2
        self.lstm = nn.LSTM(edu_size, document_size, bidirectional=not is_causal)
        self.initial_hidden = nn.Parameter(torch.zeros(n_directions, 1, document_size))
        self.initial_cell = nn.Parameter(torch.zeros(n_directions, 1, document_size))
        self.project = nn.Linear(n_directions * document_size, edu_size)

    def forward(self, edus: Tensor, sizes: Sequence[int]) -> Tensor:
        """The part of each EDU's vector that comes from its document.

        Shape: (EDUs of all documents, edu_size) → the same
        """
        documents = pack_sequence(list(torch.split(edus, list(sizes))), enforce_sorted=False)
        initial = (
            self.initial_hidden.expand(-1, len(sizes), -1).contiguous(),
            self.initial_cell.expand(-1, len(sizes), -1).contiguous(),
        )
        states, _ = self.lstm(documents, initial)
        added: Tensor = self.project(torch.cat(unpack_sequence(states)))
        return added
