"""What an epoch trains on: gold documents, at first silver ones besides, and some gold ones explored.

An explored document has a tree that the model in training builds itself, so that it learns what to do after its own
mistakes (not the paper's). Which documents are explored, and how, depends on the seed, the epoch and the network alone.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from genrst.errors import ConfigError
from genrst.evaluation.report import Evaluation
from genrst.rnng.batch import make_batch
from genrst.rnng.examples import Derivation, Example, derive
from genrst.rnng.network import LogProbabilities, Network
from genrst.rnng.schedule import IntArray
from genrst.rnng.scoring.scorer import NetworkScorer
from genrst.rnng.search.beam import in_groups, search_greedily
from genrst.rnng.symbols import SPECIALS
from genrst.rnng.transitions.actions import States
from genrst.rnng.transitions.oracle import DynamicOracle
from genrst.training.dev import Likelihood, evaluate_bags, evaluate_greedily, gold_likelihood, parseval_f1
from genrst.training.prepared import Prepared
from genrst.training.run_config import TrainingConfig

AnyNetwork = TypeVar("AnyNetwork")

MOST_EDUS = 16_000
"""How many EDUs are explored at once, unless a document has more: at the paper's sizes they take 3 GB."""


class Lesson(NamedTuple):
    """A document to train on; for a model that builds trees step by step, with a derivation of its tree or another."""

    number: int
    """Different for all lessons of an epoch: noise is drawn by it."""
    example: Example
    derivation: Derivation | None = None


class Lessons(ABC, Generic[AnyNetwork]):
    """The lessons of all epochs, what is to be learned from them, and how well dev documents are known."""

    def __init__(self, prepared: Prepared, config: TrainingConfig, seed: int) -> None:
        if config.silver_epochs and not prepared.silver:
            raise ConfigError("training.silver_epochs: there must be silver documents (data.silver), was: none")
        self._prepared, self._config, self._seed = prepared, config, seed
        examples = prepared.train + prepared.silver if config.silver_epochs else prepared.train
        lessons = [self._make(number, example) for number, example in enumerate(examples)]
        self._gold, self._silver = lessons[: len(prepared.train)], lessons[len(prepared.train) :]

    def count(self, epoch: int) -> int:
        """The number of lessons in an epoch."""
        return len(self._gold) + len(self._silver) * self._has_silver(epoch)

    def epoch(self, epoch: int, network: AnyNetwork) -> list[Lesson]:
        """The lessons of an epoch, in a new order; the network is that at its beginning."""
        lessons = self._gold_lessons(epoch, network)
        if self._has_silver(epoch):
            lessons += self._silver
        random.Random(f"{self._seed} {epoch}").shuffle(lessons)
        return lessons

    def _has_silver(self, epoch: int) -> bool:
        return epoch < self._config.silver_epochs

    def _make(self, number: int, example: Example) -> Lesson:
        return Lesson(number, example)

    def _gold_lessons(self, epoch: int, network: AnyNetwork) -> list[Lesson]:  # noqa: ARG002
        return [*self._gold]

    def _noise(self, epoch: int, lesson: Lesson) -> torch.Generator:
        """Drawn for each document on its own, so that processes that share a batch draw what one process would."""
        seed = random.Random(f"{self._seed} {epoch} {lesson.number}").getrandbits(63)
        return torch.Generator().manual_seed(seed)

    @abstractmethod
    def loss(self, network: AnyNetwork, lessons: Sequence[Lesson], epoch: int) -> Tensor:
        """The negative log-likelihood of what some lessons teach, summed up."""

    @abstractmethod
    def likelihood(self, network: AnyNetwork) -> Likelihood:
        """That of the trees of dev."""

    @abstractmethod
    def evaluate(self, network: AnyNetwork) -> Evaluation:
        """The trees that a network finds for dev, quickly, against the gold ones."""

    def scores(self, network: AnyNetwork) -> dict[str, float]:
        """What is said about a network after an epoch: scores on dev, in percent."""
        return parseval_f1(self.evaluate(network))


