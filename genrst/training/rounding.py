"""Quantisation-aware training: weights as they will be stored, and products as the CPU runtime computes them.

`genrst.packing` defines the stored format, in NumPy. This module computes the same numbers in PyTorch, on the device
where the network is trained.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from genrst.packing import ENCODER, GROUP, LARGEST_OF_4, LARGEST_OF_7, LARGEST_OF_8, SHARES, Precision, stored_bits


@contextmanager
def rounded(network: nn.Module, precision: Precision, *, with_states: bool = False) -> Iterator[None]:
    """Round the weights of a network to their stored values; on exit, restore the exact ones.

    With `with_states`, the encoder also multiplies as `genrst.encoder.runtime` does in int8: 7-bit matrices with a
    scale per row, 8-bit states with a scale per word piece. Gradients computed with rounded numbers are applied to the
    exact ones (a straight-through estimator).
    """
    # Frozen weights come from a stored model, so they are already rounded.
    learning = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    exact = {name: parameter.detach().clone() for name, parameter in learning.items()}
    found = {name: round_weight(name, weight, precision) for name, weight in exact.items()}
    hooks = []
    for name, module in network.named_modules() if with_states else ():
        if isinstance(module, nn.Linear) and f"{name}.weight".startswith(ENCODER):
            exact.setdefault(f"{name}.weight", module.weight.detach().clone())
            found[f"{name}.weight"] = _round_rows(found.get(f"{name}.weight", module.weight.detach()), LARGEST_OF_7)
            hooks.append(module.register_forward_pre_hook(_round_states))
    _set(network, found)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        _set(network, exact)


def _round_states(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    (states,) = inputs
    exact = states.detach().float()
    return (states + (_round_rows(exact, LARGEST_OF_8) - exact).to(states.dtype),)


@torch.no_grad()
def _set(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, parameter in network.named_parameters():
        if name in weights:
            parameter.copy_(weights[name])


def round_weight(name: str, weight: Tensor, precision: Precision) -> Tensor:
    """Return a float32 weight as it would be after storing and loading."""
    bits = stored_bits(name, tuple(weight.shape), precision)
    if bits == 8:
        return _round_rows(weight, LARGEST_OF_8)
    if bits == 4:
        return _round_4(weight)
    return weight if bits == 32 else weight.half().float()


def _round_rows(values: Tensor, largest: int) -> Tensor:
    """Round values with one scale per row, so that the largest number of a row is `largest`."""
    scale = (values.abs().amax(dim=-1, keepdim=True) / largest).clamp_min(torch.finfo(torch.float32).tiny)
    return (values / scale).round() * scale


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
