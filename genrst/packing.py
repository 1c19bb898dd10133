"""Quantisation of weights: models store 32, 16, 8 or 4 bits per number. NumPy only.

With `int8`, a matrix `NAME` of more than 4,096 numbers becomes two tensors: `NAME` holds integers from −127 to 127, and
`NAME.scale` a float32 scale per row. The largest number of a row is ±127, so that the error of a weight is at most half
the scale of its row. All other weights are stored as float16.

`int4` is the same, except for the matrices of a pretrained encoder. Their rows are split into groups of 64 numbers,
each with a float16 in `NAME.scale`. The numbers, from −7 to 7, are stored with an offset of 8, two per byte, the first
one in the lower half. Each group has the scale, out of several candidates, that minimises its squared error.

For integer arithmetic, `quantise` and `requantise` make 7-bit matrices with a scale per row. With 7 bits, the sum of
two products of a weight and an 8-bit number fits into 16 bits, so that all CPUs compute the same; those with only AVX2
saturate larger sums.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.errors import ConfigError

FloatArray: TypeAlias = NDArray[np.float32]
Stored: TypeAlias = Mapping[str, NDArray[Any]]
Precision: TypeAlias = Literal["float32", "float16", "int8", "int4"]

SCALE = ".scale"
"""The suffix of the name of a matrix's scales."""
GROUP = 64
"""The number of int4 numbers that share a scale."""
ENCODER = "edu_encoder.encoder."
"""The prefix of the names of a pretrained encoder's weights."""
LARGEST_OF_8, LARGEST_OF_7 = 127, 63
LARGEST_OF_4 = 7
SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
"""Candidates for clipping the largest number of a group, as fractions of it, so that the others are more precise."""
_SMALL = 4096
"""Matrices of at most this many numbers are not quantised, because their scales would take too much space."""
_BITS = 9
"""The bits of a ratio of scales: seven times the largest ratio still fits into 16 bits."""


def pack(weights: Stored, precision: Precision) -> dict[str, NDArray[Any]]:
    """Return weights as they are stored with this precision."""
    stored: dict[str, NDArray[Any]] = {}
    for name, weight in weights.items():
        bits = stored_bits(name, weight.shape, precision)
        if not np.issubdtype(weight.dtype, np.floating):
            stored[name] = weight
        elif bits == 4:
            stored[name], stored[name + SCALE] = _pack_4(weight.astype(np.float32))
        elif bits == 8:
            stored[name], stored[name + SCALE] = _quantise(weight.astype(np.float32), LARGEST_OF_8)
        else:
            stored[name] = weight.astype(np.float32 if bits == 32 else np.float16)
    return stored


def stored_bits(name: str, shape: tuple[int, ...], precision: Precision) -> int:
    """Return how many bits each number of a weight takes."""
    is_matrix = len(shape) == 2 and math.prod(shape) > _SMALL
    if precision == "int4" and is_matrix and name.startswith(ENCODER) and shape[1] % GROUP == 0:
        return 4
    if precision in ("int8", "int4") and is_matrix:
        return 8
    return 32 if precision == "float32" else 16


def unpack(stored: Stored, prefix: str = "") -> dict[str, FloatArray]:
    """Return the stored weights whose names begin with `prefix` as float32, regardless of their precision."""
    scales = {name + SCALE for name, tensor in stored.items() if is_packed(tensor)}
    names = [name for name in stored if name.startswith(prefix) and name not in scales]
    return {name: unpack_one(stored, name) for name in names}


def unpack_one(stored: Stored, name: str) -> FloatArray:
    """Return one of the stored weights as float32."""
    tensor = stored[name]
    if not is_packed(tensor):
        return np.asarray(tensor, dtype=np.float32)
    if tensor.dtype == np.int8:
        return np.asarray(tensor * _row_scales(stored, name)[:, None], dtype=np.float32)
    scale = _group_scales(stored, name)
    groups = _from_halves(tensor).astype(np.float32).reshape(len(tensor), -1, GROUP)
    whole: FloatArray = (groups * scale[..., None].astype(np.float32)).reshape(len(tensor), -1)
    return whole


def is_packed(tensor: NDArray[Any]) -> bool:
    """Whether a stored tensor is quantised."""
    return tensor.dtype in (np.int8, np.uint8)


