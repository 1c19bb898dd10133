"""Which processor to compute on."""

from typing import TYPE_CHECKING

from genrst.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> "torch.device":
    """The device of that name; `auto` is a GPU if there is one."""
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError("models need PyTorch: pip install 'genrst[model]'") from error
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda needs a GPU that PyTorch can use, there is none")
    return torch.device(name)
