"""The network as a scorer of single actions, behind the door that search knows (`genrst.search.scorer.Scorer`).

Units and stacks are rows of growing tables. The arithmetic is that of `genrst.model.network`, arranged so that what
hypotheses share is computed once: a unit's vectors for all stacks that hold it, the nuclear EDU's and the label's part
of a composition, the features' part of a score, the decoder's part of the language model.
"""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from genrst.model.batch import pack_words
from genrst.model.example import Example
from genrst.model.feature_lookup import FeatureLookup
from genrst.model.network import Network
from genrst.model.state_scores import StateScores
from genrst.model.states import HiddenCell
from genrst.model.table import Table
from genrst.model.word_scores import WordScores


class NetworkScorer:
    """Scores computations of some documents one action at a time."""

    @torch.inference_mode()
    def __init__(self, network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool]) -> None:
        self._network = network
        self.device = network.embeddings.weight.device
        self.n_edus = tuple(example.n_edus for example in examples)
        self.n_labels = len(nucleus_is_right) - 1
        self._sizes = torch.tensor(self.n_edus, device=self.device)
        self._first_edu = torch.tensor([*accumulate(self.n_edus[:-1], initial=0)], device=self.device)
        self._is_right = torch.tensor(nucleus_is_right[1:], device=self.device)
        edus = network.edu_encoder(network.embed_packed(pack_words(examples).to(self.device)))
        self._ahead = network.lookahead(edus, list(self.n_edus)) if network.lookahead is not None else None
        self._features = FeatureLookup(examples, self.device)
        self._state_scores = StateScores(network, examples)
        self._word_scores = WordScores(network, examples) if network.language_model is not None else None
        self._split_inputs(edus)
        self._start_tables(edus)

    def _split_inputs(self, edus: Tensor) -> None:
        """The parts of a composition's gates that come from the nuclear EDU and from the label."""
        layer = self._network.composition
        sizes = [edus.shape[1], layer.relations.embedding_dim]
        of_edu, of_label = torch.split(layer.from_input.weight, sizes, dim=1)
        self._of_edu = torch.addmm(layer.from_input.bias, edus, of_edu.T)
        self._of_label = layer.relations.weight @ of_label.T

    def _start_tables(self, edus: Tensor) -> None:
        leaves = self._network.composition.leaves(edus)
        units = [leaves.hidden, leaves.cell, self._network.stack.inputs(leaves.hidden)]
        self._units = Table(units)
        self._stacks = Table(list(self._network.stack.empty()))
        self._nuclear = Table([torch.arange(len(edus), device=self.device)])
        self._known: dict[tuple[int, int, int], int] = {}

    def leaves(self, documents: Tensor, edus: Tensor) -> Tensor:
        """The units of single EDUs: their numbers over all documents."""
        return self._first_edu[documents] + edus

    @torch.inference_mode()
    def compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """The units that join pairs of units; each is computed once, however many hypotheses build it."""
        if self.device.type == "cuda":
            return self._compose_distinct(left, right, labels)
        rows = [tuple(key) for key in torch.stack([left, right, labels], dim=1).tolist()]
        new = list(dict.fromkeys(key for key in rows if key not in self._known))
        if new:
            units = self._compose(*torch.tensor(new).T)
            self._known.update(zip(new, units.tolist(), strict=True))
        return torch.tensor([self._known[key] for key in rows])

    def _compose_distinct(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        """On a GPU units are shared within a step only: a table of all would have to be looked up on the host."""
        n_units = self._units.n_numbers
        keys, inverse = torch.unique((left * n_units + right) * self.n_labels + labels, return_inverse=True)
        pairs = keys // self.n_labels
        return self._compose(pairs // n_units, pairs % n_units, keys % self.n_labels)[inverse]

    def _compose(self, left: Tensor, right: Tensor, labels: Tensor) -> Tensor:
        (of_left,), (of_right,) = self._nuclear.rows(left), self._nuclear.rows(right)
        nuclear = torch.where(self._is_right[labels], of_right, of_left)
        inputs = self._of_edu.index_select(0, nuclear) + self._of_label.index_select(0, labels)
        pair = (HiddenCell(*self._units.rows(side)[:2]) for side in (left, right))
        composed = self._network.composition(inputs, *pair)
        self._nuclear.append([nuclear])
        return self._units.append([*composed, self._network.stack.inputs(composed.hidden)])

    @torch.inference_mode()
    def push(self, stacks: Tensor, units: Tensor) -> Tensor:
        """The stacks with a unit more on top."""
        (inputs,) = self._units.rows(units, columns=[2])
        return self._stacks.append(list(self._network.stack(inputs, HiddenCell(*self._stacks.rows(stacks)))))

    @torch.inference_mode()
    def score(
        self,
        documents: Tensor,
        stacks: Tensor,
        second: Tensor,
        top: Tensor,
        n_generated: Tensor,
        needs_words: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the next action, and of the words of the next EDU where they are needed."""
        (hidden,) = self._stacks.rows(stacks, columns=[0])
        ahead = None
        if self._ahead is not None:
            ahead = self._ahead[self._first_edu[documents] + documents + n_generated]
        actions, queries = self._state_scores(
            hidden, self._features.features(documents, second, top, n_generated), ahead
        )
        is_illegal = torch.empty_like(actions, dtype=torch.bool)
        is_illegal[:, 0] = n_generated >= self._sizes[documents]
        is_illegal[:, 1:] = (second < 0)[:, None]
        words = actions.new_zeros(len(actions))
        rows = needs_words.nonzero()[:, 0]
        if self._word_scores is not None and len(rows):
            edus = self._first_edu[documents[rows]] + n_generated[rows]
            words[rows] = self._word_scores.logp(queries[rows], edus)
        return torch.log_softmax(actions.masked_fill(is_illegal, -torch.inf), dim=1), words

    @torch.inference_mode()
    def forget(self, units: Tensor, stacks: Tensor) -> None:
        """Keep the vectors of these units and stacks, and of all leaves; forget the others."""
        kept = torch.unique(torch.cat([torch.arange(sum(self.n_edus), device=self.device), units]))
        self._units.keep(kept)
        self._stacks.keep(stacks)
        alive = set(kept.tolist())
        self._known = {key: unit for key, unit in self._known.items() if unit in alive}
