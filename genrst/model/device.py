"""Which processor to compute on."""

import torch

from genrst.errors import UsageError


def choose_device(name: str) -> torch.device:
    """The device of that name: `auto` (a GPU if there is one), `cpu`, `cuda`, or one of several GPUs (`cuda:1`)."""
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if n_gpus else "cpu"
    rule = f"a device must be auto, cpu, or a GPU that PyTorch can use here (cuda), was: {name!r}"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(rule) from error
    if device.type == "cpu" or (device.type == "cuda" and (device.index or 0) < n_gpus):
        return device
    raise UsageError(rule)
