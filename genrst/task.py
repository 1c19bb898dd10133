"""What a model has to offer to be trained: the task that `genrst.training` knows, in place of the model itself.

`genrst.chart.learning.task` and `genrst.rnng.learning` have a task each. No PyTorch is imported here.
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
    """A document as numbers."""

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
    """Different for all lessons of an epoch: noise is drawn by it."""
    example: AnyExample
    derivation: Any = None
    """How its tree is built, or another one, where a model builds trees step by step."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Negative log-likelihoods of the actions and of the words of some EDUs, and how many EDUs and words there were."""

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
        """That of actions and words, per EDU."""
        return (self.action_nll + self.word_nll) / self.n_edus

    @property
    def action_loss(self) -> float:
        """That of actions alone, per EDU."""
        return self.action_nll / self.n_edus

    @property
    def perplexity(self) -> float | None:
        """Of the words; None if there are none, as in a discriminative model."""
        return math.exp(min(self.word_nll / self.n_words, 700)) if self.n_words else None


class TrainingTask(ABC, Generic[AnyExample, AnyNetwork]):
    """What an epoch trains on, what is to be learned from it, and how well a network does on dev.

    Gold documents are in every epoch, silver ones in the first `silver_epochs`. Everything random depends on the seed,
    the epoch and the number of the lesson alone.
    """

    def __init__(
        self, train: Sequence[AnyExample], silver: Sequence[AnyExample] = (), silver_epochs: int = 0, seed: int = 0
    ) -> None:
        self._silver_epochs, self._seed = silver_epochs, seed
        examples = [*train, *silver] if silver_epochs else train
        lessons = [self._make(number, example) for number, example in enumerate(examples)]
        self._gold, self._silver = lessons[: len(train)], lessons[len(train) :]

    def count(self, epoch: int) -> int:
        """The number of lessons in an epoch."""
        return len(self._gold) + len(self._silver) * (epoch < self._silver_epochs)

    def epoch(self, epoch: int, network: AnyNetwork) -> list[Lesson[AnyExample]]:
        """The lessons of an epoch, in a new order; the network is that at its beginning."""
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
        """Drawn for each document on its own, so that processes that share a batch draw what one process would."""
        return random.Random(f"{self._seed} {epoch} {lesson.number}").getrandbits(63)

    @abstractmethod
    def loss(self, network: AnyNetwork, lessons: Sequence[Lesson[AnyExample]], epoch: int) -> "Tensor":
        """The negative log-likelihood of what some lessons teach, summed up."""

    @abstractmethod
    def likelihood(self, network: AnyNetwork) -> Likelihood:
        """That of the trees of dev."""

    @abstractmethod
    def scores(self, network: AnyNetwork) -> dict[str, float]:
        """What is said about a network after an epoch: scores of the trees that it finds for dev, in percent."""
