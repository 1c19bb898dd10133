"""The training of the segmenter: the loop, as a generator of records, one an epoch, and the folder of a run.

The loop knows nothing of files. A run takes minutes, so there are no checkpoints.
"""

import copy
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from genrst.errors import ConfigError
from genrst.evaluation.counts import Counts
from genrst.rnng.symbols import UNK_ID
from genrst.segmenter.data import SegmenterExample, SegmenterPrepared
from genrst.segmenter.features import COLUMNS, IntArray
from genrst.segmenter.network import Batch, SegmenterNetwork, WindowedText
from genrst.segmenter.segment import Segmenter, boundary_probabilities, load_segmenter, make_network, save_segmenter
from genrst.segmenter.segmenter_config import SegmenterRunConfig, SegmenterTrainingConfig
from genrst.storage import check_memory
from genrst.training.run import LOG, MODEL, append_to_log, check_vectors, write_config
from genrst.training.trainer import check_loss


@dataclass(frozen=True, slots=True)
class SegmenterRecord:
    """The outcome of an epoch: the loss in nats per token, and the F1 of EDU starts on dev, in percent."""

    epoch: int
    step: int
    train_loss: float
    dev_scores: dict[str, float]
    """With the corpus' sentences, from raw text, and the mean of the two, by which the best epoch is chosen."""
    learning_rate: float
    seconds: float
    is_best: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """Documents on a device, and the target of each token: the probability that it starts an EDU."""

    text: WindowedText
    targets: Tensor


