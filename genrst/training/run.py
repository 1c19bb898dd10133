"""A run and its folder: the resolved configuration, the log, the checkpoint, the best model and the learning curve.

`genrst.training.trainer` has the training loop, and `genrst.cli.verbs.train` prints its progress.
"""

import dataclasses
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import pad

from genrst.config import to_toml
from genrst.encoder.files import blank_encoder, keep_layers, load_encoder, make_encoder
from genrst.encoder.memory import check_memory
from genrst.encoder.model import Model, save_model, wrap_encoder
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import ConfigError, CorpusFormatError, MissingDependencyError
from genrst.io import write_atomically, write_atomically_with
from genrst.storage import CARD, ENCODER, PARSER
from genrst.training.card import make_card
from genrst.training.checkpoint import load_checkpoint, previous_checkpoint, save_checkpoint
from genrst.training.distributed import ALONE, Processes
from genrst.training.kinds import kind_of
from genrst.training.prepared import Prepared
from genrst.training.run_config import RunConfig
from genrst.training.tasks import make_network, make_task, start_from
from genrst.training.trainer import Record, Trainer

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

CHECKPOINT, LOG, MODEL, CONFIG = "checkpoint.safetensors", "log.jsonl", "model", "config.toml"
CURVE = "curve.svg"
_KINDS = {"chart": "a chart", "rnng": "a transition-based model"}


@dataclass(frozen=True, slots=True)
class Run:
    """One seed of a configuration, in its own folder."""

    config: RunConfig
    seed: int
    folder: Path
    device: torch.device
    processes: Processes = ALONE

    def find_checkpoint(self) -> Path | None:
        """The checkpoint left by an earlier start of this run, if any."""
        path = self.folder / CHECKPOINT
        return path if path.is_file() or previous_checkpoint(path).is_file() else None

    def records(self, prepared: Prepared, resume: Path | None = None) -> Iterator[Record]:
        """Train, from a checkpoint if given, and write the log and the results."""
        network = self._network(prepared)
        task = make_task(prepared, network, self.config.training, self.seed)
        trainer = Trainer(network, task, self.config.training, self.seed, self.processes)
        if resume is not None:
            load_checkpoint(trainer, resume)
        if not self.processes.is_first:
            yield from trainer.epochs()
            return
        self._start_files(trainer.progress.epoch)
        with _tensorboard(self.folder, trainer.progress.epoch) as show:
            for record in trainer.epochs():
                self._write(record, trainer, prepared)
                show(record)
                yield record

    def _network(self, prepared: Prepared) -> nn.Module:
        with torch.device("meta"):
            # The weights, their gradients and Adam's two moments.
            check_memory(self._make_network(prepared, blank_encoder), "model", n_copies=4)
        torch.manual_seed(self.seed)
        network: Any = self._make_network(prepared, load_encoder)
        if prepared.vectors is not None:
            _set_vectors(network.embeddings.weight, prepared.vectors)
        if self.config.training.start:
            start_from(network, self.config.training)
        moved: nn.Module = network.to(self.device)
        return moved

    def _make_network(self, prepared: Prepared, load: Callable[[str, PieceTokenizer], nn.Module]) -> nn.Module:
        """Return an untrained network, with an encoder loaded by `load`."""
        config, pretrained = self.config.model, None
        if kind_of(config) != prepared.kind:
            raise ConfigError(
                f"features must be prepared for {_KINDS[kind_of(config)]}, but were prepared for another model"
            )
        if (tokenizer := self._tokenizer(prepared)) is not None and config.encoder is not None:
            if start := self.config.training.start:
                # The start model has all weights, so the pretrained encoder's are not needed.
                encoder = make_encoder(Path(start) / ENCODER, tokenizer)
            else:
                encoder = load(config.encoder, tokenizer)
            keep_layers(encoder, self.config.training.encoder_layers)
            pretrained = wrap_encoder(config, encoder, tokenizer)
        return make_network(config, prepared.symbols, pretrained)

    def _tokenizer(self, prepared: Prepared) -> PieceTokenizer | None:
        if self.config.model.encoder is None:
            return None
        if prepared.tokenizer is None:
            raise ConfigError(
                "model.encoder: the features were prepared without an encoder; prepare them again with one"
            )
        return PieceTokenizer(prepared.tokenizer)

    def _start_files(self, n_epochs: int) -> None:
        """Write the configuration, and cut an earlier log to the epochs in the checkpoint.

        Temporary files left by a killed run are deleted.
        """
        for unfinished in self.folder.rglob(".*.safetensors.*"):
            unfinished.unlink()
        write_config(self.config, self.folder)
        kept = [record for record in read_log(self.folder / LOG) if record.epoch <= n_epochs]
        write_atomically(self.folder / LOG, "".join(map(_as_line, kept)))

    def _write(self, record: Record, trainer: Trainer, prepared: Prepared) -> None:
        append_to_log(record, self.folder)
        if record.is_best:
            self._write_model(record, trainer, prepared)
        if record.epoch % self.config.training.checkpoint_epochs == 0 or trainer.is_finished:
            save_checkpoint(trainer, self.folder / CHECKPOINT)

    def _write_model(self, record: Record, trainer: Trainer, prepared: Prepared) -> None:
        folder, data = self.folder / MODEL, self.config.data
        settings = {"lowercase": data.lowercase, "pipeline": data.pipeline}
        write_atomically(folder / PARSER, json.dumps(settings) + "\n")
        write_atomically(folder / CARD, make_card(self.config, self.seed, record, prepared.notes))
        save_model(Model(trainer.kept_network, prepared.symbols, self._tokenizer(prepared)), folder)


