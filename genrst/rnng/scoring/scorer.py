"""The network as a scorer of single actions, behind the door that search knows (`genrst.rnng.search.scorer.Scorer`).

The arithmetic is that of `genrst.rnng.network`, arranged so that what hypotheses share is computed once: a unit's
vectors for all stacks that hold it, the nuclear EDU's and the label's part of a composition, the features' part of a
score, the decoder's part of the language model.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from genrst.rnng.examples import Example
from genrst.rnng.layers import HiddenCell
from genrst.rnng.network import Network
from genrst.rnng.scoring.features import FeatureLookup
from genrst.rnng.scoring.states import Shown, StateScores
from genrst.rnng.scoring.words import WordScores
from genrst.rnng.transitions.actions import States

HIDDEN, CELL, NUCLEAR = range(3)
"""The columns of units and of stacks: the LSTM's state, and the nuclear EDU of the (topmost) unit."""

INPUTS = NUCLEAR_BELOW = 3
"""The last column: of units their part of the stack LSTM's gates, of stacks the nuclear EDU of the second unit."""


class NetworkScorer:
    """Scores derivations of some documents one action at a time."""

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
        # The parts of a composition's gates that come from the nuclear EDU and from the label.
        layer = network.composition
        sizes = [self._edus.shape[1], layer.relations.embedding_dim]
        of_edu, of_label = torch.split(layer.from_input.weight, sizes, dim=1)
        self._of_edu = torch.addmm(layer.from_input.bias, self._edus, of_edu.T)
        self._of_label = layer.relations.weight @ of_label.T

    @cached_property
    def _word_scores(self) -> WordScores:
        """Made when words are scored first, as a search may never do: a row of all outputs for each word is large."""
        return WordScores(self._network, self._examples)

    @torch.inference_mode()
    def leaves(self) -> Sequence[Tensor]:
        """The EDUs of all documents as units."""
        leaves = self._network.composition.leaves(self._edus)
        nuclear = torch.arange(len(self._edus), device=self.device)
        return [*leaves, nuclear, self._network.stack.inputs(leaves.hidden)]

    @torch.inference_mode()
    def empty_stack(self) -> Sequence[Tensor]:
        """The empty stack."""
        nothing = torch.full((1,), len(self._edus), device=self.device)
        return [*self._network.stack.empty(), nothing, nothing]

    @torch.inference_mode()
    def compose(self, left: Sequence[Tensor], right: Sequence[Tensor], labels: Tensor) -> Sequence[Tensor]:
        """The units that join pairs of units."""
        nuclear = torch.where(self._is_right[labels], right[NUCLEAR], left[NUCLEAR])
        inputs = self._of_edu.index_select(0, nuclear) + self._of_label.index_select(0, labels)
        composed = self._network.composition(
            inputs, HiddenCell(left[HIDDEN], left[CELL]), HiddenCell(right[HIDDEN], right[CELL])
        )
        return [*composed, nuclear, self._network.stack.inputs(composed.hidden)]

    @torch.inference_mode()
    def push(self, stacks: Sequence[Tensor], units: Sequence[Tensor]) -> Sequence[Tensor]:
        """The stacks with one more unit on top."""
        pushed = self._network.stack(units[INPUTS], HiddenCell(stacks[HIDDEN], stacks[CELL]))
        return [*pushed, units[NUCLEAR], stacks[NUCLEAR]]

    @torch.inference_mode()
    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the next action, and of the words of the next EDU of the first `n_words` states."""
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
        # Where no EDU is left any will do: its words count for nothing.
        edus = (first + n_generated)[:n_words].clamp_max(len(self._edus) - 1)
        return action_logp, self._word_scores.logp(queries[:n_words], edus, n_alike)
