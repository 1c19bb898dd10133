"""Start training from a trained chart instead of only a pretrained encoder.

Weights are copied by name. Labels may differ between corpora, so the rows of the output layers are matched by the names
of classes and relations. A label that the trained chart does not have keeps its random initialisation.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import ChartNetwork
from genrst.errors import ConfigError
from genrst.packing import unpack
from genrst.storage import read_network, read_weights

FREE = ("encoder", "encoder_window", "encoder_overlap", "dropout")
"""Settings that may differ from those of the trained chart."""


def start_from(network: ChartNetwork, folder: Path) -> None:
    """Copy the weights of a trained chart of the same sizes to a network."""
    config, labels = read_network(folder, ChartConfig, Labels.from_dict)
    for name, size in asdict(config).items():
        own = getattr(network.config, name)
        if name not in FREE and own != size:
            raise ConfigError(f"model.{name}: must be {size}, as in {folder}, got {own}")
    weights: dict[str, NDArray[Any]] = dict(unpack(read_weights(folder)))
    current = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    _match_rows(weights, current, "labels", labels.groups, network.label_names.groups)
    _match_rows(weights, current, "fine", labels.fine, network.label_names.fine)
    network.load_state_dict({name: torch.from_numpy(weights[name]) for name in current})


def _match_rows(
    weights: dict[str, NDArray[Any]],
    current: dict[str, NDArray[Any]],
    layer: str,
    known: Sequence[object],
    wanted: Sequence[object],
) -> None:
    """Reorder the rows of an output layer to match other names; new names keep their current rows."""
    pairs = [(number, known.index(name)) for number, name in enumerate(wanted) if name in known]
    for name in (f"{layer}.weight", f"{layer}.bias"):
        if name not in current:
            weights.pop(name, None)
            continue
        rows = current[name].copy()
        if pairs:
            rows[[new for new, _ in pairs]] = np.asarray(weights[name])[[old for _, old in pairs]]
        weights[name] = rows


def freeze_layers(network: ChartNetwork, n_layers: int) -> None:
    """Freeze the embeddings and the lowest layers of the encoder, and compute them without dropout."""
    if not n_layers:
        return
    encoder: Any = network.edu_encoder.encoder
    layers = encoder.encoder.layer if hasattr(encoder, "encoder") else encoder.layers
    if n_layers > len(layers):
        raise ConfigError(
            f"training.frozen_layers must be at most the number of encoder layers, {len(layers)}, got {n_layers}"
        )
    learning = {id(parameter) for layer in layers[n_layers:] for parameter in layer.parameters()}
    shared = {id(one) for one in _shared_parameters(encoder, layers)}
    for parameter in encoder.parameters():
        parameter.requires_grad_(id(parameter) in learning | shared)
    frozen = (encoder.get_submodule("embeddings"), *layers[:n_layers])
    for module in (module for part in frozen for module in part.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def _shared_parameters(encoder: nn.Module, layers: nn.ModuleList) -> list[nn.Parameter]:
    """Return parameters shared by all layers, such as MPNet's relative positions: neither embeddings nor layers."""
    of_layers = {id(parameter) for parameter in layers.parameters()}
    of_input = {id(parameter) for parameter in encoder.get_submodule("embeddings").parameters()}
    return [one for one in encoder.parameters() if id(one) not in of_layers | of_input]
