"""A run of the segmenter and its folder: the resolved configuration, the log, the best model."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from genrst.corpora.files import write_atomically
from genrst.errors import ConfigError
from genrst.text.segmenter.network import SegmenterNetwork
from genrst.text.segmenter.segment import Segmenter
from genrst.text.segmenter.store import load_segmenter, make_network, save_segmenter
from genrst.training.config import to_toml
from genrst.training.run import CONFIG, LOG, MODEL
from genrst.training.segmenter.config import SegmenterRunConfig
from genrst.training.segmenter.prepared import SegmenterPrepared
from genrst.training.segmenter.trainer import SegmenterRecord, SegmenterTrainer


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
        write_atomically(self.folder / CONFIG, to_toml(dataclasses.asdict(self.config)))
        for record in trainer.epochs():
            if record.is_best:
                save_segmenter(Segmenter(trainer.averaged, prepared.symbols), self.folder / MODEL)
            with (self.folder / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps(dataclasses.asdict(record)) + "\n")
            yield record

    def _network(self, prepared: SegmenterPrepared) -> SegmenterNetwork:
        torch.manual_seed(self.seed)
        network = make_network(self.config.segmenter, prepared.symbols)
        if prepared.vectors is not None and self.config.training.use_vectors:
            _set_vectors(network, torch.from_numpy(prepared.vectors))
        return network.to(self.device)

    def _teachers(self, prepared: SegmenterPrepared) -> list[Segmenter]:
        teachers = []
        for folder in self.config.training.teachers:
            teachers.append(load_segmenter(Path(folder), self.device))
            if teachers[-1].symbols != prepared.symbols:
                raise ConfigError(f"training.teachers: {folder} must have the symbols of the prepared features")
        return teachers


def _set_vectors(network: SegmenterNetwork, vectors: torch.Tensor) -> None:
    """Start words from the first components of their vectors; those without one keep their random start."""
    weight = network.words.weight
    size = weight.shape[1]
    if vectors.shape[1] < size:
        raise ConfigError(f"segmenter.word_size: the prepared vectors have {vectors.shape[1]} components, was: {size}")
    is_known = vectors.any(dim=1)
    with torch.no_grad():
        weight[is_known] = vectors[is_known, :size]