class SegmenterTrainer:
    """A network in training; `averaged` is the one to keep: the running mean of its weights."""

    def __init__(
        self,
        network: SegmenterNetwork,
        prepared: SegmenterPrepared,
        config: SegmenterTrainingConfig,
        seed: int,
        teachers: Sequence[Segmenter] = (),
    ) -> None:
        self.network = network
        self._device = next(network.parameters()).device
        # Moving a copied LSTM, even to where it is, puts its weights in one piece, as cuDNN wants them.
        self.averaged = copy.deepcopy(network).to(self._device).eval()
        self.config = config
        self.seed = seed
        self.epoch = self.step = 0
        self.best_score = -math.inf
        self._dev = {"sentences": prepared.sets["dev"], "raw": prepared.sets["dev_raw"]}
        self._gold = self._labelled(prepared.sets["train"] + prepared.sets["train_raw"])
        self._n_silver_epochs = config.silver_epochs if prepared.sets["silver"] else 0
        self._silver = self._labelled(prepared.sets["silver"], teachers) if self._n_silver_epochs else None
        self._n_steps = sum(len(self._batches(epoch)) for epoch in range(self._n_epochs))
        self.optimizer = torch.optim.AdamW(
            network.parameters(), config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay
        )

    def epochs(self) -> Iterator[SegmenterRecord]:
        """Train to the last epoch."""
        while self.epoch < self._n_epochs:
            yield self._epoch()

    @property
    def _n_epochs(self) -> int:
        return self._n_silver_epochs + self.config.epochs

    def _labelled(self, examples: Sequence[SegmenterExample], teachers: Sequence[Segmenter] = ()) -> _Labelled:
        tokens = [example.tokens for example in examples]
        text = WindowedText(tokens, self.network.config.window, self._device)
        found = [
            boundary_probabilities(teacher.network, WindowedText(tokens, teacher.network.config.window, self._device))
            for teacher in teachers
        ]
        targets = np.mean(found, axis=0) if found else np.concatenate([example.starts_edu for example in examples])
        return _Labelled(text, torch.from_numpy(targets.astype(np.float32)).to(self._device))

    def _epoch(self) -> SegmenterRecord:
        started = time.perf_counter()
        self.network.train()
        losses = [self._train_on(*batch) for batch in self._batches(self.epoch)]
        self.epoch += 1
        train_loss = float(torch.stack(losses).mean())
        check_loss(train_loss, self.epoch)
        scores = self._scores()
        is_best = scores["mean"] > self.best_score
        self.best_score = max(self.best_score, scores["mean"])
        seconds = time.perf_counter() - started
        return SegmenterRecord(self.epoch, self.step, train_loss, scores, self._learning_rate(), seconds, is_best)

    def _batches(self, epoch: int) -> list[tuple[_Labelled, IntArray]]:
        """The windows of an epoch, silver ones in the first, in an order that depends on seed and epoch alone."""
        rng = np.random.default_rng([abs(self.seed), epoch])
        sources = [self._gold]
        if self._silver is not None and epoch < self._n_silver_epochs:
            sources.append(self._silver)
        size = self.config.batch_windows
        found = []
        for source in sources:
            windows = rng.permutation(source.text.windows)
            found += [(source, windows[first : first + size]) for first in range(0, len(windows), size)]
        return [found[number] for number in rng.permutation(len(found))]

    def _train_on(self, source: _Labelled, windows: IntArray) -> Tensor:
        """One step; returns the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        batch = source.text.batch(windows)
        logits = self.network(self._with_unknowns(batch))
        loss = binary_cross_entropy_with_logits(logits, source.targets[batch.places])
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()
        self.step += 1
        self._average()
        return loss.detach()

    def _with_unknowns(self, batch: Batch) -> Batch:
        """Some symbols become `<unk>`, as those of other texts and pipelines will."""
        shares = torch.full(batch.symbols.shape[-1:], self.config.symbol_dropout, device=self._device)
        shares[COLUMNS.index("word")] = self.config.word_dropout
        is_unknown = torch.rand(batch.symbols.shape, device=self._device) < shares
        return replace(batch, symbols=batch.symbols.masked_fill(is_unknown, UNK_ID))

    def _average(self) -> None:
        """Follow the weights, at first closely."""
        kept = min(self.config.averaging, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, weight in zip(self.averaged.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(weight, 1 - kept)

    def _learning_rate(self) -> float:
        warmup = min(1.0, (self.step + 1) / (self.config.warmup_steps + 1))
        return self.config.learning_rate * warmup * (1 + math.cos(math.pi * self.step / self._n_steps)) / 2

    def _scores(self) -> dict[str, float]:
        scores = {name: 100 * count_starts(self.averaged, examples).f1 for name, examples in self._dev.items()}
        return scores | {"mean": sum(scores.values()) / len(scores)}


def count_starts(network: SegmenterNetwork, examples: Sequence[SegmenterExample]) -> Counts:
    """How many EDU starts are found, those of documents and sentences among them, as in the DISRPT shared tasks."""
    device = next(network.parameters()).device
    text = WindowedText([one.tokens for one in examples], network.config.window, device)
    found = boundary_probabilities(network, text) > 0.5
    found |= np.concatenate([one.tokens.starts_sentence for one in examples])
    gold = np.concatenate([one.starts_edu for one in examples])
    return Counts(int((found & gold).sum()), sum(one.n_edus for one in examples), int(found.sum()))


@dataclass(frozen=True, slots=True)
class SegmenterRun:
    """One seed of a configuration, in a folder of its own."""

    config: SegmenterRunConfig
    seed: int
    folder: Path
    device: torch.device

    @property
    def exists(self) -> bool:
        """Whether an earlier run left its log here."""
        return (self.folder / LOG).exists()

    def records(self, prepared: SegmenterPrepared) -> Iterator[SegmenterRecord]:
        """Train, and write what happens."""
        network, teachers = self._network(prepared), self._teachers(prepared)
        trainer = SegmenterTrainer(network, prepared, self.config.training, self.seed, teachers)
        write_config(self.config, self.folder)
        for record in trainer.epochs():
            if record.is_best:
                save_segmenter(Segmenter(trainer.averaged, prepared.symbols), self.folder / MODEL)
            append_to_log(record, self.folder)
            yield record

    def _network(self, prepared: SegmenterPrepared) -> SegmenterNetwork:
        with torch.device("meta"):
            # The weights, their gradients, Adam's two moments and the average.
            check_memory(make_network(self.config.segmenter, prepared.symbols), "segmenter", n_copies=5)
        torch.manual_seed(self.seed)
        network = make_network(self.config.segmenter, prepared.symbols)
        if prepared.vectors is not None:
            _set_vectors(network, prepared.vectors)
        return network.to(self.device)

    def _teachers(self, prepared: SegmenterPrepared) -> list[Segmenter]:
        teachers = []
        for folder in self.config.training.teachers:
            teachers.append(load_segmenter(Path(folder), self.device))
            if teachers[-1].symbols != prepared.symbols:
                raise ConfigError(f"training.teachers: {folder} must have the symbols of the prepared features")
        return teachers


def _set_vectors(network: SegmenterNetwork, prepared: NDArray[np.float32]) -> None:
    """Start words from the first components of their vectors; those without one keep their random start."""
    weight = network.words.weight
    vectors, is_known = check_vectors(prepared, weight, "segmenter.word_size")
    with torch.no_grad():
        weight[is_known] = vectors[is_known, : weight.shape[1]]