class TransitionLessons(Lessons[Network]):
    """Those of a model that builds trees step by step."""

    def __init__(self, prepared: Prepared, config: TrainingConfig, network: Network, seed: int) -> None:
        self._is_right, self._has_kinds = prepared.symbols.nucleus_is_right, network.has_kinds
        super().__init__(prepared, config, seed)
        self._dev = [self._derive(example) for example in prepared.dev]

    def _make(self, number: int, example: Example) -> Lesson:
        return Lesson(number, example, self._derive(example))

    def _derive(self, example: Example) -> Derivation:
        return derive(example, self._is_right, self._has_kinds)

    def _gold_lessons(self, epoch: int, network: Network) -> list[Lesson]:
        lessons = [*self._gold]
        if self._config.exploration:
            for lesson in self._explored(network, random.Random(f"{self._seed} {epoch} lessons")):
                lessons[lesson.number] = lesson
        return lessons

    def _explored(self, network: Network, generator: random.Random) -> list[Lesson]:
        """Some gold documents, with trees that the network makes."""
        chosen = generator.sample(self._gold, round(self._config.exploration * len(self._gold)))
        examples = [lesson.example for lesson in chosen]
        temperature = self._config.exploration_temperature
        found = explore(network, examples, self._is_right, temperature, generator.getrandbits(63))
        return [
            Lesson(lesson.number, example, self._derive(example)._replace(correct_actions=correct))
            for lesson, (example, correct) in zip(chosen, found, strict=True)
        ]

    def loss(self, network: Network, lessons: Sequence[Lesson], epoch: int) -> Tensor:
        """Of the correct actions, and of the words that are generated."""
        device = network.embeddings.weight.device
        examples = [lesson.example for lesson in lessons]
        derivations = [lesson.derivation for lesson in lessons if lesson.derivation is not None]
        batch = make_batch(examples, derivations, network.window_shape).to(device)
        found: LogProbabilities = network(batch, self._blanks(lessons, epoch, device))
        return -(found.actions.sum() + found.words.sum())

    def _blanks(self, lessons: Sequence[Lesson], epoch: int, device: torch.device) -> Tensor | None:
        """Blank noise: which word types of each document are replaced."""
        if not self._config.blank_noise:
            return None
        n_words = len(self._prepared.symbols.words)
        draws = [torch.rand(n_words, generator=self._noise(epoch, lesson)) for lesson in lessons]
        is_blank = torch.stack(draws) < self._config.blank_noise
        is_blank[:, : len(SPECIALS)] = False
        return is_blank.to(device)

    def likelihood(self, network: Network) -> Likelihood:
        """That of the actions and words of dev."""
        return gold_likelihood(network, self._prepared.dev, self._dev, self._config.batch_documents)

    def evaluate(self, network: Network) -> Evaluation:
        """The trees of bag-level search with words or of greedy search without, as is configured."""
        search = self._config.evaluate_search or ("greedy" if network.language_model is None else "bag")
        if search == "greedy":
            return evaluate_greedily(network, self._prepared.symbols, self._prepared.dev)
        return evaluate_bags(network, self._prepared.symbols, self._prepared.dev, self._config.evaluate_beam)


def explore(
    network: Network, examples: Sequence[Example], nucleus_is_right: Sequence[bool], temperature: float, seed: int
) -> list[tuple[Example, IntArray]]:
    """Each document with actions that the network draws, and the correct ones at each step, of shape (steps, 2).

    A dynamic oracle says what would have been correct. A temperature above 1 makes the distribution flatter.
    """
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
        (
            replace(example, actions=parse.actions),
            np.array(DynamicOracle(example.actions).correct_actions(parse.actions)),
        )
        for example, parse in zip(examples, parses, strict=True)
    ]


class DrawingScorer(NetworkScorer):
    """A scorer whose best action is a draw from the network's distribution: Gumbel noise is added to the scores."""

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

    def score(self, states: States[Tensor], n_words: int, n_alike: int = 1) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the next action with noise, and of words."""
        actions, words = super().score(states, n_words, n_alike)
        exponential = torch.empty_like(actions).exponential_(generator=self._generator)
        return actions - self._temperature * exponential.clamp_min(1e-30).log(), words
