"""The sizes of the paper's model and its optional parts: the `[model]` table of a configuration, and `config.json`."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from genrst.config import check_ranges, check_sizes
from genrst.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RnngConfig:
    """The paper's model; the defaults are its sizes (section 5.3)."""

    kind: Literal["generative", "discriminative"] = "generative"
    """Whether words are generated, or only conditioned on with a view of the EDUs to come."""
    word_size: int = 300
    """Width of word embeddings, shared by the EDU encoder, the decoder's input and output, and the features."""
    edu_size: int = 512
    """Width of each direction of the EDU encoder."""
    edu_layers: int = 2
    """Layers of the EDU encoder."""
    encoder: str | None = None
    """A pretrained encoder in place of the EDU encoder: a name on Hugging Face, which may end with @ and
    a commit, or a folder (not the paper's)."""
    encoder_window: int = 512
    """The most word pieces that the pretrained encoder reads at once; fewer if it has fewer positions."""
    encoder_overlap: float = 0.5
    """The fraction of a window that is also in the one before it, so that every EDU is read with context."""
    document_size: int | None = None
    """Width of an LSTM over the EDU vectors of a document, which is added to them (not the paper's)."""
    unit_size: int = 512
    """Width of a unit: of the TreeLSTM's hidden state."""
    relation_size: int = 100
    """Width of the embedding of a relation and nuclearity."""
    stack_size: int = 512
    """Width of the stack LSTM."""
    decoder_size: int = 512
    """Width of the decoder LSTM of the EDU language model."""
    lookahead_size: int = 512
    """Width of the backward LSTM over EDUs not yet read (discriminative only)."""
    boundary_size: int = 10
    """Width of the embeddings that compare sentences and paragraphs."""
    deprel_size: int = 50
    """Width of dependency relation embeddings."""
    layout_size: int | None = None
    """Width of embeddings of the layout of units. With it GEN comes in three kinds: in a sentence, with a new sentence,
    with a new paragraph. The paper has neither."""
    layout_kinds: bool = False
    """Whether headings, list items and turns of speakers are kinds, too; then there are six. Needs `layout_size`."""
    direct_size: int | None = None
    """Width to which the first, last and nuclear EDU of the top two units enter the state (not the paper's)."""
    hidden_size: int | None = None
    """Width of a hidden layer between the state and what is predicted from it (not the paper's)."""
    output_words: int | None = None
    """How many of the most frequent words are generated; the others are generated as `<unk>`. All if not given."""
    dropout: float = 0.0
    """Fraction of the EDU vectors and of the hidden layer that is dropped in training (the paper has none)."""
    word_dropout: float = 0.0
    """Fraction of the vector that the next word is predicted from that is dropped in training: for words that are
    learned by heart before trees are good (generative)."""

    def __post_init__(self) -> None:
        check_sizes(dataclasses.asdict(self), "model")
        # There must be room for what stands around the text, and for some of it.
        check_ranges(self, "model", {"encoder_window": self.encoder_window >= 8})
        if self.layout_kinds and self.layout_size is None:
            raise ConfigError("model.layout_kinds: there must be a width for layout (model.layout_size), was: none")
