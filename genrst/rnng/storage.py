"""A model on disk: from its folder to a network that is ready to use, and back.

A model with a pretrained encoder also has the encoder's configuration and tokenizer, so that it can be read where the
encoder itself is not installed; the encoder's weights are among those of the model. The files themselves are
`genrst.storage`'s; what a parser needs besides a model is in `genrst.parser.packages`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from genrst.encoder.files import CONFIG, TOKENIZER, PieceTokenizer, one_line, read_tokenizer, restore_encoder
from genrst.encoder.pretrained import PretrainedEncoder, merged
from genrst.io import write_atomically
from genrst.encoder.files import CONFIG, TOKENIZER, PieceTokenizer, one_line, read_tokenizer, restore_encoder
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.rnng.model_config import AnyModelConfig, ModelConfig
from genrst.rnng.network import Network
from genrst.rnng.symbols import Symbols
from genrst.packing import Precision
from genrst.rnng.model_config import AnyModelConfig, ModelConfig
from genrst.rnng.network import Network
from genrst.rnng.symbols import Symbols
from genrst.storage import ENCODER, load_network, read_network, save_network

AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


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
    network, tokenizer = restore(
        folder, config, lambda one: make_network(config, symbols, one), device, encoder_dtype, encoder_overlap
    )
    return Model(network, symbols, tokenizer)


def restore(
    folder: Path,
    config: AnyModelConfig,
    make: Callable[[PretrainedEncoder | None], AnyNetwork],
    device: torch.device | str,
    encoder_dtype: torch.dtype,
    encoder_overlap: float | None,
) -> tuple[AnyNetwork, PieceTokenizer | None]:
    """A network of either kind with its weights, ready to be asked, and its tokenizer; `make` builds it."""
    tokenizer = None if config.encoder is None else read_tokenizer(folder / ENCODER / TOKENIZER)

    def build() -> AnyNetwork:
        if tokenizer is None:
            return make(None)
        return make(PretrainedEncoder(config, restore_encoder(folder / ENCODER, tokenizer), tokenizer))

    # Of the encoder, all parameters but not all buffers: the angles of rotary positions need all their digits.
    network = load_network(build, folder, encoder_dtype)
    network.to(device).eval()
    pretrained = network.edu_encoder
    if isinstance(pretrained, PretrainedEncoder):
        with one_line(f"{folder / ENCODER}: the encoder cannot be used"):
            pretrained.try_out()
        if encoder_overlap is not None:
            pretrained.shape = replace(pretrained.shape, overlap=encoder_overlap)
    return network, tokenizer


def save_model(model: Model, folder: Path, precision: Precision = "float32") -> None:
    """Write a model. Each file is replaced at once; of a model in training only the weights change."""
    write_network(model.network, model.symbols, model.tokenizer, folder, precision)


def write_network(
    network: Any,  # noqa: ANN401 - of either kind
    symbols: Symbols,
    tokenizer: PieceTokenizer | None,
    folder: Path,
    precision: Precision,
) -> None:
    """Write the files of a network, its symbols and its encoder."""
    if tokenizer is not None:
        write_atomically(folder / ENCODER / CONFIG, network.edu_encoder.encoder.config.to_json_string())
        write_atomically(folder / ENCODER / TOKENIZER, tokenizer.json)
    save_network(network.state_dict(), network.config, symbols.as_dict(), folder, precision)