def quantise(weight: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Return a matrix in 7 bits, and the scale of each row."""
    return _quantise(weight, LARGEST_OF_7)


def requantise(stored: Stored, name: str) -> tuple[NDArray[np.int8], FloatArray]:
    """Return a stored matrix in 7 bits, and the scale of each row.

    An int4 matrix is converted without unpacking it to floats. The scale of a row allows for 7 times its largest group
    scale, and the ratios of scales are rounded to multiples of 1/512.
    """
    if stored[name].dtype != np.uint8:
        return quantise(unpack_one(stored, name))
    of_groups = _group_scales(stored, name).astype(np.float32)
    of_rows = of_groups.max(axis=1, keepdims=True) * LARGEST_OF_4 / LARGEST_OF_7
    ratios = np.rint(of_groups / of_rows * (1 << _BITS)).astype(np.int16)
    numbers = _from_halves(stored[name])
    groups = numbers.reshape(len(numbers), -1, GROUP)
    groups *= ratios[..., None]
    groups += 1 << (_BITS - 1)
    groups >>= _BITS
    return numbers.astype(np.int8), of_rows[:, 0]


def _quantise(weight: FloatArray, largest: int) -> tuple[NDArray[np.int8], FloatArray]:
    # A row of zeros needs a scale above zero as well.
    scale = np.maximum(np.abs(weight).max(axis=1) / np.float32(largest), np.finfo(np.float32).tiny)
    return np.rint(weight / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _pack_4(weight: FloatArray) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    groups = weight.reshape(len(weight), -1, GROUP)
    largest = np.abs(groups).max(axis=2, keepdims=True) / LARGEST_OF_4
    tiny = np.finfo(np.float16).tiny
    scales = [np.maximum((share * largest).astype(np.float16).astype(np.float32), tiny) for share in SHARES]
    errors = np.stack([np.square(_round(groups, scale) * scale - groups).sum(axis=2) for scale in scales])
    chosen = np.take_along_axis(np.stack(scales)[..., 0], errors.argmin(axis=0)[None], axis=0)[0]
    numbers: NDArray[np.uint8] = (_round(groups, chosen[..., None]) + 8).astype(np.uint8).reshape(len(weight), -1)
    halves: NDArray[np.uint8] = numbers[:, ::2] | (numbers[:, 1::2] << np.uint8(4))
    return halves, chosen.astype(np.float16)


def _round(groups: FloatArray, scale: FloatArray) -> FloatArray:
    rounded: FloatArray = np.rint(groups / scale).clip(-LARGEST_OF_4, LARGEST_OF_4)
    return rounded


def _from_halves(numbers: NDArray[Any]) -> NDArray[np.int16]:
    """Return the numbers of an int4 matrix, from −7 to 7. Shape: (rows, columns / 2) → (rows, columns)"""
    found = np.empty((len(numbers), 2 * numbers.shape[1]), dtype=np.int16)
    np.bitwise_and(numbers, 15, out=found[:, ::2], casting="unsafe")
    np.right_shift(numbers, 4, out=found[:, 1::2], casting="unsafe")
    found -= 8
    return found


def _row_scales(stored: Stored, name: str) -> NDArray[Any]:
    tensor, scale = stored[name], stored.get(name + SCALE)
    if scale is None or tensor.ndim != 2 or scale.dtype != np.float32 or scale.shape != tensor.shape[:1]:
        raise ConfigError(f"{name}: an int8 matrix must have a float32 scale for each row, got {_describe(scale)}")
    return scale


def _group_scales(stored: Stored, name: str) -> NDArray[Any]:
    tensor, scale = stored[name], stored.get(name + SCALE)
    fits = scale is not None and tensor.ndim == 2 and scale.dtype == np.float16
    if scale is None or not fits or scale.shape != (tensor.shape[0], 2 * tensor.shape[1] // GROUP):
        rule = f"{name}: an int4 matrix must have a float16 scale for every {GROUP} numbers of a row"
        raise ConfigError(f"{rule}, got {_describe(scale)}")
    return scale


def _describe(scale: NDArray[Any] | None) -> str:
    return "none" if scale is None else f"{scale.dtype} of shape {scale.shape}"
