"""The interface between a model and `genrst.training`: a task with examples, a loss and scores.

`genrst.chart.learning.task` and `genrst.rnng.learning` implement it. This module does not import PyTorch.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Tensor


class Example(Protocol):
    """A document, encoded as numbers."""

    @property
    def id(self) -> str:
        """The name of the document."""

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""


AnyExample = TypeVar("AnyExample", bound=Example)
AnyNetwork = TypeVar("AnyNetwork")


class Lesson(NamedTuple, Generic[AnyExample]):
    """A document to train on."""

    number: int
    """The unique number of the lesson within an epoch. It seeds the noise."""
    example: AnyExample
    derivation: Any = None
    """For models that build trees step by step: the actions that build its tree, or another one."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Negative log-likelihoods of the actions and the words of some EDUs, with the numbers of EDUs and words."""

    action_nll: float = 0.0
    n_edus: int = 0
    word_nll: float = 0.0
    n_words: int = 0

    def __add__(self, other: "Likelihood") -> "Likelihood":
        return Likelihood(
            self.action_nll + other.action_nll,
            self.n_edus + other.n_edus,
            self.word_nll + other.word_nll,
            self.n_words + other.n_words,
        )

    @property
    def loss(self) -> float:
        """The negative log-likelihood of actions and words, per EDU."""
        return (self.action_nll + self.word_nll) / self.n_edus

    @property
    def action_loss(self) -> float:
        """The negative log-likelihood of the actions alone, per EDU."""
        return self.action_nll / self.n_edus

    @property
    def perplexity(self) -> float | None:
        """The perplexity of the words; None for a discriminative model, which has none."""
        return math.exp(min(self.word_nll / self.n_words, 700)) if self.n_words else None


class TrainingTask(ABC, Generic[AnyExample, AnyNetwork]):
    """The lessons of each epoch, their loss, and the scores of a network on dev.

    Gold documents are part of every epoch, silver ones of the first `silver_epochs`. All randomness depends only on the
    seed, the epoch and the number of the lesson.
    """

    def __init__(
        self, train: Sequence[AnyExample], silver: Sequence[AnyExample] = (), silver_epochs: int = 0, seed: int = 0
    ) -> None:
        self._silver_epochs, self._seed = silver_epochs, seed
        examples = [*train, *silver] if silver_epochs else train
        lessons = [self._make(number, example) for number, example in enumerate(examples)]
        self._gold, self._silver = lessons[: len(train)], lessons[len(train) :]

    def count(self, epoch: int) -> int:
        """Return the number of lessons in an epoch."""
        return len(self._gold) + len(self._silver) * (epoch < self._silver_epochs)

    def epoch(self, epoch: int, network: AnyNetwork) -> list[Lesson[AnyExample]]:
        """Return the lessons of an epoch in a new order, given the network at its beginning."""
        lessons = self._gold_lessons(epoch, network)
        if epoch < self._silver_epochs:
            lessons += self._silver
        random.Random(f"{self._seed} {epoch}").shuffle(lessons)
        return lessons

    def _make(self, number: int, example: AnyExample) -> Lesson[AnyExample]:
        return Lesson(number, example)

    def _gold_lessons(self, epoch: int, network: AnyNetwork) -> list[Lesson[AnyExample]]:  # noqa: ARG002
        return [*self._gold]

    def _noise_seed(self, epoch: int, lesson: Lesson[AnyExample]) -> int:
        """Return the seed for the noise of a lesson. It does not depend on how processes share a batch."""
        return random.Random(f"{self._seed} {epoch} {lesson.number}").getrandbits(63)

    @abstractmethod
    def loss(self, network: AnyNetwork, lessons: Sequence[Lesson[AnyExample]], epoch: int) -> "Tensor":
        """Return the sum of the negative log-likelihoods of some lessons."""

    @abstractmethod
    def likelihood(self, network: AnyNetwork) -> Likelihood:
        """Return the likelihood of the gold trees of dev."""

    @abstractmethod
    def scores(self, network: AnyNetwork) -> dict[str, float]:
        """Return the scores, in percent, of the trees that a network predicts for dev."""
