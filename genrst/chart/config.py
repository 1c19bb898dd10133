"""The sizes of a chart's network: the `[model]` table of a configuration, and the `config.json` of a model."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from genrst.config import check_ranges, check_sizes
from genrst.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ChartConfig:
    """A chart over all trees (not in the paper)."""

    kind: Literal["chart"] = "chart"
    edu_size: int = 256
    """Half the width of the vector of an EDU."""
    encoder: str = ""
    """A pretrained encoder: a name on Hugging Face, which may end with @ and a commit, or a folder."""
    encoder_window: int = 512
    """The maximum number of word pieces in a window of the encoder, limited by its number of positions."""
    encoder_overlap: float = 0.5
    """The fraction of a window that overlaps the previous one."""
    span_size: int = 512
    """Width of the vector of a span."""
    span_heads: int = 8
    """Number of weighted means over the EDUs of a span, each over its own part of the vector."""
    split_size: int = 128
    """Width of the product of the left and the right span."""
    label_size: int = 256
    """Width of the hidden layer of labels."""
    segment_size: int = 256
    """Width of the hidden layer that finds EDUs and sentences."""
    dropout: float = 0.3
    """Fraction of EDU vectors, span vectors and the hidden layer of labels that is dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(dataclasses.asdict(self), "model")
        # A window must have room for special tokens and some text.
        check_ranges(self, "model", {"encoder_window": self.encoder_window >= 8})
        if not self.encoder:
            raise ConfigError("model.encoder: a chart needs a pretrained encoder, a name or a folder")
        if self.span_size % self.span_heads:
            raise ConfigError(f"model.span_heads: must divide span_size ({self.span_size}), got {self.span_heads}")
