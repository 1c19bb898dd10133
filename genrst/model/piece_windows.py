"""The word pieces of several documents as one padded set of windows, ready for a pretrained encoder."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from genrst.errors import ConfigError
from genrst.model.example import Example
from genrst.model.schedule import IntArray
from genrst.model.windows import Window, cut

_PADDING_ORDER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How windows are made for some encoder."""

    size: int
    """The most pieces in a window, those around it counted in."""
    overlap: float
    """The share of a window that the one before has already."""
    is_causal: bool
    """Whether an EDU must not see later ones."""
    prefix: tuple[int, ...]
    """The pieces before the text, such as `[CLS]`."""
    suffix: tuple[int, ...]
    """The pieces after the text, such as `[SEP]`."""
    padding: int


@dataclass(frozen=True, slots=True)
class PieceWindows:
    """Windows of word pieces, and where in them the pieces of each EDU are."""

    pieces: Tensor
    """Shape: (windows, length)"""
    order: Tensor
    """A piece sees those of the same window whose order is its own or less. Shape: (windows, length)"""
    rows: Tensor
    """The pieces that EDUs get their vectors from, numbered over all windows, EDU by EDU."""
    edus: Tensor
    """The EDU of each of them."""
    first: Tensor
    """The row of the first piece of each EDU."""
    last: Tensor

    def to(self, device: torch.device | str) -> "PieceWindows":
        """The same windows on a device."""
        return PieceWindows(*(getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)))


def pack_windows(examples: Sequence[Example], shape: WindowShape) -> PieceWindows:
    """The windows of documents, in the order of their EDUs."""
    n_edus = sum(example.n_edus for example in examples)
    windows, first_edu = [], 0
    for example in examples:
        windows += _windows(example, shape, first_edu)
        first_edu += example.n_edus
    # Kernels are fastest at multiples of eight.
    length = -(-max(len(pieces) for pieces, _, _ in windows) // 8) * 8
    pieces = _pad([window[0] for window in windows], length, shape.padding)
    order = _pad([window[1] for window in windows], length, _PADDING_ORDER)
    edus = _pad([window[2] for window in windows], length, -1).ravel()
    rows = np.flatnonzero(edus >= 0)
    edus = edus[rows]
    numbers = np.arange(n_edus)
    first, last = (rows[np.searchsorted(edus, numbers)], rows[np.searchsorted(edus, numbers, side="right") - 1])
    return PieceWindows(*(torch.from_numpy(array) for array in (pieces, order, rows, edus, first, last)))


def _windows(example: Example, shape: WindowShape, first_edu: int) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Pieces, their order, and the EDUs whose vectors they count for (−1 for none), a triple per window."""
    if len(example.piece_lengths) != example.n_edus:
        raise ConfigError(f"{example.id}: a document must be prepared with the encoder's tokenizer")
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    pieces, lengths = _truncate(example, limit)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    edus = np.repeat(np.arange(len(lengths)), lengths)
    made = []
    for window in cut(lengths.tolist(), limit, shape.overlap, shape.is_causal):
        part = slice(starts[window.start], starts[window.stop])
        made.append(_window(pieces[part], edus[part], window, shape, first_edu))
    return made


def _truncate(example: Example, limit: int) -> tuple[IntArray, IntArray]:
    """The pieces of EDUs, no EDU longer than a window, and their numbers."""
    lengths = example.piece_lengths
    if lengths.max() <= limit:
        return example.pieces, lengths
    ends = np.cumsum(lengths)
    positions = np.arange(len(example.pieces)) - np.repeat(ends - lengths, lengths)
    return example.pieces[positions < limit], np.minimum(lengths, limit)


def _window(
    pieces: IntArray, edus: IntArray, window: Window, shape: WindowShape, first_edu: int
) -> tuple[IntArray, IntArray, IntArray]:
    n_before, n_after = len(shape.prefix), len(shape.suffix)
    # If causal, what stands before the text sees nothing of it, and nothing sees what stands after it.
    order = np.pad(edus - window.start + 1, (n_before, n_after), constant_values=(0, len(edus) + 1))
    is_mine = (edus >= window.first) & (edus < window.last)
    return (
        np.concatenate([shape.prefix, pieces, shape.suffix]).astype(np.int64),
        order if shape.is_causal else np.zeros_like(order),
        np.pad(np.where(is_mine, edus + first_edu, -1), (n_before, n_after), constant_values=-1),
    )


def _pad(arrays: list[IntArray], length: int, value: int) -> IntArray:
    padded = np.full((len(arrays), length), value, dtype=np.int64)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return padded
