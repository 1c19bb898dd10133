"""What `genrst train` reads from the TOML file of a segmenter: one with a table `[segmenter]`, its sizes."""

from dataclasses import asdict, dataclass, field

from genrst.config import are_seeds, check_ranges, check_sizes
from genrst.segmenter.network import SegmenterConfig
from genrst.training.run_config import CorpusConfig


@dataclass(frozen=True, slots=True)
class SegmenterDataConfig(CorpusConfig):
    """Which documents, and what is counted in them."""

    pipeline: str | None = None
    """A spaCy pipeline by name; the best one installed if not given."""
    vectors: str = "spacy"
    """Word vectors to start from: a file, spacy, spacy:NAME, or empty for none."""
    vector_size: int = 96
    """How many principal components of the vectors are kept."""
    max_words: int = 12_000
    max_affixes: int = 3_000
    min_count: int = 3
    """Symbols seen less often in training are unknown."""

    def __post_init__(self) -> None:
        check_sizes(asdict(self), "data")


@dataclass(frozen=True, slots=True)
class SegmenterTrainingConfig:
    """How a segmenter is trained: some epochs on silver and gold together, then on gold alone."""

    seeds: tuple[int, ...] = (1,)
    """A run for each."""
    silver_epochs: int = 2
    """Epochs with silver documents, if there are any."""
    epochs: int = 12
    """Epochs without them."""
    teachers: tuple[str, ...] = ()
    """Folders of segmenters with the same symbols, whose mean prediction replaces the EDUs of silver documents."""
    batch_windows: int = 64
    learning_rate: float = 2e-3
    """The highest: the rate rises for `warmup_steps` and falls as a cosine."""
    warmup_steps: int = 100
    weight_decay: float = 0.01
    clip: float = 2.0
    """The largest norm of a gradient."""
    word_dropout: float = 0.1
    """Share of words that are replaced by `<unk>`."""
    symbol_dropout: float = 0.03
    """Share of all other symbols that are replaced by `<unk>`."""
    averaging: float = 0.995
    """Decay of the moving average of all weights, which is evaluated and saved."""

    def __post_init__(self) -> None:
        checks = {
            "seeds": are_seeds(self.seeds),
            "silver_epochs": 0 <= self.silver_epochs <= 10_000,
            "epochs": 0 <= self.epochs <= 10_000 and self.epochs + self.silver_epochs > 0,
            "batch_windows": self.batch_windows > 0,
            "learning_rate": 0 < self.learning_rate < 1e30,
            "warmup_steps": self.warmup_steps >= 0,
            "weight_decay": 0 <= self.weight_decay < 1,
            "clip": self.clip > 0,
            "word_dropout": 0 <= self.word_dropout < 1,
            "symbol_dropout": 0 <= self.symbol_dropout < 1,
            "averaging": 0 <= self.averaging < 1,
        }
        check_ranges(self, "training", checks)


@dataclass(frozen=True, slots=True)
class SegmenterRunConfig:
    """A whole configuration file."""

    data: SegmenterDataConfig = field(default_factory=SegmenterDataConfig)
    segmenter: SegmenterConfig = field(default_factory=SegmenterConfig)
    training: SegmenterTrainingConfig = field(default_factory=SegmenterTrainingConfig)
