"""The trained segmenter: annotated documents in, the same documents with EDUs out."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from genrst.corpora.document import Document
from genrst.text.segmenter.boundaries import with_edus
from genrst.text.segmenter.features import read_tokens
from genrst.text.segmenter.network import SegmenterNetwork
from genrst.text.segmenter.symbols import Symbols
from genrst.text.segmenter.windows import WindowedText

BATCH_WINDOWS = 64
"""Windows that are read at once: about 8,000 tokens, so that memory does not grow with the text."""


class Segmenter:
    """A network and the symbols it was trained with."""

    def __init__(self, network: SegmenterNetwork, symbols: Symbols) -> None:
        self.network = network
        self.symbols = symbols

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """The annotated documents with EDUs; those they have are ignored. Every sentence starts an EDU."""
        if not documents:
            return []
        tokens = [read_tokens(document, self.symbols) for document in documents]
        device = next(self.network.parameters()).device
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
