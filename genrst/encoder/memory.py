"""How much is computed at once, and how memory is given back."""

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")


def in_batches(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Consecutive items whose sizes sum to at most `most`; a larger item is a batch by itself."""
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
    """Let the C library give the system back what was freed, where it can (glibc).

    It keeps free memory that lies between blocks in use. Results that stay between large things that come and go make
    it grow by gigabytes.
    """
    trim = _find_trim()
    if trim is not None:
        trim(0)


@cache
def _find_trim() -> Callable[[int], int] | None:
    """The function of glibc; no other library has it."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
