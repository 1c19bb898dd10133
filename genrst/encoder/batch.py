"""Pack windows of several documents into a padded batch for PyTorch."""

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
    """Windows of word pieces, and the positions of the pieces of each EDU."""

    pieces: Tensor
    """Shape: (windows, length)"""
    order: Tensor
    """A piece attends to the pieces of its window whose order is not greater than its own. Shape: (windows, length)"""
    rows: Tensor
    """The pieces that the EDU vectors are computed from, EDU by EDU, numbered over all windows."""
    edus: Tensor
    """The EDU of each of these pieces."""
    first: Tensor
    """The first of these pieces for each EDU."""
    last: Tensor

    def to(self, device: torch.device | str) -> "PieceWindows":
        """Return the same windows on a device."""
        return PieceWindows(*(getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)))

    def split(self, most_pieces: int) -> "list[tuple[PieceWindows, Tensor]]":
        """Divide the windows into parts of similar length, each with at most `most_pieces` pieces and with its EDUs.

        A longer window is a part by itself. Each part numbers its EDUs from 0; the tensor beside it holds their
        original numbers.
        """
        lengths = (self.order != _PADDING_ORDER).sum(1).tolist()
        parts: list[list[int]] = []
        for window in sorted(range(len(lengths)), key=lambda window: -lengths[window]):
            # The first window of a part is the longest.
            if not parts or (len(parts[-1]) + 1) * lengths[parts[-1][0]] > most_pieces:
                parts.append([])
            parts[-1].append(window)
        return [self._part(part, _padded(lengths[part[0]])) for part in parts]

    def _part(self, windows: Sequence[int], length: int) -> "tuple[PieceWindows, Tensor]":
        """Return some of the windows, padded only to the given length."""
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
    """Round a length up to a multiple of eight, for which kernels are fastest."""
    return -(-length // 8) * 8


def pack_windows(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """Return the windows of documents, given as word pieces and the number of pieces of each EDU."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    return _pack([_truncate(*text, limit) for text in texts], shape)


def pack_pieces(texts: Sequence[IntArray], shape: WindowShape) -> PieceWindows:
    """Return the windows of texts without EDUs: every word piece counts as an EDU."""
    return _pack([(pieces, np.ones_like(pieces)) for pieces in texts], shape)


def _pack(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """Return the windows of texts, given as pieces and the number of pieces of each EDU."""
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
    """Return for each window its pieces, their order, and the EDUs whose vectors they contribute to (−1 for none)."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    edus = np.repeat(np.arange(len(lengths)), lengths)
    made = []
    for window in cut(lengths.tolist(), limit, shape.overlap, shape.is_causal):
        part = slice(starts[window.start], starts[window.stop])
        made.append(_window(pieces[part], edus[part], window, shape, first_edu))
    return made


def _truncate(pieces: IntArray, lengths: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Truncate EDUs to the length of a window. Return their pieces and lengths."""
    if lengths.max() <= limit:
        return pieces, lengths
    ends = np.cumsum(lengths)
    positions = np.arange(len(pieces)) - np.repeat(ends - lengths, lengths)
    return pieces[positions < limit], np.minimum(lengths, limit)


def _window(
    pieces: IntArray, edus: IntArray, window: Window, shape: WindowShape, first_edu: int
) -> tuple[IntArray, IntArray, IntArray]:
    n_before, n_after = len(shape.prefix), len(shape.suffix)
    # In causal windows, the prefix does not attend to the text, and nothing attends to the suffix.
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
