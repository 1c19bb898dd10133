"""A network on disk: a folder with its configuration, its symbols and its weights. No pickles."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from genrst.corpora.files import write_atomically
from genrst.errors import ConfigError, CorpusNotFoundError
from genrst.model.config import Config, from_mapping

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"

AnySymbols = TypeVar("AnySymbols")
AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


def save_folder(network: nn.Module, config: Any, symbols: object, folder: Path, dtype: torch.dtype | None) -> None:  # noqa: ANN401
    """Write a network, its configuration (a dataclass) and its symbols (plain data). Each file is replaced at once."""
    weights = {name: _stored(tensor, dtype) for name, tensor in network.state_dict().items()}
    write_atomically(folder / CONFIG, json.dumps(dataclasses.asdict(config), indent=1))
    write_atomically(folder / SYMBOLS, json.dumps(symbols, ensure_ascii=False))
    write_atomically(folder / WEIGHTS, save(weights))


def _stored(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.detach().to("cpu", dtype or tensor.dtype).contiguous()


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
        weights = load_file(folder / WEIGHTS)
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
        network.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    except RuntimeError as error:
        # The first line of PyTorch's message is a heading.
        reason = str(error).splitlines()[-1].strip()
        raise ConfigError(f"{folder}: the weights do not fit the configuration: {reason}") from error
    return network, symbols
