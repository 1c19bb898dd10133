"""A model on disk: a folder with its configuration, its symbols and its weights. No pickles."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from genrst.corpora.files import write_atomically
from genrst.errors import ConfigError, CorpusNotFoundError
from genrst.model.config import ModelConfig, from_mapping
from genrst.model.network import Network
from genrst.model.symbols import Symbols

CONFIG, SYMBOLS, WEIGHTS = "config.json", "symbols.json", "weights.safetensors"


@dataclass(frozen=True, slots=True)
class Model:
    """A network and the symbols it was trained with."""

    network: Network
    symbols: Symbols


def make_network(config: ModelConfig, symbols: Symbols) -> Network:
    """An untrained network for some symbols."""
    return Network(config, len(symbols.words), len(symbols.deprels), len(symbols.actions.labels))


def save_model(model: Model, folder: Path, dtype: torch.dtype | None = None) -> None:
    """Write a model. Each file is replaced at once; of a model in training only the weights change."""
    weights = {name: _stored(tensor, dtype) for name, tensor in model.network.state_dict().items()}
    write_atomically(folder / CONFIG, json.dumps(dataclasses.asdict(model.network.config), indent=1))
    write_atomically(folder / SYMBOLS, json.dumps(model.symbols.as_dict(), ensure_ascii=False))
    write_atomically(folder / WEIGHTS, save(weights))


def _stored(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.detach().to("cpu", dtype or tensor.dtype).contiguous()


def load_model(folder: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model; its weights become float32."""
    try:
        config = from_mapping(ModelConfig, json.loads((folder / CONFIG).read_text(encoding="utf-8")))
        symbols = Symbols.from_dict(json.loads((folder / SYMBOLS).read_text(encoding="utf-8")))
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
    return Model(network.to(device).eval(), symbols)
