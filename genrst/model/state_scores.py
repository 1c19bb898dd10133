"""The linear maps from a state h_S = [h_S^N; h_S^F] to action scores and to the language model's query, in parts.

h_S^F is a row of looked-up embeddings, so its part of a linear map is a sum of rows of small tables, one for each
feature, made once for the words of the documents at hand; only the part of the stack is a product per state.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from genrst.model.example import Example
from genrst.model.feature_embeddings import N_WORDS
from genrst.model.feature_lookup import LookedUp
from genrst.model.network import Network
from genrst.model.vocabulary import SPECIALS


class StateScores:
    """Both maps at once: the columns of the result are those of all actions, then the query."""

    def __init__(self, network: Network, examples: Sequence[Example]) -> None:
        config, head = network.config, network.action_head.scores
        stack_size, state_size = config.stack_size, config.stack_size + network.features.size
        weight: Tensor = head.weight[:, :state_size]
        bias: Tensor = head.bias
        if network.language_model is not None:
            weight = torch.cat([weight, network.language_model.from_stack.weight])
            bias = torch.cat([bias, network.language_model.from_stack.bias])
        self.n_actions = len(head.bias)
        self._of_stack = weight[:, :stack_size].T.contiguous()
        self._of_lookahead = head.weight[:, state_size:].T.contiguous()
        self._bias = bias
        sizes = [config.word_size] * N_WORDS + [config.boundary_size] * 2 + [config.deprel_size]
        self._word_rows, words = _local_words(network, examples)
        embeddings = (network.features.sentence, network.features.paragraph, network.features.deprel)
        tables = [words] * N_WORDS + [table.weight for table in embeddings]
        parts = torch.split(weight[:, stack_size:], sizes, dim=1)
        self._of_features = torch.cat([table @ part.T for table, part in zip(tables, parts, strict=True)])
        firsts = [0, *accumulate(len(table) for table in tables[:-1])]
        self._firsts = torch.tensor(firsts, device=words.device)

    def __call__(self, stacks: Tensor, features: LookedUp, lookahead: Tensor | None) -> tuple[Tensor, Tensor]:
        """Action scores and queries (empty rows without a language model).

        Shape: stacks (states, stack_size) → (states, actions), (states, word_size)
        """
        columns = (self._word_rows[features.words], features.comparisons, features.deprels[:, None])
        rows = torch.cat(columns, dim=1) + self._firsts
        result = torch.addmm(self._bias, stacks, self._of_stack)
        result += embedding_bag(rows, self._of_features, mode="sum")
        actions, queries = result[:, : self.n_actions], result[:, self.n_actions :]
        if lookahead is not None:
            actions = actions + lookahead @ self._of_lookahead
        return actions, queries


def _local_words(network: Network, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Which row each word of the vocabulary has among those of the documents, and their embeddings."""
    device = network.embeddings.weight.device
    used = np.unique(np.concatenate([np.arange(len(SPECIALS)), *(example.token_words for example in examples)]))
    rows = torch.zeros(len(network.embeddings.weight), dtype=torch.long, device=device)
    local = torch.from_numpy(used).to(device)
    rows[local] = torch.arange(len(used), device=device)
    return rows, network.embeddings.weight[local]
