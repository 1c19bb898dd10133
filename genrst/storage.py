"""The folder of a model: the names of its files, and reading and writing settings and weights without pickle.

    config.json          the sizes of the network
    symbols.json         the symbols that it numbers: words, relations, labels
    weights.safetensors  its weights
    encoder/             the configuration and tokenizer of its pretrained encoder, if it has one
    segmenter/           a copy of the chart parser that finds EDUs for it; most models have none and use `en`
    parser.json          its default parsing options; may be missing
    ensemble.json        for an ensemble, in place of a network: its members
    README.md            the model card

The meaning of the settings is defined in `genrst.parser.folders`. Weights are NumPy arrays here;
`genrst.encoder.model` turns them into tensors.

Weights are quantised by `genrst.packing`. Large models are split into several files: `weights-2.safetensors` and so on.
Each file has a checksum in its header, which is verified whenever weights are read. Files that other programs wrote
have no checksum.

A model folder is not trusted. Only regular files are opened, and no memory is allocated for a network before its sizes
agree with the headers of its weights.
"""

import dataclasses
import json
import math
import stat
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from genrst.config import Config, from_mapping
from genrst.errors import ConfigError, ModelNotFoundError
from genrst.io import read_bytes, write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from genrst.packing import Precision

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"
ENCODER, SEGMENTER = "encoder", "segmenter"
PARSER, ENSEMBLE, CARD = "parser.json", "ensemble.json", "README.md"

MOST_BYTES = 2**26
"""The size limit for headers of weights and all other files: many times what settings and vocabularies need."""

LARGE = 45_000_000
"""The size limit in bytes for a file of packed weights. Larger files are awkward to host."""
CHECKSUM = "crc32"
"""The key of the checksum in the header of the weights."""
Symbols = TypeVar("Symbols")


