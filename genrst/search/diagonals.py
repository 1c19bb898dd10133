"""Which beams there are after each number of actions, and which beams their hypotheses come from.

All of it follows from the numbers of EDUs, so it is worked out beside a search that runs on a GPU. In bag-level search
cell (i, j) is a beam; after t = i + j actions it holds the stacks of i − j units. A cell gets hypotheses that generate
from (i − 1, j) and hypotheses that reduce from (i, j − 1), both of which lie on t − 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NOWHERE = -1
"""The source of no hypotheses."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the hypotheses of beams come from."""

    documents: Tensor
    generates_from: Tensor
    """The beam before, from which hypotheses come that generate, or `NOWHERE`."""
    reduces_from: Tensor


@dataclass(frozen=True, slots=True)
class Diagonal(Sources):
    """The beams after t actions."""

    complete: Tensor
    """The beams whose hypotheses are whole trees."""
    going_on: Tensor
    """All others. Those that may generate come first."""
    n_generating: int
    """How many of those that go on may generate."""


def bag_diagonals(n_edus: Sequence[int], max_stack: int | None, device: torch.device) -> Iterator[Diagonal]:
    """A beam for each number of units that a stack can have."""
    sizes = np.array(n_edus)
    n_sizes = min(max(n_edus), max_stack or max(n_edus)) + 2
    units = np.arange(n_sizes)
    numbers = np.full((len(sizes), n_sizes), NOWHERE)
    numbers[:, 0] = np.arange(len(sizes))
    for t in range(1, 2 * max(n_edus)):
        largest = np.minimum(np.minimum(t, 2 * sizes - t), n_sizes - 2)
        is_there = (units >= 1) & (units % 2 == t % 2) & (units <= largest[:, None])
        documents, size = is_there.nonzero()
        may_generate = ((t + size) // 2 < sizes[documents]) & (size < n_sizes - 2)
        order = np.argsort(~may_generate, kind="stable")
        documents, size = documents[order], size[order]
        sources = numbers[documents, size - 1], numbers[documents, size + 1]
        is_complete = 2 * sizes[documents] - 1 == t
        yield _diagonal(documents, *sources, is_complete, int(may_generate.sum()), device)
        numbers[:] = NOWHERE
        numbers[documents[~is_complete], size[~is_complete]] = np.arange(int((~is_complete).sum()))


def level_sources(documents: Sequence[int], sizes: range, sizes_before: range, device: torch.device) -> Sources:
    """A beam for each of these documents and of these sizes of stacks, whether there are such stacks or not."""
    numbers = np.full((len(documents), max(sizes.stop, sizes_before.stop) + 1), NOWHERE)
    numbers[:, sizes_before] = np.arange(len(documents) * len(sizes_before)).reshape(len(documents), -1)
    below, above = np.array(sizes) - 1, np.array(sizes) + 1
    # There is no stack of −1 units; its number would be that of the last size.
    from_below = np.where(below < 0, NOWHERE, numbers[:, below])
    parts = (np.repeat(documents, len(sizes)), from_below.ravel(), numbers[:, above].ravel())
    return Sources(*torch.from_numpy(np.stack(parts)).to(device, non_blocking=True))


def action_diagonals(n_edus: Sequence[int], device: torch.device) -> Iterator[Diagonal]:
    """One beam for each document."""
    sizes = np.array(n_edus)
    documents = np.arange(len(sizes))
    for t in range(1, 2 * max(n_edus)):
        sources = np.arange(len(documents))
        is_complete = 2 * sizes[documents] - 1 == t
        yield _diagonal(documents, sources, sources, is_complete, int((~is_complete).sum()), device)
        documents = documents[~is_complete]


Integers = NDArray[np.int64]


def _diagonal(
    documents: Integers,
    generates_from: Integers,
    reduces_from: Integers,
    is_complete: NDArray[np.bool_],
    n_generating: int,
    device: torch.device,
) -> Diagonal:
    parts = (documents, generates_from, reduces_from, is_complete.nonzero()[0], (~is_complete).nonzero()[0])
    # One transfer for all.
    moved = torch.from_numpy(np.concatenate(parts)).to(device, non_blocking=True)
    columns = torch.split(moved, [len(part) for part in parts])
    return Diagonal(columns[0], columns[1], columns[2], columns[3], columns[4], n_generating)
