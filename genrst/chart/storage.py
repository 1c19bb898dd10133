"""A chart's network on disk, in the same files as any other model (`genrst.rnng.storage`)."""

from dataclasses import dataclass
from pathlib import Path

import torch

from genrst.chart.network import ChartNetwork
from genrst.encoder.files import PieceTokenizer
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.packing import Precision
from genrst.rnng.model_config import ChartConfig
from genrst.rnng.storage import restore, write_network
from genrst.rnng.symbols import Symbols
from genrst.storage import read_network


@dataclass(frozen=True, slots=True)
class ChartModel:
    """A chart's network and the symbols it was trained with."""

    network: ChartNetwork
    symbols: Symbols
    tokenizer: PieceTokenizer | None = None
    """That of the pretrained encoder, if there is one."""


def make_chart_network(
    config: ChartConfig, symbols: Symbols, pretrained: PretrainedEncoder | None = None
) -> ChartNetwork:
    """An untrained network for some symbols; only the encoder may be pretrained."""
    return ChartNetwork(config, len(symbols.words), len(symbols.actions.labels), pretrained, symbols.fine_of_labels)


def load_chart(
    folder: Path,
    device: torch.device | str = "cpu",
    encoder_dtype: torch.dtype = torch.float32,
    encoder_overlap: float | None = None,
) -> ChartModel:
    """Read a chart's network; what may be changed is as in `genrst.rnng.storage.load_model`."""
    config, symbols = read_network(folder, ChartConfig, Symbols.from_dict)
    network, tokenizer = restore(
        folder, config, lambda one: make_chart_network(config, symbols, one), device, encoder_dtype, encoder_overlap
    )
    return ChartModel(network, symbols, tokenizer)


def save_chart(model: ChartModel, folder: Path, precision: Precision = "float32") -> None:
    """Write a chart's network. Each file is replaced at once; of a model in training only the weights change."""
    write_network(model.network, model.symbols, model.tokenizer, folder, precision)
