"""Documents as a chart reads them: word pieces, layout, and what a network learns from them. No PyTorch.

There is no syntax and there are no words here: a chart needs nothing but the text, and finds its EDUs and sentences.
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
"""The places where the leaves of a chart begin and where the last one ends, in EDUs: 0, 1, …, n for a whole document.
A leaf may be a block of several EDUs, a sentence say, that has a chart of its own."""


class LabelledUnit(NamedTuple):
    """The EDUs from `start` to before `stop`, split at `split`, and the number of the label."""

    start: int
    split: int
    stop: int
    label: int


@dataclass(frozen=True, slots=True)
class SoftTree:
    """A distribution over the trees of a document, as teachers see it: all units that are not unlikely."""

    units: IntArray
    """The start, split and stop of each. Shape: (units, 3)"""
    p: FloatArray
    """The probability of each. Shape: (units)"""
    labels: IntArray
    """Its most probable labels. Shape: (units, labels)"""
    label_p: FloatArray
    """Their probabilities, given the unit. Shape: (units, labels)"""


def _no_units() -> IntArray:
    return np.zeros((0, 4), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ChartExample:
    """The word pieces and the layout of a document, and its tree if it has one."""

    id: str
    pieces: IntArray
    """The word pieces of all EDUs, one after the other."""
    piece_lengths: IntArray
    """How many pieces each EDU has."""
    sentences: Sequence[int]
    """The number of each EDU's sentence."""
    paragraphs: Sequence[int]
    """The number of each EDU's paragraph."""
    kinds: Sequence[int]
    """What each EDU begins, as `genrst.text.layout.Kind`."""
    units: IntArray = field(default_factory=_no_units)
    """The units of its tree, each after those inside it: start, split, stop and label (`Labels.number`).

    Shape: (units, 4)
    """
    soft: SoftTree | None = None
    """In place of units: what other models think of its trees."""
    starts: FloatArray | None = None
    """What other models think of its segments: the probabilities that an EDU, and that a sentence starts with each
    piece. Shape: (pieces, 2)"""

    @property
    def n_edus(self) -> int:
        """The number of EDUs."""
        return len(self.piece_lengths)

    def as_columns(self) -> dict[str, NDArray[Any]]:
        """All of it but the name, as arrays."""
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
    # A document of one EDU has no units; NumPy could not tell how many labels each has.
    n_labels = max(columns["soft.labels"].size // max(len(p), 1), 1)
    units = columns["soft.units"].astype(np.int64).reshape(-1, 3)
    labels = columns["soft.labels"].astype(np.int64).reshape(-1, n_labels)
    label_p = columns["soft.label_p"].astype(np.float32).reshape(-1, n_labels)
    return SoftTree(units, p, labels, label_p)


def make_example(document: Document, pieces: IntArray, lengths: IntArray) -> ChartExample:
    """A document as numbers, given its word pieces and how many of them each EDU has."""
    places = document.sentence_of_edus(), document.paragraph_of_edus(), edu_kinds(document)
    return ChartExample(document.id, pieces, lengths, *places)


def boundaries(kinds: Sequence[int]) -> IntArray:
    """What each EDU of a document begins; the end of the document is one kind more. Shape: (EDUs + 1)"""
    first, *others = kinds
    # A part of a document that stands alone begins a paragraph, as documents do.
    return np.array([first if first in (Kind.ITEM, Kind.HEADING) else int(Kind.PARAGRAPH), *others, len(Kind)])


# Trees as units, and back.


def units_of(tree: Tree, labels: Labels, id: str) -> IntArray:
    """The units of a tree, made binary, each after those inside it. Shape: (units, 4)"""
    found = []
    for unit in postorder(binarise(tree)):
        if isinstance(unit, Unit):
            number = labels.number((unit.relation.lower(), unit.nuclearity))
            if number is None:
                raise UnknownLabelError(f"{unit.relation} {unit.nuclearity}", id)
            found.append((unit.start, unit.children[1].start, unit.stop, number))
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def tree_of(units: Sequence[Sequence[int]], labels: Labels, certainties: Sequence[Certainty] = ()) -> Tree:
    """The tree of some units, in any order, and what is said of them; without units, it is a single EDU."""
    named = [labels.name(label) for *_, label in units]
    built: dict[int, Tree] = {}
    # From the last one that starts on, so that children are there before their parents.
    order = sorted(range(len(units)), key=lambda number: (-units[number][0], units[number][2]))
    for number in order:
        start, split, *_ = units[number]
        left, right = (built.pop(edu, Leaf(edu)) for edu in (start, split))
        certainty = certainties[number] if certainties else UNKNOWN
        relation, nuclearity = named[number]
        built[start] = Unit(relation, nuclearity, (left, right), (), *certainty)
    return built.get(0, Leaf(0))
