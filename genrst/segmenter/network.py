"""The segmenter's network: tokens cut into windows of a few whole sentences, windows into batches, a logit per token.

Windows never cross documents and do not depend on what else is read, so a text is segmented alike in any company.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from genrst.config import check_sizes
from genrst.segmenter.features import COLUMNS, MEASURES, N_BUCKETS, POINTERS, IntArray, Tokens, structure


@dataclass(frozen=True, slots=True)
class SegmenterConfig:
    """A BiLSTM over the tokens of a few sentences."""

    word_size: int = 64
    """Width of word embeddings."""
    affix_size: int = 16
    """Width of the embeddings of the first and of the last letters of a word."""
    shape_size: int = 8
    """Width of the embeddings of a word's shape, the gap before it, its paragraph's kind, and of each distance."""
    syntax_size: int = 24
    """Width of the embeddings of tags and of dependency relations."""
    pointer_size: int = 48
    """Width of what is seen of a token's head, and of the subtrees that start or end with it."""
    hidden_size: int = 224
    """Width of each direction of the BiLSTM, and of the layer above it."""
    layers: int = 2
    pointed_layers: int = 2
    """How many layers, from below, see what a token points to."""
    dropout: float = 0.4
    window: int = 128
    """The most tokens that are read together: a few whole sentences, or part of a longer one."""

    def __post_init__(self) -> None:
        check_sizes(asdict(self), "segmenter")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some windows, padded to the longest."""

    symbols: Tensor
    """*Shape:* (windows, tokens, columns)"""
    measures: Tensor
    """*Shape:* (windows, tokens, measures)"""
    pointers: Tensor
    """Tokens of the window; its first or last for one outside. *Shape:* (windows, tokens, pointers)"""
    lengths: Tensor
    """On the CPU, where PyTorch wants them. *Shape:* (windows)"""
    is_token: Tensor
    """*Shape:* (windows, tokens)"""
    places: Tensor
    """The numbers of all tokens in their text. *Shape:* (tokens of all windows)"""


class WindowedText:
    """The tokens of some documents, one after the other, on a device."""

    def __init__(self, documents: Sequence[Tokens], window: int, device: torch.device | str = "cpu") -> None:
        offsets = np.cumsum([0, *map(len, documents)])[:-1]
        pointers, measures = zip(*map(structure, documents), strict=True)
        windows = [cut(tokens, window) for tokens in documents]
        self.windows = np.concatenate(_shifted(windows, offsets))
        """The first token of every window and the one after its last. *Shape:* (windows, 2)"""
        self._symbols = torch.from_numpy(np.concatenate([tokens.symbols for tokens in documents])).to(device)
        self._measures = torch.from_numpy(np.concatenate(measures).astype(np.uint8)).to(device)
        self._pointers = torch.from_numpy(np.concatenate(_shifted(pointers, offsets)).astype(np.int32)).to(device)

    def __len__(self) -> int:
        return len(self._symbols)

    def batch(self, windows: IntArray) -> Batch:
        """Some rows of `windows` as tensors."""
        device = self._symbols.device
        starts = torch.from_numpy(windows[:, :1]).to(device)
        lengths = torch.from_numpy(windows[:, 1] - windows[:, 0])
        steps = torch.arange(int(lengths.max()), device=device)
        last = lengths.to(device)[:, None] - 1
        is_token = steps <= last
        # Padding repeats the last token: the network never looks at it, but it must be a token.
        places = starts + torch.minimum(steps, last)
        found = (self._pointers[places] - starts[..., None]).clamp(min=0)
        return Batch(
            self._symbols[places],
            self._measures[places].int(),
            torch.minimum(found, last[..., None]),
            lengths,
            is_token,
            places[is_token],
        )

    def batches(self, size: int) -> Iterator[Batch]:
        """All windows, those of similar length together."""
        by_length = self.windows[np.argsort(self.windows[:, 0] - self.windows[:, 1], kind="stable")]
        for first in range(0, len(by_length), size):
            yield self.batch(by_length[first : first + size])


def _shifted(parts: Sequence[IntArray], offsets: IntArray) -> list[IntArray]:
    return [part + offset for part, offset in zip(parts, offsets, strict=True)]


def cut(tokens: Tokens, window: int) -> IntArray:
    """Windows of as many whole sentences as fit; a sentence longer than a window is cut. *Shape:* (windows, 2)"""
    starts = np.flatnonzero(tokens.starts_sentence)
    found: list[list[int]] = []
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(tokens)], strict=True):
        if found and stop - found[-1][0] <= window:
            found[-1][1] = stop
        else:
            found += [[first, min(first + window, stop)] for first in range(start, stop, window)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


class SegmenterNetwork(nn.Module):
    """Embeddings of a token, BiLSTMs that also see what it points to in the syntax, and whether an EDU starts there."""

    def __init__(self, config: SegmenterConfig, n_symbols: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        widths = _widths(config)
        self.symbols = nn.ModuleList(
            nn.Embedding(count, widths[column]) for count, column in zip(n_symbols, COLUMNS, strict=True)
        )
        self.measures = nn.ModuleList(nn.Embedding(N_BUCKETS, config.shape_size) for _ in MEASURES)
        sizes = [sum(widths.values()) + config.shape_size * len(MEASURES), *[2 * config.hidden_size] * config.layers]
        self.layers = nn.ModuleList(
            Layer(size, config.pointer_size * (number < config.pointed_layers), config.hidden_size)
            for number, size in enumerate(sizes[:-1])
        )
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(sizes[-1], config.hidden_size)
        self.output = nn.Linear(config.hidden_size, 1)

    @property
    def words(self) -> nn.Embedding:
        """The embeddings of words."""
        embedding = self.symbols[COLUMNS.index("word")]
        assert isinstance(embedding, nn.Embedding)
        return embedding

    def forward(self, batch: Batch) -> Tensor:
        """Logits. *Shape:* (tokens of all windows)"""
        states = self._embedded(batch)
        for layer in self.layers:
            states = layer(self.dropout(states), batch)
        hidden = nn.functional.gelu(self.hidden(self.dropout(states[batch.is_token])))
        logits: Tensor = self.output(self.dropout(hidden)).squeeze(-1)
        return logits

    def _embedded(self, batch: Batch) -> Tensor:
        """*Shape:* (windows, tokens, size)"""
        embeddings = [*self.symbols, *self.measures]
        numbers = [*batch.symbols.unbind(-1), *batch.measures.unbind(-1)]
        return torch.cat([embed(number) for embed, number in zip(embeddings, numbers, strict=True)], dim=-1)


class Layer(nn.Module):
    """A BiLSTM that reads of every token its state and a short view of the states of the tokens it points to."""

    def __init__(self, size: int, pointer_size: int, hidden_size: int) -> None:
        super().__init__()
        self.view = nn.Linear(size, pointer_size) if pointer_size else None
        self.lstm = nn.LSTM(size + pointer_size * len(POINTERS), hidden_size, batch_first=True, bidirectional=True)

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """New states. *Shape:* (windows, tokens, 2 × hidden size)"""
        if self.view is not None:
            views = nn.functional.relu(self.view(states))
            rows = torch.arange(len(views), device=views.device)[:, None, None]
            states = torch.cat([states, views[rows, batch.pointers].flatten(start_dim=2)], dim=-1)
        packed = pack_padded_sequence(states, batch.lengths, batch_first=True, enforce_sorted=False)
        found: Tensor = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        return found


def _widths(config: SegmenterConfig) -> dict[str, int]:
    """The width of the embeddings of each column."""
    return {
        "word": config.word_size,
        "prefix": config.affix_size,
        "suffix": config.affix_size,
        "shape": config.shape_size,
        "tag": config.syntax_size,
        "deprel": config.syntax_size,
        "gap": config.shape_size,
        "kind": config.shape_size,
    }
