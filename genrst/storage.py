"""The folder of a model: what its files are called, and how settings and weights are written and read. No pickles.

    config.json          the sizes of the network
    symbols.json         what it numbers: words, relations, labels
    weights.safetensors  its weights
    encoder/             how its pretrained encoder is built and splits words; most models have none
    segmenter/           a copy of the chart that finds EDUs for it; most models have none and use `en`
    parser.json          how it parses unless told otherwise; may be missing
    ensemble.json        in place of a network: several models that choose together
    README.md            the model card

What the settings mean is no matter of this file: see `genrst.parser.folders`. PyTorch is imported only where weights
are read or written.

How many bits a weight takes is `genrst.packing`'s. If they would be one large file, there are several:
`weights-2.safetensors` and so on.

A folder is not believed. Only regular files are opened, and a network takes no memory before its sizes agree with the
header of its weights.
"""

import dataclasses
import json
import math
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from genrst.config import Config, from_mapping
from genrst.errors import ConfigError, ModelNotFoundError
from genrst.io import read_bytes, write_atomically
from genrst.packing import SCALE, Precision, pack, unpack

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
    from torch.overrides import TorchFunctionMode

    Network = TypeVar("Network", bound=nn.Module)

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"
ENCODER, SEGMENTER = "encoder", "segmenter"
PARSER, ENSEMBLE, CARD = "parser.json", "ensemble.json", "README.md"

MOST_BYTES = 2**26
"""Of a file other than the weights, and of the header of these: many times what settings and words take."""

LARGE = 45_000_000
"""Bytes of a file of packed weights, as many as places that keep files accept without complaint."""
Symbols = TypeVar("Symbols")


