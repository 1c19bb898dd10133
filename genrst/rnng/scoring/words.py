"""Compute log-probabilities of whole EDUs for many stacks with a factorised softmax.

The score of a word is A[stack, word] + B[position, word], so the normalisers of all stacks at all positions of an EDU
are a matrix product, Z = exp(A)·exp(B)ᵀ. The largest scores are factored out first, and numerators stay logarithms. In
float32, the result is exact to 2e-5 if scores are within ±34. Beyond that, the product can underflow: a CPU then
computes the normaliser without factors; on a GPU, the search reports an error.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genrst.rnng.batch import pack_words, target_words
from genrst.rnng.examples import Example
from genrst.rnng.network import Network

MOST_ENTRIES = 2**28
"""The maximum number of entries in a padded product on a GPU, which take one GiB."""

EXACT_ROWS = 1024
"""The maximum number of normalisers to compute at once without factors."""


class WordScores:
    """The decoder's contribution for all EDUs of the documents, and its product with the stacks' contribution."""

    def __init__(self, network: Network, examples: Sequence[Example]) -> None:
        model = network.language_model
        assert model is not None
        self._embeddings = network.embeddings.weight[model.outputs].T.contiguous()
        device = self._embeddings.device
        words = pack_words(examples)
        lengths = np.concatenate([example.edu_lengths for example in examples])
        text, rows = target_words(examples, words)
        stops = np.cumsum(lengths + 1)
        starts = stops - lengths - 1
        self._borders = torch.from_numpy(starts).to(device), torch.from_numpy(stops).to(device)
        self._targets = model.targets(torch.from_numpy(text)).to(device)
        self._decoded = model.from_decoder(model.decode(network.embed_packed(words.to(device))))[
            torch.from_numpy(rows).to(device)
        ]
        self._bias = model.bias
        scores = torch.addmm(model.bias, self._decoded, self._embeddings)
        self._numerators = scores.gather(1, self._targets[:, None])[:, 0]
        self._largest = scores.amax(dim=1)
        self._exponentials = scores.sub_(self._largest[:, None]).exp_()
        self._of_edu = [part.T for part in torch.split(self._exponentials, (stops - starts).tolist())]
        """The exponentials of each EDU, transposed. Shape: (outputs, words of the EDU)"""
        self._tiny = torch.finfo(scores.dtype).tiny * 1e8
        self._positions = torch.arange(int(lengths.max()) + 1, device=device)

    def logp(self, queries: Tensor, edus: Tensor, n_alike: int = 1) -> Tensor:
        """Return the log-probabilities of EDUs (numbered over all documents) for the stacks with these projections.

        On a GPU, each run of `n_alike` stacks has the same EDU.

        Shape: queries (stacks, word_size), edus (stacks) → (stacks)
        """
        if queries.is_cuda:
            return self._padded(queries, edus, n_alike)
        order = torch.argsort(edus, stable=True)
        found = self._one_by_one(queries[order], edus[order])
        return torch.empty_like(found).index_copy_(0, order, found)

    def _one_by_one(self, queries: Tensor, edus: Tensor) -> Tensor:
        """Compute a product per EDU, which avoids copies, the main cost on a CPU."""
        scores = queries @ self._embeddings
        largest = scores.amax(dim=1)
        exponentials = (scores - largest[:, None]).exp_()
        starts, stops = self._borders
        lengths = (stops - starts)[edus]
        rows = torch.arange(len(edus)).repeat_interleave(lengths)
        words = torch.arange(len(rows)) + (starts[edus] - lengths.cumsum(0) + lengths).repeat_interleave(lengths)
        z = scores.new_empty(len(rows))
        wanted, counts = (part.tolist() for part in torch.unique_consecutive(edus, return_counts=True))
        decoded = [self._of_edu[edu] for edu in wanted]
        sizes = [count * part.shape[1] for count, part in zip(counts, decoded, strict=True)]
        for block, stacks, part in zip(torch.split(z, sizes), torch.split(exponentials, counts), decoded, strict=True):
            torch.mm(stacks, part, out=block.view(len(stacks), -1))
        log_z = z.log() + self._largest[words] + largest[rows]
        is_lost = z < self._tiny
        if is_lost.any():
            log_z[is_lost] = self._exact_log_z(scores, rows[is_lost], words[is_lost])
        numerators = scores[rows, self._targets[words]] + self._numerators[words]
        return torch.zeros_like(largest).index_add_(0, rows, numerators - log_z)

    def _exact_log_z(self, scores: Tensor, rows: Tensor, words: Tensor) -> Tensor:
        """Compute normalisers without factors, for scores so far apart that their product underflows."""
        parts = zip(torch.split(rows, EXACT_ROWS), torch.split(words, EXACT_ROWS), strict=True)
        found = [
            torch.logsumexp(scores[row] + torch.addmm(self._bias, self._decoded[word], self._embeddings), dim=1)
            for row, word in parts
        ]
        return torch.cat(found)

    def _padded(self, queries: Tensor, edus: Tensor, n_alike: int) -> Tensor:
        """Compute a few products for all EDUs, padded to the same length. A GPU needs few kernels and no waiting."""
        wanted = edus[::n_alike]
        at_once = max(1, MOST_ENTRIES // ((len(self._positions) + n_alike) * self._embeddings.shape[1]))
        parts = zip(torch.split(queries, at_once * n_alike), torch.split(wanted, at_once), strict=True)
        return torch.cat([self._padded_part(*part, n_alike) for part in parts])

    def _padded_part(self, queries: Tensor, wanted: Tensor, n_alike: int) -> Tensor:
        starts, stops = self._borders
        start, stop = starts[wanted][:, None], stops[wanted][:, None]
        words = torch.minimum(start + self._positions, stop - 1)
        scores = (queries @ self._embeddings).view(len(wanted), n_alike, -1)
        largest = scores.amax(dim=2, keepdim=True)
        numerators = scores.gather(2, self._targets[words][:, None].expand(-1, n_alike, -1))
        numerators += self._numerators[words][:, None] - largest
        z = torch.bmm((scores - largest).exp_(), self._exponentials[words].transpose(1, 2))
        # An underflow makes the result infinite, which the search reports as an error.
        log_z = torch.where(z < self._tiny, -torch.inf, z.log()) + self._largest[words][:, None]
        is_word = (start + self._positions < stop)[:, None]
        return torch.where(is_word, numerators - log_z, 0.0).sum(dim=2).flatten()
