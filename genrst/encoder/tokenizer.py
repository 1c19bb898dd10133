"""Word pieces: their numbers in a tokenizer, and their positions in a text."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.errors import ConfigError, GenrstError, MissingDependencyError
from genrst.storage import read_file

if TYPE_CHECKING:
    from tokenizers import Encoding

IntArray: TypeAlias = NDArray[np.int64]

MASKS = ("[MASK]", "<mask>", "Ġ_")
"""Mask pieces. Qwen has none; an underscore is used instead (BehnamGhader et al. 2024)."""
SPACE = "Ġ"
"""A space in byte-level tokenizers."""
HOW_TO_INSTALL = "a pretrained encoder needs transformers: pip install 'genrst[torch]'"


def join_edus(edus: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Concatenate the numbers of all EDUs, such as their word pieces. Return them with the length of each EDU."""
    numbers = np.array([number for edu in edus for number in edu], dtype=np.int64)
    return numbers, np.array([len(edu) for edu in edus], dtype=np.int64)


class Piece(NamedTuple):
    """A word piece of a text."""

    number: int
    start: int
    """The offset of its first character."""
    end: int
    """The offset after its last character."""
    starts_word: bool


class PieceTokenizer:
    """Numbers the word pieces of texts according to a `tokenizer.json`. `json` is the content of that file.

    Byte-level tokenizers, such as those of Qwen and RoBERTa, treat a word differently after a space. So every text is
    read with a space in front, and each run of white space as one space. An EDU then has the same pieces alone and in
    its text.
    """

    def __init__(self, json: str) -> None:
        try:
            from tokenizers import Tokenizer, decoders
        except ImportError as error:
            raise MissingDependencyError(HOW_TO_INSTALL) from error
        self.json = json
        with one_line("tokenizer.json cannot be read"):
            self._tokenizer = Tokenizer.from_str(json)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            # "[SEP]" in a text is ordinary text.
            self._tokenizer.encode_special_tokens = True
            self._space: int | None = None
            if isinstance(self._tokenizer.decoder, decoders.ByteLevel):
                self._space = self._tokenizer.token_to_id(SPACE)
                self._tokenizer.normalizer = _with_spaces(self._tokenizer.normalizer)
            around = self._tokenizer.encode("a")
        is_inside = [number for number, is_special in enumerate(around.special_tokens_mask) if not is_special]
        if not is_inside:
            raise ConfigError("tokenizer.json must have a word piece for every letter, but has none for 'a'")
        self.prefix = tuple(around.ids[: is_inside[0]])
        """The pieces before every text."""
        self.suffix = tuple(around.ids[is_inside[-1] + 1 :])
        """The pieces after every text."""
        # Fail now, and not in the middle of a text, if the tokenizer cannot handle unknown characters.
        self(["\U0010ffff"])

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the pieces of each text, without prefix and suffix. An empty result becomes one unknown piece."""
        return [self._pieces(text) or [self._unknown] for text in texts]

    def find(self, text: str) -> list[Piece]:
        """Return the pieces of a text with their positions."""
        found = self._encode(text)
        # A space that is a piece by itself belongs to the word after it.
        words = [(-1, -1), *zip(found.ids, found.word_ids, strict=True)]
        starts = [word != before and last != self._space for (last, before), (_, word) in pairwise(words)]
        return [
            Piece(number, end - len(text[start:end].lstrip()), end, starts_word)
            for number, (start, end), starts_word in zip(found.ids, found.offsets, starts, strict=True)
        ] or [Piece(self._unknown, 0, len(text), True)]

    def _pieces(self, text: str) -> list[int]:
        pieces: list[int] = self._encode(text).ids
        return pieces

    def _encode(self, text: str) -> "Encoding":
        readable = text.encode("utf-8", "replace").decode("utf-8")
        with one_line("tokenizer.json cannot be used"):
            return self._tokenizer.encode(readable, add_special_tokens=False)

    @property
    def _unknown(self) -> int:
        name = getattr(self._tokenizer.model, "unk_token", None) or SPACE
        number: int | None = self._tokenizer.token_to_id(name)
        return number if number is not None else (0, *self.prefix, *self.suffix)[-1]

    @cached_property
    def size(self) -> int:
        """The largest piece number plus one."""
        return 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    @property
    def punctuation(self) -> list[int]:
        """The pieces that have neither a letter nor a digit."""
        around = {*self.prefix, *self.suffix, self.mask, self._unknown}
        numbers = sorted({*self._tokenizer.get_vocab().values()} - around)
        texts = self._tokenizer.decode_batch([[number] for number in numbers], skip_special_tokens=False)
        # Incomplete characters may be letters.
        has_letters = [any(c.isalnum() or c == "\ufffd" for c in text) for text in texts]
        return [number for number, has_some in zip(numbers, has_letters, strict=True) if not has_some]

    @property
    def mask(self) -> int | None:
        """The mask piece; None if there is none."""
        found = (self._tokenizer.token_to_id(name) for name in MASKS)
        return next((number for number in found if number is not None), None)


def _with_spaces(normalizer: Any) -> Any:  # noqa: ANN401
    """Add a normaliser that puts one space before a text and between its words, in front of the tokenizer's own."""
    from tokenizers import Regex
    from tokenizers.normalizers import Prepend, Replace, Sequence, Strip

    return Sequence([Replace(Regex(r"\s+"), " "), Strip(), Prepend(" "), *([normalizer] if normalizer else [])])


def read_tokenizer(path: Path) -> PieceTokenizer:
    """Read a tokenizer from a file."""
    try:
        return PieceTokenizer(read_file(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the encoder file is damaged: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


@contextlib.contextmanager
def one_line(rule: str) -> Iterator[None]:
    """Turn any exception of a library, including panics in Rust code, into a one-line error."""
    try:
        yield
    except (GenrstError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ConfigError(f"{rule}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
