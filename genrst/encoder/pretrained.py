"""EDUs to vectors by a pretrained encoder that reads windows of a document (not the paper's).

In a generative model an EDU sees itself and what stands before it in its window, so that its vector may be conditioned
on; in all others it sees the whole window. Training uses the encoders of transformers. For inference there is an MPNet
(Song et al. 2020) of our own, which computes the same, sooner and without importing transformers: a BERT in which a
number for each head and each class of distances is added to the scores of attention.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from genrst.encoder.pieces import PieceTokenizer, PieceWindows, WindowShape
from genrst.errors import ConfigError

AT_ONCE = {"cpu": 512, "cuda": 16_384}
"""Word pieces read at once when no gradients are needed: memory grows with them, and not with the text.

A core computes as fast with one window as with several, whose states do not fit its cache.
"""

HIDDEN = -1e30
"""What is added to the attention to a piece that is not seen: as good as −inf, but a number, so it gives no NaN."""


class PretrainedEncoder(nn.Module):
    """The mean, the first and the last of the states of an EDU's word pieces, side by side and projected.

    `forward` reads whole EDUs. Where they are not known yet, `read` gives the states of all pieces, and `pool` makes
    vectors of them.
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
        # The pooler is not used, and parameters without gradients are only a burden.
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
            raise ConfigError(f"a window of the encoder must have room for text, was: {self.shape.size} word pieces")
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
        """The states of word pieces, each from the window where it gets its vector, in the order of the text.

        They are as precise as the encoder, and no more: of a long text, nothing takes more memory.

        Shape: (windows, length) → (pieces, hidden_size)
        """
        if torch.is_grad_enabled():
            return self._piece_states(windows).to(self.norm.weight.dtype)
        states = next(self.encoder.parameters()).new_empty(len(windows.rows), self.state_size)
        for part, pieces in windows.split(_at_once(windows)):
            states[pieces] = self._piece_states(part)
        return states

    def _piece_states(self, windows: PieceWindows) -> Tensor:
        states = self._states(windows.pieces, windows.order).flatten(0, 1)
        return states.index_select(0, windows.rows)

    def pool(self, states: Tensor, lengths: Tensor) -> Tensor:
        """The vectors of EDUs, given the states of their pieces and how many each has.

        Shape: (pieces, hidden_size), (EDUs) → (EDUs, 2 · edu_size)
        """
        # Low precision ends here, mixed or the encoder's own: sums of long EDUs would lose too much.
        states = states.to(self.norm.weight.dtype)
        edus = torch.repeat_interleave(torch.arange(len(lengths), device=states.device), lengths)
        mean = states.new_zeros(len(lengths), states.shape[1]).index_add(0, edus, states) / lengths[:, None]
        ends = lengths.cumsum(0)
        first, last = states.index_select(0, ends - lengths), states.index_select(0, ends - 1)
        vectors: Tensor = self.project(self.norm(torch.cat([mean, first, last], dim=1)))
        return vectors

    @torch.inference_mode()
    def try_out(self) -> None:
        """Read a window of one piece: a strange encoder fails here, and not with the first text."""
        pieces = torch.tensor([[*self.shape.prefix, self.shape.padding, *self.shape.suffix]])
        self._states(pieces.to(self.norm.weight.device), torch.zeros_like(pieces, device=self.norm.weight.device))

    def _edu_states(self, windows: PieceWindows) -> Tensor:
        """Shape: (windows, length) → (EDUs, 3 · hidden_size)"""
        # As in `pool`.
        states = self._states(windows.pieces, windows.order).flatten(0, 1).to(self.norm.weight.dtype)
        total = states.new_zeros(len(windows.first), states.shape[1])
        total = total.index_add(0, windows.edus, states.index_select(0, windows.rows))
        mean = total / (windows.last - windows.first + 1)[:, None]
        return torch.cat([mean, states.index_select(0, windows.first), states.index_select(0, windows.last)], dim=1)

    def _states(self, pieces: Tensor, order: Tensor) -> Tensor:
        """Shape: (windows, length) → (windows, length, hidden_size)"""
        is_seen = order[:, None, :] <= order[:, :, None]
        # Encoders take a mask of four dimensions as it is, to be added to the scores of attention.
        weight = next(self.encoder.parameters())
        mask = weight.new_zeros(is_seen.shape).masked_fill_(~is_seen, HIDDEN)[:, None]
        states: Tensor = self.encoder(input_ids=pieces, attention_mask=mask).last_hidden_state
        return states


