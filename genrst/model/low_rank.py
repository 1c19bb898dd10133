"""Low-rank changes of a pretrained encoder (LoRA, Hu et al. 2021): its weights stay, small factors learn.

A model on disk knows nothing of them: there the factors are multiplied and added to the weights.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear as apply

from genrst.errors import ConfigError

# With alpha / rank in its place, alpha = 2 · rank is usual.
SCALE = 2.0
"""What the product of the factors is multiplied by."""


class LowRank(nn.Module):
    """A linear map that stays as it is, plus a product of two factors that learn: W x + b + s · B A x.

    A, r × in, is `narrow`; B, out × r, is `widen`. W and b have the names they had: nothing but the factors is new.
    """

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight = linear.weight.requires_grad_(False)
        self.bias = None if linear.bias is None else linear.bias.requires_grad_(False)
        self.narrow = nn.Parameter(self.weight.new_empty(rank, linear.in_features))
        # Zeros, so that at first nothing is changed.
        self.widen = nn.Parameter(self.weight.new_zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.narrow, math.sqrt(5))

    def forward(self, inputs: Tensor) -> Tensor:
        """Shape: (…, in) → (…, out)"""
        return apply(inputs, self.weight, self.bias) + SCALE * apply(apply(inputs, self.narrow), self.widen)

    @torch.no_grad()
    def merged_weight(self) -> Tensor:
        """W + s · B A, the matrix that alone does the same."""
        return self.weight + SCALE * self.widen @ self.narrow


def add_low_rank(encoder: nn.Module, rank: int) -> None:
    """Let nothing of an encoder learn but factors of this rank, which every linear map in its layers gets."""
    encoder.requires_grad_(False)
    # transformers keeps layers in lists, and nothing else: embeddings, too, may have linear maps.
    layers = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    parents = dict.fromkeys(module for one in layers for module in one.modules())
    linears = [(p, name, child) for p in parents for name, child in p.named_children() if isinstance(child, nn.Linear)]
    if not linears:
        raise ConfigError("training.encoder_rank: the layers of the encoder must have linear maps, was: none")
    if rank > (full := min(width for _, _, linear in linears for width in linear.weight.shape)):
        raise ConfigError(f"training.encoder_rank: a rank must be no more than the encoder's {full}, was: {rank}")
    for parent, name, linear in linears:
        setattr(parent, name, LowRank(linear, rank))


def merged(network: nn.Module) -> dict[str, Tensor]:
    """The weights of a network by their names, all factors multiplied and added; the network itself stays as it is."""
    weights: dict[str, Tensor] = network.state_dict()
    for name, module in network.named_modules():
        if isinstance(module, LowRank):
            weights[f"{name}.weight"] = module.merged_weight()
            del weights[f"{name}.narrow"], weights[f"{name}.widen"]
    return weights
