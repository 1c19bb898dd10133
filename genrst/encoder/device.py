"""Choose the device for PyTorch."""

import torch

from genrst.errors import UsageError


def choose_device(name: str) -> torch.device:
    """Return the device of a name: `auto` (an NVIDIA GPU if there is one), `cpu`, `mps` (Apple), `cuda`, `cuda:1`."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if n_gpus else "cpu"
    rule = f"a device must be auto, cpu, or a GPU that PyTorch can use here (cuda, mps), got {name!r}"
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
    """Raise an error in a forked process whose parent has used the GPU, because CUDA cannot be used there."""
    if device.type == "cuda" and torch.cuda._is_in_bad_fork():
        rule = "a process that uses a GPU must be started with spawn (multiprocessing.get_context('spawn'))"
        raise UsageError(f"{rule}, but this one was forked from a process that has used the GPU")
