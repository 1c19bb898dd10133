"""What a processor can do, by PyTorch or by Linux."""

import ctypes
import os
import sys
from pathlib import Path

import pytest
import torch

from genrst.encoder import device
from genrst.encoder.device import choose_device, computes_bfloat16, give_back_memory
from genrst.errors import UsageError

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"avx512_f": True, "avx512_bf16": True}, True),
        ({"amx_bf16": True, "avx512_bf16": False}, True),
        ({"avx512_f": True, "avx512_bf16": False}, False),
        ({"architecture": "aarch64", "bf16": True}, False),
        ({}, False),
    ],
)
def test_instructions_for_bfloat16(monkeypatch: pytest.MonkeyPatch, features: dict[str, object], expected: bool):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert computes_bfloat16(CPU) == expected
    assert not computes_bfloat16(torch.device("cuda"))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not computes_bfloat16(CPU)


def test_an_older_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Linux says it; elsewhere nobody does."""
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(device, "CPU_FILE", tmp_path / "cpuinfo")
    assert not computes_bfloat16(CPU)
    for flags, expected in (("fpu avx512f avx512_bf16 avx512vbmi", True), ("fpu avx512f", False)):
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
        assert computes_bfloat16(CPU) == expected


@pytest.mark.skipif(not hasattr(torch.cpu, "get_capabilities"), reason="PyTorch is too old to be compared")
@pytest.mark.skipif(not device.CPU_FILE.is_file(), reason="no Linux")
def test_both_ways_agree_here(monkeypatch: pytest.MonkeyPatch):
    expected = computes_bfloat16(CPU)
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert computes_bfloat16(CPU) == expected


def test_apples_gpus(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UsageError, match="was: 'mps'"):
        choose_device("mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("mps").type == "mps"


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
    monkeypatch.setattr("genrst.encoder.device._find_trim", device._find_trim.__wrapped__)
    monkeypatch.setattr("genrst.encoder.device.sys.platform", platform)
    monkeypatch.setattr("genrst.encoder.device.ctypes.CDLL", library)
    assert device._find_trim() is None
    give_back_memory()
