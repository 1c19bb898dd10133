"""The features for finding signals: the relations of a tree, their words, and the positions of these. No PyTorch.

An *atom* is a word or a punctuation mark of the text, independent of the document's tokens. A *relation* is that of a
satellite, or of a nucleus after the first, to its parent. A *row* is an EDU in which the words of a relation are
searched. A network scores pairs of a row and an atom in it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from genrst.chart.examples import FloatArray
from genrst.chart.labels import IntArray
from genrst.document import Document, Span, require_tree
from genrst.trees.binarise import flatten, is_binary
from genrst.trees.node import Leaf, Tree, Unit, attachment_order, fold, preorder, units

Edus: TypeAlias = tuple[int, int]
"""The EDUs of a unit: start, stop."""

Context: TypeAlias = tuple[str, str, str, str]
"""The context of a word: the name and the role of a relation, the side of the word, and the word itself."""

ATOM = re.compile(r"\w+|[^\w\s]")
SIZES = (1, 2, 3, 5, 9, 17, 33)
"""The lower limits of the buckets for sizes and distances; the first is 1."""
MOST_EDUS = 8
"""The maximum number of EDUs searched per relation; in longer relations, only edge EDUs and heads are searched."""
N_REGIONS, N_BITS, N_DEPTHS, N_SIZES = 4, 32, 5, len(SIZES) + 1
ATOM_FEATURES = (N_SIZES, N_SIZES, 2)
ROW_FEATURES = (N_REGIONS, N_BITS, N_DEPTHS)


class Relation(NamedTuple):
    """A relation of a tree that may have signals."""

    unit: Edus
    """The satellite, or a nucleus after the first."""
    other: Edus
    """The nucleus of that satellite, or the previous nucleus."""
    name: str
    role: str
    """`left` or `right` for the side of a satellite, `N` for a nucleus."""
    nucleus: Edus
    """The other side, without the satellites that attach to it first."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """The words and signs in the EDUs of a document."""

    spans: Sequence[Span]
    edus: IntArray
    """The EDU of each atom. Shape: (atoms)"""
    first: IntArray
    """The first atom of each EDU, then the total number of atoms. Shape: (EDUs + 1)"""
    features: IntArray
    """The distances to both ends of the EDU, and whether the atom is punctuation. Shape: (atoms, 3)"""


@dataclass(frozen=True, slots=True)
class Asked:
    """The relations of a tree, and the EDUs in which their words are searched."""

    relations: Sequence[Relation]
    heads: IntArray
    """The nuclear EDUs of the unit and of the other side, and the unit's first EDU. Shape: (relations, 3)"""
    sizes: IntArray
    """The buckets of both sizes, and what the unit and the later side begin. Shape: (relations, 4)"""
    rows: IntArray
    """The relation and the EDU of each row. Shape: (rows, 2)"""
    row_features: IntArray
    """Shape: (rows, 3)"""


def bucket(sizes: IntArray) -> IntArray:
    """The bucket of each size, starting at size 0."""
    return np.searchsorted(SIZES, sizes, side="right")


def find_atoms(document: Document) -> Atoms:
    """Return the atoms of a document."""
    spans: list[Span] = []
    first = [0]
    for edu, text in zip(document.edus, document.edu_texts, strict=True):
        spans += [Span(edu.start + found.start(), edu.start + found.end()) for found in ATOM.finditer(text)]
        first.append(len(spans))
    counts = np.diff(first)
    edus = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(spans)) - np.repeat(first[:-1], counts)
    is_sign = [not (document.text or "")[span.start].isalnum() for span in spans]
    features = np.stack([bucket(place), bucket(counts[edus] - 1 - place), np.array(is_sign, dtype=np.int64)], axis=1)
    return Atoms(spans, edus, np.array(first), features)


def pool_pieces(atoms: Atoms, starts: IntArray, states: FloatArray) -> FloatArray:
    """Return the mean state of the pieces that start in each atom, or the state of the previous piece if none does.

    Shape: (pieces), (pieces, size) → (atoms, size)
    """
    begins = np.array([span.start for span in atoms.spans])
    ends = np.array([span.end for span in atoms.spans])
    low, high = np.searchsorted(starts, begins), np.searchsorted(starts, ends)
    low = np.clip(np.where(high > low, low, low - 1), 0, len(starts) - 1)
    high = np.maximum(high, low + 1)
    sums: FloatArray = np.array(states[low], dtype=np.float32)
    for step in range(1, int((high - low).max(initial=1))):
        more = np.flatnonzero(high - low > step)
        sums[more] += states[low[more] + step]
    sums /= (high - low)[:, None].astype(np.float32)
    return sums


def nuclear_edus(tree: Tree) -> dict[Edus, int]:
    """Return the nuclear EDU of every node, which is that of its first nucleus."""
    found: dict[Edus, int] = {}

    def of_leaf(leaf: Leaf) -> int:
        found[leaf.start, leaf.stop] = leaf.edu
        return leaf.edu

    def of_unit(unit: Unit, children: list[int]) -> int:
        found[unit.start, unit.stop] = children[unit.nuclearity.index("N")]
        return found[unit.start, unit.stop]

    fold(tree, of_leaf, of_unit)
    return found


