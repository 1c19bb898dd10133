"""Word pieces: how a tokenizer numbers them, and the windows in which an encoder reads them.

Windows hold whole EDUs and overlap, so that every EDU is read where it has the most context. How documents are cut
(`cut`) depends on lengths alone; `pack_windows` makes one padded set of windows of the pieces of several documents.
"""

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from genrst.errors import ConfigError, GenrstError, MissingDependencyError
from genrst.storage import read_file

if TYPE_CHECKING:
    from tokenizers import Encoding

IntArray: TypeAlias = NDArray[np.int64]

MASKS = ("[MASK]", "<mask>", "Ġ_")
"""Pieces that stand for a hidden one. Qwen has none for that, but a line to be filled in (BehnamGhader et al. 2024)."""
SPACE = "Ġ"
"""How tokenizers that read bytes write a space."""
HOW_TO_INSTALL = "a pretrained encoder needs transformers: pip install 'genrst[model]'"


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
            self.size = 1 + max(self._tokenizer.get_vocab().values(), default=-1)
            """One more than the largest number of a piece."""
            around = self._tokenizer.encode("a")
        is_inside = [number for number, is_special in enumerate(around.special_tokens_mask) if not is_special]
        if not is_inside:
            raise ConfigError("tokenizer.json must have a word piece for every letter, was: none for 'a'")
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
        raise ConfigError(f"{path}: a file of the encoder is damaged: {error}") from error
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


# Windows.


@dataclass(frozen=True, slots=True)
class Window:
    """The EDUs from `start` to `stop` are read together, and those from `first` to `last` get their vectors there."""

    start: int
    stop: int
    first: int
    last: int


def cut(lengths: Sequence[int], limit: int, overlap: float, is_causal: bool) -> list[Window]:
    """The windows of a document whose EDUs have these lengths, none of them over the limit.

    A window shares at most this fraction of the limit with the one before. An EDU belongs to the window where the
    shorter of its two contexts is longest; if causal, where its left context is longest. What a causal window has up to
    some EDU does not depend on later ones.
    """
    ends = [0, *accumulate(lengths)]
    spans = _spans(ends, limit, int(overlap * limit))
    borders = [stop if is_causal else _border(ends, stop, start) for (_, stop), (start, _) in pairwise(spans)]
    firsts, lasts = [0, *borders], [*borders, len(lengths)]
    return [Window(*span, first, last) for span, first, last in zip(spans, firsts, lasts, strict=True)]


def _spans(ends: Sequence[int], limit: int, overlap: int) -> list[tuple[int, int]]:
    """Windows from left to right, each as long as it can be; `ends` are the positions where EDUs start, and the end."""
    spans = [(0, _stop(ends, 0, limit))]
    while (stop := spans[-1][1]) < len(ends) - 1:
        # Less overlap where the next EDU would not fit beside it.
        earliest = max(ends[stop] - overlap, ends[stop + 1] - limit)
        start = bisect_left(ends, earliest, hi=stop)
        spans.append((start, _stop(ends, start, limit)))
    return spans


def _stop(ends: Sequence[int], start: int, limit: int) -> int:
    return bisect_right(ends, ends[start] + limit) - 1


def _border(ends: Sequence[int], stop: int, start: int) -> int:
    """The first EDU that has more context in the window from `start` on than in the one before, which ends at `stop`.

    The shorter context of an EDU from x to y is min(x − a, b − y) in a window from a to b. With a < a' and b < b' it is
    shorter in the first window exactly if b − y < x − a'.
    """
    middle = ends[start] + ends[stop]
    return bisect_right(range(start, stop), middle, key=lambda edu: ends[edu] + ends[edu + 1]) + start


