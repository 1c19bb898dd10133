"""Batch several documents into tensors that are computed level by level (see `genrst.rnng.schedule`)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from genrst.encoder.batch import PieceWindows, pack_windows
from genrst.encoder.tokenizer import IntArray
from genrst.encoder.windows import WindowShape
from genrst.errors import ConfigError
from genrst.rnng.config import EOS_ID
from genrst.rnng.examples import Example
from genrst.rnng.schedule import Units, build_units, schedule_stacks, schedule_trees
from genrst.rnng.scoring.features import FeatureLookup, LookedUp
from genrst.rnng.transitions.actions import GENERATE, NO_UNIT

Part = TypeVar("Part")


class Derivation(NamedTuple):
    """The units that actions build, and the features and correct actions of the state before each step."""

    units: Units
    features: LookedUp
    correct_actions: IntArray
    """The correct actions; the same one twice if there is only one. Shape: (steps, 2)"""


def derive(example: Example, nucleus_is_right: Sequence[bool], has_kinds: bool = False) -> Derivation:
    """Replay the gold actions of an example. `has_kinds` is that of the network."""
    units = build_units(example.actions, nucleus_is_right)
    # The state before a step has the unit of the previous step on top. The first state has no unit.
    second = np.where(units.below < 0, NO_UNIT, units.start[units.below])
    before = np.insert(np.stack([second, units.start, units.stop])[:, :-1], 0, [NO_UNIT, NO_UNIT, 0], axis=1)
    features = FeatureLookup([example], torch.device("cpu"), has_kinds).features(*torch.from_numpy(before))
    return Derivation(units, features, np.repeat(np.array(example.actions)[:, None], 2, axis=1))


def _n_read(actions: Sequence[int]) -> IntArray:
    """Return the number of EDUs read before each step."""
    is_generated = np.asarray(actions) == GENERATE
    before: IntArray = np.cumsum(is_generated) - is_generated
    return before


@dataclass(frozen=True, slots=True)
class Words:
    """The words of all EDUs in packed order: all first words, all second words and so on, the longest EDU first."""

    words: Tensor
    documents: Tensor
    """The document of each word."""
    batch_sizes: Tensor
    sorted_edus: Tensor
    unsorted_edus: Tensor
    rows: Tensor
    """The packed row of each word in text order."""

    def pack(self, embedded: Tensor) -> PackedSequence:
        """Pack the vectors of these words for an LSTM. Shape: (words, size)"""
        return PackedSequence(embedded, self.batch_sizes, self.sorted_edus, self.unsorted_edus)

    def to(self, device: torch.device | str) -> "Words":
        """Return the same words on a device."""
        return _move(self, torch.device(device))


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of the language model: the words of every EDU and its end."""

    words: Tensor
    documents: Tensor
    steps: Tensor
    """The step that generates the EDU."""
    decoder_rows: Tensor
    """The row of the decoder state before the word; row 0 is the initial state."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of all derivations, one document after the other."""

    correct_actions: Tensor
    """The correct actions; the same one twice if there is only one. Shape: (steps, 2)"""
    documents: Tensor
    can_generate: Tensor
    can_reduce: Tensor
    features: LookedUp
    direct_edus: Tensor
    """The first, last and nuclear EDU of the top unit, then of the second, numbered over all documents. The number of a
    missing EDU is the total number of EDUs."""
    n_read: Tensor
    """The row of the lookahead for the number of EDUs read. A document of m EDUs has m + 1 rows."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The schedule for computing the units and the stack states of all steps."""

    labels: Tensor
    nuclear_edus: Tensor
    unit_rows: Tensor
    tree_levels: tuple[tuple[Tensor, ...], ...]
    """The rows of left children, right children and kept units of each level (`genrst.rnng.schedule.TreeLevel`)."""
    stack_levels: tuple[tuple[Tensor, ...], ...]
    state_rows: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents, each with a derivation."""

    n_edus: tuple[int, ...]
    words: Words
    targets: Targets
    steps: Steps
    trees: Trees
    windows: PieceWindows | None = None
    """The windows for a pretrained encoder."""

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same batch on a device."""
        return _move(self, torch.device(device))


def make_batch(
    examples: Sequence[Example], derivations: Sequence[Derivation], shape: WindowShape | None = None
) -> Batch:
    """Join documents into a batch. This takes only a few sorts, because `derive` has done the work per document.

    `shape` is the shape of the windows for a pretrained encoder, if the network has one.
    """
    n_edus = tuple(example.n_edus for example in examples)
    words = pack_words(examples)
    windows = None if shape is None else pack_examples(examples, shape)
    return Batch(
        n_edus, words, _targets(examples, words), _steps(examples, derivations), _trees(examples, derivations), windows
    )


def pack_examples(examples: Sequence[Example], shape: WindowShape) -> PieceWindows:
    """Return the windows of documents for a pretrained encoder."""
    for example in examples:
        if len(example.piece_lengths) != example.n_edus:
            raise ConfigError(f"{example.id}: the document must be prepared with the encoder's tokenizer")
    return pack_windows([(example.pieces, example.piece_lengths) for example in examples], shape)


def pack_words(examples: Sequence[Example]) -> Words:
    """Return the words of documents in packed order."""
    lengths = np.concatenate([example.edu_lengths for example in examples])
    words = np.concatenate([example.edu_words for example in examples])
    documents = np.repeat(np.arange(len(examples)), [len(example.edu_words) for example in examples])
    order = np.argsort(-lengths, kind="stable")
    rank = np.argsort(order, kind="stable")
    batch_sizes = len(lengths) - np.cumsum(np.bincount(lengths))[:-1]
    offsets = np.concatenate([[0], np.cumsum(batch_sizes)[:-1]])
    rows = offsets[_positions(lengths)] + np.repeat(rank, lengths)
    packed = np.argsort(rows)
    return Words(
        torch.from_numpy(words[packed]),
        torch.from_numpy(documents[packed]),
        torch.from_numpy(batch_sizes),
        torch.from_numpy(order),
        torch.from_numpy(rank),
        torch.from_numpy(rows),
    )


