"""The input and targets of a chart as arrays: word pieces, layout and trees. No PyTorch.

A chart needs no syntax or tokens. Its input is the text, in which it finds EDUs and sentences itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from genrst.chart.labels import Labels
from genrst.document import Document
from genrst.encoder.tokenizer import IntArray
from genrst.errors import UnknownLabelError
from genrst.text.layout import Kind, edu_kinds
from genrst.trees.binarise import binarise
from genrst.trees.node import UNKNOWN, Certainty, Leaf, Tree, Unit, postorder

FloatArray: TypeAlias = NDArray[np.float32]
Borders: TypeAlias = Sequence[int]
"""The starts of the leaves of a chart, in EDUs, and the end of the last leaf: 0, 1, …, n for a whole document. A leaf
can be a block of several EDUs, such as a sentence, that has its own chart."""


class LabelledUnit(NamedTuple):
    """A unit of the EDUs from `start` up to `stop` (exclusive), split at `split`, with the number of its label."""

    start: int
    split: int
    stop: int
    label: int


@dataclass(frozen=True, slots=True)
class SoftTree:
    """A distribution over the trees of a document from teacher models, as its probable units."""

    units: IntArray
    """The start, split and stop of each unit. Shape: (units, 3)"""
    p: FloatArray
    """The probability of each unit. Shape: (units)"""
    labels: IntArray
    """The most probable labels of each unit. Shape: (units, labels)"""
    label_p: FloatArray
    """Their probabilities, given the unit. Shape: (units, labels)"""


def _no_units() -> IntArray:
    return np.zeros((0, 4), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ChartExample:
    """The word pieces and the layout of a document, and its tree if it has one."""

    id: str
    pieces: IntArray
    """The word pieces of all EDUs, concatenated."""
    piece_lengths: IntArray
    """The number of pieces of each EDU."""
    sentences: Sequence[int]
    """The number of each EDU's sentence."""
    paragraphs: Sequence[int]
    """The number of each EDU's paragraph."""
    kinds: Sequence[int]
    """The kind of boundary at the start of each EDU (`genrst.text.layout.Kind`)."""
    units: IntArray = field(default_factory=_no_units)
    """The units of its tree in postorder: start, split, stop and label (`Labels.number`).

    Shape: (units, 4)
    """
    soft: SoftTree | None = None
    """The distribution of teacher models, instead of units."""
    starts: FloatArray | None = None
    """The teacher models' probabilities that an EDU, and that a sentence, starts with each piece. Shape: (pieces, 2)"""

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""
        return len(self.piece_lengths)

    def as_columns(self) -> dict[str, NDArray[Any]]:
        """Return all fields except the id as arrays."""
        columns: dict[str, NDArray[Any]] = {
            name: np.asarray(getattr(self, name), dtype=np.int32)
            for name in ("pieces", "piece_lengths", "sentences", "paragraphs", "kinds", "units")
        }
        if self.soft is not None:
            columns |= {f"soft.{name}": getattr(self.soft, name).astype(kind) for name, kind in _SOFT.items()}
        if self.starts is not None:
            columns["starts"] = self.starts.astype(np.float16)
        return columns

    @classmethod
    def from_columns(cls, id: str, columns: Mapping[str, NDArray[Any]]) -> "ChartExample":
        """The inverse of `as_columns`."""
        pieces, lengths = (columns[name].astype(np.int64) for name in ("pieces", "piece_lengths"))
        sentences, paragraphs, kinds = (columns[name].tolist() for name in ("sentences", "paragraphs", "kinds"))
        units = columns["units"].astype(np.int64).reshape(-1, 4)
        starts = columns["starts"].astype(np.float32).reshape(-1, 2) if "starts" in columns else None
        soft = _soft_tree(columns)
        return cls(id, pieces, lengths, sentences, paragraphs, kinds, units, soft, starts)


_SOFT = {"units": np.int32, "p": np.float16, "labels": np.int32, "label_p": np.float16}


def _soft_tree(columns: Mapping[str, NDArray[Any]]) -> SoftTree | None:
    if "soft.p" not in columns:
        return None
    p = columns["soft.p"].astype(np.float32)
    # A document of one EDU has no units, so the number of labels cannot be inferred by reshape.
    n_labels = max(columns["soft.labels"].size // max(len(p), 1), 1)
    units = columns["soft.units"].astype(np.int64).reshape(-1, 3)
    labels = columns["soft.labels"].astype(np.int64).reshape(-1, n_labels)
    label_p = columns["soft.label_p"].astype(np.float32).reshape(-1, n_labels)
    return SoftTree(units, p, labels, label_p)


def make_example(document: Document, pieces: IntArray, lengths: IntArray) -> ChartExample:
    """Make the example of a document, given its word pieces and the number of them in each EDU."""
    places = document.sentence_of_edus(), document.paragraph_of_edus(), edu_kinds(document)
    return ChartExample(document.id, pieces, lengths, *places)


def boundaries(kinds: Sequence[int]) -> IntArray:
    """Return the kind of boundary at each EDU's start; the end of the document is an extra kind. Shape: (EDUs + 1)"""
    first, *others = kinds
    # A part of a document that is parsed on its own starts a paragraph, as documents do.
    return np.array([first if first in (Kind.ITEM, Kind.HEADING) else int(Kind.PARAGRAPH), *others, len(Kind)])


# Trees as units, and back.


def units_of(tree: Tree, labels: Labels, id: str) -> IntArray:
    """Return the units of the binarised tree in postorder. Shape: (units, 4)"""
    found = []
    for unit in postorder(binarise(tree)):
        if isinstance(unit, Unit):
            number = labels.number((unit.relation.lower(), unit.nuclearity))
            if number is None:
                raise UnknownLabelError(f"{unit.relation} {unit.nuclearity}", id)
            found.append((unit.start, unit.children[1].start, unit.stop, number))
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def tree_of(units: Sequence[Sequence[int]], labels: Labels, certainties: Sequence[Certainty] = ()) -> Tree:
    """Build the tree of units, given in any order, with their certainties; without units it is a single EDU."""
    named = [labels.name(label) for *_, label in units]
    built: dict[int, Tree] = {}
    # In descending order of start, so that children are built before their parents.
    order = sorted(range(len(units)), key=lambda number: (-units[number][0], units[number][2]))
    for number in order:
        start, split, *_ = units[number]
        left, right = (built.pop(edu, Leaf(edu)) for edu in (start, split))
        certainty = certainties[number] if certainties else UNKNOWN
        relation, nuclearity = named[number]
        built[start] = Unit(relation, nuclearity, (left, right), (), *certainty)
    return built.get(0, Leaf(0))