def relations_of(tree: Tree) -> list[Relation]:
    """Return the relations of a tree; each list in a binary tree counts as one unit, as in files."""
    found: list[Relation] = []
    for unit in units(flatten(tree) if is_binary(tree) else tree):
        spans = [(child.start, child.stop) for child in unit.children]
        first, last = unit.nuclearity.index("N"), unit.nuclearity.rindex("N")
        for place in range(first + 1, last + 1):
            before = max(one for one in range(place) if unit.nuclearity[one] == "N")
            role = "N" if unit.nuclearity[place] == "N" else "right"
            found.append(Relation(spans[place], spans[before], unit.relations[place].lower(), role, spans[before]))
        start, stop = spans[first][0], spans[last][1]
        for place in attachment_order(unit.nuclearity):
            role = "left" if place < first else "right"
            found.append(Relation(spans[place], (start, stop), unit.relations[place].lower(), role, spans[first]))
            start, stop = min(start, spans[place][0]), max(stop, spans[place][1])
    return found


def ask(document: Document, kinds: IntArray) -> Asked:
    """Return what to score in a document; `kinds` says what each EDU begins (`boundaries`)."""
    tree = require_tree(document)
    relations, nuclear, starting = relations_of(tree), nuclear_edus(tree), chains(tree)
    # Satellites attach one by one, so a nucleus with its earlier satellites may not be a node of the tree.
    heads = {side: nuclear.get(side, nuclear[one.nucleus]) for one in relations for side in (one.unit, one.other)}
    rows: list[tuple[int, int]] = []
    features: list[tuple[int, int, int]] = []
    for number, one in enumerate(relations):
        is_after = one.unit[0] >= one.other[1]
        for is_other, side in enumerate((one.unit, one.other)):
            edge = side[0] if (is_other == 0) == is_after else side[1] - 1
            for edu in _edus_to_read(side, heads[side]):
                bits = (edu == side[0]) + 2 * (edu == side[1] - 1) + 4 * (edu == heads[side]) + 8 * (edu == edge)
                rows.append((number, edu))
                is_sentence = 16 * int(kinds[edu] > 0)
                smaller = sum(node[1] < side[1] for node in starting[edu]) if edu == side[0] else N_DEPTHS
                features.append((2 * is_other + is_after, bits + is_sentence, min(smaller, N_DEPTHS - 1)))
    sizes = [
        (one.unit[1] - one.unit[0], one.other[1] - one.other[0], one.unit[0], max(one.unit[0], one.other[0]))
        for one in relations
    ]
    sizes_of = np.array(sizes, dtype=np.int64).reshape(-1, 4)
    return Asked(
        relations,
        np.array([(heads[one.unit], heads[one.other], one.unit[0]) for one in relations], dtype=np.int64).reshape(
            -1, 3
        ),
        np.concatenate([bucket(sizes_of[:, :2]), kinds[sizes_of[:, 2:]]], axis=1),
        np.array(rows, dtype=np.int64).reshape(-1, 2),
        np.array(features, dtype=np.int64).reshape(-1, 3),
    )


def chains(tree: Tree) -> Mapping[int, list[Edus]]:
    """Return the nodes that start at each EDU, the smallest first."""
    found: dict[int, list[Edus]] = {}
    for node in preorder(tree):
        found.setdefault(node.start, []).insert(0, (node.start, node.stop))
    return found


def _edus_to_read(side: Edus, head: int) -> list[int]:
    start, stop = side
    if stop - start <= MOST_EDUS:
        return list(range(start, stop))
    return sorted({start, start + 1, head, stop - 2, stop - 1})


def pairs(asked: Asked, atoms: Atoms) -> tuple[IntArray, IntArray]:
    """Return the row and the atom of each pair."""
    edus = asked.rows[:, 1]
    counts = atoms.first[edus + 1] - atoms.first[edus]
    rows = np.repeat(np.arange(len(edus)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, atoms.first[edus][rows] + within


def repeats(asked: Asked, atoms: Atoms, text: str, rows: IntArray, places: IntArray) -> IntArray:
    """Return whether the word of each pair also occurs on the other side of its relation. Shape: → (pairs)"""
    _, words = np.unique([text[span.start : span.end].lower() for span in atoms.spans], return_inverse=True)
    sides = 2 * asked.rows[rows, 0] + asked.row_features[rows, 0] // 2
    n_words = len(atoms.spans) + 1
    found: IntArray = np.isin((sides ^ 1) * n_words + words[places], sides * n_words + words[places]).astype(np.int64)
    return found


def contexts(relations: Sequence[Relation], atoms: Atoms, text: str) -> Iterator[tuple[int, int, Context]]:
    """Yield the pairs that rules test: each relation with −1 for itself, and with the atoms of edge EDUs and heads."""
    for number, one in enumerate(relations):
        yield number, -1, (one.name, one.role, "", "")
        sides = [("first", one.unit[0]), ("last", one.unit[1] - 1), ("other", one.nucleus[0])]
        for side, edu in sides if one.unit[1] - one.unit[0] > 1 else sides[::2]:
            for atom in range(atoms.first[edu], atoms.first[edu + 1]):
                span = atoms.spans[atom]
                yield number, atom, (one.name, one.role, side, text[span.start : span.end].lower())


def words_of_atoms(atoms: Atoms, words: Sequence[Span]) -> IntArray:
    """Return the word (from 0) in which each atom starts, or −1 if it starts outside all words."""
    starts = [word.start for word in words]
    numbers = np.array([bisect_right(starts, atom.start) - 1 for atom in atoms.spans], dtype=np.int64)
    ends = np.array([words[number].end if number >= 0 else 0 for number in numbers.tolist()])
    begins = np.array([atom.start for atom in atoms.spans])
    return np.where(begins < ends, numbers, -1)