def _positions(lengths: IntArray) -> IntArray:
    """Return 0, 1, …, length − 1 for every length, concatenated."""
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    positions: IntArray = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    return positions


def target_words(examples: Sequence[Example], words: Words) -> tuple[IntArray, IntArray]:
    """Return the words of every EDU and its end, and the row of the decoder state before each."""
    lengths = np.concatenate([example.edu_lengths for example in examples])
    text = np.concatenate([example.edu_words for example in examples])
    ends = np.cumsum(lengths)
    return np.insert(text, ends, EOS_ID), np.insert(1 + words.rows.numpy(), ends - lengths, 0)


def _targets(examples: Sequence[Example], words: Words) -> Targets:
    text, rows = target_words(examples, words)
    n_words = np.concatenate([example.edu_lengths for example in examples]) + 1
    documents = np.repeat(np.arange(len(examples)), [example.n_edus for example in examples])
    steps = np.flatnonzero(np.concatenate([example.actions for example in examples]) == GENERATE)
    return Targets(
        torch.from_numpy(text),
        torch.from_numpy(np.repeat(documents, n_words)),
        torch.from_numpy(np.repeat(steps, n_words)),
        torch.from_numpy(rows),
    )


def _steps(examples: Sequence[Example], derivations: Sequence[Derivation]) -> Steps:
    read, generate, reduce = [], [], []
    for first, example, derivation in zip(
        accumulate((e.n_edus + 1 for e in examples), initial=0), examples, derivations, strict=False
    ):
        n_before = _n_read(example.actions)
        depth = np.concatenate([[0], derivation.units.depth[:-1]])
        read.append(first + n_before)
        generate.append(n_before < example.n_edus)
        reduce.append(depth >= 2)
    return Steps(
        _join([derivation.correct_actions for derivation in derivations]),
        torch.from_numpy(np.repeat(np.arange(len(examples)), [len(example.actions) for example in examples])),
        _join(generate),
        _join(reduce),
        LookedUp(*map(torch.cat, zip(*(derivation.features for derivation in derivations), strict=True))),
        torch.from_numpy(_direct_edus(examples, derivations)),
        _join(read),
    )


def _direct_edus(examples: Sequence[Example], derivations: Sequence[Derivation]) -> IntArray:
    n_edus = sum(example.n_edus for example in examples)
    parts = []
    for first, derivation in zip(accumulate((e.n_edus for e in examples), initial=0), derivations, strict=False):
        units = derivation.units
        of_unit = first + np.stack([units.start, units.stop - 1, units.nuclear], axis=1)
        # The last row stands for a missing unit. below = −1 selects it, and so does the state before the first step.
        of_unit = np.append(of_unit, [[n_edus] * 3], axis=0)
        after = np.concatenate([of_unit[:-1], of_unit[units.below]], axis=1)
        parts.append(np.concatenate([np.full((1, 6), n_edus), after[:-1]]))
    return np.concatenate(parts)


def _trees(examples: Sequence[Example], derivations: Sequence[Derivation]) -> Trees:
    parts = [derivation.units for derivation in derivations]
    first_steps = np.concatenate([[0], np.cumsum([len(units) for units in parts])[:-1]])
    first_edus = np.concatenate([[0], np.cumsum([example.n_edus for example in examples])[:-1]])

    def shifted(arrays: list[IntArray], firsts: IntArray) -> IntArray:
        pairs = zip(arrays, firsts, strict=True)
        return np.concatenate([np.where(array < 0, -1, array + first) for array, first in pairs])

    trees = schedule_trees(
        shifted([units.left for units in parts], first_steps),
        shifted([units.right for units in parts], first_steps),
        np.concatenate([units.height for units in parts]),
    )
    stacks = schedule_stacks(
        shifted([units.below for units in parts], first_steps),
        np.concatenate([units.depth for units in parts]),
        first_steps,
    )
    actions = np.concatenate([np.asarray(example.actions) for example in examples])
    nuclear = shifted([units.nuclear for units in parts], first_edus)
    return Trees(
        torch.from_numpy(actions[trees.composed] - 1),
        torch.from_numpy(nuclear[trees.composed]),
        torch.from_numpy(trees.rows),
        tuple(_tensors(level.left, level.right, level.keep) for level in trees.levels),
        tuple(_tensors(level.units, level.below) for level in stacks.levels),
        torch.from_numpy(stacks.rows),
    )


def _tensors(*arrays: IntArray) -> tuple[Tensor, ...]:
    return tuple(map(torch.from_numpy, arrays))


def _join(arrays: list[IntArray] | list[NDArray[np.bool_]]) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays))


def _move(part: Part, device: torch.device) -> Part:
    """Move every tensor inside dataclasses and tuples. The batch sizes of a packed sequence must stay on the CPU."""
    if isinstance(part, Tensor):
        return part.to(device, non_blocking=True)  # type: ignore[return-value]
    if isinstance(part, tuple):
        make = getattr(part, "_make", tuple)  # keeps named tuples
        return make(_move(item, device) for item in part)  # type: ignore[return-value]
    if hasattr(part, "__dataclass_fields__"):
        moved = {
            field.name: getattr(part, field.name)
            if field.name == "batch_sizes"
            else _move(getattr(part, field.name), device)
            for field in fields(part)  # type: ignore[arg-type]
        }
        return type(part)(**moved)
    return part
