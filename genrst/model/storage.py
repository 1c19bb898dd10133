"""A model on disk: from its folder to a network that is ready to use, and back.

A model with a pretrained encoder also has the encoder's configuration and tokenizer, so that it can be read where the
encoder itself is not installed; the encoder's weights are among those of the model. The files themselves are
`genrst.storage`'s; what a parser needs besides a model is in `genrst.parser.packages`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from genrst.io import write_atomically
from genrst.model.encoder.files import CONFIG, TOKENIZER, PieceTokenizer, make_encoder, one_line, read_tokenizer
from genrst.model.encoder.pretrained import PretrainedEncoder, merged
from genrst.model.model_config import ModelConfig
from genrst.model.network import Network
from genrst.model.symbols import Symbols
from genrst.storage import ENCODER, Precision, load_network, read_network, save_network


@dataclass(frozen=True, slots=True)
class Model:
    """A network and the symbols it was trained with."""

    network: Network
    symbols: Symbols
    tokenizer: PieceTokenizer | None = None
    """That of the pretrained encoder, if there is one."""


def make_network(config: ModelConfig, symbols: Symbols, pretrained: PretrainedEncoder | None = None) -> Network:
    """An untrained network for some symbols; only the encoder may be pretrained."""
    return Network(config, len(symbols.words), len(symbols.deprels), len(symbols.actions.labels), pretrained)


def load_model(
    folder: Path,
    device: torch.device | str = "cpu",
    encoder_dtype: torch.dtype = torch.float32,
    encoder_overlap: float | None = None,
) -> Model:
    """Read a model. Its weights become float32.

    A pretrained encoder may compute with less, and its windows may overlap less than in training: that is faster.
    """
    config, symbols = read_network(folder, ModelConfig, Symbols.from_dict)
    tokenizer = None if config.encoder is None else read_tokenizer(folder / ENCODER / TOKENIZER)

    def make() -> Network:
        pretrained = None
        if tokenizer is not None:
            pretrained = PretrainedEncoder(config, make_encoder(folder / ENCODER, tokenizer), tokenizer)
        return make_network(config, symbols, pretrained)

    network = load_network(make, folder)
    network.to(device).eval()
    pretrained = network.edu_encoder
    if isinstance(pretrained, PretrainedEncoder):
        with one_line(f"{folder / ENCODER}: the encoder cannot be used"):
            pretrained.try_out()
        pretrained.encoder.to(encoder_dtype)
        if encoder_overlap is not None:
            pretrained.shape = replace(pretrained.shape, overlap=encoder_overlap)
    return Model(network, symbols, tokenizer)


def save_model(model: Model, folder: Path, precision: Precision = "float32") -> None:
    """Write a model. Each file is replaced at once; of a model in training only the weights change."""
    if model.tokenizer is not None:
        encoder: Any = model.network.edu_encoder.encoder
        write_atomically(folder / ENCODER / CONFIG, encoder.config.to_json_string())
        write_atomically(folder / ENCODER / TOKENIZER, model.tokenizer.json)
    save_network(merged(model.network), model.network.config, model.symbols.as_dict(), folder, precision)
