"""Charts as networks of PyTorch: to teach others, and to be packed with fewer bits."""

from pathlib import Path
from typing import TypeAlias

import torch

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import ChartNetwork, make_network
from genrst.encoder.model import Model, load_model

ChartModel: TypeAlias = Model[ChartNetwork, Labels]


def load_chart(
    folder: Path, device: torch.device | str = "cpu", encoder_dtype: torch.dtype = torch.float32
) -> ChartModel:
    """Read a chart; see `genrst.encoder.model.load_model`."""
    return load_model(folder, ChartConfig, Labels, make_network, device, encoder_dtype)
