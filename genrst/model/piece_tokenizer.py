"""Word pieces: how a pretrained encoder spells texts, as its `tokenizer.json` says."""

from collections.abc import Sequence
from pathlib import Path

from genrst.errors import ConfigError, MissingDependencyError

HOW_TO_INSTALL = "a pretrained encoder needs transformers: pip install 'genrst[model]'"


class PieceTokenizer:
    """Numbers the word pieces of texts; `json` is all of it as a text."""

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
        """The pieces of each text, without those around it; one of nothing but unknown signs has one, too."""
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
    def size(self) -> int:
        """The number of pieces it knows."""
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
