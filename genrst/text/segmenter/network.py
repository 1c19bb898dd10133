"""The network: embeddings of a token, BiLSTMs that also see what it points to in the syntax, a logit per token."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from genrst.text.segmenter.config import SegmenterConfig
from genrst.text.segmenter.features import MEASURES, N_BUCKETS, POINTERS
from genrst.text.segmenter.symbols import COLUMNS
from genrst.text.segmenter.windows import Batch


class SegmenterNetwork(nn.Module):
    """Says of every token whether an EDU starts with it."""

    def __init__(self, config: SegmenterConfig, n_symbols: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        widths = _widths(config)
        self.symbols = nn.ModuleList(
            nn.Embedding(count, widths[column]) for count, column in zip(n_symbols, COLUMNS, strict=True)
        )
        self.measures = nn.ModuleList(nn.Embedding(N_BUCKETS, config.shape_size) for _ in MEASURES)
        sizes = [sum(widths.values()) + config.shape_size * len(MEASURES), *[2 * config.hidden_size] * config.layers]
        self.layers = nn.ModuleList(
            Layer(size, config.pointer_size * (number < config.pointed_layers), config.hidden_size)
            for number, size in enumerate(sizes[:-1])
        )
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(sizes[-1], config.hidden_size)
        self.output = nn.Linear(config.hidden_size, 1)

    @property
    def words(self) -> nn.Embedding:
        """The embeddings of words."""
        embedding = self.symbols[COLUMNS.index("word")]
        assert isinstance(embedding, nn.Embedding)
        return embedding

    def forward(self, batch: Batch) -> Tensor:
        """Logits. *Shape:* (tokens of all windows)"""
        states = self._embedded(batch)
        for layer in self.layers:
            states = layer(self.dropout(states), batch)
        hidden = nn.functional.gelu(self.hidden(self.dropout(states[batch.is_token])))
        logits: Tensor = self.output(self.dropout(hidden)).squeeze(-1)
        return logits

    def _embedded(self, batch: Batch) -> Tensor:
        """*Shape:* (windows, tokens, size)"""
        embeddings = [*self.symbols, *self.measures]
        numbers = [*batch.symbols.unbind(-1), *batch.measures.unbind(-1)]
        return torch.cat([embed(number) for embed, number in zip(embeddings, numbers, strict=True)], dim=-1)


class Layer(nn.Module):
    """A BiLSTM that reads of every token its state and a short view of the states of the tokens it points to."""

    def __init__(self, size: int, pointer_size: int, hidden_size: int) -> None:
        super().__init__()
        self.view = nn.Linear(size, pointer_size) if pointer_size else None
        self.lstm = nn.LSTM(size + pointer_size * len(POINTERS), hidden_size, batch_first=True, bidirectional=True)

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """New states. *Shape:* (windows, tokens, 2 × hidden size)"""
        if self.view is not None:
            views = nn.functional.relu(self.view(states))
            rows = torch.arange(len(views), device=views.device)[:, None, None]
            states = torch.cat([states, views[rows, batch.pointers].flatten(start_dim=2)], dim=-1)
        packed = pack_padded_sequence(states, batch.lengths, batch_first=True, enforce_sorted=False)
        found: Tensor = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        return found


def _widths(config: SegmenterConfig) -> dict[str, int]:
    """The width of the embeddings of each column."""
    return {
        "word": config.word_size,
        "prefix": config.affix_size,
        "suffix": config.affix_size,
        "shape": config.shape_size,
        "tag": config.syntax_size,
        "deprel": config.syntax_size,
        "gap": config.shape_size,
        "kind": config.shape_size,
    }
