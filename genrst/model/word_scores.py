"""Log-probabilities of whole EDUs for many stacks, by the factorised softmax.

A word's score is A[stack, word] + B[position, word], so the normalisers of all stacks at all positions of an EDU are
one matrix product, Z = exp(A)·exp(B)ᵀ. The largest scores are taken out first, and numerators stay logarithms; in
float32 this is exact to 2e-5 while scores stay within ±45.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genrst.model.batch import pack_words
from genrst.model.example import Example
from genrst.model.network import Network
from genrst.model.vocabulary import EOS_ID, FIRST_OUTPUT_ID


class WordScores:
    """The decoder's part for all EDUs of some documents, and its product with the stacks' part."""

    def __init__(self, network: Network, examples: Sequence[Example]) -> None:
        model = network.language_model
        assert model is not None
        self._embeddings = network.embeddings.weight[FIRST_OUTPUT_ID:].T.contiguous()
        device = self._embeddings.device
        words = pack_words(examples)
        lengths = np.concatenate([example.edu_lengths for example in examples])
        ends = np.cumsum(lengths)
        text = np.insert(np.concatenate([example.edu_words for example in examples]), ends, EOS_ID)
        rows = np.insert(1 + words.rows.numpy(), ends - lengths, 0)
        stops = ends + np.arange(1, len(ends) + 1)
        starts = stops - lengths - 1
        self._starts, self._stops = starts.tolist(), stops.tolist()
        self._borders = torch.from_numpy(starts).to(device), torch.from_numpy(stops).to(device)
        self._targets = torch.from_numpy(text - FIRST_OUTPUT_ID).to(device)
        decoded = model.from_decoder(model.decode(network.embed_packed(words.to(device))))
        scores = torch.addmm(model.bias, decoded[torch.from_numpy(rows).to(device)], self._embeddings)
        self._numerators = scores.gather(1, self._targets[:, None])[:, 0]
        self._largest = scores.amax(dim=1)
        self._exponentials = scores.sub_(self._largest[:, None]).exp_()

    def logp(self, queries: Tensor, edus: Tensor) -> Tensor:
        """Log-probabilities of EDUs (numbered over all documents) for the stacks with these projections.

        Shape: queries (stacks, word_size), edus (stacks) → (stacks)
        """
        order = torch.argsort(edus, stable=True)
        scores = queries[order] @ self._embeddings
        largest = scores.amax(dim=1)
        exponentials = (scores - largest[:, None]).exp_()
        wanted, counts = torch.unique_consecutive(edus[order], return_counts=True)
        multiply = self._padded if queries.is_cuda else self._one_by_one
        found = multiply(scores, largest, exponentials, wanted, counts)
        return torch.empty_like(found).index_copy_(0, order, found)

    def _one_by_one(
        self, scores: Tensor, largest: Tensor, exponentials: Tensor, wanted: Tensor, counts: Tensor
    ) -> Tensor:
        """A product for each EDU: nothing is copied, which is what costs on a CPU."""
        found = scores.new_empty(len(scores))
        first = 0
        for edu, count in zip(wanted.tolist(), counts.tolist(), strict=True):
            rows, words = slice(first, first + count), slice(self._starts[edu], self._stops[edu])
            log_z = (exponentials[rows] @ self._exponentials[words].T).log_() + self._largest[words]
            numerators = scores[rows][:, self._targets[words]] + self._numerators[words]
            found[rows] = (numerators - log_z).sum(dim=1) - (words.stop - words.start) * largest[rows]
            first += count
        return found

    def _padded(self, scores: Tensor, largest: Tensor, exponentials: Tensor, wanted: Tensor, counts: Tensor) -> Tensor:
        """One product for all EDUs, padded to the same sizes: few kernels, which is what counts on a GPU."""
        starts, stops = self._borders
        lengths = (stops - starts)[wanted]
        places = torch.arange(int(counts.max()), device=scores.device)
        positions = torch.arange(int(lengths.max()), device=scores.device)
        rows = (counts.cumsum(0) - counts)[:, None] + places
        words = starts[wanted][:, None] + positions
        is_row, is_word = places < counts[:, None], positions < lengths[:, None]
        rows, words = torch.where(is_row, rows, 0), torch.where(is_word, words, 0)
        log_z = torch.bmm(exponentials[rows], self._exponentials[words].transpose(1, 2)).log_()
        log_z += largest[rows][:, :, None] + self._largest[words][:, None]
        numerators = scores[rows[:, :, None], self._targets[words][:, None]] + self._numerators[words][:, None]
        return torch.where(is_word[:, None], numerators - log_z, 0.0).sum(dim=2)[is_row]
