"""The sizes of a segmenter."""

from dataclasses import asdict, dataclass

from genrst.model.config import check_sizes


@dataclass(frozen=True, slots=True)
class SegmenterConfig:
    """A BiLSTM over the tokens of a few sentences."""

    word_size: int = 64
    """Width of word embeddings."""
    affix_size: int = 16
    """Width of the embeddings of the first and of the last letters of a word."""
    shape_size: int = 8
    """Width of the embeddings of a word's shape, the gap before it, its paragraph's kind, and of each distance."""
    syntax_size: int = 24
    """Width of the embeddings of tags and of dependency relations."""
    pointer_size: int = 48
    """Width of what is seen of a token's head, and of the subtrees that start or end with it."""
    hidden_size: int = 224
    """Width of each direction of the BiLSTM, and of the layer above it."""
    layers: int = 2
    pointed_layers: int = 2
    """How many of them, from below, see what a token points to."""
    dropout: float = 0.4
    window: int = 128
    """The most tokens that are read together: a few whole sentences, or a part of one that has more."""

    def __post_init__(self) -> None:
        check_sizes(asdict(self), "segmenter")
