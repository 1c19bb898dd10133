"""Look up the features of many states of several documents at once (see `genrst.rnng.transitions.features`).

No dependency, sentence or unit crosses from one document into another, so the documents are concatenated into a long
one, and EDUs are numbered over all of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from genrst.encoder.tokenizer import IntArray
from genrst.rnng.config import NONE_ID, PAD_ID
from genrst.rnng.examples import Example
from genrst.rnng.transitions.features import (
    NOTHING,
    Comparison,
    DominanceTables,
    HeadWordTables,
    Syntax,
    boundaries,
    dominance_tables,
    head_word_tables,
    n_boundaries,
)
from genrst.text.layout import SIZES


class LookedUp(NamedTuple):
    """The features that the network embeds.

    Shape: words (states, 8), comparisons (states, 2), deprels (states), layout (states, 6), boundaries (states)
    """

    words: Tensor
    comparisons: Tensor
    deprels: Tensor
    layout: Tensor
    boundaries: Tensor
    """The boundaries before the next EDUs."""


def join_syntax(parts: Sequence[Syntax]) -> Syntax:
    """Concatenate the syntax of documents."""

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
        [kind for part in parts for kind in part.kinds],
    )


class FeatureLookup:
    """The packed tables of documents: one look-up for the start of a unit, one for its stop."""

    def __init__(self, examples: Sequence[Example], device: torch.device, has_kinds: bool = False) -> None:
        syntax = join_syntax([example.syntax for example in examples])
        found = np.array([boundary for example in examples for boundary in boundaries(example.syntax, has_kinds)])
        heads, dominance = head_word_tables(syntax), dominance_tables(syntax)
        layout = _layout(found, n_boundaries(has_kinds))
        words = np.concatenate([*(example.token_words for example in examples), [PAD_ID]])

        def moved(values: IntArray) -> Tensor:
            return torch.from_numpy(values).to(device)

        self._starts = moved(np.column_stack([_of_starts(heads, words), _ends(syntax), layout]))
        self._stops = moved(_of_stops(heads, words))
        self._inside = moved(words[heads.inside])
        # One additional entry, so that every look-up is in range.
        self._roots = moved(words[np.append(heads.roots, NOTHING)])
        self._dominance = moved(_dominance(dominance, words))
        self._boundaries = moved(np.append(found, 0))
        self._sizes, self._three = moved(np.array(SIZES)), torch.arange(3, device=device)

    def features(self, second: Tensor, top: Tensor, stop: Tensor) -> LookedUp:
        """Return the features of states whose topmost unit is [top, stop) and whose second unit is [second, top).

        A missing unit starts at −1.
        """
        # One look-up for both units, because the cost of a small step is the number of operations.
        start = torch.stack([top, second])
        is_there = (start >= 0)[..., None]
        start = start.clamp_min(0)
        stops = torch.maximum(torch.stack([stop, start[0]]), start + 1)
        of_start = self._starts[start]
        heads, ends, layout = of_start[..., :7], of_start[..., 7:9], of_start[..., 9:]
        unit_words = torch.where(is_there, self._unit_words(heads, stops), NONE_ID)
        dominance, deprels = self._dominant(start[1], start[0], stop, is_there[1, :, 0])
        return LookedUp(
            torch.cat([*unit_words, dominance], dim=1),
            torch.where(is_there[1], _compare(ends, start[0, :, None], stop[:, None]), int(Comparison.NO_PAIR)),
            deprels,
            torch.cat([*torch.where(is_there, self._unit_layout(layout, start, stops), 0)], dim=1),
            self._boundaries[stop],
        )

    def _unit_words(self, of_start: Tensor, stop: Tensor) -> Tensor:
        """Return the words of units with heads outside.

        If a unit lies inside a block, they are in a table. Otherwise they are those of its first block, the roots of
        the blocks in between, and those of its last block.

        Shape: (2, states, 7), (2, states) → (2, states, 3)
        """
        block_stop, offset, n_first, next_root, first = torch.split(of_start, [1, 1, 1, 1, 3], dim=2)
        last_root, last = torch.split(self._stops[stop], [1, 3], dim=2)
        stop = stop[..., None]
        is_inside = stop <= block_stop
        past_first = self._three - n_first
        past_middle = past_first - (last_root - next_root).clamp_min(0)
        roots = self._roots[(next_root + past_first.clamp_min(0)).clamp_max(len(self._roots) - 1)]
        last = last.gather(2, past_middle.clamp_min(0))
        across = torch.where(past_first < 0, first, torch.where(past_middle < 0, roots, last))
        # The index is only valid inside a block; elsewhere it is just kept in range.
        inside = self._inside[torch.where(is_inside, offset + stop, 0)[..., 0]]
        return torch.where(is_inside, inside, across)

    def _dominant(self, second: Tensor, top: Tensor, stop: Tensor, is_two: Tensor) -> tuple[Tensor, Tensor]:
        """Return the words and the relation of the first dependency between both units.

        Shape: (states) → (states, 2), (states)
        """
        crossings = self._dominance[top]
        is_between = (crossings[:, :, 0] >= second[:, None]) & (crossings[:, :, 1] < stop[:, None])
        is_known = is_two & is_between.any(dim=1)
        rows = torch.arange(len(top), device=top.device)
        entry = crossings[rows, is_between.to(torch.uint8).argmax(dim=1)]
        return torch.where(is_known[:, None], entry[:, 2:4], NONE_ID), torch.where(is_known, entry[:, 4], 0)

    def _unit_layout(self, of_start: Tensor, start: Tensor, stop: Tensor) -> Tensor:
        """Return the boundary before a unit, the strongest boundary inside it, and the class of its size.

        Shape: (2, states, boundaries), (2, states), (2, states) → (2, states, 3)
        """
        inside = (of_start[..., 1:] < stop[..., None]).sum(dim=2)
        size = torch.bucketize(stop - start, self._sizes, right=True)
        return torch.stack([of_start[..., 0], inside, size], dim=2) + 1


def _of_starts(heads: HeadWordTables, words: IntArray) -> IntArray:
    """Return the table for the start of a unit.

    Its columns are the end of the unit's first block, the number to add to its stop to get its row in the table of that
    block, the number of words of the first block, the first root of the next block, and the three words.
    """
    block = heads.blocks[:-1]
    block_stop = heads.block_start + heads.block_size[block]
    edus = np.arange(len(block))
    offset = heads.inside_offset[block] + (edus - heads.block_start) * heads.block_size[block] - heads.block_start - 1
    return np.column_stack([block_stop, offset, heads.n_first, heads.first_root[block + 1], words[heads.first]])


def _of_stops(heads: HeadWordTables, words: IntArray) -> IntArray:
    """Return the table for the stop of a unit: the first root of its last block, and the three words of that block."""
    return np.column_stack([heads.first_root[np.append(0, heads.blocks[:-1])], words[heads.last]])


def _ends(syntax: Syntax) -> IntArray:
    """Return where the sentence and the paragraph of each EDU end."""
    return np.column_stack(
        [np.searchsorted(groups, groups, side="right") for groups in (syntax.sentences, syntax.paragraphs)]
    )


def _layout(found: IntArray, n_boundaries: int) -> IntArray:
    """Return the boundary before each EDU, then, for each boundary but the weakest, the next EDU at least as strong."""
    columns = [found]
    for boundary in range(1, n_boundaries):
        edus = np.append(np.flatnonzero(found >= boundary), len(found))
        columns.append(edus[np.searchsorted(edus, np.arange(len(found)), side="right")])
    return np.column_stack(columns)


def _dominance(tables: DominanceTables, words: IntArray) -> IntArray:
    """Return the crossings before each EDU, with words instead of tokens. Shape: (EDUs, crossings, 5)"""
    return np.stack([tables.low, tables.high, words[tables.words], words[tables.heads], tables.deprels], axis=2)


def _compare(ends: Tensor, top: Tensor, stop: Tensor) -> Tensor:
    """Compare the sentences and the paragraphs of two units, given where those of their first EDUs end.

    Shape: ends (2, states, 2), of the top unit and of the second, top (states, 1), stop (states, 1) → (states, 2)
    """
    top_end, second_end = ends
    is_one_each = (top <= second_end) & (stop <= top_end)
    compared = torch.where(second_end == top_end, int(Comparison.SAME), int(Comparison.DIFFERENT))
    return torch.where(is_one_each, compared, int(Comparison.INCOMPARABLE))
