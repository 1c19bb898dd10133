"""The sizes of a model, and how configurations are built from plain data.

A configuration is a frozen dataclass; a key it does not have, or a value of the wrong type, is an error that names the
valid keys. Defaults stand only in the dataclass.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from genrst.errors import ConfigError

Config = TypeVar("Config")


@dataclass(frozen=True, slots=True)
class ModelConfig:
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
    """A pretrained encoder in place of the EDU encoder: a name on Hugging Face, or a folder (not the paper's)."""
    encoder_window: int = 512
    """The most word pieces that the pretrained encoder reads at once; fewer if it has no more positions."""
    encoder_overlap: float = 0.5
    """The share of a window that the one before it has, too, so that every EDU is read with context."""
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
    """Share of the EDU vectors and of the hidden layer that is dropped in training (the paper has none)."""

    def __post_init__(self) -> None:
        check_sizes(dataclasses.asdict(self), "model")
        # Something around the text, and a piece of it.
        check_ranges(self, "model", {"encoder_window": self.encoder_window >= 8})
        if self.layout_kinds and self.layout_size is None:
            raise ConfigError("model.layout_kinds: there must be a width for layout (model.layout_size), was: none")


def check_sizes(settings: Mapping[str, object], where: str) -> None:
    """Raise an error for a width below 1 or a share that is none; `where` is the name of the table."""
    for name, value in settings.items():
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            raise ConfigError(f"{where}.{name}: the value must be 1 or more, was: {value}")
        if isinstance(value, float) and not 0 <= value < 1:
            raise ConfigError(f"{where}.{name}: the value must be 0 or more and less than 1, was: {value}")


def check_ranges(config: object, where: str, checks: Mapping[str, bool]) -> None:
    """Raise an error for the first setting that did not pass its check."""
    for name, is_right in checks.items():
        if not is_right:
            raise ConfigError(f"{where}.{name}: the value is out of range, was: {getattr(config, name)!r}")


def from_mapping(cls: type[Config], data: object, where: str = "") -> Config:
    """Build a configuration from nested plain data, checking every key and type; `where` is the name of the table."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where or 'a configuration'}: the value must be a table, was: {data!r}")
    hints = typing.get_type_hints(cls)
    table = f"{where}." if where else ""
    unknown = [key for key in data if key not in hints]
    if unknown:
        raise ConfigError(f"{table}{unknown[0]}: the key must be one of {', '.join(hints)}")
    return cls(**{key: _value(hints[key], value, f"{table}{key}") for key, value in data.items()})


def _value(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_mapping(hint, value, where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in arguments:
            raise ConfigError(f"{where}: the value must be one of {', '.join(map(repr, arguments))}, was: {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}: the value must be a list, was: {value!r}")
        return tuple(_value(arguments[0], item, f"{where}[{position}]") for position, item in enumerate(value))
    if origin is types.UnionType:
        return None if value is None else _value(arguments[0], value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where}: the value must be of type {hint.__name__}, was: {value!r}")
    return value
