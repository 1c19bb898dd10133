"""What `genrst train` reads from the TOML file of a parser: documents, the sizes of the model, how it is trained."""

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
    """Which documents, and what a parser knows about them."""

    path: str = "corpora/gum"
    """The folder of a corpus, or of files with trees."""
    corpus: str | None = None
    """gum, rstdt, amalgum, … or files (docs/reference/corpora.md); recognised by the folder if not given."""
    train_split: str = "train"
    dev_split: str = "dev"
    extra: str = ""
    """A file or folder of more training documents, of any genre, or empty."""
    silver: str = ""
    """The folder of a corpus with automatic annotation for the first epochs (`training.silver_epochs`), or empty."""
    genres: tuple[str, ...] = ()
    """The genres of training and silver documents, all if empty; dev stays whole."""
    silver_genres: tuple[str, ...] = ()
    """The genres of silver documents if they are others: a genre's texts may have another licence there."""
    gum_version: str = "11.1"
    skip_bad: bool = False
    """Leave out files that cannot be read, with a warning."""
    syntax: Literal["spacy", "corpus"] = "spacy"
    """Dependencies by spaCy, as users will have them, or the corpus' own. Entities are always spaCy's. Charts need
    neither: spaCy only finds the sentences of documents without any."""
    pipeline: str | None = None
    """A spaCy pipeline by name; the best one installed if not given."""
    inventory: str | None = None
    """Whose coarse relations: gum, rstdt, or open for the relations as they are; recognised by name if not given."""
    vectors: str = "spacy"
    """Word vectors to start from: a file, spacy, spacy:NAME, or empty for none."""
    min_count: int = 2
    """Words seen less often in training and silver documents are unknown."""
    lowercase: bool = False


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a parser is trained; the defaults are the paper's where it gives them (section 5.3)."""

    seeds: tuple[int, ...] = (1,)
    """A run for each."""
    batch_documents: int = 8
    max_epochs: int = 60
    patience: int = 12
    """Stop after this many epochs without a better score on dev; at least `evaluate_epochs`."""
    select: Literal["S", "N", "R", "F", "loss"] = "F"
    """How the best epoch is chosen: by a score of the trees found for dev, or by the loss on dev, which is lowest long
    before trees are best."""
    learning_rate: float = 1e-3
    encoder_learning_rate: float = 4e-5
    """The learning rate of a pretrained encoder; schedule and warm-up are the same."""
    start: str = ""
    """The folder of a trained chart whose weights this one starts from; empty for an untrained one (chart only). The
    command line sets it by `--from`."""
    frozen_layers: int = 0
    """How many of the encoder's lowest layers keep their weights, together with its embeddings: training is faster and
    takes less memory. Only for a model with a start."""
    encoder_layers: tuple[int, ...] = ()
    """Which layers of a pretrained encoder are kept, counted from 0; all if empty. Fewer are faster."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = 0
    clip: float = 5.0
    """The largest norm of a gradient."""
    blank_noise: float = 0.25
    """Share of the word types of a document whose embeddings are replaced by that of <unk>."""
    piece_noise: float = 0.0
    """Share of the word pieces of a document that are masked before a pretrained encoder reads them (chart only)."""
    layout_noise: float = 0.0
    """Share of the documents that lose their layout in an epoch: paragraphs, or only their kinds (chart only)."""
    punctuation_noise: float = 0.0
    """Share of the documents that lose their punctuation in an epoch (chart only)."""
    segment_weight: float = 0.1
    """The weight of finding EDUs and sentences beside that of trees, which it harms if it is large (chart with an
    encoder only)."""
    balance: float = 0.0
    """How much rarer relations of a class are favoured over frequent ones: 0 not at all, 1 as if all were as frequent
    (chart only)."""
    silver_epochs: int = 0
    """How many epochs, from the first on, train on silver documents besides the gold ones."""
    silver_batch_documents: int = 0
    """The size of batches in these epochs; `batch_documents` if 0. Larger ones make better use of a GPU."""
    exploration: float = 0.0
    """Share of the gold documents whose actions the model draws itself in an epoch, to learn what would have been
    correct after its own mistakes (discriminative only)."""
    averaging: float = 0.0
    """Decay of a moving average of all weights, which is then evaluated and saved, such as 0.99; 0: no average."""
    rounded_epochs: int = 0
    """How many epochs, the last ones, see weights rounded as `rounding` says, so that they stand being stored so."""
    rounding: Literal["int8", "int4"] = "int4"
    rounded_states: bool = False
    """Whether these epochs also round what a pretrained encoder multiplies, as parsing on a CPU does."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16: mixed precision, on a GPU."""
    checkpoint_epochs: int = 1
    """Epochs between two checkpoints."""
    evaluate_epochs: int = 1
    """Epochs between two evaluations on dev."""
    evaluate_from: int = 1
    """The first epoch at which dev is parsed; patience counts from there."""
    evaluate_search: Literal["bag", "greedy"] | None = None
    """How dev is parsed: bag-level search with words of weight 1, or greedy search without words. By default bag for a
    generative model, which is judged by its words, too, and greedy for a discriminative one. Not for charts."""
    evaluate_beam: int = 4
    """Of that bag-level search."""

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
        """How many documents a step of an epoch has; the first is epoch 0."""
        is_silver = epoch < self.silver_epochs
        return self.silver_batch_documents or self.batch_documents if is_silver else self.batch_documents

    def judge(self, dev_loss: float, dev_scores: Mapping[str, float]) -> float:
        """How good an epoch is, by its loss on dev and by the scores of dev's trees; −inf if dev was not parsed."""
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
            raise ConfigError("training.encoder_layers: there must be an encoder to cut (model.encoder), got none")
        if self.training.start and self.model.kind != "chart":
            raise ConfigError(f"training.start: only a chart can start from another model, got {self.model.kind}")
        if self.training.frozen_layers and not self.training.start:
            raise ConfigError("training.frozen_layers: needs a model to start from (training.start)")
        if self.training.exploration and self.model.kind != "discriminative":
            raise ConfigError(f"training.exploration: the model must be discriminative, got {self.model.kind}")
        if self.training.evaluate_search and self.model.kind == "chart":
            raise ConfigError("training.evaluate_search: the model must be no chart, got chart")
        for name in ("piece_noise", "layout_noise", "punctuation_noise"):
            if getattr(self.training, name) and self.model.kind != "chart":
                raise ConfigError(f"training.{name}: the model must be a chart, got another")


def load_config(path: Path, changes: Sequence[str] = ()) -> RunConfig:
    """Read the configuration of a parser and apply changes to it."""
    return resolve(RunConfig, read_tables(path, changes), path)
