"""Structural features to a vector (equation 7): words, boundaries and dependency relations are looked up and joined."""

import torch
from torch import Tensor, nn

from genrst.transitions.features import N_HEAD_WORDS, Comparison

N_WORDS = 2 * N_HEAD_WORDS + 2
"""Words per state: three per unit, and the two of the dominance relation."""


class FeatureEmbeddings(nn.Module):
    """h_S^F: head words, comparisons of sentences and paragraphs, dominance. Word embeddings are the shared ones."""

    def __init__(self, word_size: int, boundary_size: int, deprel_size: int, n_deprels: int) -> None:
        super().__init__()
        self.sentence = nn.Embedding(len(Comparison), boundary_size)
        self.paragraph = nn.Embedding(len(Comparison), boundary_size)
        self.deprel = nn.Embedding(n_deprels, deprel_size)
        self.size = N_WORDS * word_size + 2 * boundary_size + deprel_size

    def forward(self, words: Tensor, comparisons: Tensor, deprels: Tensor) -> Tensor:
        """Embed the features of states.

        Shape: words (states, 8, word_size), comparisons (states, 2), deprels (states) → (states, size)
        """
        parts = [
            words.flatten(1),
            self.sentence(comparisons[:, 0]),
            self.paragraph(comparisons[:, 1]),
            self.deprel(deprels),
        ]
        return torch.cat(parts, dim=1)
