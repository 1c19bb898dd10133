"""Weights in few bits, as models store them: 32, 16, 8 or 4 for each number.

As `int8` a matrix `NAME` of more than 4,096 numbers is two tensors: `NAME`, whole numbers from −127 to 127, and
`NAME.scale`, a float32 for each row, by which they are multiplied. The largest number of a row is ±127, so no weight is
further off than half of its row's scale. All other weights are float16 then.

`int4` is the same, but for the matrices of a pretrained encoder: their rows are cut into groups of 64 numbers, each
with a float16 in `NAME.scale`, and the numbers, from −7 to 7, are stored as 8 more, two in a byte, the first in its
lower half. Of several scales, each group has the one with which the squares of its errors are smallest.

PyTorch is imported only when weights are packed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from genrst.errors import ConfigError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Precision: TypeAlias = Literal["float32", "float16", "int8", "int4"]

SCALE = ".scale"
"""How the name of the scales of a matrix ends."""
GROUP = 64
"""How many numbers of an int4 matrix share a scale."""
ENCODER = "edu_encoder.encoder."
"""How the names of the weights of a pretrained encoder begin."""
_LARGEST = 127
_LARGEST_OF_4 = 7
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
"""What the largest number of a group may be cut to, so that the others are closer."""
_SMALL = 4096
"""Matrices of at most this many numbers are not worth their scales."""


def pack(weights: Mapping[str, "Tensor"], precision: Precision) -> dict[str, "Tensor"]:
    """Weights as they are stored."""
    import torch

    stored = {}
    for name, weight in weights.items():
        is_matrix = weight.is_floating_point() and weight.dim() == 2 and weight.numel() > _SMALL
        if precision == "int4" and is_matrix and name.startswith(ENCODER) and weight.shape[1] % GROUP == 0:
            stored[name], stored[name + SCALE] = _pack_4(weight.detach().float())
        elif precision in ("int8", "int4") and is_matrix:
            stored[name], stored[name + SCALE] = _pack_8(weight.detach().float())
        elif weight.is_floating_point():
            is_float = precision in ("float32", "float16")
            stored[name] = weight.detach().to(getattr(torch, precision) if is_float else torch.float16)
        else:
            stored[name] = weight
    return stored


def unpack(stored: Mapping[str, "Tensor"], encoder_dtype: "torch.dtype | None" = None) -> dict[str, "Tensor"]:
    """Stored weights, whatever their precision, as float32; those of a pretrained encoder as another type, if given."""
    import torch

    matrices = {name: tensor for name, tensor in stored.items() if tensor.dtype in (torch.int8, torch.uint8)}
    scales = {name + SCALE for name in matrices}
    # One by one: there is never more than one matrix of an encoder in full precision.
    dtypes = {name: (encoder_dtype if name.startswith(ENCODER) else None) or torch.float32 for name in stored}
    weights = {name: tensor.to(dtypes[name]) for name, tensor in stored.items() if name not in matrices.keys() | scales}
    for name, tensor in matrices.items():
        unpack_one = _unpack_8 if tensor.dtype == torch.int8 else _unpack_4
        weights[name] = unpack_one(name, tensor, stored.get(name + SCALE)).to(dtypes[name])
    return weights


def _pack_8(weight: "Tensor") -> tuple["Tensor", "Tensor"]:
    import torch

    # A row of zeros has a scale, too.
    scale = (weight.abs().amax(dim=1) / _LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
    return (weight / scale[:, None]).round().to(torch.int8), scale


def _unpack_8(name: str, tensor: "Tensor", scale: "Tensor | None") -> "Tensor":
    import torch

    if scale is None or tensor.dim() != 2 or scale.dtype != torch.float32 or scale.shape != tensor.shape[:1]:
        raise ConfigError(f"{name}: an int8 matrix must have a float32 scale for each row, was: {_describe(scale)}")
    return _blank(*tensor.shape) if tensor.is_meta else tensor.float().mul_(scale[:, None])


def _pack_4(weight: "Tensor") -> tuple["Tensor", "Tensor"]:
    import torch

    groups = weight.reshape(len(weight), -1, GROUP)
    largest = groups.abs().amax(dim=2, keepdim=True) / _LARGEST_OF_4
    scales = [(share * largest).half().float().clamp_min(torch.finfo(torch.float16).tiny) for share in _SHARES]
    errors = [(_round(groups, scale) * scale - groups).square().sum(dim=2) for scale in scales]
    chosen = torch.stack(errors).argmin(dim=0)
    scale = torch.stack(scales)[..., 0].gather(0, chosen[None])[0]
    numbers = (_round(groups, scale[..., None]) + 8).to(torch.uint8).flatten(1)
    return numbers[:, ::2] | (numbers[:, 1::2] << 4), scale.half()


def _round(groups: "Tensor", scale: "Tensor") -> "Tensor":
    return (groups / scale).round().clamp(-_LARGEST_OF_4, _LARGEST_OF_4)


def _unpack_4(name: str, tensor: "Tensor", scale: "Tensor | None") -> "Tensor":
    import torch

    fits = scale is not None and tensor.dim() == 2 and scale.dtype == torch.float16
    if scale is None or not fits or scale.shape != (tensor.shape[0], 2 * tensor.shape[1] // GROUP):
        rule = f"{name}: an int4 matrix must have a float16 scale for {GROUP} numbers of a row"
        raise ConfigError(f"{rule}, was: {_describe(scale)}")
    if tensor.is_meta:
        return _blank(len(tensor), 2 * tensor.shape[1])
    # In place: the largest matrix is a third of an encoder.
    numbers = torch.stack([tensor & 15, tensor >> 4], dim=2).flatten(1).float().sub_(8)
    return numbers.view(len(numbers), -1, GROUP).mul_(scale[..., None]).flatten(1)


def _blank(n_rows: int, n_columns: int) -> "Tensor":
    """A matrix without memory: to compute one there, PyTorch would load its compiler, which takes a second."""
    import torch

    return torch.empty(n_rows, n_columns, device="meta")


def _describe(scale: "Tensor | None") -> str:
    return "none" if scale is None else f"{scale.dtype} of shape {tuple(scale.shape)}"
