"""The EDU language model p_gen (equations 10 to 14): a decoder LSTM whose output also sees the stack.

The decoder reads only the words of the EDU, so its states are the same for every stack, and the scores of a word are
a sum of a part from the stack and a part from the decoder.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from genrst.model.vocabulary import FIRST_OUTPUT_ID, UNK_ID


class LanguageModel(nn.Module):
    """W_gen is tied: [h_S; h_DEC] is projected to the width of a word and multiplied by the shared embeddings."""

    def __init__(self, word_size: int, state_size: int, decoder_size: int, n_words: int) -> None:
        super().__init__()
        self.decoder = nn.LSTM(word_size, decoder_size)
        self.initial_hidden = nn.Parameter(torch.zeros(1, 1, decoder_size))
        self.initial_cell = nn.Parameter(torch.zeros(1, 1, decoder_size))
        self.from_stack = nn.Linear(state_size, word_size)
        self.from_decoder = nn.Linear(decoder_size, word_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_words - FIRST_OUTPUT_ID))

    @property
    def outputs(self) -> slice:
        """The words that can be generated; all others are generated as `<unk>`."""
        return slice(FIRST_OUTPUT_ID, FIRST_OUTPUT_ID + len(self.bias))

    def targets(self, words: Tensor) -> Tensor:
        """The number of each word among those that can be generated."""
        return torch.where(words < self.outputs.stop, words, UNK_ID) - FIRST_OUTPUT_ID

    def decode(self, words: PackedSequence) -> Tensor:
        """The decoder state after each word, in packed order, after one row for the state before any word.

        Shape: (EDUs, length, word_size) packed → (1 + words, decoder_size)
        """
        n_edus = int(words.batch_sizes[0])
        initial = (self.initial_hidden.expand(-1, n_edus, -1), self.initial_cell.expand(-1, n_edus, -1))
        states, _ = self.decoder(words, (initial[0].contiguous(), initial[1].contiguous()))
        return torch.cat([self.initial_hidden[0].to(states.data.dtype), states.data])

    def forward(self, queries: Tensor, embeddings: Tensor, is_blank: Tensor | None, unknown: Tensor) -> Tensor:
        """Log-probabilities of all words that can be generated.

        `queries` are sums of both projections; rows of `is_blank` say for which words the embedding is that of `<unk>`
        (blank noise).

        Shape: queries (words, word_size), embeddings (vocabulary, word_size), is_blank (words, vocabulary),
        unknown (word_size) → (words, outputs)
        """
        scores = queries @ embeddings[self.outputs].T
        if is_blank is not None:
            scores = torch.where(is_blank[:, self.outputs], (queries @ unknown)[:, None], scores)
        return torch.log_softmax(scores + self.bias, dim=1)
