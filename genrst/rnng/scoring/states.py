"""From a state to action scores and to the language model's query, in parts (see `genrst.rnng.layers`).

All of a state but the stack's vector is looked up: embeddings of features, vectors of EDUs, the lookahead. So their
part of a linear map is a sum of rows of tables, computed once for the documents at hand; only the stack's part is a
product per state. The map is the hidden layer or, without one, that of both predictions at once.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from genrst.rnng.examples import Example
from genrst.rnng.layers import N_WORDS
from genrst.rnng.network import Network
from genrst.rnng.scoring.features import LookedUp
from genrst.rnng.symbols import SPECIALS


class Shown(NamedTuple):
    """EDUs of the top two units, numbered over all documents, and the row of the lookahead. Shape of all: (states)"""

    first: Tensor
    last: Tensor
    nuclear: Tensor
    first_below: Tensor
    """−1 where there is no second unit; `first` likewise."""
    last_below: Tensor
    nuclear_below: Tensor
    lookahead: Tensor


class StateScores:
    """Predicts from states; the columns of the predictions are those of all actions, then the query."""

    def __init__(self, network: Network, examples: Sequence[Example], edus: Tensor, ahead: Tensor | None) -> None:
        self._state = network.state
        head = network.action_head.scores
        weight: Tensor = head.weight
        bias: Tensor = head.bias
        if network.language_model is not None:
            weight = torch.cat([weight, network.language_model.from_stack.weight])
            bias = torch.cat([bias, network.language_model.from_stack.bias])
        self._n_actions, self._n_edus = len(head.bias), len(edus)
        self._predict: tuple[Tensor, Tensor] | None = None
        if self._state.hidden is not None:
            self._predict = bias, weight.T.contiguous()
            weight, bias = self._state.hidden.weight, self._state.hidden.bias
        stack_size = self._state.part_sizes[0]
        self._of_stack, self._bias = weight[:, :stack_size].T.contiguous(), bias
        self._word_rows, words = _local_words(network, examples)
        tables = [words] * N_WORDS + _tables(network, edus, ahead)
        parts = torch.split(weight[:, stack_size:], [table.shape[1] for table in tables], dim=1)
        firsts = [0, *accumulate(map(len, tables))]
        self._of_tables = words.new_empty(firsts.pop(), len(weight))
        # In place: of a long text they are large.
        for first, table, part in zip(firsts, tables, parts, strict=True):
            torch.mm(table, part.T, out=self._of_tables[first : first + len(table)])
        self._firsts = torch.tensor(firsts, device=words.device)

    def __call__(self, stacks: Tensor, features: LookedUp, shown: Shown) -> tuple[Tensor, Tensor]:
        """Action scores and queries (empty rows without a language model).

        Shape: stacks (states, stack_size) → (states, actions), (states, word_size)
        """
        rows = self._rows(features, shown) + self._firsts
        result = torch.addmm(self._bias, stacks, self._of_stack)
        result += embedding_bag(rows, self._of_tables, mode="sum")
        if self._predict is not None:
            bias, weight = self._predict
            result = torch.addmm(bias, self._state.activate(result), weight)
        return result[:, : self._n_actions], result[:, self._n_actions :]

    def _rows(self, features: LookedUp, shown: Shown) -> Tensor:
        """The row of each table, in the order of the tables."""
        columns = [self._word_rows[features.words], features.comparisons, features.deprels[:, None]]
        if len(self._state.layout):
            columns.append(features.layout)
        if self._state.direct is not None:
            columns.append(self._direct(shown))
        if self._state.part_sizes[-1]:
            columns.append(shown.lookahead[:, None])
        return torch.cat(columns, dim=1)

    def _direct(self, shown: Shown) -> Tensor:
        edus = torch.stack(shown[:6], dim=1)
        is_there = torch.stack([shown.first, shown.first_below], dim=1).repeat_interleave(3, dim=1) >= 0
        return torch.where(is_there, edus, self._n_edus)


def _tables(network: Network, edus: Tensor, ahead: Tensor | None) -> list[Tensor]:
    """All that is looked up besides words, in the order of the state's parts."""
    features, state = network.features, network.state
    tables = [features.sentence.weight, features.paragraph.weight, features.deprel.weight]
    tables += [table.weight for table in state.layout if isinstance(table, nn.Embedding)]
    if state.direct is not None:
        tables += state.direct_vectors(edus).unbind(dim=1)
    return tables if ahead is None else [*tables, ahead]


def _local_words(network: Network, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Which row each word of the vocabulary has among those of the documents, and their embeddings."""
    device = network.embeddings.weight.device
    used = np.unique(np.concatenate([np.arange(len(SPECIALS)), *(example.token_words for example in examples)]))
    rows = torch.zeros(len(network.embeddings.weight), dtype=torch.long, device=device)
    local = torch.from_numpy(used).to(device)
    rows[local] = torch.arange(len(used), device=device)
    return rows, network.embeddings.weight[local]
