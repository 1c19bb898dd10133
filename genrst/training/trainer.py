"""The training loop, as a generator of one record per epoch.

It does not handle files, logs or progress bars (`genrst.training.run` does). All randomness depends only on the seed,
the epoch and the step, so a run resumed from a checkpoint gives the same result as an uninterrupted one.
"""

import math
import random
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from genrst.encoder.pretrained import PretrainedEncoder
from genrst.errors import TrainingError
from genrst.task import Lesson, TrainingTask
from genrst.training.distributed import ALONE, Processes
from genrst.training.rounding import rounded
from genrst.training.run_config import TrainingConfig


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of an epoch. Losses are in nats per EDU; scores are percentages, empty when dev was not parsed."""

    epoch: int
    step: int
    train_loss: float
    dev_loss: float
    dev_action_loss: float
    dev_perplexity: float | None
    """The loss of the dev words given the gold trees; None for a discriminative model."""
    dev_scores: dict[str, float]
    learning_rate: float
    train_seconds: float
    dev_seconds: float
    is_best: bool


@dataclass(slots=True)
class Progress:
    """The progress of training; saved with every checkpoint."""

    epoch: int = 0
    step: int = 0
    best_score: float = -math.inf
    best_epoch: int = 0


class Trainer:
    """Trains a network."""

    def __init__(
        self,
        network: nn.Module,
        task: TrainingTask[Any, Any],
        config: TrainingConfig,
        seed: int,
        processes: Processes = ALONE,
    ) -> None:
        self.network = network
        self.task = task
        self.config = config
        self.seed = seed
        self.processes = processes
        self.progress = Progress()
        self.optimizer = torch.optim.Adam(_parameter_groups(network, config))
        epochs = range(config.max_epochs)
        self._n_steps = sum(math.ceil(self.task.count(epoch) / config.batch_size(epoch)) for epoch in epochs)
        self.average = _average(network, config.averaging)

    def epochs(self) -> Iterator[Record]:
        """Train until the last epoch or until dev scores stop improving."""
        while not self.is_finished:
            yield self._epoch()

    @property
    def is_finished(self) -> bool:
        """Whether the last epoch is done, or patience has run out."""
        progress, config = self.progress, self.config
        n_waited = progress.epoch - max(progress.best_epoch, config.evaluate_from - 1)
        return progress.epoch >= config.max_epochs or n_waited >= config.patience

    @property
    def kept_network(self) -> nn.Module:
        """The network that is evaluated and saved: the moving average or, without one, the network in training."""
        return self.network if self.average is None else self.average.module

    def _epoch(self) -> Record:
        started = time.perf_counter()
        batches = self._batches()
        losses = [self._train_on(lessons) for lessons in batches]
        # Reading a loss waits for the GPU, so it is done once an epoch.
        train_loss = self.processes.add(float(torch.stack(losses).sum()))[0]
        train_loss /= sum(_n_edus(lessons) for lessons in batches)
        self.progress.epoch += 1
        check_loss(train_loss, self.progress.epoch)
        return self._record(train_loss, time.perf_counter() - started)

    def _batches(self) -> list[list[Lesson[Any]]]:
        """Return the lessons of the epoch, one list per step."""
        epoch = self.progress.epoch
        lessons, size = self.task.epoch(epoch, self.network), self.config.batch_size(epoch)
        return [lessons[first : first + size] for first in range(0, len(lessons), size)]

    def _train_on(self, lessons: list[Lesson[Any]]) -> Tensor:
        """Take one step, and return the summed loss of this process's lessons."""
        device = next(self.network.parameters()).device
        for group in self.optimizer.param_groups:
            group["lr"] = group["share"] * self._learning_rate()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=device)
        torch.manual_seed(random.Random(f"{self.seed} {self.progress.step} dropout").getrandbits(63))
        if mine := self.processes.share(lessons):
            with self._rounded(self.network):
                with torch.autocast(device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
                    loss = self.task.loss(self.network, mine, self.progress.epoch)
                torch.autograd.backward(loss / _n_edus(lessons))
        self.processes.add_gradients(self.network)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        if self.config.precision == "bfloat16":
            _drop_overflow(self.network)
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.network)
        self.progress.step += 1
        return loss.detach()

    def _learning_rate(self) -> float:
        config, step = self.config, self.progress.step
        done = step / self._n_steps
        factor = {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[config.schedule]
        warmup = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps else 1.0
        return config.learning_rate * factor * warmup

    def _record(self, train_loss: float, train_seconds: float) -> Record:
        started = time.perf_counter()
        network = self.kept_network.eval()
        with self._rounded(network):
            likelihood = self.task.likelihood(network)
            # The last step of an epoch can break the network without showing in the training loss.
            check_loss(likelihood.loss, self.progress.epoch)
            scores = self._dev_scores()
        self.network.train()
        score = self.config.judge(likelihood.loss, scores)
        is_best = score > self.progress.best_score
        if is_best:
            self.progress.best_score = score
            self.progress.best_epoch = self.progress.epoch
        return Record(
            self.progress.epoch,
            self.progress.step,
            train_loss,
            likelihood.loss,
            likelihood.action_loss,
            likelihood.perplexity,
            scores,
            self._learning_rate(),
            train_seconds,
            time.perf_counter() - started,
            is_best,
        )

    def _rounded(self, network: nn.Module) -> AbstractContextManager[None]:
        """Round the weights of a network during the last epochs."""
        is_due = self.progress.epoch >= self.config.max_epochs - self.config.rounded_epochs
        if not (self.config.rounded_epochs and is_due):
            return nullcontext()
        return rounded(network, self.config.rounding, with_states=self.config.rounded_states)

    def _dev_scores(self) -> dict[str, float]:
        is_last = self.progress.epoch == self.config.max_epochs
        is_due = self.progress.epoch >= self.config.evaluate_from
        is_due = is_due and self.progress.epoch % self.config.evaluate_epochs == 0
        if not (is_due or is_last):
            return {}
        return self.task.scores(self.kept_network)


def _drop_overflow(network: nn.Module) -> None:
    """Set gradients to zero if low precision made them infinite or NaN: one such step would destroy all weights.

    This happened with Qwen in four of 472 steps. Checking their norm would block on the GPU at every step.
    """
    for parameter in network.parameters():
        if parameter.grad is not None:
            parameter.grad.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


def check_loss(loss: float, epoch: int) -> None:
    """Raise an error if a loss is not finite."""
    if not math.isfinite(loss):
        raise TrainingError(f"the loss became {loss} in epoch {epoch}; try a lower learning rate")


def _average(network: nn.Module, kept: float) -> AveragedModel | None:
    if not kept:
        return None
    average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(kept))  # type: ignore[no-untyped-call]
    for module in average.modules():
        # A copied LSTM has scattered weights, which a GPU would join again at every call.
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()
    return average


def _n_edus(lessons: list[Lesson[Any]]) -> int:
    return sum(lesson.example.n_edus for lesson in lessons)


def _parameter_groups(network: nn.Module, config: TrainingConfig) -> list[dict[str, Any]]:
    """Give a pretrained encoder its own learning rate, a `share` of that of the other weights."""
    encoder = network.get_submodule("edu_encoder")
    learning = [parameter for parameter in network.parameters() if parameter.requires_grad]
    of_encoder = set(map(id, encoder.encoder.parameters())) if isinstance(encoder, PretrainedEncoder) else set()
    pretrained = [parameter for parameter in learning if id(parameter) in of_encoder]
    others = [parameter for parameter in learning if id(parameter) not in of_encoder]
    share = config.encoder_learning_rate / config.learning_rate
    return [{"params": others, "share": 1.0}, {"params": pretrained, "share": share}]
