"""Compute EDU vectors with a pretrained encoder that reads windows of a document (not in the paper).

In a generative model, an EDU attends only to itself and to earlier EDUs in its window, so that the model may condition
on its vector. In all other models, it attends to the whole window. The encoders are those of transformers. Charts on a
CPU use `genrst.encoder.runtime` instead.
"""

from typing import Any

import torch
from torch import Tensor, nn

from genrst.allowance import checkpoint
from genrst.encoder.batch import PieceWindows
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.encoder.windows import WindowShape
from genrst.errors import ConfigError

AT_ONCE = {"cpu": 512, "cuda": 16_384}
"""Word pieces to read at once when no gradients are needed, so that memory does not grow with the text.

On a CPU, several windows are no faster than one, because their states do not fit into the cache.
"""

LEARNED_AT_ONCE = 2048
"""Word pieces read at once in training: large products are fast, and windows of one length need no padding."""

HIDDEN = -1e30
"""Added to the attention scores of hidden pieces. Unlike −inf, it cannot produce NaN."""


class PretrainedEncoder(nn.Module):
    """Projects the concatenated mean, first and last states of an EDU's word pieces.

    `forward` reads EDUs. If they are not known yet, `read` returns the states of all pieces, and `pool` computes
    vectors from them.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PieceTokenizer,
        edu_size: int,
        window: int = 512,
        overlap: float = 0.5,
        is_causal: bool = False,
    ) -> None:
        super().__init__()
        # transformers returns encoders in evaluation mode.
        self.encoder = encoder.train()
        # The pooler is not used, and parameters without gradients would be in the way.
        self.encoder.pooler = None  # type: ignore[assignment]
        settings: Any = encoder.config
        self.shape = WindowShape(
            min(window, _n_positions(encoder)),
            overlap,
            is_causal,
            tokenizer.prefix,
            tokenizer.suffix,
            settings.pad_token_id or 0,
        )
        n_around = len(tokenizer.prefix) + len(tokenizer.suffix)
        if self.shape.size <= n_around:
            raise ConfigError(f"a window of the encoder must have room for text, got {self.shape.size} word pieces")
        self.state_size: int = settings.hidden_size
        self.norm = nn.LayerNorm(3 * self.state_size)
        self.project = nn.Linear(3 * self.state_size, 2 * edu_size)

    def forward(self, windows: PieceWindows) -> Tensor:
        """Encode EDUs.

        Shape: (windows, length) → (EDUs, 2 · edu_size)
        """
        if torch.is_grad_enabled():
            states = self._edu_states(windows)
        else:
            states = self.norm.weight.new_empty(len(windows.first), self.project.in_features)
            for part, edus in windows.split(_at_once(windows)):
                states[edus] = self._edu_states(part)
        vectors: Tensor = self.project(self.norm(states))
        return vectors

    def read(self, windows: PieceWindows) -> Tensor:
        """Return the states of word pieces in the order of the text, each from the window with the most context.

        They keep the precision of the encoder, because for a long text they take more memory than anything else.

        Shape: (windows, length) → (pieces, hidden_size)
        """
        if torch.is_grad_enabled():
            # Windows of similar length together: a short text beside a long one would be mostly padding.
            parts = [(self._piece_states(part), pieces) for part, pieces in windows.split(LEARNED_AT_ONCE)]
            order = torch.cat([pieces for _, pieces in parts]).argsort()
            return torch.cat([states for states, _ in parts])[order].to(self.norm.weight.dtype)
        states = next(self.encoder.parameters()).new_empty(len(windows.rows), self.state_size)
        for part, pieces in windows.split(_at_once(windows)):
            checkpoint()
            states[pieces] = self._piece_states(part)
        return states

    def _piece_states(self, windows: PieceWindows) -> Tensor:
        states = self._states(windows.pieces, windows.order).flatten(0, 1)
        return states.index_select(0, windows.rows)

    def pool(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors of EDUs, given the states of their pieces and the number of pieces of each.

        Shape: (pieces, hidden_size), (EDUs) → (EDUs, 2 · edu_size)
        """
        # From here on in full precision, because the sums over long EDUs would lose too much.
        states = states.to(self.norm.weight.dtype)
        edus = torch.repeat_interleave(torch.arange(len(lengths), device=states.device), lengths)
        mean = states.new_zeros(len(lengths), states.shape[1]).index_add(0, edus, states) / lengths[:, None]
        ends = lengths.cumsum(0)
        first, last = states.index_select(0, ends - lengths), states.index_select(0, ends - 1)
        vectors: Tensor = self.project(self.norm(torch.cat([mean, first, last], dim=1)))
        return vectors

    @torch.inference_mode()
    def try_out(self) -> None:
        """Read a window of one piece, so that an unusable encoder fails now instead of on the first text."""
        pieces = torch.tensor([[*self.shape.prefix, self.shape.padding, *self.shape.suffix]])
        self._states(pieces.to(self.norm.weight.device), torch.zeros_like(pieces, device=self.norm.weight.device))

    def _edu_states(self, windows: PieceWindows) -> Tensor:
        """Return the mean, first and last states of EDUs. Shape: (windows, length) → (EDUs, 3 · hidden_size)"""
        # As in `pool`.
        states = self._states(windows.pieces, windows.order).flatten(0, 1).to(self.norm.weight.dtype)
        total = states.new_zeros(len(windows.first), states.shape[1])
        total = total.index_add(0, windows.edus, states.index_select(0, windows.rows))
        mean = total / (windows.last - windows.first + 1)[:, None]
        return torch.cat([mean, states.index_select(0, windows.first), states.index_select(0, windows.last)], dim=1)

    def _states(self, pieces: Tensor, order: Tensor) -> Tensor:
        """Run the encoder. Shape: (windows, length) → (windows, length, hidden_size)"""
        is_seen = order[:, None, :] <= order[:, :, None]
        # Encoders add a four-dimensional mask to the attention scores as it is.
        weight = next(self.encoder.parameters())
        mask = weight.new_zeros(is_seen.shape).masked_fill_(~is_seen, HIDDEN)[:, None]
        states: Tensor = self.encoder(input_ids=pieces, attention_mask=mask).last_hidden_state
        return states


def _at_once(windows: PieceWindows) -> int:
    return AT_ONCE.get(windows.pieces.device.type, AT_ONCE["cpu"])


def _n_positions(encoder: nn.Module) -> int:
    """Return the longest possible window. Encoders with a padding position count positions from the one after it."""
    for module in encoder.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, nn.Embedding):
            return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    settings: Any = encoder.config
    n_positions: int = settings.max_position_embeddings
    return n_positions
