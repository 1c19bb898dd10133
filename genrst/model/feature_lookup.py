"""Features of many states at once, by table, for several documents (see `genrst.transitions.feature_tables`)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from genrst.model.example import Example
from genrst.model.vocabulary import NONE_ID, PAD_ID
from genrst.transitions.feature_tables import dominance_place, dominance_tables, head_word_tables
from genrst.transitions.features import NOTHING, Comparison


class LookedUp(NamedTuple):
    """What the network embeds: words (states, 8), comparisons (states, 2), dependency relations (states)."""

    words: Tensor
    comparisons: Tensor
    deprels: Tensor


class FeatureLookup:
    """The tables of some documents, one after the other."""

    def __init__(self, examples: Sequence[Example], device: torch.device) -> None:
        heads = [head_word_tables(example.syntax) for example in examples]
        dominance = [dominance_tables(example.syntax) for example in examples]

        def joined(parts: Sequence[Sequence[int] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> Tensor:
            return torch.from_numpy(np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])).to(device)

        def firsts(parts: Sequence[Sequence[int] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> Tensor:
            """Where each document begins in the joined table."""
            return torch.tensor([0, *np.cumsum([len(part) for part in parts[:-1]]).tolist()], device=device)

        edus = [[0] * example.n_edus for example in examples]
        self._edu = firsts(edus)
        self._border = firsts([[*part, 0] for part in edus])
        self._sentences = joined([example.syntax.sentences for example in examples])
        self._paragraphs = joined([example.syntax.paragraphs for example in examples])
        self._words = joined([example.token_words for example in examples])
        self._word = firsts([example.token_words for example in examples])
        self._blocks, self._last = joined([h.blocks for h in heads]), joined([h.last for h in heads])
        self._first, self._n_first = joined([h.first for h in heads]), joined([h.n_first for h in heads])
        self._roots, self._root = joined([h.roots for h in heads]), firsts([h.roots for h in heads])
        self._first_root, self._block = joined([h.first_root for h in heads]), firsts([h.first_root for h in heads])
        self._block_start = joined([h.block_start for h in heads])
        sizes = [[*h.block_size, 0] for h in heads]
        self._block_size, self._inside_offset = joined(sizes), joined([[*h.inside_offset, 0] for h in heads])
        self._inside, self._inside_first = joined([h.inside for h in heads]), firsts([h.inside for h in heads])
        self._sentence_start = joined([d.sentence_start for d in dominance])
        self._sentence_stop = joined([d.sentence_stop for d in dominance])
        self._dominance_offset = joined([d.offset for d in dominance])
        self._entries, self._entry = joined([d.entries for d in dominance]), firsts([d.entries for d in dominance])

    def features(self, documents: Tensor, second: Tensor, top: Tensor, stop: Tensor) -> LookedUp:
        """The features of states whose topmost unit is [top, stop) and whose second is [second, top)."""
        is_one, is_two = top >= 0, second >= 0
        top, second = top.clamp_min(0), second.clamp_min(0)
        # Both units in one look-up: a step of a search is many small operations, and they cost more than their size.
        starts, stops = (
            torch.cat([top, second]),
            torch.cat([torch.maximum(stop, top + 1), torch.maximum(top, second + 1)]),
        )
        right, left = self._unit_words(documents.repeat(2), starts, stops, torch.cat([is_one, is_two])).chunk(2)
        dominance, deprels = self._dominance(documents, second, top, stop, is_two)
        comparisons = [
            self._compare(groups, documents, second, top, stop, is_two)
            for groups in (self._sentences, self._paragraphs)
        ]
        return LookedUp(torch.cat([right, left, dominance], dim=1), torch.stack(comparisons, dim=1), deprels)

    def _unit_words(self, documents: Tensor, start: Tensor, stop: Tensor, is_there: Tensor) -> Tensor:
        """The words with outside heads of units.

        Shape: (units) → (units, 3)
        """
        tokens = self._head_tokens(documents, start, stop)
        words = self._words[self._word[documents, None] + tokens.clamp_min(0)]
        return torch.where(is_there[:, None], torch.where(tokens == NOTHING, PAD_ID, words), NONE_ID)

    def _head_tokens(self, documents: Tensor, start: Tensor, stop: Tensor) -> Tensor:
        edu, border, block = self._edu[documents], self._border[documents], self._block[documents]
        first_block, last_block = self._blocks[border + start], self._blocks[border + stop - 1]
        inside = self._inside_first[documents] + self._inside_offset[block + first_block]
        begin = self._block_start[edu + start]
        # An index that is only right inside one block is kept in range elsewhere; `where` below drops its value.
        end = torch.where(first_block == last_block, stop - 1, start)
        place = inside + (start - begin) * self._block_size[block + first_block] + (end - begin)
        n_first = self._n_first[edu + start]
        first_root = self._first_root[block + first_block + 1]
        n_middle = (self._first_root[block + last_block] - first_root).clamp_min(0)
        across = self._across(edu + start, border + stop, self._root[documents] + first_root, n_first, n_middle)
        return torch.where((first_block == last_block)[:, None], self._inside[place], across)

    def _across(self, start: Tensor, stop: Tensor, first_root: Tensor, n_first: Tensor, n_middle: Tensor) -> Tensor:
        """The words of units over several blocks: of their first block, the roots between, then of their last block.

        Shape: (units) → (units, 3)
        """
        past_first = torch.arange(3, device=start.device) - n_first[:, None]
        past_middle = past_first - n_middle[:, None]
        roots = self._roots[(first_root[:, None] + past_first.clamp_min(0)).clamp_max(len(self._roots) - 1)]
        last = self._last[stop].gather(1, past_middle.clamp_min(0))
        return torch.where(past_first < 0, self._first[start], torch.where(past_middle < 0, roots, last))

    def _dominance(
        self, documents: Tensor, second: Tensor, top: Tensor, stop: Tensor, is_two: Tensor
    ) -> tuple[Tensor, Tensor]:
        edu = self._edu[documents]
        start = self._sentence_start[edu + top]
        size = self._sentence_stop[edu + top] - start
        is_same = is_two & (start < top)
        begin = torch.maximum(second, start) - start
        end = torch.minimum(stop - start, size)
        place = _place(begin, top - start, end, size)
        place = self._entry[documents] + self._dominance_offset[edu + top] + place
        entries = self._entries[torch.where(is_same, place, 0)]
        is_known = is_same & (entries[:, 0] != NOTHING)
        # Where there is no dependency the entry may be another document's, with tokens that this one does not have.
        words = self._words[self._word[documents, None] + torch.where(is_known[:, None], entries[:, :2], 0)]
        return torch.where(is_known[:, None], words, NONE_ID), torch.where(is_known, entries[:, 2], 0)

    def _compare(
        self, groups: Tensor, documents: Tensor, second: Tensor, top: Tensor, stop: Tensor, is_two: Tensor
    ) -> Tensor:
        edu = self._edu[documents]
        left, right = groups[edu + second], groups[edu + top]
        is_one_each = (left == groups[edu + (top - 1).clamp_min(0)]) & (right == groups[edu + (stop - 1).clamp_min(0)])
        compared = torch.where(left == right, int(Comparison.SAME), int(Comparison.DIFFERENT))
        compared = torch.where(is_one_each, compared, int(Comparison.INCOMPARABLE))
        return torch.where(is_two, compared, int(Comparison.NO_PAIR))


def _place(begin: Tensor, middle: Tensor, end: Tensor, size: Tensor) -> Tensor:
    place: Tensor = dominance_place(begin, middle, end, size)  # type: ignore[arg-type, assignment]
    return place
