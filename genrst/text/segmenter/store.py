"""A segmenter on disk: its folder."""

from pathlib import Path

import torch

from genrst.model.folder import Precision, load_folder, save_folder
from genrst.text.segmenter.config import SegmenterConfig
from genrst.text.segmenter.network import SegmenterNetwork
from genrst.text.segmenter.segment import Segmenter
from genrst.text.segmenter.symbols import Symbols


def make_network(config: SegmenterConfig, symbols: Symbols) -> SegmenterNetwork:
    """An untrained network for some symbols."""
    return SegmenterNetwork(config, [len(vocabulary) for vocabulary in symbols.vocabularies])


def save_segmenter(segmenter: Segmenter, folder: Path, precision: Precision = "float16") -> None:
    """Write a segmenter, by default with half of the bits, which cost nothing in quality."""
    save_folder(segmenter.network, segmenter.network.config, segmenter.symbols.as_dict(), folder, precision)


def load_segmenter(folder: Path, device: torch.device | str = "cpu") -> Segmenter:
    """Read a segmenter."""
    network, symbols = load_folder(folder, SegmenterConfig, Symbols.from_dict, make_network)
    return Segmenter(network.to(device).eval(), symbols)
