"""The folder of a model: what its files are called, and how settings and weights are written and read. No pickles.

    config.json          the sizes of the network
    symbols.json         what it numbers: words, relations, labels
    weights.safetensors  its weights
    encoder/             how its pretrained encoder is built and splits words; most models have none
    segmenter/           the network that finds EDUs; without one, rules do
    parser.json          how it parses unless told otherwise; may be missing
    ensemble.json        in place of a network: several models that choose together
    README.md            the model card

What the settings mean is no matter of this file: see `genrst.parser.packages`. PyTorch is imported only where weights
are read or written.

Weights take 32, 16 or 8 bits each. As `int8` a matrix `NAME` of more than 4,096 numbers is two tensors: `NAME`, whole
numbers from −127 to 127, and `NAME.scale`, a float32 for each row, by which they are multiplied. The largest number of
a row is ±127, so no weight is further off than half of its row's scale. All other weights are float16 then.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from genrst.config import Config, from_mapping
from genrst.errors import ConfigError, CorpusNotFoundError
from genrst.io import read_bytes, write_atomically

if TYPE_CHECKING:
    from torch import Tensor, nn

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"
ENCODER, SEGMENTER = "encoder", "segmenter"
PARSER, ENSEMBLE, CARD = "parser.json", "ensemble.json", "README.md"

SCALE = ".scale"
"""How the name of the scales of an int8 matrix ends."""
_LARGEST = 127
_SMALL = 4096
"""Matrices of at most this many numbers are not worth their scales."""

Precision: TypeAlias = Literal["float32", "float16", "int8"]
Symbols = TypeVar("Symbols")


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The content of a JSON file."""
    content = read_bytes(path)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {error}") from error


def read_config(config_type: type[Config], path: Path) -> Config:
    """A configuration (a dataclass) from its file."""
    data = read_json(path)
    try:
        return from_mapping(config_type, data)
    except (ConfigError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from error


def write_config(config: Any, path: Path) -> None:  # noqa: ANN401
    """The inverse of `read_config`. The file is replaced at once."""
    write_atomically(path, json.dumps(dataclasses.asdict(config), indent=1) + "\n")


def read_network(
    folder: Path, config_type: type[Config], symbols_from: Callable[[Any], Symbols]
) -> tuple[Config, Symbols]:
    """The configuration and the symbols that a network is built from."""
    for name in (CONFIG, SYMBOLS, WEIGHTS):
        if not (folder / name).is_file():
            rule = f"a model folder must hold {CONFIG}, {SYMBOLS} and {WEIGHTS}"
            raise CorpusNotFoundError(f"{folder}: {rule}, was: without {name}")
    config = read_config(config_type, folder / CONFIG)
    data = read_json(folder / SYMBOLS)
    try:
        return config, symbols_from(data)
    except ConfigError as error:
        raise ConfigError(f"{folder / SYMBOLS}: {error}") from error


def load_weights(network: "nn.Module", folder: Path) -> None:
    """Give a network the weights of a folder, as float32."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / WEIGHTS
    try:
        stored = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {error}") from error
    try:
        network.load_state_dict(unpack(stored))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except RuntimeError as error:
        # The first line of PyTorch's message is a heading.
        reason = str(error).splitlines()[-1].strip()
        raise ConfigError(f"{folder}: the weights do not fit the configuration: {reason}") from error


def save_network(
    weights: Mapping[str, "Tensor"],
    config: Any,  # noqa: ANN401
    symbols: object,
    folder: Path,
    precision: Precision,
) -> None:
    """Write a configuration (a dataclass), symbols (plain data) and weights. Each file is replaced at once."""
    from safetensors.torch import save

    write_config(config, folder / CONFIG)
    write_atomically(folder / SYMBOLS, json.dumps(symbols, ensure_ascii=False))
    write_atomically(folder / WEIGHTS, save(pack(weights, precision)))


def pack(weights: Mapping[str, "Tensor"], precision: Precision) -> dict[str, "Tensor"]:
    """Weights as they are stored."""
    import torch

    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    for name, weight in list(stored.items()):
        if precision == "int8" and weight.is_floating_point() and weight.dim() == 2 and weight.numel() > _SMALL:
            # A row of zeros has a scale, too.
            scale = (weight.float().abs().amax(dim=1) / _LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
            stored[name] = (weight.float() / scale[:, None]).round().to(torch.int8)
            stored[name + SCALE] = scale
        elif weight.is_floating_point():
            stored[name] = weight.to(torch.float16 if precision == "int8" else getattr(torch, precision))
    return stored


def unpack(stored: Mapping[str, "Tensor"]) -> dict[str, "Tensor"]:
    """Stored weights, whatever their precision, as float32."""
    import torch

    matrices = {name: tensor for name, tensor in stored.items() if tensor.dtype == torch.int8}
    scales = {name + SCALE for name in matrices}
    weights = {name: tensor.float() for name, tensor in stored.items() if name not in matrices.keys() | scales}
    for name, tensor in matrices.items():
        scale = stored.get(name + SCALE)
        if scale is None or tensor.dim() != 2 or scale.dtype != torch.float32 or scale.shape != tensor.shape[:1]:
            found = "none" if scale is None else f"{scale.dtype} of shape {tuple(scale.shape)}"
            raise ConfigError(f"{name}: an int8 matrix must have a float32 scale for each row, was: {found}")
        weights[name] = tensor.float().mul_(scale[:, None])
    return weights


def count_parameters(path: Path) -> int | None:
    """The numbers in a safetensors file, by its header: its length in eight bytes, then JSON with all shapes.

    None if there is no such file. Scales are not counted.
    """
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, 1 << 24)))
        others = {"__metadata__", *(name + SCALE for name in header)}
        return sum(int(math.prod(header[name]["shape"])) for name in header.keys() - others)
    except OSError as error:
        raise CorpusNotFoundError(f"{path}: {error.strerror or error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {error!r}") from error