_PADDING_ORDER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How windows are made for some encoder."""

    size: int
    """The most pieces in a window, including those around the text."""
    overlap: float
    """The fraction of a window that is also in the one before."""
    is_causal: bool
    """Whether an EDU must not see later ones."""
    prefix: tuple[int, ...]
    """The pieces before the text, such as `[CLS]`."""
    suffix: tuple[int, ...]
    """The pieces after the text, such as `[SEP]`."""
    padding: int


@dataclass(frozen=True, slots=True)
class PieceWindows:
    """Windows of word pieces, and where in them the pieces of each EDU are."""

    pieces: Tensor
    """Shape: (windows, length)"""
    order: Tensor
    """A piece sees those of the same window whose order is its own or less. Shape: (windows, length)"""
    rows: Tensor
    """The pieces that EDUs get their vectors from, numbered over all windows, EDU by EDU."""
    edus: Tensor
    """The EDU of each of them."""
    first: Tensor
    """The row of the first piece of each EDU."""
    last: Tensor

    def to(self, device: torch.device | str) -> "PieceWindows":
        """The same windows on a device."""
        return PieceWindows(*(getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)))

    def split(self, most_pieces: int) -> "list[tuple[PieceWindows, Tensor]]":
        """Windows of similar length, so many pieces at a time, with the EDUs that get their vectors there.

        A window that is longer is by itself. EDUs are numbered anew, and the second of a pair has their numbers here.
        """
        lengths = (self.order != _PADDING_ORDER).sum(1).tolist()
        parts: list[list[int]] = []
        for window in sorted(range(len(lengths)), key=lambda window: -lengths[window]):
            # The first of a part is its longest.
            if not parts or (len(parts[-1]) + 1) * lengths[parts[-1][0]] > most_pieces:
                parts.append([])
            parts[-1].append(window)
        return [self._part(part, _padded(lengths[part[0]])) for part in parts]

    def _part(self, windows: Sequence[int], length: int) -> "tuple[PieceWindows, Tensor]":
        """Some windows, without padding beyond a length."""
        device, width = self.pieces.device, self.pieces.shape[1]
        chosen = torch.tensor(windows, device=device)
        place = torch.full((len(self.pieces),), -1, device=device)
        place[chosen] = torch.arange(len(windows), device=device)
        numbers = (place[self.first // width] >= 0).nonzero()[:, 0]
        new_numbers = torch.zeros_like(self.first)
        new_numbers[numbers] = torch.arange(len(numbers), device=device)

        def move(rows: Tensor) -> Tensor:
            return place[rows // width] * length + rows % width

        is_own = place[self.rows // width] >= 0
        own = move(self.rows[is_own]), new_numbers[self.edus[is_own]]
        edges = move(self.first[numbers]), move(self.last[numbers])
        return PieceWindows(self.pieces[chosen, :length], self.order[chosen, :length], *own, *edges), numbers


def _padded(length: int) -> int:
    """Kernels are fastest at multiples of eight."""
    return -(-length // 8) * 8


def pack_windows(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """The windows of documents, given as word pieces and how many of them each EDU has."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    return _pack([_truncate(*text, limit) for text in texts], shape)


def pack_pieces(texts: Sequence[IntArray], shape: WindowShape) -> PieceWindows:
    """The windows of texts whose EDUs do not matter: each word piece stands for itself."""
    return _pack([(pieces, np.ones_like(pieces)) for pieces in texts], shape)


def _pack(texts: Sequence[tuple[IntArray, IntArray]], shape: WindowShape) -> PieceWindows:
    """The windows of texts, given as pieces and how many each EDU has."""
    n_edus = sum(len(lengths) for _, lengths in texts)
    windows, first_edu = [], 0
    for pieces_of_text, lengths in texts:
        windows += _windows(pieces_of_text, lengths, shape, first_edu)
        first_edu += len(lengths)
    length = _padded(max(len(pieces) for pieces, _, _ in windows))
    pieces = _pad([window[0] for window in windows], length, shape.padding)
    order = _pad([window[1] for window in windows], length, _PADDING_ORDER)
    edus = _pad([window[2] for window in windows], length, -1).ravel()
    rows = np.flatnonzero(edus >= 0)
    edus = edus[rows]
    numbers = np.arange(n_edus)
    first, last = (rows[np.searchsorted(edus, numbers)], rows[np.searchsorted(edus, numbers, side="right") - 1])
    return PieceWindows(*(torch.from_numpy(array) for array in (pieces, order, rows, edus, first, last)))


def _windows(
    pieces: IntArray, lengths: IntArray, shape: WindowShape, first_edu: int
) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Pieces, their order, and the EDUs whose vectors they contribute to (−1 for none), a triple per window."""
    limit = shape.size - len(shape.prefix) - len(shape.suffix)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    edus = np.repeat(np.arange(len(lengths)), lengths)
    made = []
    for window in cut(lengths.tolist(), limit, shape.overlap, shape.is_causal):
        part = slice(starts[window.start], starts[window.stop])
        made.append(_window(pieces[part], edus[part], window, shape, first_edu))
    return made


def _truncate(pieces: IntArray, lengths: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """The pieces of EDUs, none of which is longer than a window, and their lengths."""
    if lengths.max() <= limit:
        return pieces, lengths
    ends = np.cumsum(lengths)
    positions = np.arange(len(pieces)) - np.repeat(ends - lengths, lengths)
    return pieces[positions < limit], np.minimum(lengths, limit)


def _window(
    pieces: IntArray, edus: IntArray, window: Window, shape: WindowShape, first_edu: int
) -> tuple[IntArray, IntArray, IntArray]:
    n_before, n_after = len(shape.prefix), len(shape.suffix)
    # If causal, what stands before the text sees nothing of it, and nothing sees what stands after it.
    order = np.pad(edus - window.start + 1, (n_before, n_after), constant_values=(0, len(edus) + 1))
    is_own = (edus >= window.first) & (edus < window.last)
    return (
        np.concatenate([shape.prefix, pieces, shape.suffix]).astype(np.int64),
        order if shape.is_causal else np.zeros_like(order),
        np.pad(np.where(is_own, edus + first_edu, -1), (n_before, n_after), constant_values=-1),
    )


def _pad(arrays: list[IntArray], length: int, value: int) -> IntArray:
    padded = np.full((len(arrays), length), value, dtype=np.int64)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return padded
