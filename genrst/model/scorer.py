"""The network as a scorer of single actions, behind the door that search knows (`genrst.search.scorer.Scorer`).

Units and stacks are rows of growing tables; the parts of the network are those of `genrst.model.network`.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.model.batch import pack_words
from genrst.model.example import Example, encode_features
from genrst.model.network import Network
from genrst.model.states import HiddenCell, stack_rows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]
_EncodedFeatures = tuple[list[int], tuple[int, int], int]


class NetworkScorer:
    """Scores computations of some documents one action at a time."""

    def __init__(self, network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool]) -> None:
        self._network = network
        self._examples = examples
        self._device = network.embeddings.weight.device
        self._nucleus_is_right = np.array(nucleus_is_right[1:], dtype=bool)
        self._first_edu = np.array(list(accumulate((e.n_edus for e in examples), initial=0)))
        self._features: dict[tuple[int, int, int, int], _EncodedFeatures] = {}
        with torch.inference_mode():
            self._encode()

    def _encode(self) -> None:
        network = self._network
        words = pack_words(self._examples)
        packed = network.embed_packed(words.to(self._device))
        self._edus = network.edu_encoder(packed)
        leaves = network.composition.leaves(self._edus)
        self._units = _Table(leaves)
        self._nuclear = np.arange(len(self._edus))
        self._stacks = _Table(network.stack.empty())
        self._ahead = network.lookahead(self._edus, list(self.n_edus)) if network.lookahead is not None else None

    @property
    def n_edus(self) -> tuple[int, ...]:
        """The number of EDUs of each document."""
        return tuple(example.n_edus for example in self._examples)

    @property
    def n_labels(self) -> int:
        """The number of RE(r, n) actions."""
        return len(self._nucleus_is_right)

    def leaves(self, documents: IntArray, edus: IntArray) -> IntArray:
        """The units of single EDUs."""
        units: IntArray = self._first_edu[documents] + edus
        return units

    @torch.inference_mode()
    def compose(self, left: IntArray, right: IntArray, labels: IntArray) -> IntArray:
        """The units that join pairs of units."""
        nuclear = np.where(self._nucleus_is_right[labels], self._nuclear[right], self._nuclear[left])
        layer = self._network.composition
        inputs = layer.inputs(self._edus[self._tensor(nuclear)], self._tensor(labels))
        composed = layer(inputs, self._units.rows(self._tensor(left)), self._units.rows(self._tensor(right)))
        self._nuclear = np.concatenate([self._nuclear, nuclear])
        return self._units.append(composed)

    @torch.inference_mode()
    def push(self, stacks: IntArray, units: IntArray) -> IntArray:
        """The stacks with a unit more on top."""
        layer = self._network.stack
        inputs = layer.inputs(self._units.rows(self._tensor(units)).hidden)
        return self._stacks.append(layer(inputs, self._stacks.rows(self._tensor(stacks))))

    @torch.inference_mode()
    def action_logp(
        self, documents: IntArray, stacks: IntArray, second: IntArray, top: IntArray, n_generated: IntArray
    ) -> FloatArray:
        """Log-probabilities of GEN and all labels, −∞ where illegal."""
        states = self._state_vectors(documents, stacks, second, top, n_generated)
        if self._ahead is not None:
            states = torch.cat(
                [states, self._ahead[self._tensor(self._first_edu[documents] + documents + n_generated)]], 1
            )
        can_generate = self._tensor(n_generated < np.array(self.n_edus)[documents])
        logp = self._network.action_head(states, can_generate, self._tensor(second >= 0))
        return self._array(logp)

    def _state_vectors(
        self, documents: IntArray, stacks: IntArray, second: IntArray, top: IntArray, n_generated: IntArray
    ) -> Tensor:
        keys = zip(documents.tolist(), second.tolist(), top.tolist(), n_generated.tolist(), strict=True)
        words, comparisons, deprels = zip(*(self._encoded_features(*key) for key in keys), strict=True)
        embedded = self._network.embeddings(torch.tensor(words, device=self._device))
        features = self._network.features(
            embedded, torch.tensor(comparisons, device=self._device), torch.tensor(deprels, device=self._device)
        )
        return torch.cat([self._stacks.rows(self._tensor(stacks)).hidden, features], dim=1)

    def _encoded_features(self, document: int, second: int, top: int, stop: int) -> _EncodedFeatures:
        key = document, second, top, stop
        if key not in self._features:
            example = self._examples[document]
            if second >= 0:
                features = example.syntax.features(second, top, stop)
            else:
                features = example.syntax.features_of_one(max(top, 0), stop)
            self._features[key] = encode_features(example, features)
        return self._features[key]

    def _tensor(self, array: IntArray | NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    @staticmethod
    def _array(tensor: Tensor) -> FloatArray:
        array: FloatArray = tensor.float().cpu().numpy()
        return array


class _Table:
    """Rows of hidden states and cells that grow, doubling their room when it is full."""

    def __init__(self, first: HiddenCell) -> None:
        self._room = first
        self._size = len(first.hidden)

    def rows(self, index: Tensor) -> HiddenCell:
        return self._room.rows(index)

    def append(self, rows: HiddenCell) -> IntArray:
        first, self._size = self._size, self._size + len(rows.hidden)
        while self._size > len(self._room.hidden):
            self._room = stack_rows([self._room, HiddenCell(*(torch.zeros_like(part) for part in self._room))])
        self._room.hidden[first : self._size] = rows.hidden
        self._room.cell[first : self._size] = rows.cell
        return np.arange(first, self._size)
