"""EDUs to vectors by a pretrained encoder that reads windows of a document (not the paper's).

In a generative model an EDU sees itself and what stands before it in its window, so that its vector may be conditioned
on; in a discriminative one it sees the whole window.
"""

from typing import Any

import torch
from torch import Tensor, nn

from genrst.model.config import ModelConfig
from genrst.model.piece_tokenizer import PieceTokenizer
from genrst.model.piece_windows import PieceWindows, WindowShape

N_AT_ONCE = 8
"""Windows that are read at once where no gradients are needed: memory for attention grows with them."""


class PretrainedEncoder(nn.Module):
    """The mean, the first and the last of the states of an EDU's word pieces, side by side and projected."""

    def __init__(self, config: ModelConfig, encoder: nn.Module, tokenizer: PieceTokenizer) -> None:
        super().__init__()
        # transformers gives encoders that are not in training.
        self.encoder = encoder.train()
        # It is not used, and parameters without gradients are only a burden.
        self.encoder.register_module("pooler", None)
        settings: Any = encoder.config
        self.shape = WindowShape(
            min(config.encoder_window, _n_positions(encoder)),
            config.encoder_overlap,
            config.kind == "generative",
            tokenizer.prefix,
            tokenizer.suffix,
            settings.pad_token_id or 0,
        )
        size = 3 * settings.hidden_size
        self.norm = nn.LayerNorm(size)
        self.project = nn.Linear(size, 2 * config.edu_size)

    def forward(self, windows: PieceWindows) -> Tensor:
        """Encode EDUs.

        Shape: (windows, length) → (EDUs, 2 · edu_size)
        """
        n_at_once = len(windows.pieces) if torch.is_grad_enabled() else N_AT_ONCE
        parts = zip(torch.split(windows.pieces, n_at_once), torch.split(windows.order, n_at_once), strict=True)
        states = torch.cat([self._states(pieces, order) for pieces, order in parts]).flatten(0, 1)
        # Low precision ends here, mixed or the encoder's own: sums of long EDUs would lose too much.
        states = states.to(self.norm.weight.dtype)
        total = states.new_zeros(len(windows.first), states.shape[1])
        total = total.index_add(0, windows.edus, states.index_select(0, windows.rows))
        mean = total / (windows.last - windows.first + 1)[:, None]
        first, last = states.index_select(0, windows.first), states.index_select(0, windows.last)
        vectors: Tensor = self.project(self.norm(torch.cat([mean, first, last], dim=1)))
        return vectors

    def _states(self, pieces: Tensor, order: Tensor) -> Tensor:
        """Shape: (windows, length) → (windows, length, hidden_size)"""
        is_seen = order[:, None, :] <= order[:, :, None]
        # Encoders take a mask of four dimensions as it is, to be added to the scores of attention.
        weight = next(self.encoder.parameters())
        mask = weight.new_zeros(is_seen.shape).masked_fill_(~is_seen, -torch.inf)[:, None]
        states: Tensor = self.encoder(input_ids=pieces, attention_mask=mask).last_hidden_state
        return states


def _n_positions(encoder: nn.Module) -> int:
    """How long a window can be: encoders with a padding position count from the one after it."""
    for module in encoder.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, nn.Embedding):
            return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    settings: Any = encoder.config
    n_positions: int = settings.max_position_embeddings
    return n_positions
