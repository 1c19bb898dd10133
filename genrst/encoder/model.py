"""A model and its folder: a network, the symbols it was trained with, and the tokenizer of its encoder.

A model with a pretrained encoder also stores the encoder's configuration, tokenizer and weights, so that it can be
loaded without the original encoder. The files are described in `genrst.storage`. The other files of a parser are read
by `genrst.parser.folders`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from genrst.encoder.files import CONFIG, TOKENIZER, make_encoder
from genrst.encoder.memory import check_memory
from genrst.encoder.pretrained import PretrainedEncoder
from genrst.encoder.tokenizer import PieceTokenizer, one_line, read_tokenizer
from genrst.errors import ConfigError
from genrst.io import write_atomically
from genrst.packing import ENCODER as ENCODER_PREFIX
from genrst.packing import SCALE, Precision, unpack
from genrst.storage import ENCODER, WEIGHTS, read_header, read_network, read_weights, save_network, weight_files


class Symbols(Protocol):
    """The symbols that a model numbers, such as its labels."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build symbols from the data that `as_dict` returns."""


AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)
AnySymbols = TypeVar("AnySymbols", bound=Symbols)
AnyConfig = TypeVar("AnyConfig")


@dataclass(frozen=True, slots=True)
class Model(Generic[AnyNetwork, AnySymbols]):
    """A network and the symbols it was trained with."""

    network: AnyNetwork
    symbols: AnySymbols
    tokenizer: PieceTokenizer | None = None
    """The tokenizer of the pretrained encoder, if there is one."""


def wrap_encoder(settings: Any, encoder: nn.Module, tokenizer: PieceTokenizer) -> PretrainedEncoder:  # noqa: ANN401
    """Wrap an encoder so that it computes EDU vectors, with the settings of a model."""
    return PretrainedEncoder(
        encoder,
        tokenizer,
        settings.edu_size,
        settings.encoder_window,
        settings.encoder_overlap,
        is_causal=settings.kind == "generative",
    )


def load_model(
    folder: Path,
    config_type: type[AnyConfig],
    symbols_type: type[AnySymbols],
    make_network: Callable[[AnyConfig, AnySymbols, PretrainedEncoder | None], AnyNetwork],
    device: torch.device | str = "cpu",
    encoder_dtype: torch.dtype = torch.float32,
    encoder_overlap: float | None = None,
) -> Model[AnyNetwork, AnySymbols]:
    """Load a model for inference, with float32 weights.

    For speed, a pretrained encoder may compute with lower precision, and its windows may overlap less than in training.
    """
    config: Any
    config, symbols = read_network(folder, config_type, symbols_type.from_dict)
    tokenizer = None if config.encoder is None else read_tokenizer(folder / ENCODER / TOKENIZER)

    def build() -> AnyNetwork:
        pretrained = None
        if tokenizer is not None:
            pretrained = wrap_encoder(config, make_encoder(folder / ENCODER, tokenizer), tokenizer)
        return make_network(config, symbols, pretrained)

    # Only the encoder's parameters are converted, not all buffers, because rotary angles need full precision.
    network = load_network(build, folder, encoder_dtype)
    network.to(device).eval()
    pretrained = network.edu_encoder
    if isinstance(pretrained, PretrainedEncoder):
        with one_line(f"{folder / ENCODER}: the encoder cannot be used"):
            pretrained.try_out()
        if encoder_overlap is not None:
            pretrained.shape = replace(pretrained.shape, overlap=encoder_overlap)
    return Model(network, symbols, tokenizer)


def save_model(model: Model[Any, Any], folder: Path, precision: Precision = "float32") -> None:
    """Write a model. Each file is replaced atomically. During training, only the weights change."""
    if model.tokenizer is not None:
        write_atomically(folder / ENCODER / CONFIG, model.network.edu_encoder.encoder.config.to_json_string())
        write_atomically(folder / ENCODER / TOKENIZER, model.tokenizer.json)
    weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in model.network.state_dict().items()}
    save_network(weights, model.network.config, model.symbols.as_dict(), folder, precision)


def load_network(make: Callable[[], AnyNetwork], folder: Path, encoder_dtype: torch.dtype | None = None) -> AnyNetwork:
    """Build a network with `make` and load the weights of a folder, as float32, or another type for the encoder.

    The network is built twice, first on the meta device, to compare its shapes with the headers of the weights.
    """
    header = {name: one for path in weight_files(folder) for name, one in read_header(path).items()}
    scales = {name + SCALE for name, one in header.items() if one.dtype in ("int8", "uint8")}
    with torch.device("meta"), _WithoutDrawing():
        network = make()
        shapes = {name: torch.empty(one.unpacked) for name, one in header.items() if name not in scales}
        _set_weights(network, shapes, folder)
    check_memory(network, str(folder))
    with _WithoutDrawing():
        network = make()
    packed = read_weights(folder)
    try:
        stored = unpack(packed)
    except ConfigError as error:
        raise ConfigError(f"{folder / WEIGHTS}: {error}") from error
    weights = {name: torch.from_numpy(array) for name, array in stored.items()}
    if encoder_dtype is not None:
        weights |= {name: one.to(encoder_dtype) for name, one in weights.items() if name.startswith(ENCODER_PREFIX)}
    _set_weights(network, weights, folder)
    return network


def _set_weights(network: nn.Module, weights: Mapping[str, torch.Tensor], folder: Path) -> None:
    try:
        # Assigning instead of copying avoids a second copy of the weights.
        network.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        # The first line of PyTorch's message is a heading.
        reason = str(error).splitlines()[-1].strip()
        raise ConfigError(f"{folder}: the weights do not fit the configuration: {reason}") from error


class _WithoutDrawing(TorchFunctionMode):
    """Skip the random initialisation of weights that will be replaced, to save time and random numbers.

    On the meta device, initialisation would even load PyTorch's compiler, which takes two seconds.
    """

    def __torch_function__(
        self,
        func: Any,  # noqa: ANN401
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init" or func in (torch.Tensor.normal_, torch.Tensor.uniform_):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)
