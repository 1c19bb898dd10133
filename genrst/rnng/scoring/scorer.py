"""The network as a scorer of single actions, which implements `genrst.rnng.search.scorer.Scorer`.

The arithmetic is that of `genrst.rnng.network`, rearranged so that shared parts are computed once: the vectors of a
unit for all stacks that contain it, the contributions of the nuclear EDU and of the label to a composition, and the
decoder's contribution to the language model. Except for the stack's vector, all parts of a state are looked up:
embeddings of features, vectors of EDUs, the lookahead. So their contribution to a linear map is a sum of table rows,
computed once per set of documents; only the stack's contribution is a product per state. The linear map is that of the
hidden layer or, without a hidden layer, that of both predictions together.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from genrst.rnng.config import SPECIALS
from genrst.rnng.examples import Example
from genrst.rnng.layers import N_WORDS, HiddenCell
from genrst.rnng.network import Network
from genrst.rnng.scoring.features import FeatureLookup, LookedUp
from genrst.rnng.scoring.words import WordScores
from genrst.rnng.transitions.actions import States


class Shown(NamedTuple):
    """EDUs of the top two units, numbered over all documents, and the row of the lookahead. Shape of all: (states)"""

    first: Tensor
    last: Tensor
    nuclear: Tensor
    first_below: Tensor
    """The first EDU of the second unit; −1 if there is none (as in `first`)."""
    last_below: Tensor
    nuclear_below: Tensor
    lookahead: Tensor


class StateScores:
    """Computes predictions from states. Their columns are the action scores, then the query of the language model."""

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
        # In place, because the tables of a long text are large.
        for first, table, part in zip(firsts, tables, parts, strict=True):
            torch.mm(table, part.T, out=self._of_tables[first : first + len(table)])
        self._firsts = torch.tensor(firsts, device=words.device)

    def __call__(self, stacks: Tensor, features: LookedUp, shown: Shown) -> tuple[Tensor, Tensor]:
        """Return action scores and queries (empty rows without a language model).

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
        """Return the row of each table, in the order of the tables."""
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
    """Return the tables of everything but words, in the order of the parts of a state."""
    features, state = network.features, network.state
    tables = [features.sentence.weight, features.paragraph.weight, features.deprel.weight]
    tables += [table.weight for table in state.layout if isinstance(table, nn.Embedding)]
    if state.direct is not None:
        tables += state.direct_vectors(edus).unbind(dim=1)
    return tables if ahead is None else [*tables, ahead]


def _local_words(network: Network, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Return the row of each word of the vocabulary among the words of the documents, and the embeddings of these."""
    device = network.embeddings.weight.device
    used = np.unique(np.concatenate([np.arange(len(SPECIALS)), *(example.token_words for example in examples)]))
    rows = torch.zeros(len(network.embeddings.weight), dtype=torch.long, device=device)
    local = torch.from_numpy(used).to(device)
    rows[local] = torch.arange(len(used), device=device)
    return rows, network.embeddings.weight[local]


HIDDEN, CELL, NUCLEAR = range(3)
"""The columns of both units and stacks: the state of the LSTM, and the nuclear EDU of the (topmost) unit."""

INPUTS = NUCLEAR_BELOW = 3
"""The last column: for units, their part of the stack LSTM's gates; for stacks, the nuclear EDU of the second unit."""


class NetworkScorer:
    """Scores derivations of documents one action at a time."""

    @torch.inference_mode()
    def __init__(self, network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool]) -> None:
        self._network, self._examples = network, examples
        self.device = network.embeddings.weight.device
        self.n_edus = tuple(example.n_edus for example in examples)
        self.n_labels = len(nucleus_is_right) - 1
        self._sizes = torch.tensor(self.n_edus, device=self.device)
        self._first_edu = torch.tensor([*accumulate(self.n_edus[:-1], initial=0)], device=self.device)
        self._is_right = torch.tensor(nucleus_is_right[1:], device=self.device)
        self._edus = network.encode_edus(examples)
        ahead = network.lookahead(self._edus, list(self.n_edus)) if network.lookahead is not None else None
        self._features = FeatureLookup(examples, self.device, network.has_kinds)
        self._state_scores = StateScores(network, examples, self._edus, ahead)
        # The contributions of the nuclear EDU and of the label to the gates of a composition.
        layer = network.composition
        sizes = [self._edus.shape[1], layer.relations.embedding_dim]
        of_edu, of_label = torch.split(layer.from_input.weight, sizes, dim=1)
        self._of_edu = torch.addmm(layer.from_input.bias, self._edus, of_edu.T)
        self._of_label = layer.relations.weight @ of_label.T

    @cached_property
    def _word_scores(self) -> WordScores:
        """The word scores, computed on first use, because they are large and some searches never need them."""
        return WordScores(self._network, self._examples)

    @torch.inference_mode()
    def leaves(self) -> Sequence[Tensor]:
        """Return the EDUs of all documents as units."""
        leaves = self._network.composition.leaves(self._edus)
        nuclear = torch.arange(len(self._edus), device=self.device)
        return [*leaves, nuclear, self._network.stack.inputs(leaves.hidden)]

    @torch.inference_mode()
    def empty_stack(self) -> Sequence[Tensor]:
        """Return the empty stack."""
        nothing = torch.full((1,), len(self._edus), device=self.device)
        return [*self._network.stack.empty(), nothing, nothing]

    @torch.inference_mode()
    def compose(self, left: Sequence[Tensor], right: Sequence[Tensor], labels: Tensor) -> Sequence[Tensor]:
        """Compose pairs of units."""
        nuclear = torch.where(self._is_right[labels], right[NUCLEAR], left[NUCLEAR])
        inputs = self._of_edu.index_select(0, nuclear) + self._of_label.index_select(0, labels)
        composed = self._network.composition(
            inputs, HiddenCell(left[HIDDEN], left[CELL]), HiddenCell(right[HIDDEN], right[CELL])
        )
        return [*composed, nuclear, self._network.stack.inputs(composed.hidden)]

    @torch.inference_mode()
    def push(self, stacks: Sequence[Tensor], units: Sequence[Tensor]) -> Sequence[Tensor]:
        """Push units onto stacks."""
        pushed = self._network.stack(units[INPUTS], HiddenCell(stacks[HIDDEN], stacks[CELL]))
        return [*pushed, units[NUCLEAR], stacks[NUCLEAR]]

    @torch.inference_mode()
    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of the next action, and of the next EDU's words for the first `n_words` states."""
        documents, stacks, second, top, n_generated = states
        first = self._first_edu[documents]
        is_one, is_pair, read = top >= 0, second >= 0, n_generated + first
        start, start_below = torch.where(is_one, top + first, -1), torch.where(is_pair, second + first, -1)
        features = self._features.features(start_below, start, read)
        nuclear, nuclear_below = stacks[NUCLEAR], stacks[NUCLEAR_BELOW]
        shown = Shown(start, read - 1, nuclear, start_below, start - 1, nuclear_below, read + documents)
        actions, queries = self._state_scores(stacks[HIDDEN], features, shown)
        can_generate = n_generated < self._sizes[documents]
        action_logp = self._network.action_head.normalise(actions, can_generate, is_pair, features.boundaries)
        if self._network.language_model is None or not n_words:
            return action_logp, actions.new_zeros(n_words)
        # If no EDU is left, any number will do, because its words are not counted.
        edus = (first + n_generated)[:n_words].clamp_max(len(self._edus) - 1)
        return action_logp, self._word_scores.logp(queries[:n_words], edus, n_alike)