def _set_vectors(weight: Tensor, prepared: NDArray[np.float32]) -> None:
    """Initialise embeddings from word vectors; words without one keep their random values, at the same scale.

    Vectors wider than the embeddings are projected to their principal axes. There are no more axes than known words;
    the remaining dimensions are 0.
    """
    vectors = torch.from_numpy(prepared)
    if len(vectors) != len(weight) or vectors.shape[1] < weight.shape[1]:
        rule = f"model.word_size must be at most the width of the vectors, {vectors.shape[1]}"
        raise ConfigError(f"{rule}, got {weight.shape[1]}")
    is_known = vectors.any(dim=1)
    if vectors.shape[1] > weight.shape[1]:
        _, _, axes = torch.linalg.svd(vectors[is_known], full_matrices=False)
        projected = vectors @ axes[: weight.shape[1]].T
        vectors = pad(projected, (0, weight.shape[1] - projected.shape[1]))
    with torch.no_grad():
        if is_known.any():
            weight.mul_(vectors[is_known].std() / weight.std())
        weight[is_known] = vectors[is_known]


def write_config(config: Any, folder: Path) -> None:  # noqa: ANN401
    """Write the resolved configuration of a run, a dataclass of tables."""
    write_atomically(folder / CONFIG, config_text(config))


def config_text(config: Any) -> str:  # noqa: ANN401
    """Return the resolved configuration of a run as TOML."""
    return to_toml(dataclasses.asdict(config))


def append_to_log(record: Any, folder: Path) -> None:  # noqa: ANN401
    """Write the record of an epoch, a dataclass, as a line of JSON."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(_as_line(record))


def _as_line(record: Any) -> str:  # noqa: ANN401
    return json.dumps(dataclasses.asdict(record)) + "\n"


def read_log(path: Path) -> list[Record]:
    """Read the records of a run so far; a line cut off by a crash is ignored."""
    if not path.is_file():
        return []
    *lines, _cut_off = path.read_bytes().split(b"\n")
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(Record(**json.loads(line)))
        except (TypeError, ValueError) as error:
            raise CorpusFormatError(f"a line is not the record of an epoch: {error}", path, number) from error
    return records


@contextmanager
def _tensorboard(folder: Path, n_epochs: int) -> Iterator[Callable[[Record], None]]:
    """Return a function that sends a record to TensorBoard; it does nothing if TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        yield lambda record: None
        return
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder / "tensorboard"), purge_step=n_epochs + 1) as writer:
        yield lambda record: _show(record, writer)


def _show(record: Record, writer: "SummaryWriter") -> None:
    values = {"train loss": record.train_loss, "dev loss": record.dev_loss, "dev perplexity": record.dev_perplexity}
    values |= {f"dev {aspect}": score for aspect, score in record.dev_scores.items()}
    for name, value in values.items():
        if value is not None:
            writer.add_scalar(name, value, record.epoch)


def plot_curves(runs: Mapping[str, Sequence[Record]], path: Path) -> None:
    """Draw all runs in two panels; the suffix of the path sets the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("pictures need matplotlib: pip install 'genrst[plot]'") from error
    figure = Figure(figsize=(10, 4), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    for name, records in runs.items():
        epochs = [record.epoch for record in records]
        (line,) = losses.plot(epochs, [record.train_loss for record in records], linestyle="--")
        losses.plot(epochs, [record.dev_loss for record in records], color=line.get_color(), label=name)
        parsed = [record for record in records if record.dev_scores]
        for aspect, style in (("S", ":"), ("F", "-")):
            scores.plot(
                [record.epoch for record in parsed],
                [record.dev_scores[aspect] for record in parsed],
                style,
                color=line.get_color(),
                label=f"{name} {aspect}",
            )
    losses.set(xlabel="epoch", ylabel="nats per EDU", title="loss: train (dashed), dev")
    scores.set(xlabel="epoch", ylabel="Parseval F1", title="dev")
    for axes in (losses, scores):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    write_atomically_with(path, lambda file: figure.savefig(file, format=path.suffix[1:].lower()))