def read_file(path: Path) -> bytes:
    """Return the content of a model file. It must be a regular file, because a pipe or a device may never end."""
    try:
        status = path.stat()
    except OSError as error:
        raise ModelNotFoundError(f"{path}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise ModelNotFoundError(f"{path}: not a regular file; a model folder must hold regular files only")
    if status.st_size > MOST_BYTES:
        raise ConfigError(f"{path}: a model file must have at most {MOST_BYTES} bytes, got {status.st_size}")
    return read_bytes(path)


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the content of a JSON file."""
    content = read_file(path)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the model file is damaged: {error}") from error


def read_config(config_type: type[Config], path: Path) -> Config:
    """Read a configuration (a dataclass) from its file."""
    data = read_json(path)
    try:
        return from_mapping(config_type, data)
    except (ConfigError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from error


def write_config(config: Any, path: Path) -> None:  # noqa: ANN401
    """Write a configuration for `read_config`. The file is replaced atomically."""
    write_atomically(path, json.dumps(dataclasses.asdict(config), indent=1) + "\n")


def read_network(
    folder: Path, config_type: type[Config], symbols_from: Callable[[Any], Symbols]
) -> tuple[Config, Symbols]:
    """Read the configuration and the symbols that a network is built from."""
    for name in (CONFIG, SYMBOLS, WEIGHTS):
        if not (folder / name).is_file():
            rule = f"a model folder must hold {CONFIG}, {SYMBOLS} and {WEIGHTS}"
            raise ModelNotFoundError(f"{folder}: {name} is missing; {rule}")
    config = read_config(config_type, folder / CONFIG)
    data = read_json(folder / SYMBOLS)
    try:
        return config, symbols_from(data)
    except ConfigError as error:
        raise ConfigError(f"{folder / SYMBOLS}: {error}") from error


def read_weights(folder: Path) -> "dict[str, NDArray[Any]]":
    """Return the weights of a model as they are stored."""
    return {name: array for path in weight_files(folder) for name, array in read_tensors(path).items()}


def read_tensors(path: Path) -> "dict[str, NDArray[Any]]":
    """Return the arrays of a file of weights as they are stored."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    read_header(path)
    check_sum(path)
    try:
        return load_file(path)
    except (OSError, TypeError, ValueError, SafetensorError) as error:  # TypeError: NumPy has no bfloat16
        raise ConfigError(f"{path}: the model file is damaged: {error}") from error


def check_sum(path: Path) -> None:
    """Raise an error if a file of weights does not match its checksum. 61 MB take 15 ms."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        wanted = header.pop("__metadata__", None)
        if not isinstance(wanted, dict) or CHECKSUM not in wanted:
            return
        found = _checksum(header, iter(partial(file.read, 1 << 20), b""))
    if wanted[CHECKSUM] != found:
        rule = f"the checksum of the weights must be {str(wanted[CHECKSUM])[:50]}, got {found}"
        raise ConfigError(f"{path}: the model file is damaged: {rule}; install or copy the model again")


def add_checksum(content: bytes) -> bytes:
    """Return the content of a safetensors file with a checksum added to its header."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    metadata = {"__metadata__": {CHECKSUM: _checksum(header, [memoryview(content)[start:]])}}
    written = json.dumps(metadata | header, separators=(",", ":")).encode()
    # As in safetensors itself, tensors start at a multiple of eight bytes.
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written + content[start:]


def _checksum(header: Mapping[str, Any], blocks: "Iterable[bytes | memoryview]") -> str:
    """Return the checksum of the header and of the numbers of all tensors."""
    found = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    for block in blocks:
        found = zlib.crc32(block, found)
    return f"{found:08x}"


def check_shapes(stored: "Mapping[str, NDArray[Any]]", shapes: Mapping[str, tuple[int, ...]], folder: Path) -> None:
    """Raise an error unless the stored weights have these names and shapes."""
    for name, shape in shapes.items():
        found = StoredTensor(stored[name].dtype.name, stored[name].shape).unpacked if name in stored else None
        if found != shape:
            rule = f"{folder}: the weights do not fit the configuration: {name} must have the shape {shape}"
            raise ConfigError(f"{rule}, {'but is missing' if found is None else f'got {found}'}")


def save_network(
    weights: "Mapping[str, NDArray[Any]]",
    config: Any,  # noqa: ANN401
    symbols: object,
    folder: Path,
    precision: "Precision",
) -> None:
    """Write a configuration (a dataclass), symbols (plain data) and weights. Each file is replaced atomically."""
    from safetensors.numpy import save

    from genrst.packing import pack

    write_config(config, folder / CONFIG)
    write_atomically(folder / SYMBOLS, json.dumps(symbols, ensure_ascii=False))
    stored = pack(weights, precision)
    # Models in training (float32) are replaced often, and a single file can be replaced atomically.
    parts = [stored] if precision == "float32" else _parts(stored)
    for number, part in enumerate(parts, start=1):
        write_atomically(folder / _weight_file(number), add_checksum(save(part)))
    for path in weight_files(folder)[len(parts) :]:
        path.unlink()


def _weight_file(number: int) -> str:
    path = Path(WEIGHTS)
    return WEIGHTS if number == 1 else f"{path.stem}-{number}{path.suffix}"


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a model's weights, up to the first gap in their numbering."""
    names = (folder / _weight_file(number) for number in count(2))
    return [folder / WEIGHTS, *takewhile(Path.is_file, names)]


def _parts(stored: "Mapping[str, NDArray[Any]]") -> "list[dict[str, NDArray[Any]]]":
    """Divide weights among files that stay below the size limit."""
    parts: list[dict[str, NDArray[Any]]] = [{}]
    size = 0
    for name, tensor in stored.items():
        n_bytes = tensor.nbytes
        if parts[-1] and size + n_bytes > LARGE:
            parts.append({})
            size = 0
        parts[-1][name] = tensor
        size += n_bytes
    return parts


class StoredTensor(NamedTuple):
    """The entry for a tensor in the header of a safetensors file."""

    dtype: str
    """PyTorch's name for the type."""
    shape: tuple[int, ...]

    @property
    def unpacked(self) -> tuple[int, ...]:
        """The shape of the tensor after unpacking: a byte holds two 4-bit numbers."""
        return (*self.shape[:-1], 2 * self.shape[-1]) if self.dtype == "uint8" and self.shape else self.shape


_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"},
    **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"},
}
"""The supported types, by their names in safetensors and in PyTorch. All take at least a byte per number."""
_MOST_DIMENSIONS = 8


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Read the header of a safetensors file: its length in eight bytes, then JSON."""
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
        raise ConfigError(f"{path}: the model file is damaged: {type(error).__name__}: {error}") from error
    for name, (dtype, shape) in found.items():
        is_shape = len(shape) <= _MOST_DIMENSIONS and all(type(size) is int and 0 <= size <= n_bytes for size in shape)
        if not is_shape or math.prod(shape) > n_bytes:
            rule = f"{name[:50]}: a tensor must be no larger than its file, got {dtype} of shape {str(shape)[:50]}"
            raise ConfigError(f"{path}: the model file is damaged: {rule}")
    return found


def count_parameters(folder: Path) -> int | None:
    """Return how many weights a model has; None if it has no file of weights."""
    if not (folder / WEIGHTS).is_file():
        return None
    from genrst.packing import SCALE

    header = {name: one for path in weight_files(folder) for name, one in read_header(path).items()}
    scales = {name + SCALE for name, one in header.items() if one.dtype in ("int8", "uint8")}
    return sum(math.prod(one.unpacked) for name, one in header.items() if name not in scales)
