"""Trees that a model in training builds itself, so that it learns what to do after its own mistakes (not the paper's).

Actions are drawn from the model's distribution, and a dynamic oracle says what would have been right at every step.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from genrst.model.example import Example
from genrst.model.network import Network
from genrst.model.schedule import IntArray
from genrst.model.scorer import NetworkScorer, States
from genrst.search.beam import search_greedily
from genrst.search.groups import in_groups
from genrst.transitions.dynamic_oracle import DynamicOracle

MOST_EDUS = 16_000
"""How many EDUs are explored at once, unless a document has more: at the paper's sizes they take 3 GB."""


class DrawingScorer(NetworkScorer):
    """A scorer whose best action is a draw from the network's distribution: Gumbel noise is added to the scores.

    A temperature above 1 makes the distribution flatter.
    """

    def __init__(
        self,
        network: Network,
        examples: Sequence[Example],
        nucleus_is_right: Sequence[bool],
        temperature: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__(network, examples, nucleus_is_right)
        self._temperature = temperature
        self._generator = generator

    def score(self, states: States, n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the next action with noise, and of words."""
        actions, words = super().score(states, n_words, n_alike)
        exponential = torch.empty_like(actions).exponential_(generator=self._generator)
        return actions - self._temperature * exponential.clamp_min(1e-30).log(), words


def explore(
    network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool], temperature: float, seed: int
) -> list[tuple[Example, IntArray]]:
    """Each document with actions that the network draws, and the right ones at each step, of shape (steps, 2)."""
    was_training = network.training
    network.eval()
    generator = torch.Generator(network.embeddings.weight.device).manual_seed(seed)
    parses = [
        parse
        for group in in_groups(examples, lambda example: example.n_edus, MOST_EDUS)
        for parse in search_greedily(DrawingScorer(network, group, nucleus_is_right, temperature, generator))
    ]
    network.train(was_training)
    return [
        (replace(example, actions=parse.actions), np.array(DynamicOracle(example.actions).right_actions(parse.actions)))
        for example, parse in zip(examples, parses, strict=True)
    ]
