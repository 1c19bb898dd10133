"""The discriminative baseline's view of the EDUs to come: a backward LSTM over them (section 5.2 of the paper)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence


class Lookahead(nn.Module):
    """The state of an LSTM that has read the document from its end back to the next EDU; learned when none is left."""

    def __init__(self, edu_size: int, lookahead_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(edu_size, lookahead_size)
        self.initial_hidden = nn.Parameter(torch.zeros(1, 1, lookahead_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, 1, lookahead_size))

    def forward(self, edus: Tensor, sizes: list[int]) -> Tensor:
        """A row for each number of EDUs already read, 0 … m, of each document after the other.

        Shape: (EDUs of all documents, edu_size) → (EDUs + documents, lookahead_size)
        """
        backward = [document.flip(0) for document in torch.split(edus, sizes)]
        initial = (
            self.initial_hidden.expand(-1, len(sizes), -1).contiguous(),
            self.initial_cell.expand(-1, len(sizes), -1).contiguous(),
        )
        states, _ = self.lstm(pad_sequence(backward), initial)
        end = self.initial_hidden[0].to(states.dtype)
        rows = [states[:size, document].flip(0) for document, size in enumerate(sizes)]
        return torch.cat([part for row in rows for part in (row, end)])
