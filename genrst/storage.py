"""A network on disk: a folder with its configuration, its symbols and its weights. No pickles.

Weights have all of their bits, half of them, or a quarter. As `int8` a matrix `NAME` of more than 4,096 numbers is two
tensors: `NAME`, whole numbers from −127 to 127, and `NAME.scale`, a float32 for each row, by which they are multiplied.
The largest number of a row is ±127, so no weight is further off than half of its row's scale. All other weights are
float16 then.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from genrst.config import Config, from_mapping
from genrst.errors import ConfigError, CorpusNotFoundError
from genrst.io import write_atomically

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"

Precision: TypeAlias = Literal["float32", "float16", "int8"]

_SCALE = ".scale"
_LARGEST = 127
_SMALL = 4096
"""Matrices of so many numbers, or fewer, are not worth their scales."""

AnySymbols = TypeVar("AnySymbols")
AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


def save_folder(
    weights: Mapping[str, Tensor],
    config: Any,  # noqa: ANN401
    symbols: object,
    folder: Path,
    precision: Precision,
) -> None:
    """Write weights, a configuration (a dataclass) and symbols (plain data). Each file is replaced at once."""
    write_atomically(folder / CONFIG, json.dumps(dataclasses.asdict(config), indent=1))
    write_atomically(folder / SYMBOLS, json.dumps(symbols, ensure_ascii=False))
    write_atomically(folder / WEIGHTS, save(_pack(weights, precision)))


def load_folder(
    folder: Path,
    config_type: type[Config],
    read_symbols: Callable[[Any], AnySymbols],
    make_network: Callable[[Config, AnySymbols], AnyNetwork],
) -> tuple[AnyNetwork, AnySymbols]:
    """Read a network and its symbols; its weights become float32."""
    try:
        config = from_mapping(config_type, json.loads((folder / CONFIG).read_text(encoding="utf-8")))
        symbols = read_symbols(json.loads((folder / SYMBOLS).read_text(encoding="utf-8")))
        weights = _unpack(load_file(folder / WEIGHTS))
    except ConfigError as error:
        raise ConfigError(f"{folder}: {error}") from error
    except OSError as error:
        raise CorpusNotFoundError(
            f"{folder}: a model folder must hold {CONFIG}, {SYMBOLS} and {WEIGHTS}: {error}"
        ) from error
    except (ValueError, RecursionError, SafetensorError) as error:
        raise ConfigError(f"{folder}: a file of the model is damaged: {error}") from error
    network = make_network(config, symbols)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        # The first line of PyTorch's message is a heading.
        reason = str(error).splitlines()[-1].strip()
        raise ConfigError(f"{folder}: the weights do not fit the configuration: {reason}") from error
    return network, symbols


def _pack(weights: Mapping[str, Tensor], precision: Precision) -> dict[str, Tensor]:
    """Weights as they are stored."""
    return {name: part.contiguous() for name, part in _parts(weights, precision)}


def _parts(weights: Mapping[str, Tensor], precision: Precision) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in weights.items():
        weight = tensor.detach().cpu()
        if not weight.is_floating_point():
            yield name, weight
        elif precision == "int8" and weight.dim() == 2 and weight.numel() > _SMALL:
            numbers, scale = _quantise(weight.float())
            yield name, numbers
            yield name + _SCALE, scale
        else:
            yield name, weight.to(torch.float16 if precision == "int8" else getattr(torch, precision))


def _quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = weight.abs().amax(dim=1) / _LARGEST
    # A row of zeros has a scale, too.
    scale = scale.clamp_min(torch.finfo(torch.float32).tiny)
    return (weight / scale[:, None]).round().to(torch.int8), scale


def _unpack(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a file, whatever their precision, as float32."""
    scales = {name + _SCALE for name, tensor in stored.items() if tensor.dtype == torch.int8}
    return {name: _restored(name, stored) for name in stored if name not in scales}


def _restored(name: str, stored: Mapping[str, Tensor]) -> Tensor:
    tensor = stored[name]
    if tensor.dtype != torch.int8:
        return tensor.float()
    scale = stored.get(name + _SCALE)
    if scale is None or tensor.dim() != 2 or scale.dtype != torch.float32 or scale.shape != tensor.shape[:1]:
        found = "none" if scale is None else f"{scale.dtype} of shape {tuple(scale.shape)}"
        raise ConfigError(f"{name}: a matrix of int8 must have a float32 scale for each row, was: {found}")
    return tensor.float().mul_(scale[:, None])
