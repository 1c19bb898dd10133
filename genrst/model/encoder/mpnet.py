"""MPNet (Song et al. 2020), inference only: what transformers computes, sooner and without importing it.

That import takes 4 of the 11 seconds of CPU time in which `genrst parse` reads a short text. Weights have the names
that transformers gives them. Training and all other kinds of encoders use transformers (`genrst.model.encoder.files`).

It is a BERT whose positions also count in attention: a number for each head and each class of distances is added to the
scores. Attention is PyTorch's own, which never has all its weights in memory.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

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