def _at_once(windows: PieceWindows) -> int:
    return AT_ONCE.get(windows.pieces.device.type, AT_ONCE["cpu"])


def _n_positions(encoder: nn.Module) -> int:
    """How long a window can be: encoders with a padding position count from the one after it."""
    for module in encoder.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, nn.Embedding):
            return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    settings: Any = encoder.config
    n_positions: int = settings.max_position_embeddings
    return n_positions


# MPNet, for inference only.

PADDING = 1
"""The piece that fills windows up, and its position; the first piece of a text has the position after it."""
FARTHEST = 128
"""From this distance on, all are of one class."""


class States(NamedTuple):
    """What an encoder returns."""

    last_hidden_state: Tensor
    """Shape: (windows, length, hidden_size)"""


class Mpnet(nn.Module):
    """Embeddings of pieces and positions, then layers of attention; no dropout, no pooler."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401 - an `EncoderConfig` without gaps
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(config.vocab_size, size, PADDING),
                "position_embeddings": nn.Embedding(config.max_position_embeddings, size, PADDING),
                "LayerNorm": nn.LayerNorm(size, config.layer_norm_eps),
            }
        )
        self.encoder = nn.ModuleDict(
            {
                "layer": nn.ModuleList(MpnetLayer(config) for _ in range(config.num_hidden_layers)),
                "relative_attention_bias": nn.Embedding(
                    config.relative_attention_num_buckets, config.num_attention_heads
                ),
            }
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> States:
        """Read windows; the mask is added to the scores of attention.

        Shape: (windows, length), (windows, 1, length, length)
        """
        parts = self.embeddings
        is_text = input_ids != PADDING
        positions = PADDING + is_text.cumsum(dim=1) * is_text
        states = parts["LayerNorm"](parts["word_embeddings"](input_ids) + parts["position_embeddings"](positions))
        mask = attention_mask + self._distance_scores(input_ids.shape[1])
        for layer in self.encoder.get_submodule("layer").children():
            states = layer(states, mask)
        return States(states)

    def _distance_scores(self, length: int) -> Tensor:
        """Shape: → (heads, length, length)"""
        table = self.encoder["relative_attention_bias"]
        places = torch.arange(length, device=table.weight.device)  # type: ignore[arg-type]
        scores: Tensor = table(distance_classes(places - places[:, None], table.num_embeddings))  # type: ignore[arg-type]
        return scores.permute(2, 0, 1)


def distance_classes(distances: Tensor, n_classes: int) -> Tensor:
    """The class of each distance: half of them to the left, half to the right.

    Of each half, the first half are single distances, and the others grow, up to the farthest.
    """
    half, single = n_classes // 2, n_classes // 4
    size = distances.abs()
    growth = math.log(FARTHEST / single)
    far = single + ((size.float() / single).log() / growth * (half - single)).long().clamp(min=0, max=half - 1 - single)
    return half * (distances > 0) + torch.where(size < single, size, far)


class MpnetLayer(nn.Module):
    """Attention, then a hidden layer; each is added to what it was given, and normalised."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401
        super().__init__()
        size, hidden = config.hidden_size, config.intermediate_size
        self.n_heads = config.num_attention_heads
        maps = nn.ModuleDict({name: nn.Linear(size, size) for name in ("q", "k", "v", "o")})
        self.attention = nn.ModuleDict({"attn": maps, "LayerNorm": nn.LayerNorm(size, config.layer_norm_eps)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, hidden)})
        self.output = Joined(hidden, size, config.layer_norm_eps)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Shape: (windows, length, hidden_size) → the same"""
        *maps, join = self.attention["attn"].children()
        query, key, value = (one(states).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for one in maps)
        read = scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
        states = self.attention["LayerNorm"](join(read) + states)
        joined: Tensor = self.output(gelu(self.intermediate["dense"](states)), states)
        return joined


class Joined(nn.Module):
    """A linear map whose result is added to something else, and normalised."""

    def __init__(self, size: int, new_size: int, epsilon: float) -> None:
        super().__init__()
        self.dense = nn.Linear(size, new_size)
        self.LayerNorm = nn.LayerNorm(new_size, epsilon)

    def forward(self, states: Tensor, others: Tensor) -> Tensor:
        """Shape: (…, size), (…, new_size) → (…, new_size)"""
        normalised: Tensor = self.LayerNorm(self.dense(states) + others)
        return normalised
