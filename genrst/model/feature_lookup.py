"""Features of many states at once, by table, for several documents (see `genrst.transitions.feature_tables`).

No dependency, sentence or unit goes from one document into another, so documents one after the other are one long
document: EDUs are numbered over all of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from genrst.model.example import Example
from genrst.model.schedule import IntArray
from genrst.model.vocabulary import NONE_ID, PAD_ID
from genrst.transitions.feature_tables import dominance_tables, head_word_tables
from genrst.transitions.features import NOTHING, Comparison, Syntax
from genrst.transitions.layout import SIZES, boundaries


class LookedUp(NamedTuple):
    """What the network embeds.

    Shape: words (states, 8), comparisons (states, 2), deprels (states), layout (states, 6), boundaries (states)
    """

    words: Tensor
    comparisons: Tensor
    deprels: Tensor
    layout: Tensor
    boundaries: Tensor
    """What the next EDU begins."""


def join_syntax(parts: Sequence[Syntax]) -> Syntax:
    """The syntax of documents one after the other."""

    def shifted(columns: Sequence[Sequence[int]], steps: Sequence[int]) -> list[int]:
        firsts = np.cumsum([0, *steps])[:-1].tolist()
        return [value + first for column, first in zip(columns, firsts, strict=True) for value in column]

    n_tokens = [len(part.heads) for part in parts]
    return Syntax(
        shifted([part.heads for part in parts], n_tokens),
        [deprel for part in parts for deprel in part.deprels],
        [0, *shifted([part.edu_tokens[1:] for part in parts], n_tokens)],
        shifted([part.sentences for part in parts], [part.sentences[-1] + 1 for part in parts]),
        shifted([part.paragraphs for part in parts], [part.paragraphs[-1] + 1 for part in parts]),
    )


def _boundaries(examples: Sequence[Example]) -> IntArray:
    """What each EDU begins, and one more for the end."""
    return np.array([boundary for example in examples for boundary in boundaries(example.syntax)] + [0])


def _next_boundaries(found: IntArray) -> IntArray:
    """For each EDU the next one that begins a sentence or a paragraph, and the next that begins a paragraph.

    Shape: (EDUs + 1) → (EDUs + 1, 2)
    """
    following = np.full((len(found), 2), len(found))
    for edu in range(len(found) - 2, -1, -1):
        following[edu] = np.where(found[edu + 1] >= [1, 2], edu + 1, following[edu + 1])
    return following


class FeatureLookup:
    """The tables of some documents."""

    def __init__(self, examples: Sequence[Example], device: torch.device) -> None:
        syntax = join_syntax([example.syntax for example in examples])
        heads, dominance = head_word_tables(syntax), dominance_tables(syntax)

        def moved(values: Sequence[int] | IntArray) -> Tensor:
            return torch.from_numpy(np.asarray(values, dtype=np.int64)).to(device)

        self._groups = moved([*syntax.sentences]), moved([*syntax.paragraphs])
        self._words = moved(np.concatenate([example.token_words for example in examples]))
        self._blocks, self._block_start = moved(heads.blocks), moved(heads.block_start)
        self._first, self._n_first, self._last = moved(heads.first), moved(heads.n_first), moved(heads.last)
        # One more, so that there is always something to look up.
        self._roots, self._first_root = moved(np.append(heads.roots, 0)), moved(heads.first_root)
        self._inside, self._inside_offset = moved(heads.inside), moved(heads.inside_offset)
        self._block_size = moved(heads.block_size)
        self._low, self._high = moved(dominance.low), moved(dominance.high)
        self._dominance = moved(np.stack([dominance.words, dominance.heads, dominance.deprels], axis=2))
        self._boundaries, self._next = moved(_boundaries(examples)), moved(_next_boundaries(_boundaries(examples)))
        self._sizes = moved(SIZES)
        self._three = torch.arange(3, device=device)

    def features(self, second: Tensor, top: Tensor, stop: Tensor) -> LookedUp:
        """The features of states whose topmost unit is [top, stop) and whose second is [second, top).

        A unit that is not there starts at −1.
        """
        is_there = torch.stack([top, second]) >= 0
        is_two = is_there[1]
        top, second = top.clamp_min(0), second.clamp_min(0)
        # Both units in one look-up: a step of a search is many small operations, and they cost more than their size.
        starts, stops = torch.stack([top, second]), torch.stack([stop, top])
        heads = self._unit_words(starts, torch.maximum(stops, starts + 1), is_there)
        dominance, deprels = self._dominant(second, top, stop, is_two)
        comparisons = [self._compare(groups, second, top, stop, is_two) for groups in self._groups]
        layout = self._layout(starts, stops, is_there)
        words = torch.cat([*heads, dominance], dim=1)
        return LookedUp(words, torch.stack(comparisons, dim=1), deprels, layout, self._boundaries[stop])

    def _layout(self, start: Tensor, stop: Tensor, is_there: Tensor) -> Tensor:
        """As `genrst.transitions.layout.unit_layout` has it.

        Shape: (2, states) → (states, 6)
        """
        inside = (self._next[start] < stop[..., None]).sum(dim=2)
        size = torch.bucketize(stop - start, self._sizes, right=True)
        numbers = torch.stack([self._boundaries[start], inside, size], dim=2) + 1
        return torch.cat([*torch.where(is_there[..., None], numbers, 0)], dim=1)

    def _unit_words(self, start: Tensor, stop: Tensor, is_there: Tensor) -> Tensor:
        """The words with outside heads of units.

        Shape: (2, states) → (2, states, 3)
        """
        first_block, last_block = self._blocks[start], self._blocks[stop - 1]
        is_inside = first_block == last_block
        begin = self._block_start[start]
        # An index that is only right inside one block is kept in range elsewhere; `where` below drops its value.
        end = torch.where(is_inside, stop - 1, start)
        place = self._inside_offset[first_block] + (start - begin) * self._block_size[first_block] + (end - begin)
        across = self._across(start, stop, first_block, last_block)
        tokens = torch.where(is_inside[..., None], self._inside[place], across)
        words = torch.where(tokens == NOTHING, PAD_ID, self._words[tokens.clamp_min(0)])
        return torch.where(is_there[..., None], words, NONE_ID)

    def _across(self, start: Tensor, stop: Tensor, first_block: Tensor, last_block: Tensor) -> Tensor:
        """The words of units over several blocks: of their first block, the roots between, then of their last block.

        Shape: (2, states) → (2, states, 3)
        """
        first_root = self._first_root[first_block + 1]
        n_middle = (self._first_root[last_block] - first_root).clamp_min(0)
        past_first = self._three - self._n_first[start][..., None]
        past_middle = past_first - n_middle[..., None]
        roots = self._roots[(first_root[..., None] + past_first.clamp_min(0)).clamp_max(len(self._roots) - 1)]
        last = self._last[stop].gather(2, past_middle.clamp_min(0))
        return torch.where(past_first < 0, self._first[start], torch.where(past_middle < 0, roots, last))

    def _dominant(self, second: Tensor, top: Tensor, stop: Tensor, is_two: Tensor) -> tuple[Tensor, Tensor]:
        """The words and the relation of the first dependency between both units.

        Shape: (states) → (states, 2), (states)
        """
        is_between = (self._low[top] >= second[:, None]) & (self._high[top] < stop[:, None])
        is_known = is_two & is_between.any(dim=1)
        entry = self._dominance[top, is_between.to(torch.uint8).argmax(dim=1)]
        words = self._words[entry[:, :2].clamp_min(0)]
        return torch.where(is_known[:, None], words, NONE_ID), torch.where(is_known, entry[:, 2], 0)

    @staticmethod
    def _compare(groups: Tensor, second: Tensor, top: Tensor, stop: Tensor, is_two: Tensor) -> Tensor:
        left, right = groups[second], groups[top]
        is_one_each = (left == groups[(top - 1).clamp_min(0)]) & (right == groups[(stop - 1).clamp_min(0)])
        compared = torch.where(left == right, int(Comparison.SAME), int(Comparison.DIFFERENT))
        compared = torch.where(is_one_each, compared, int(Comparison.INCOMPARABLE))
        return torch.where(is_two, compared, int(Comparison.NO_PAIR))
