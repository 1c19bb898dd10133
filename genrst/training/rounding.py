"""Training with weights as they will be stored.

`genrst.packing` says what is stored, in NumPy. Here the same numbers are found in PyTorch, on the device where the
network is trained.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from genrst.packing import GROUP, LARGEST_OF_4, LARGEST_OF_8, SHARES, Precision, stored_bits


@contextmanager
def rounded(network: nn.Module, precision: Precision) -> Iterator[None]:
    """A network whose weights are as they would be stored; afterwards they are as they were, or as they have learned.

    A gradient that was found with rounded weights is applied to the exact ones (a straight-through estimator).
    """
    exact = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    _set(network, {name: round_weight(name, weight, precision) for name, weight in exact.items()})
    try:
        yield
    finally:
        _set(network, exact)


@torch.no_grad()
def _set(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, parameter in network.named_parameters():
        parameter.copy_(weights[name])


def round_weight(name: str, weight: Tensor, precision: Precision) -> Tensor:
    """A weight of float32, as it is once it was stored."""
    bits = stored_bits(name, tuple(weight.shape), precision)
    if bits == 8:
        scale = (weight.abs().amax(dim=1, keepdim=True) / LARGEST_OF_8).clamp_min(torch.finfo(torch.float32).tiny)
        return (weight / scale).round() * scale
    if bits == 4:
        return _round_4(weight)
    return weight if bits == 32 else weight.half().float()


def _round_4(weight: Tensor) -> Tensor:
    groups = weight.reshape(len(weight), -1, GROUP)
    largest = groups.abs().amax(dim=2, keepdim=True) / LARGEST_OF_4
    best, least = groups, torch.full_like(largest, torch.inf)
    for share in SHARES:
        scale = (share * largest).half().float().clamp_min(torch.finfo(torch.float16).tiny)
        found = (groups / scale).round().clamp(-LARGEST_OF_4, LARGEST_OF_4) * scale
        error = (found - groups).square().sum(dim=2, keepdim=True)
        best, least = torch.where(error < least, found, best), torch.minimum(error, least)
    return best.reshape(weight.shape)
