"""Windows of several documents as one padded batch, for PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from genrst.encoder.tokenizer import IntArray
from genrst.encoder.windows import Window, WindowShape, cut

_PADDING_ORDER = np.iinfo(np.int64).max


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

    def split(self, most_pieces: int) -> "list[tuple[PieceWindows, Tensor]]":
        """Windows of similar length, so many pieces at a time, with the EDUs that get their vectors there.

        A window that is longer is by itself. EDUs are numbered anew, and the second of a pair has their numbers here.
        """
        lengths = (self.order != _PADDING_ORDER).sum(1).tolist()
        parts: list[list[int]] = []
        for window in sorted(range(len(lengths)), key=lambda window: -lengths[window]):
            # The first of a part is its longest.
            if not parts or (len(parts[-1]) + 1) * lengths[parts[-1][0]] > most_pieces:
                parts.append([])
            parts[-1].append(window)
        return [self._part(part, _padded(lengths[part[0]])) for part in parts]

    def _part(self, windows: Sequence[int], length: int) -> "tuple[PieceWindows, Tensor]":
        """Some windows, without padding beyond a length."""
        device, width = self.pieces.device, self.pieces.shape[1]
        chosen = torch.tensor(windows, device=device)
        place = torch.full((len(self.pieces),), -1, device=device)
        place[chosen] = torch.arange(len(windows), device=device)
        numbers = (place[self.first // width] >= 0).nonzero()[:, 0]
        new_numbers = torch.zeros_like(self.first)
        new_numbers[numbers] = torch.arange(len(numbers), device=device)

        def move(rows: Tensor) -> Tensor:
            return place[rows // width] * length + rows % width

        is_own = place[self.rows // width] >= 0
        own = move(self.rows[is_own]), new_numbers[self.edus[is_own]]
        edges = move(self.first[numbers]), move(self.last[numbers])
        return PieceWindows(self.pieces[chosen, :length], self.order[chosen, :length], *own, *edges), numbers


def _padded(length: int) -> int:
    """Kernels are fastest at multiples of eight."""
    return -(-length // 8) * 8


def pack_windows(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """The windows of documents, given as word pieces and how many of them each EDU has."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    return _pack([_truncate(*text, limit) for text in texts], shape)


def pack_pieces(texts: Sequence[IntArray], shape: WindowShape) -> PieceWindows:
    """The windows of texts whose EDUs do not matter: each word piece stands for itself."""
    return _pack([(pieces, np.ones_like(pieces)) for pieces in texts], shape)


def _pack(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """The windows of texts, given as pieces and how many each EDU has."""
    n_edus = sum(len(lengths) for _, lengths in texts)
    windows, first_edu = [], 0
    for pieces_of_text, lengths in texts:
        windows += _windows(pieces_of_text, lengths, shape, first_edu)
        first_edu += len(lengths)
    length = _padded(max(len(pieces) for pieces, _, _ in windows))
    pieces = _pad([window[0] for window in windows], length, shape.padding)
    order = _pad([window[1] for window in windows], length, _PADDING_ORDER)
    edus = _pad([window[2] for window in windows], length, -1).ravel()
    rows = np.flatnonzero(edus >= 0)
    edus = edus[rows]
    numbers = np.arange(n_edus)
    first, last = (rows[np.searchsorted(edus, numbers)], rows[np.searchsorted(edus, numbers, side="right") - 1])
    return PieceWindows(*(torch.from_numpy(array) for array in (pieces, order, rows, edus, first, last)))


def _windows(
    pieces: IntArray, lengths: IntArray, shape: WindowShape, first_edu: int
) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Pieces, their order, and the EDUs whose vectors they contribute to (−1 for none), a triple per window."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    edus = np.repeat(np.arange(len(lengths)), lengths)
    made = []
    for window in cut(lengths.tolist(), limit, shape.overlap, shape.is_causal):
        part = slice(starts[window.start], starts[window.stop])
        made.append(_window(pieces[part], edus[part], window, shape, first_edu))
    return made


def _truncate(pieces: IntArray, lengths: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """The pieces of EDUs, none of which is longer than a window, and their lengths."""
    if lengths.max() <= limit:
        return pieces, lengths
    ends = np.cumsum(lengths)
    positions = np.arange(len(pieces)) - np.repeat(ends - lengths, lengths)
    return pieces[positions < limit], np.minimum(lengths, limit)


def _window(
    pieces: IntArray, edus: IntArray, window: Window, shape: WindowShape, first_edu: int
) -> tuple[IntArray, IntArray, IntArray]:
    n_before, n_after = len(shape.prefix), len(shape.suffix)
    # If causal, what stands before the text sees nothing of it, and nothing sees what stands after it.
    order = np.pad(edus - window.start + 1, (n_before, n_after), constant_values=(0, len(edus) + 1))
    is_own = (edus >= window.first) & (edus < window.last)
    return (
        np.concatenate([shape.prefix, pieces, shape.suffix]).astype(np.int64),
        order if shape.is_causal else np.zeros_like(order),
        np.pad(np.where(is_own, edus + first_edu, -1), (n_before, n_after), constant_values=-1),
    )


def _pad(arrays: list[IntArray], length: int, value: int) -> IntArray:
    padded = np.full((len(arrays), length), value, dtype=np.int64)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return padded
