"""The models that a parser asks: its only one, or several that choose together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from genrst.document import Document
from genrst.errors import ConfigError
from genrst.model.device import computes_bfloat16
from genrst.model.encoder.pretrained import PretrainedEncoder
from genrst.model.examples import Example, prepare
from genrst.model.storage import Model, load_model
from genrst.parser.packages import ParserConfig, read_members, read_parser_config


@dataclass(frozen=True, slots=True)
class Member:
    """A model, what it counts for, and how documents are prepared for it."""

    model: Model
    weight: float = 1.0
    lowercase: bool = False

    def prepare(self, document: Document) -> Example:
        """A document as numbers."""
        return prepare(document, self.model.symbols, None, self.lowercase, self.model.tokenizer)


def load_members(folder: Path, config: ParserConfig, device: torch.device) -> list[Member]:
    """The model of a folder, or the members of an ensemble; `config` is that of the parser."""
    members: list[Member] = []
    places = read_members(folder)
    for place, weight in places:
        own = config if place == folder else _own_config(place, config)
        model = load_model(place, device)
        _set_encoder(model, own, device)
        members.append(Member(model, weight, own.lowercase))
    check_labels(members, [str(place) for place, _ in places])
    return members


def check_labels(members: Sequence[Member], names: Sequence[str]) -> None:
    """Raise an error if models, which have these names, cannot choose together."""
    for member, name in zip(members, names, strict=True):
        if member.model.symbols.actions != members[0].model.symbols.actions:
            raise ConfigError(f"{names[0]} and {name}: models that choose together must have the same labels")


def _own_config(folder: Path, config: ParserConfig) -> ParserConfig:
    """How a member reads texts: as its own folder says, but for what the ensemble's says about encoders."""
    own = read_parser_config(folder)
    precision = own.encoder_precision if config.encoder_precision == "auto" else config.encoder_precision
    overlap = own.encoder_overlap if config.encoder_overlap is None else config.encoder_overlap
    return replace(own, encoder_precision=precision, encoder_overlap=overlap)


def _set_encoder(model: Model, config: ParserConfig, device: torch.device) -> None:
    """Change the pretrained encoder, if there is one: parsing can do with less than training."""
    encoder = model.network.edu_encoder
    if not isinstance(encoder, PretrainedEncoder):
        return
    if config.encoder_overlap is not None:
        encoder.shape = replace(encoder.shape, overlap=config.encoder_overlap)
    is_faster = config.encoder_precision == "auto" and computes_bfloat16(device)
    if is_faster or config.encoder_precision == "bfloat16":
        encoder.encoder.to(torch.bfloat16)
