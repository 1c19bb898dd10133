"""What a processor can do, by PyTorch or by Linux."""

from pathlib import Path

import pytest
import torch

from genrst.encoder import device
from genrst.encoder.device import choose_device, computes_bfloat16
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
