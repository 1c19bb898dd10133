"""BERT (Devlin et al. 2019), to be asked and not trained: bit by bit what transformers computes, without importing it.

That import takes 4 of the 11 seconds of CPU time in which `genrst parse` reads a short text. Weights have the names
that transformers gives them. Training and all other kinds of encoders are left to it (`genrst.encoder.files`).
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class States(NamedTuple):
    """What an encoder returns."""

    last_hidden_state: Tensor
    """Shape: (windows, length, hidden_size)"""


class Bert(nn.Module):
    """Embeddings of pieces and positions, then layers of attention; no dropout, no pooler."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401 - an `EncoderConfig` without gaps
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(config.vocab_size, size),
                "position_embeddings": nn.Embedding(config.max_position_embeddings, size),
                "token_type_embeddings": nn.Embedding(config.type_vocab_size, size),
                "LayerNorm": nn.LayerNorm(size, config.layer_norm_eps),
            }
        )
        layers = nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> States:
        """Read windows; the mask is added to the scores of attention.

        Shape: (windows, length), (windows, 1, length, length)
        """
        parts = self.embeddings
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        states = parts["word_embeddings"](input_ids) + parts["token_type_embeddings"](torch.zeros_like(input_ids))
        states = parts["LayerNorm"](states + parts["position_embeddings"](positions))
        for layer in self.encoder.get_submodule("layer").children():
            states = layer(states, attention_mask)
        return States(states)


class BertLayer(nn.Module):
    """Attention, then a hidden layer; each is added to what it was given, and normalised."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401
        super().__init__()
        size, hidden = config.hidden_size, config.intermediate_size
        self.n_heads = config.num_attention_heads
        maps = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": maps, "output": Joined(size, size, config.layer_norm_eps)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, hidden)})
        self.output = Joined(hidden, size, config.layer_norm_eps)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Shape: (windows, length, hidden_size) → the same"""
        maps = self.attention["self"].children()
        query, key, value = (one(states).unflatten(2, (self.n_heads, -1)).transpose(1, 2) for one in maps)
        read = scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
        states = self.attention["output"](read, states)
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
