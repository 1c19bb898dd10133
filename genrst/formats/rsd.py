"""Write discourse dependencies as `.rsd`: the tab-separated table of rst2dep and GUM, one EDU per line.

    1   Although it rained ,    0   _   _   _   2   concession_r   _   dm-although-1-_
    2   we went out             0   _   _   _   0   ROOT           _   _
    3   and got wet .           1   _   _   _   2   sequence_m     _   dm-and-8-_

The columns in use are the number of the EDU (from 1), its text, the height at which it attaches, the number of its head
(0 for the root) and its relation, with the suffix `_r` for the head of a satellite and `_m` for the head of a further
nucleus. The height is the number of units that its head heads below the attachment. It allows rebuilding the tree.

Column 9 holds the secondary edges of the units that the EDU heads, such as `1:contrast:0:1:SIGNALS`: the head of the
target, the relation, the heights of source and target, and the signals. Column 10 holds the signals of the relations of
these units: the type, the subtype (or the words of a discourse marker), the word numbers and the status.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby

from genrst.document import MARKERS, Document, Signal
from genrst.errors import UsageError
from genrst.formats.plain import collapse_spaces
from genrst.formats.signals import Range, layers_at
from genrst.trees.dependency import dependencies_li
from genrst.trees.node import Leaf, Tree, Unit, fold

_ROOT = "ROOT"
_EMPTY = "_"


def write_rsd(document: Document) -> str:
    """Return the text of an `.rsd` file. Edges and signals whose EDUs are not a unit are left out with a warning."""
    if document.tree is None:
        raise UsageError(f"{document.id}: the document must have a tree to be written as .rsd, but is only segmented")
    heights, suffixes, places = _attachments(document.tree)
    edges, signals = _layers(document, places)
    lines = []
    for number, (text, dependency) in enumerate(zip(document.edu_texts, dependencies_li(document.tree), strict=True)):
        head, relation = 0, _ROOT
        if dependency.head is not None:
            head, relation = dependency.head + 1, f"{_cell(dependency.relation)}{suffixes[number]}"
        layers = "|".join(edges[number]) or _EMPTY, ";".join(signals[number]) or _EMPTY
        cells = [number + 1, _cell(text), heights[number], *[_EMPTY] * 3, head, relation, *layers]
        lines.append("\t".join(map(str, cells)) + "\n")
    return "".join(lines)


def _attachments(tree: Tree) -> tuple[list[int], list[str], dict[Range, tuple[int, int]]]:
    """Return the height and suffix of every EDU's attachment, and the head and height of every unit.

    The height of a unit is the number of units inside it with the same head.
    """
    heights = [0] * tree.stop
    suffixes = [""] * tree.stop
    places: dict[Range, tuple[int, int]] = {}

    def place(leaf: Leaf) -> tuple[int, int]:
        places[leaf.start, leaf.stop] = leaf.edu, 0
        return leaf.edu, 0

    def attach(unit: Unit, heads: list[tuple[int, int]]) -> tuple[int, int]:
        governor, height = heads[unit.nuclearity.index("N")]
        for letter, (head, _) in zip(unit.nuclearity, heads, strict=True):
            if head != governor:
                heights[head] = height
                suffixes[head] = "_m" if letter == "N" else "_r"
        places[unit.start, unit.stop] = governor, height + 1
        return governor, height + 1

    fold(tree, place, attach)
    return heights, suffixes, places


def _layers(
    document: Document, places: dict[Range, tuple[int, int]]
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return the secondary edges and the signals of every EDU."""
    found, signals = layers_at(document, places, has_signs=False)
    words = [word for text in document.edu_texts for word in text.split()]
    of_relations: dict[int, list[str]] = defaultdict(list)
    of_edges: dict[tuple[Range, Range], list[str]] = defaultdict(list)
    for signal in signals:
        if signal.target is None:
            of_relations[places[signal.unit][0]].append(_signal(signal, words))
        else:
            of_edges[signal.unit, signal.target].append(_signal(signal, words))
    edges: dict[int, list[str]] = defaultdict(list)
    for edge in found:
        (head, height), (target, target_height) = places[edge.source], places[edge.target]
        reasons = ";".join(sorted(of_edges[edge.source, edge.target])) or _EMPTY
        edges[head].append(f"{target + 1}:{_part(edge.relation)}:{height}:{target_height}:{reasons}")
    return edges, of_relations


def _signal(signal: Signal, words: list[str]) -> str:
    """Return the cell of a signal, such as `dm-in addition-7-8-gold`: type, subtype or words, word numbers, status."""
    shown = [words[number - 1].lower() for number in signal.tokens if 0 < number <= len(words)]
    subtype = " ".join(shown) if signal.type in MARKERS and shown else signal.subtype
    return "-".join([*map(_part, (signal.type, subtype)), _ranges(signal.tokens) or _EMPTY, _part(signal.status)])


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: `1-3,7` for 1, 2, 3, 7."""
    parts = []
    # The difference between number and position is constant in a run of adjacent numbers.
    for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0]):
        first, *others = [number for _, number in run]
        parts.append(f"{first}-{others[-1]}" if others else f"{first}")
    return ",".join(parts)


def _part(text: str) -> str:
    """Return a text for a part of a cell, without the characters that separate parts."""
    return _cell(text.translate(dict.fromkeys(map(ord, "|;:"), " ")))


def _cell(text: str) -> str:
    return collapse_spaces(text) or _EMPTY
