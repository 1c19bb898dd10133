"""Word pieces: how a tokenizer numbers them, and where they stand in a text."""

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
"""Pieces that stand for a hidden one. Qwen has none for that, but a line to be filled in (BehnamGhader et al. 2024)."""
SPACE = "Ġ"
"""How tokenizers that read bytes write a space."""
HOW_TO_INSTALL = "a pretrained encoder needs transformers: pip install 'genrst[torch]'"


def join_edus(edus: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """The numbers of all EDUs, such as their word pieces, one after the other, and how many each has."""
    numbers = np.array([number for edu in edus for number in edu], dtype=np.int64)
    return numbers, np.array([len(edu) for edu in edus], dtype=np.int64)


class Piece(NamedTuple):
    """A word piece of a text."""

    number: int
    start: int
    """Its first character."""
    end: int
    """The one after its last."""
    starts_word: bool


class PieceTokenizer:
    """Numbers the word pieces of texts, as a `tokenizer.json` says; `json` is the content of that file.

    To tokenizers that read bytes, as Qwen's and RoBERTa's do, a word after a space is another one than without it. So
    every text starts with a space here, and all white space is one: an EDU has the same pieces alone and in its text.
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
            # A text that says "[SEP]" does not end there.
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
        # What it cannot read at all is known now, and not in the middle of a text.
        self(["\U0010ffff"])

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text, without those around it; a text of unknown characters alone has one piece."""
        return [self._pieces(text) or [self._unknown] for text in texts]

    def find(self, text: str) -> list[Piece]:
        """The pieces of a text, and where they stand in it."""
        found = self._encode(text)
        # A space may be a piece by itself: it belongs to the word after it.
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
        """One more than the largest number of a piece."""
        return 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    @property
    def punctuation(self) -> list[int]:
        """The pieces that have neither a letter nor a digit."""
        around = {*self.prefix, *self.suffix, self.mask, self._unknown}
        numbers = sorted({*self._tokenizer.get_vocab().values()} - around)
        texts = self._tokenizer.decode_batch([[number] for number in numbers], skip_special_tokens=False)
        # Half a character may be a letter.
        has_letters = [any(c.isalnum() or c == "\ufffd" for c in text) for text in texts]
        return [number for number, has_some in zip(numbers, has_letters, strict=True) if not has_some]

    @property
    def mask(self) -> int | None:
        """The piece that stands for a hidden one, if there is one."""
        found = (self._tokenizer.token_to_id(name) for name in MASKS)
        return next((number for number in found if number is not None), None)


def _with_spaces(normalizer: Any) -> Any:  # noqa: ANN401
    """One space before a text and between its words, then what a tokenizer does to them."""
    from tokenizers import Regex
    from tokenizers.normalizers import Prepend, Replace, Sequence, Strip

    return Sequence([Replace(Regex(r"\s+"), " "), Strip(), Prepend(" "), *([normalizer] if normalizer else [])])


def read_tokenizer(path: Path) -> PieceTokenizer:
    """The tokenizer of a file."""
    try:
        return PieceTokenizer(read_file(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the encoder file is damaged: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


@contextlib.contextmanager
def one_line(rule: str) -> Iterator[None]:
    """Say in one line what a library makes of a file; its exceptions may be of any kind, and panics of Rust."""
    try:
        yield
    except (GenrstError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ConfigError(f"{rule}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
