"""The network: embeddings of a token, of its head and of the subtrees at its edges, a BiLSTM, a logit per token."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from genrst.text.segmenter.config import SegmenterConfig
from genrst.text.segmenter.features import COLUMNS, MEASURES, N_BUCKETS, POINTERS
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
        token_size = sum(widths.values()) + config.shape_size * len(MEASURES)
        self.pointed = nn.Linear(token_size, config.pointer_size)
        self.lstm = nn.LSTM(
            token_size + config.pointer_size * len(POINTERS),
            config.hidden_size,
            config.layers,
            batch_first=True,
            bidirectional=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, 1)

    def forward(self, batch: Batch) -> Tensor:
        """Logits. *Shape:* (tokens of all windows)"""
        tokens = self.dropout(self._tokens(batch))
        inputs = torch.cat([tokens, self._pointed(tokens, batch.pointers)], dim=-1)
        packed = pack_padded_sequence(inputs, batch.lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        hidden = nn.functional.gelu(self.hidden(self.dropout(states[batch.is_token])))
        logits: Tensor = self.output(self.dropout(hidden)).squeeze(-1)
        return logits

    def _tokens(self, batch: Batch) -> Tensor:
        embeddings = [*self.symbols, *self.measures]
        numbers = [*batch.symbols.unbind(-1), *batch.measures.unbind(-1)]
        return torch.cat([embed(number) for embed, number in zip(embeddings, numbers, strict=True)], dim=-1)

    def _pointed(self, tokens: Tensor, pointers: Tensor) -> Tensor:
        """What is seen of the tokens pointed to. *Shape:* (windows, tokens, pointers × pointer size)"""
        seen = nn.functional.relu(self.pointed(tokens))
        rows = torch.arange(len(seen), device=seen.device)[:, None, None]
        return seen[rows, pointers].flatten(start_dim=2)


def _widths(config: SegmenterConfig) -> dict[str, int]:
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
