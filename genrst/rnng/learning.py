"""The training task of the paper's model: it learns the actions that build trees and, if generative, the words of EDUs.

Optionally, some gold documents are explored (not in the paper): the model being trained builds their trees, so that it
learns to continue after its own mistakes. Exploration depends only on the seed, the epoch and the network.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from genrst.encoder.memory import in_batches
from genrst.encoder.tokenizer import IntArray
from genrst.evaluation.report import Evaluation, evaluate_trees
from genrst.rnng.batch import Derivation, derive, make_batch
from genrst.rnng.config import SPECIALS, Symbols
from genrst.rnng.examples import Example
from genrst.rnng.network import LogProbabilities, Network
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import BeamOptions, search_beams, search_greedily
from genrst.rnng.transitions.actions import DynamicOracle, States, tree_of
from genrst.task import Lesson, Likelihood, TrainingTask

MOST_EXPLORED = 16_000
"""The number of EDUs to explore at once, unless a document has more. At the paper's sizes, they take 3 GB."""
MAX_STACK = 40
"""The limit on the stack that makes bag-level search fast. No gold tree of GUM exceeds it."""
MOST_EDUS = 2000
"""The number of EDUs to search at once, which limits memory. A longer document is searched by itself."""


@dataclass(frozen=True, slots=True)
class RnngLearning:
    """Settings for learning and for parsing dev, from the `[training]` table."""

    blank_noise: float = 0.25
    exploration: float = 0.0
    evaluate_search: Literal["bag", "greedy"] | None = None
    evaluate_beam: int = 4
    batch_documents: int = 8


