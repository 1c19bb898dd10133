"""The configuration that `genrst train` reads from a TOML file: data, model sizes and training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from genrst.chart.config import ChartConfig
from genrst.config import are_seeds, check_ranges, read_tables, resolve
from genrst.errors import ConfigError
from genrst.rnng.config import RnngConfig


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Which documents are used, and what the parser knows about them."""

    path: str = "corpora/gum"
    """A corpus folder, or a folder of files with trees."""
    corpus: str | None = None
    """gum, rstdt, amalgum, … or files (docs/reference/corpora.md); detected from the folder by default."""
    train_split: str = "train"
    dev_split: str = "dev"
    extra: str = ""
    """A file or folder with additional training documents of any genre, or empty."""
    silver: str = ""
    """A folder with an automatically annotated corpus for the first epochs (`training.silver_epochs`), or empty."""
    genres: tuple[str, ...] = ()
    """The genres of training and silver documents; all if empty. Does not affect dev."""
    silver_genres: tuple[str, ...] = ()
    """The genres of silver documents if they differ: licences of a genre may differ between corpora."""
    gum_version: str = "11.1"
    skip_bad: bool = False
    """Leave out files that cannot be read, with a warning."""
    syntax: Literal["spacy", "corpus"] = "spacy"
    """Dependencies from spaCy, as at parsing time, or from the corpus. Entities are always spaCy's. Charts need
    neither: spaCy only finds the sentences of documents without any."""
    pipeline: str | None = None
    """The name of a spaCy pipeline (default: the best one installed)."""
    inventory: str | None = None
    """The coarse relations: gum, rstdt, or open for the labels as they are; detected from the labels by default."""
    vectors: str = "spacy"
    """Initial word vectors: a file, spacy, spacy:NAME, or empty for none."""
    min_count: int = 2
    """Words that occur less often than this in training and silver documents are unknown."""
    lowercase: bool = False


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a parser is trained. Defaults are those of the paper (section 5.3) where it gives them."""

    seeds: tuple[int, ...] = (1,)
    """One run per seed."""
    batch_documents: int = 8
    max_epochs: int = 60
    patience: int = 12
    """Stop after this many epochs without a better dev score; at least `evaluate_epochs`."""
    select: Literal["S", "N", "R", "F", "loss"] = "F"
    """How the best epoch is chosen: by the score of the dev trees, or by the dev loss, which reaches its minimum long
    before the trees are best."""
    learning_rate: float = 1e-3
    encoder_learning_rate: float = 4e-5
    """The learning rate of a pretrained encoder. Schedule and warm-up are those of the rest."""
    start: str = ""
    """The folder of a trained chart to start from; empty to start untrained (chart only). The
    command line sets it by `--from`."""
    frozen_layers: int = 0
    """How many of the encoder's lowest layers are frozen, together with its embeddings. Training is faster and
    takes less memory. Requires `start`."""
    encoder_layers: tuple[int, ...] = ()
    """Which layers of a pretrained encoder are kept, counted from 0; all if empty. Fewer layers are faster."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = 0
    clip: float = 5.0
    """The maximum gradient norm."""
    blank_noise: float = 0.25
    """The share of a document's word types whose embedding is replaced by that of <unk>."""
    piece_noise: float = 0.0
    """The share of a document's word pieces that are masked before the encoder reads them (chart only)."""
    layout_noise: float = 0.0
    """The share of documents that lose their layout in an epoch: paragraphs, or only their kinds (chart only)."""
    punctuation_noise: float = 0.0
    """The share of documents that lose their punctuation in an epoch (chart only)."""
    segment_weight: float = 0.1
    """The weight of the segmentation loss relative to the tree loss. Large values make trees worse (chart with an
    encoder only)."""
    balance: float = 0.0
    """How much rare relations of a class are favoured: 0 not at all, 1 as if all relations were equally frequent
    (chart only)."""
    silver_epochs: int = 0
    """The number of initial epochs that train on silver documents in addition to gold ones."""
    silver_batch_documents: int = 0
    """The batch size in these epochs; 0 means `batch_documents`. Larger batches make better use of a GPU."""
    exploration: float = 0.0
    """The share of gold documents for which the model draws its own actions in an epoch, to learn what would be
    correct after its own mistakes (discriminative only)."""
    averaging: float = 0.0
    """The decay of a moving average of the weights, which is evaluated and saved, such as 0.99; 0 for no average."""
    rounded_epochs: int = 0
    """The number of final epochs with weights rounded as in `rounding`, so that storing them costs little accuracy."""
    rounding: Literal["int8", "int4"] = "int4"
    rounded_states: bool = False
    """Whether these epochs also round the encoder's activations, as parsing on a CPU does."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 is mixed precision on a GPU."""
    checkpoint_epochs: int = 1
    """Epochs between two checkpoints."""
    evaluate_epochs: int = 1
    """Epochs between two evaluations on dev."""
    evaluate_from: int = 1
    """The first epoch at which dev is parsed; patience counts from there."""
    evaluate_search: Literal["bag", "greedy"] | None = None
    """How dev is parsed: bag-level search with word weight 1, or greedy search without words. The default is bag for
    a generative model, because its words matter, and greedy for a discriminative one. Not for charts."""
    evaluate_beam: int = 4
    """The beam size of that bag-level search."""

    def __post_init__(self) -> None:
        checks = {
            "seeds": are_seeds(self.seeds),
            "batch_documents": self.batch_documents > 0,
            "max_epochs": 0 < self.max_epochs <= 10_000,
            "warmup_steps": self.warmup_steps >= 0,
            "learning_rate": 0 < self.learning_rate < 1e30,
            "encoder_learning_rate": 0 <= self.encoder_learning_rate < 1e30,
            "frozen_layers": self.frozen_layers >= 0,
            "encoder_layers": all(layer >= 0 for layer in self.encoder_layers),
            "clip": self.clip > 0,
            "blank_noise": 0 <= self.blank_noise < 1,
            "piece_noise": 0 <= self.piece_noise < 1,
            "layout_noise": 0 <= self.layout_noise <= 1,
            "punctuation_noise": 0 <= self.punctuation_noise <= 1,
            "segment_weight": 0 <= self.segment_weight < 1e6,
            "balance": 0 <= self.balance <= 1,
            "silver_epochs": self.silver_epochs >= 0,
            "silver_batch_documents": self.silver_batch_documents >= 0,
            "exploration": 0 <= self.exploration <= 1,
            "averaging": 0 <= self.averaging < 1,
            "rounded_epochs": self.rounded_epochs >= 0,
            "checkpoint_epochs": self.checkpoint_epochs > 0,
            "evaluate_epochs": self.evaluate_epochs > 0,
            "evaluate_from": self.evaluate_from > 0,
            "evaluate_beam": self.evaluate_beam > 0,
            "patience": self.patience >= min(self.evaluate_epochs, self.max_epochs),
        }
        check_ranges(self, "training", checks)

    def batch_size(self, epoch: int) -> int:
        """Return the number of documents per step in an epoch, counted from 0."""
        is_silver = epoch < self.silver_epochs
        return self.silver_batch_documents or self.batch_documents if is_silver else self.batch_documents

    def judge(self, dev_loss: float, dev_scores: Mapping[str, float]) -> float:
        """Return the score of an epoch, from its dev loss and the dev trees; −inf if dev was not parsed."""
        if not dev_scores:
            return -math.inf
        return -dev_loss if self.select == "loss" else dev_scores[self.select]


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A whole configuration file."""

    data: DataConfig = field(default_factory=DataConfig)
    model: RnngConfig | ChartConfig = field(default_factory=RnngConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if self.training.encoder_layers and self.model.encoder is None:
            raise ConfigError("training.encoder_layers: needs an encoder (model.encoder)")
        if self.training.start and self.model.kind != "chart":
            raise ConfigError(f"training.start: only a chart can start from another model, got {self.model.kind}")
        if self.training.frozen_layers and not self.training.start:
            raise ConfigError("training.frozen_layers: needs a model to start from (training.start)")
        if self.training.exploration and self.model.kind != "discriminative":
            raise ConfigError(f"training.exploration: the model must be discriminative, got {self.model.kind}")
        if self.training.evaluate_search and self.model.kind == "chart":
            raise ConfigError("training.evaluate_search: not available for charts")
        for name in ("piece_noise", "layout_noise", "punctuation_noise"):
            if getattr(self.training, name) and self.model.kind != "chart":
                raise ConfigError(f"training.{name}: only available for charts")


def load_config(path: Path, changes: Sequence[str] = ()) -> RunConfig:
    """Read the configuration of a parser and apply changes to it."""
    return resolve(RunConfig, read_tables(path, changes), path)
