"""The trained segmenter: annotated documents in, the same documents with EDUs out; and its folder on disk."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from genrst.document import Document
from genrst.encoder.device import check_process
from genrst.packing import Precision
from genrst.segmenter.features import Symbols, read_tokens
from genrst.segmenter.network import SegmenterConfig, SegmenterNetwork, WindowedText
from genrst.storage import load_network, read_network, save_network
from genrst.text.raw import with_edus

BATCH_WINDOWS = 64
"""How many windows are read at once: about 8,000 tokens, so that memory does not grow with the text."""


class Segmenter:
    """A network and the symbols it was trained with."""

    def __init__(self, network: SegmenterNetwork, symbols: Symbols) -> None:
        self.network = network
        self.symbols = symbols

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """The annotated documents with EDUs; those they have are ignored. Every sentence starts an EDU."""
        if not documents:
            return []
        device = next(self.network.parameters()).device
        check_process(device)
        tokens = [read_tokens(document, self.symbols) for document in documents]
        found = boundary_probabilities(self.network, WindowedText(tokens, self.network.config.window, device))
        borders = np.cumsum([0, *map(len, tokens)])
        return [
            with_edus(document, one.starts_sentence | (found[start:stop] > 0.5))
            for document, one, (start, stop) in zip(documents, tokens, pairwise(borders), strict=True)
        ]


def boundary_probabilities(network: SegmenterNetwork, text: WindowedText) -> NDArray[np.float32]:
    """For every token the probability that an EDU starts with it. *Shape:* (tokens)"""
    found = torch.zeros(len(text))
    with torch.inference_mode():
        for batch in text.batches(BATCH_WINDOWS):
            found[batch.places.cpu()] = torch.sigmoid(network(batch)).float().cpu()
    return found.numpy()


def make_network(config: SegmenterConfig, symbols: Symbols) -> SegmenterNetwork:
    """An untrained network for some symbols."""
    return SegmenterNetwork(config, [len(vocabulary) for vocabulary in symbols.vocabularies])


def save_segmenter(segmenter: Segmenter, folder: Path, precision: Precision = "float16") -> None:
    """Write a segmenter, by default in half precision, which costs no quality."""
    network = segmenter.network
    save_network(network.state_dict(), network.config, segmenter.symbols.as_dict(), folder, precision)


def load_segmenter(folder: Path, device: torch.device | str = "cpu") -> Segmenter:
    """Read a segmenter."""
    config, symbols = read_network(folder, SegmenterConfig, Symbols.from_dict)
    network = load_network(lambda: make_network(config, symbols), folder)
    return Segmenter(network.to(device).eval(), symbols)
