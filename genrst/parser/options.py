"""Parser options: the settings in a model folder, and the options by which users override them."""

import math
from dataclasses import asdict, dataclass, fields

from genrst.chart.calibration import Calibration
from genrst.config import from_mapping
from genrst.errors import ConfigError, UsageError
from genrst.parser import SEARCHES, EncoderPrecision, ModelKind, Relations, Search
from genrst.trees.constraints import KeepWhole


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """The settings of a parser: the file `parser.json`. None means the default of the kind of model."""

    name: str | None = None
    """The name that parsed documents record as their model (default: the name of the folder)."""
    search: Search | None = None
    """The search. For charts: mbr (minimum Bayes risk, the highest expected number of correct units) or best (the most
    probable tree); default: mbr. For step-by-step models: bag, word, action or greedy; default: bag."""
    beam: int = 10
    word_weight: float = 0.5
    """The weight of words when hypotheses are compared; 1 gives the joint probability."""
    lowercase: bool = False
    """Whether words are lower-cased, as in training."""
    pipeline: str | None = None
    """The name of a spaCy pipeline (default: the best one installed). Charts do not need one."""
    segmenter: str = "en"
    """The chart that segments for a model that cannot: an installed model, or a folder relative to this one."""
    encoder_precision: EncoderPrecision = "auto"
    """The precision of a pretrained encoder; `auto` is int8 for a chart on a CPU, and float32 otherwise."""
    encoder_overlap: float | None = None
    """The share of a window that overlaps the previous one (default: as in training). Less is faster."""
    keep_whole: KeepWhole | None = None
    """Text units that trees must not split: sentences, paragraphs and sentences, or nothing. Charts: sentences."""
    relations: Relations = "fine"
    """Whether a chart outputs the fine relations of its corpus, if it has learned them."""
    temperature: float = 1.0
    """The temperature of a chart's scores; above 1, probabilities are less extreme."""
    calibration: Calibration | None = None
    """The calibration of a chart's probabilities."""

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
    """The options given when a parser is loaded. None means the setting in the model folder."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `mps`."""
    pipeline: str | None = None
    search: Search | None = None
    beam: int | None = None
    word_weight: float | None = None
    max_stack: int | None = 40
    """The largest stack that a step-by-step search allows, except for word-level search; None: no limit."""
    keep_whole: KeepWhole | None = None
    relations: Relations | None = None
    signals: bool = False
    """Whether to find signals and secondary edges."""

    def without_effect(self, kind: ModelKind) -> list[str]:
        """Return the given options that have no effect on this kind of model."""
        others = ("pipeline", "beam", "word_weight") if kind == "chart" else ("relations",)
        return [name for name in others if getattr(self, name) is not None]

    def apply(self, config: ParserConfig, kind: ModelKind) -> ParserConfig:
        """Return the settings of a model of this kind, overridden by these options."""
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
