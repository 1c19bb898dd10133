"""EDUs to vectors: a bidirectional LSTM over the words of one EDU (equations 2 and 3 of the paper).

An EDU's vector sees no other EDU, so a generative model may condition on it.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


class EduEncoder(nn.Module):
    """h_EDU(e): the last forward and backward states, side by side; initial states are learned."""

    def __init__(self, word_size: int, edu_size: int, n_layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(word_size, edu_size, n_layers, bidirectional=True)
        self.initial_hidden = nn.Parameter(torch.zeros(2 * n_layers, 1, edu_size))
        self.initial_cell = nn.Parameter(torch.zeros(2 * n_layers, 1, edu_size))

    def forward(self, words: PackedSequence) -> Tensor:
        """Encode EDUs.

        Shape: words (EDUs, length, word_size) packed → (EDUs, 2 · edu_size)
        """
        n_edus = int(words.batch_sizes[0])
        initial = (self.initial_hidden.expand(-1, n_edus, -1), self.initial_cell.expand(-1, n_edus, -1))
        _, (hidden, _) = self.lstm(words, (initial[0].contiguous(), initial[1].contiguous()))
        return torch.cat([hidden[-2], hidden[-1]], dim=1)
