"""Tokens cut into windows of a few whole sentences, and windows into batches of tensors.

Windows never cross documents and do not depend on what else is read, so a text is segmented alike in any company.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genrst.text.segmenter.features import Tokens, structure
from genrst.text.segmenter.syntax import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some windows, padded to the longest."""

    symbols: Tensor
    """*Shape:* (windows, tokens, columns)"""
    measures: Tensor
    """*Shape:* (windows, tokens, measures)"""
    pointers: Tensor
    """Tokens of the window; for one outside, its first or last. *Shape:* (windows, tokens, pointers)"""
    lengths: Tensor
    """On the CPU, where PyTorch wants them. *Shape:* (windows)"""
    is_token: Tensor
    """*Shape:* (windows, tokens)"""
    places: Tensor
    """The numbers of all tokens in their text. *Shape:* (tokens of all windows)"""


class WindowedText:
    """The tokens of some documents, one after the other, on a device."""

    def __init__(self, documents: Sequence[Tokens], window: int, device: torch.device | str = "cpu") -> None:
        offsets = np.cumsum([0, *map(len, documents)])[:-1]
        pointers, measures = zip(*map(structure, documents), strict=True)
        windows = [cut(tokens, window) for tokens in documents]
        self.windows = np.concatenate(_shifted(windows, offsets))
        """The first token of every window and the one after its last. *Shape:* (windows, 2)"""
        self._symbols = torch.from_numpy(np.concatenate([tokens.symbols for tokens in documents])).to(device)
        self._measures = torch.from_numpy(np.concatenate(measures).astype(np.uint8)).to(device)
        self._pointers = torch.from_numpy(np.concatenate(_shifted(pointers, offsets)).astype(np.int32)).to(device)

    def __len__(self) -> int:
        return len(self._symbols)

    def batch(self, windows: IntArray) -> Batch:
        """Some rows of `windows` as tensors."""
        device = self._symbols.device
        starts = torch.from_numpy(windows[:, :1]).to(device)
        lengths = torch.from_numpy(windows[:, 1] - windows[:, 0])
        steps = torch.arange(int(lengths.max()), device=device)
        last = lengths.to(device)[:, None] - 1
        is_token = steps <= last
        # Padding repeats the last token: the network never looks at it, but it must be one.
        places = starts + torch.minimum(steps, last)
        found = (self._pointers[places] - starts[..., None]).clamp(min=0)
        return Batch(
            self._symbols[places],
            self._measures[places].int(),
            torch.minimum(found, last[..., None]),
            lengths,
            is_token,
            places[is_token],
        )

    def batches(self, size: int) -> Iterator[Batch]:
        """All windows, those of about the same length together."""
        by_length = self.windows[np.argsort(self.windows[:, 0] - self.windows[:, 1], kind="stable")]
        for first in range(0, len(by_length), size):
            yield self.batch(by_length[first : first + size])


def _shifted(parts: Sequence[IntArray], offsets: IntArray) -> list[IntArray]:
    return [part + offset for part, offset in zip(parts, offsets, strict=True)]


def cut(tokens: Tokens, window: int) -> IntArray:
    """Windows of as many whole sentences as fit; a sentence that is longer than a window is cut."""
    starts = np.flatnonzero(tokens.starts_sentence)
    found: list[list[int]] = []
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(tokens)], strict=True):
        if found and stop - found[-1][0] <= window:
            found[-1][1] = stop
        else:
            found += [[first, min(first + window, stop)] for first in range(start, stop, window)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)
