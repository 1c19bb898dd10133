"""How a parser is loaded, and how it parses: the settings of a model's folder, and what a user changes of them."""

import math
from dataclasses import asdict, dataclass, fields

from genrst.chart.calibration import Calibration
from genrst.config import from_mapping
from genrst.errors import ConfigError, UsageError
from genrst.parser import SEARCHES, EncoderPrecision, ModelKind, Relations, Search
from genrst.trees.constraints import KeepWhole


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """How a parser works; the file `parser.json`. What is None is as the kind of model wants it."""

    name: str | None = None
    """What parsed documents say about their origin; the name of the folder if not given."""
    search: Search | None = None
    """How trees are found. In a chart: mbr, the tree whose units are expected to be right most often (minimum Bayes
    risk), or best, the most probable tree (default: mbr). Step by step: bag, word, action or greedy (default: bag)."""
    beam: int = 10
    word_weight: float = 0.5
    """The weight of words in comparisons; 1 is the joint probability."""
    lowercase: bool = False
    """Whether words are lower-cased, as in training."""
    pipeline: str | None = None
    """A spaCy pipeline by name; the best one installed if not given. Charts need none."""
    segmenter: str = "en"
    """The chart that finds EDUs for a model that does not: installed, or a folder relative to this one."""
    encoder_precision: EncoderPrecision = "auto"
    """Of a pretrained encoder; if `auto`, int8 for a chart on a CPU, and float32 elsewhere."""
    encoder_overlap: float | None = None
    """The share of a window that is also in the one before it; as in training if not given. Less is faster."""
    keep_whole: KeepWhole | None = None
    """What trees do not cut: sentences, paragraphs and sentences, or nothing (default: sentences in a chart)."""
    relations: Relations = "fine"
    """Whether a chart names relations as finely as its corpus does, if it has learned that."""
    temperature: float = 1.0
    """Of a chart's scores; above 1, probabilities are less sure."""
    calibration: Calibration | None = None
    """How a chart's probabilities are corrected, so that they are right on average."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ConfigError(f"temperature: the value must be a number above 0, got {self.temperature}")
        if self.beam < 1:
            raise ConfigError(f"beam: the value must be 1 or more, got {self.beam}")
        if not (math.isfinite(self.word_weight) and self.word_weight >= 0):
            raise ConfigError(f"word_weight: the value must be finite and 0 or more, got {self.word_weight}")
        if not 0 <= (self.encoder_overlap or 0) < 1:
            raise ConfigError(
                f"encoder_overlap: the value must be 0 or more and less than 1, got {self.encoder_overlap}"
            )


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What a user says when a parser is loaded. What is None is as the model's folder says."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `mps`."""
    pipeline: str | None = None
    search: Search | None = None
    beam: int | None = None
    word_weight: float | None = None
    max_stack: int | None = 40
    """The largest stack that a step-by-step search follows, unless it is word-level; None: without a bound."""
    keep_whole: KeepWhole | None = None
    relations: Relations | None = None
    signals: bool = False
    """Whether trees get signals and secondary edges."""

    def without_effect(self, kind: ModelKind) -> list[str]:
        """The options given that a model of some kind does not look at."""
        others = ("pipeline", "beam", "word_weight") if kind == "chart" else ("relations",)
        return [name for name in others if getattr(self, name) is not None]

    def apply(self, config: ParserConfig, kind: ModelKind) -> ParserConfig:
        """The settings of a model of some kind, with these changes."""
        changes = {field.name: getattr(self, field.name) for field in fields(self) if hasattr(config, field.name)}
        try:
            given = {name: value for name, value in changes.items() if value is not None}
            config = from_mapping(ParserConfig, asdict(config) | given)
        except ConfigError as error:
            raise UsageError(str(error)) from error
        if config.search not in SEARCHES[kind]:
            known = ", ".join(SEARCHES[kind])
            raise UsageError(f"the search of {config.name} must be one of {known}, got {config.search}")
        return config
