"""Which processor to compute on, and what it can do."""

from pathlib import Path

import torch

from genrst.errors import UsageError

CPU_FILE = Path("/proc/cpuinfo")
"""Where Linux says what the CPU can do."""


def choose_device(name: str) -> torch.device:
    """The device of that name: `auto` (an NVIDIA GPU if there is one), `cpu`, `mps` (Apple's), `cuda`, `cuda:1`."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if n_gpus else "cpu"
    rule = f"a device must be auto, cpu, or a GPU that PyTorch can use here (cuda, mps), was: {name!r}"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(rule) from error
    is_apple = device.type == "mps" and torch.backends.mps.is_available()
    if device.type == "cpu" or is_apple or (device.type == "cuda" and (device.index or 0) < n_gpus):
        check_process(device)
        return device
    raise UsageError(rule)


def check_process(device: torch.device) -> None:
    """Raise an error in a forked process whose parent has used a GPU: there it can never be used again."""
    if device.type == "cuda" and torch.cuda._is_in_bad_fork():
        rule = "a process that uses a GPU must be started by spawn (multiprocessing.get_context('spawn'))"
        raise UsageError(f"{rule}, was: forked from one that has used it")


def computes_bfloat16(device: torch.device) -> bool:
    """Whether this is a CPU with instructions for bfloat16 (x86: AVX512-BF16 or AMX) that PyTorch uses.

    It does so through oneDNN (`torch.backends.mkldnn`), which is slower than in float32 without them. ARM has such
    instructions, too: whether they help has not been measured, so the answer is no.
    """
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(_cpu_features())


def _cpu_features() -> set[str]:
    """From PyTorch or, if it is too old to say (2.4 is), from Linux, which has the same names; empty elsewhere."""
    if hasattr(torch.cpu, "get_capabilities"):
        return {name for name, is_there in torch.cpu.get_capabilities().items() if is_there}
    try:
        return set(CPU_FILE.read_text(encoding="utf-8").split())
    except OSError:
        return set()
