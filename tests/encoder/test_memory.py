"""How many items are computed at once, and how memory is given back."""

import ctypes
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.encoder import memory
from genrst.encoder.memory import give_back_memory, in_batches


@given(st.lists(st.integers(1, 9)), st.integers(1, 12))
def test_batches_are_as_large_as_they_may_be(sizes: list[int], most: int):
    items = list(enumerate(sizes))
    batches = list(in_batches(items, lambda item: item[1], most))
    assert [item for batch in batches for item in batch] == items
    totals = [sum(size for _, size in batch) for batch in batches]
    assert all(len(batch) == 1 or total <= most for batch, total in zip(batches, totals, strict=True))
    assert all(total + after[0][1] > most for total, (_, after) in zip(totals, pairwise(batches), strict=False))


is_glibc = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")
is_changed = any(name.startswith("MALLOC_") or name == "LD_PRELOAD" for name in os.environ)


@pytest.mark.skipif(not is_glibc or is_changed, reason="needs glibc, as it is")
def test_what_lies_between_blocks_in_use_is_given_back():
    blocks = [torch.ones(1 << 14) for _ in range(4000)]
    kept = blocks[::10]
    del blocks
    before = resident_mebibytes()
    give_back_memory()
    assert resident_mebibytes() < before - 100, "of 250 MiB, nine tenths are free"
    assert len(kept) == 400


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@pytest.mark.parametrize(("platform", "library"), [("win32", None), ("linux", lambda _: object())])
def test_elsewhere_nothing_is_given_back(monkeypatch: pytest.MonkeyPatch, platform: str, library: object):
    monkeypatch.setattr("genrst.encoder.memory._find_trim", memory._find_trim.__wrapped__)
    monkeypatch.setattr("genrst.encoder.memory.sys.platform", platform)
    monkeypatch.setattr("genrst.encoder.memory.ctypes.CDLL", library)
    assert memory._find_trim() is None
    give_back_memory()
