"""Charts as PyTorch networks, for teaching other models and for quantised packing."""

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
    """Load a chart; see `genrst.encoder.model.load_model`."""
    return load_model(folder, ChartConfig, Labels, make_network, device, encoder_dtype)
