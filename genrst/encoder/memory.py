"""Batches of limited size, and memory management."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from genrst.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

Item = TypeVar("Item")


def in_batches(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Yield batches of consecutive items whose sizes sum to at most `most`. A larger item is a batch by itself."""
    batch: list[Item] = []
    size = 0
    for item in items:
        size += size_of(item)
        if batch and size > most:
            yield batch
            batch, size = [], size_of(item)
        batch.append(item)
    if batch:
        yield batch


def give_back_memory() -> None:
    """Return freed memory to the system, if the C library can do it (glibc).

    Otherwise glibc keeps free memory between blocks in use. If small results are stored between large temporary arrays,
    this can grow to gigabytes.
    """
    trim = _find_trim()
    if trim is not None:
        trim(0)


@cache
def _find_trim() -> Callable[[int], int] | None:
    """Find the function of glibc. Other C libraries do not have it."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def check_memory(network: "nn.Module", where: str, n_copies: int = 1) -> None:
    """Raise an error if copies of a network, which may be on the meta device, need more than the total memory."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    n_bytes = n_copies * sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values())
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        sizes = f"it needs {n_bytes / 2**30:.1f} GiB, and there are {there / 2**30:.1f} GiB"
        raise ConfigError(f"{where}: the network does not fit into memory: {sizes}")
