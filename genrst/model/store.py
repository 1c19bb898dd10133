"""A model on disk: its folder."""

from dataclasses import dataclass
from pathlib import Path

import torch

from genrst.model.config import ModelConfig
from genrst.model.folder import load_folder, save_folder
from genrst.model.network import Network
from genrst.model.symbols import Symbols


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
    save_folder(model.network, model.network.config, model.symbols.as_dict(), folder, dtype)


def load_model(folder: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model; its weights become float32."""
    network, symbols = load_folder(folder, ModelConfig, Symbols.from_dict, make_network)
    return Model(network.to(device).eval(), symbols)
