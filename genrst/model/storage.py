"""A model on disk: the folder of `genrst.storage`, with the encoder's files if it has a pretrained one.

These are `encoder/config.json` and `encoder/tokenizer.json`, so that the model can be read where the encoder itself is
not; the encoder's weights are among those of the model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from genrst.errors import CorpusNotFoundError
from genrst.io import write_atomically
from genrst.model.encoder.files import CONFIG, TOKENIZER, PieceTokenizer, make_encoder, read_tokenizer
from genrst.model.encoder.pretrained import PretrainedEncoder, merged
from genrst.model.model_config import ModelConfig
from genrst.model.network import Network
from genrst.model.symbols import Symbols
from genrst.storage import Precision, load_folder, save_folder

ENCODER = "encoder"


@dataclass(frozen=True, slots=True)
class Model:
    """A network and the symbols it was trained with."""

    network: Network
    symbols: Symbols
    tokenizer: PieceTokenizer | None = None
    """That of the pretrained encoder, if there is one."""


def make_network(config: ModelConfig, symbols: Symbols, pretrained: PretrainedEncoder | None = None) -> Network:
    """A network for some symbols, untrained except for what is pretrained."""
    return Network(config, len(symbols.words), len(symbols.deprels), len(symbols.actions.labels), pretrained)


def save_model(model: Model, folder: Path, precision: Precision = "float32") -> None:
    """Write a model. Each file is replaced at once; of a model in training only the weights change."""
    if model.tokenizer is not None:
        encoder: Any = model.network.edu_encoder.encoder
        write_atomically(folder / ENCODER / CONFIG, encoder.config.to_json_string())
        write_atomically(folder / ENCODER / TOKENIZER, model.tokenizer.json)
    save_folder(merged(model.network), model.network.config, model.symbols.as_dict(), folder, precision)


def load_model(folder: Path, device: torch.device | str = "cpu") -> Model:
    """Read a model; its weights become float32."""
    path = folder / ENCODER / TOKENIZER
    tokenizer = read_tokenizer(path) if path.is_file() else None

    def make(config: ModelConfig, symbols: Symbols) -> Network:
        if config.encoder is None:
            return make_network(config, symbols)
        if tokenizer is None:
            raise CorpusNotFoundError(f"{folder}: a model with a pretrained encoder must hold {ENCODER}/{TOKENIZER}")
        encoder = make_encoder(folder / ENCODER, tokenizer)
        return make_network(config, symbols, PretrainedEncoder(config, encoder, tokenizer))

    network, symbols = load_folder(folder, ModelConfig, Symbols.from_dict, make)
    return Model(network.to(device).eval(), symbols, tokenizer)