class RnngTask(TrainingTask[Example, Network]):
    """The training of a model that builds trees step by step."""

    def __init__(
        self,
        train: Sequence[Example],
        dev: Sequence[Example],
        symbols: Symbols,
        has_kinds: bool,
        silver: Sequence[Example] = (),
        *,
        silver_epochs: int = 0,
        learning: RnngLearning | None = None,
        seed: int = 0,
    ) -> None:
        """Prepare the task. `has_kinds` is that of the network."""
        self._symbols, self._has_kinds, self._learning = symbols, has_kinds, learning or RnngLearning()
        super().__init__(train, silver, silver_epochs, seed)
        self._dev, self._dev_gold = dev, [self._derive(example) for example in dev]

    def _make(self, number: int, example: Example) -> Lesson[Example]:
        return Lesson(number, example, self._derive(example))

    def _derive(self, example: Example) -> Derivation:
        return derive(example, self._symbols.nucleus_is_right, self._has_kinds)

    def _gold_lessons(self, epoch: int, network: Network) -> list[Lesson[Example]]:
        lessons = [*self._gold]
        if self._learning.exploration:
            for lesson in self._explored(network, random.Random(f"{self._seed} {epoch} lessons")):
                lessons[lesson.number] = lesson
        return lessons

    def _explored(self, network: Network, generator: random.Random) -> list[Lesson[Example]]:
        """Return lessons for some gold documents, with trees that the network builds."""
        chosen = generator.sample(self._gold, round(self._learning.exploration * len(self._gold)))
        examples = [lesson.example for lesson in chosen]
        found = explore(network, examples, self._symbols.nucleus_is_right, generator.getrandbits(63))
        return [
            Lesson(lesson.number, example, self._derive(example)._replace(correct_actions=correct))
            for lesson, (example, correct) in zip(chosen, found, strict=True)
        ]

    def loss(self, network: Network, lessons: Sequence[Lesson[Example]], epoch: int) -> Tensor:
        """Return the negative log-likelihood of the correct actions and of the generated words."""
        device = network.embeddings.weight.device
        examples, derivations = [lesson.example for lesson in lessons], [lesson.derivation for lesson in lessons]
        batch = make_batch(examples, derivations, network.window_shape).to(device)
        found: LogProbabilities = network(batch, self._blanks(lessons, epoch, device))
        return -(found.actions.sum() + found.words.sum())

    def _blanks(self, lessons: Sequence[Lesson[Example]], epoch: int, device: torch.device) -> Tensor | None:
        """Draw blank noise: the word types to replace in each document."""
        if not self._learning.blank_noise:
            return None
        seeds = [self._noise_seed(epoch, lesson) for lesson in lessons]
        n_words = len(self._symbols.words)
        draws = [torch.rand(n_words, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        is_blank = torch.stack(draws) < self._learning.blank_noise
        is_blank[:, : len(SPECIALS)] = False
        return is_blank.to(device)

    def likelihood(self, network: Network) -> Likelihood:
        """Return the likelihood of the actions and words of dev."""
        return gold_likelihood(network, self._dev, self._dev_gold, self._learning.batch_documents)

    def scores(self, network: Network) -> dict[str, float]:
        """Return the scores of the trees predicted for dev."""
        return self.evaluate(network).percentages()

    def evaluate(self, network: Network) -> Evaluation:
        """Evaluate the trees of bag-level search with words, or of greedy search without words, as configured."""
        search = self._learning.evaluate_search or ("greedy" if network.language_model is None else "bag")
        if search == "greedy":
            return evaluate_greedily(network, self._symbols, self._dev)
        return evaluate_bags(network, self._symbols, self._dev, self._learning.evaluate_beam)


def gold_likelihood(
    network: Network, examples: Sequence[Example], gold: Sequence[Derivation], batch_documents: int
) -> Likelihood:
    """Return the likelihood of gold trees and their words."""
    device = network.embeddings.weight.device
    total = Likelihood()
    with torch.inference_mode():
        for first in range(0, len(examples), batch_documents):
            part = slice(first, first + batch_documents)
            batch = make_batch(examples[part], gold[part], network.window_shape)
            found = network(batch.to(device))
            total += Likelihood(
                -float(found.actions.sum()), sum(batch.n_edus), -float(found.words.sum()), len(found.words)
            )
    return total


def evaluate_greedily(network: Network, symbols: Symbols, examples: Sequence[Example]) -> Evaluation:
    """Evaluate the trees of greedy search, on gold EDUs."""
    parses = search_greedily(NetworkScorer(network, examples, symbols.nucleus_is_right))
    return evaluate_parses(examples, [parse.actions for parse in parses], symbols)


def evaluate_bags(network: Network, symbols: Symbols, examples: Sequence[Example], beam: int) -> Evaluation:
    """Evaluate the most likely trees with words, found by bag-level search, on gold EDUs."""
    options = BeamOptions(beam, "bag", MAX_STACK)
    found = [
        result.parses[0].actions
        for group in in_batches(examples, lambda example: example.n_edus, MOST_EDUS)
        for result in search_beams(NetworkScorer(network, group, symbols.nucleus_is_right), options)
    ]
    return evaluate_parses(examples, found, symbols)


def evaluate_parses(examples: Sequence[Example], derivations: Sequence[Sequence[int]], symbols: Symbols) -> Evaluation:
    """Evaluate the trees of derivations, given as action numbers."""
    gold, found = (
        [tree_of(symbols.actions[action] for action in actions) for actions in own]
        for own in ([example.actions for example in examples], derivations)
    )
    return evaluate_trees(examples, gold, found)


def explore(
    network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool], seed: int
) -> list[tuple[Example, IntArray]]:
    """Return each document with actions drawn from the network, and the correct actions at each step.

    The correct actions, of shape (steps, 2), come from a dynamic oracle.
    """
    was_training = network.training
    network.eval()
    generator = torch.Generator(network.embeddings.weight.device).manual_seed(seed)
    parses = [
        parse
        for group in in_batches(examples, lambda example: example.n_edus, MOST_EXPLORED)
        for parse in search_greedily(DrawingScorer(network, group, nucleus_is_right, generator))
    ]
    network.train(was_training)
    return [
        (
            replace(example, actions=parse.actions),
            np.array(DynamicOracle(example.actions).correct_actions(parse.actions)),
        )
        for example, parse in zip(examples, parses, strict=True)
    ]


class DrawingScorer(NetworkScorer):
    """A scorer with Gumbel noise, so that its best action is a draw from the network's distribution."""

    def __init__(
        self,
        network: Network,
        examples: Sequence[Example],
        nucleus_is_right: Sequence[bool],
        generator: torch.Generator,
    ) -> None:
        super().__init__(network, examples, nucleus_is_right)
        self._generator = generator

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of the next action, with noise, and of the words."""
        actions, words = super().score(states, n_words, n_alike)
        exponential = torch.empty_like(actions).exponential_(generator=self._generator)
        return actions - exponential.clamp_min(1e-30).log(), words