def read_file(path: Path) -> bytes:
    """The content of a file of a model, unless it is no regular file: a pipe or a device may never end."""
    try:
        status = path.stat()
    except OSError as error:
        raise ModelNotFoundError(f"{path}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise ModelNotFoundError(f"{path}: a file of the model must be a regular file, was: something else")
    if status.st_size > MOST_BYTES:
        raise ConfigError(f"{path}: a file of the model must have {MOST_BYTES} bytes or less, was: {status.st_size}")
    return read_bytes(path)


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The content of a JSON file."""
    content = read_file(path)
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
            raise ModelNotFoundError(f"{folder}: {rule}, was: without {name}")
    config = read_config(config_type, folder / CONFIG)
    data = read_json(folder / SYMBOLS)
    try:
        return config, symbols_from(data)
    except ConfigError as error:
        raise ConfigError(f"{folder / SYMBOLS}: {error}") from error


def load_network(make: Callable[[], "Network"], folder: Path, encoder_dtype: "torch.dtype | None" = None) -> "Network":
    """The network that `make` builds, with the weights of a folder as float32, or those of its encoder as another type.

    It is built twice: first without memory, to be compared with the header of the weights.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    paths = weight_files(folder)
    header = {name: one for path in paths for name, one in read_header(path).items()}
    with torch.device("meta"), _without_drawing():
        network = make()
        shapes = {name: torch.empty(one.shape, dtype=getattr(torch, one.dtype)) for name, one in header.items()}
        _set_weights(network, shapes, folder)
    check_memory(network, str(folder))
    with _without_drawing():
        network = make()
    stored: dict[str, Tensor] = {}
    for path in paths:
        try:
            stored |= load_file(path)
        except (OSError, ValueError, SafetensorError) as error:
            raise ConfigError(f"{path}: a file of the model is damaged: {error}") from error
    _set_weights(network, stored, folder, encoder_dtype)
    return network


def _without_drawing() -> "TorchFunctionMode":
    """Leave weights that will be replaced as they are, instead of drawing them: that takes time and random numbers.

    On the meta device PyTorch even loads its compiler for it, which takes two seconds.
    """
    from torch import Tensor
    from torch.overrides import TorchFunctionMode

    class WithoutDrawing(TorchFunctionMode):
        def __torch_function__(
            self,
            func: Any,  # noqa: ANN401
            types: object,
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:  # noqa: ANN401
            kwargs = kwargs or {}
            if getattr(func, "__module__", "") == "torch.nn.init" or func in (Tensor.normal_, Tensor.uniform_):
                return kwargs["tensor"] if "tensor" in kwargs else args[0]
            return func(*args, **kwargs)

    return WithoutDrawing()


def _set_weights(
    network: "nn.Module", stored: Mapping[str, "Tensor"], folder: Path, encoder_dtype: "torch.dtype | None" = None
) -> None:
    try:
        # Assigned, not copied: then there is never a second copy of the weights.
        network.load_state_dict(unpack(stored, encoder_dtype), assign=True)
    except ConfigError as error:
        raise ConfigError(f"{folder / WEIGHTS}: {error}") from error
    except RuntimeError as error:
        # The first line of PyTorch's message is a heading.
        reason = str(error).splitlines()[-1].strip()
        raise ConfigError(f"{folder}: the weights do not fit the configuration: {reason}") from error


def check_memory(network: "nn.Module", where: str, n_copies: int = 1) -> None:
    """Raise an error if this many copies of a network, which may be on the meta device, need more than all memory."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    n_bytes = n_copies * sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values())
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        sizes = f"{there / 2**30:.1f} GiB, was: {n_bytes / 2**30:.1f} GiB"
        raise ConfigError(f"{where}: the sizes of the network must fit into memory, {sizes}")


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
    stored = {name: tensor.cpu().contiguous() for name, tensor in pack(weights, precision).items()}
    # Models in training are replaced often, and all at once.
    parts = [stored] if precision == "float32" else _parts(stored)
    for number, part in enumerate(parts, start=1):
        write_atomically(folder / _weight_file(number), save(part))
    for path in weight_files(folder)[len(parts) :]:
        path.unlink()


def _weight_file(number: int) -> str:
    path = Path(WEIGHTS)
    return WEIGHTS if number == 1 else f"{path.stem}-{number}{path.suffix}"


def weight_files(folder: Path) -> list[Path]:
    """The files of a model's weights: as many as there are without a gap."""
    names = (folder / _weight_file(number) for number in count(2))
    return [folder / WEIGHTS, *takewhile(Path.is_file, names)]


def _parts(stored: Mapping[str, "Tensor"]) -> list[dict[str, "Tensor"]]:
    """Weights for several files that are not too large."""
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in stored.items():
        n_bytes = tensor.numel() * tensor.element_size()
        if parts[-1] and size + n_bytes > LARGE:
            parts.append({})
            size = 0
        parts[-1][name] = tensor
        size += n_bytes
    return parts


class StoredTensor(NamedTuple):
    """What the header of a safetensors file says about a tensor."""

    dtype: str
    """As PyTorch calls it."""
    shape: tuple[int, ...]


_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"},
    **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"},
}
"""The kinds of numbers that are read, in safetensors and in PyTorch; none takes less than a byte."""
_MOST_DIMENSIONS = 8


def read_header(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by its header: its length in eight bytes, then JSON."""
    try:
        n_bytes = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, MOST_BYTES)))
        header.pop("__metadata__", None)
        found = {name: StoredTensor(_DTYPES[one["dtype"]], tuple(one["shape"])) for name, one in header.items()}
    except OSError as error:
        raise ModelNotFoundError(f"{path}: {error.strerror or error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: a file of the model is damaged: {type(error).__name__}: {error}") from error
    for name, (dtype, shape) in found.items():
        is_shape = len(shape) <= _MOST_DIMENSIONS and all(type(size) is int and 0 <= size <= n_bytes for size in shape)
        if not is_shape or math.prod(shape) > n_bytes:
            rule = f"{name[:50]}: a tensor must be no larger than its file, was: {dtype} of shape {str(shape)[:50]}"
            raise ConfigError(f"{path}: a file of the model is damaged: {rule}")
    return found


def count_parameters(folder: Path) -> int | None:
    """How many weights a model has; None if it has no file of them."""
    if not (folder / WEIGHTS).is_file():
        return None
    header = {name: one for path in weight_files(folder) for name, one in read_header(path).items()}
    scales = {name + SCALE for name, one in header.items() if one.dtype in ("int8", "uint8")}
    # Two numbers of four bits are in a byte.
    return sum(
        math.prod(one.shape) * (1 + (one.dtype == "uint8")) for name, one in header.items() if name not in scales
    )
