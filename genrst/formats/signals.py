"""Convert signals and secondary edges for the files of other tools: renumber words, and keep only those at units.

In `.rs4` and `.rsd` files, words are separated by white space and counted from 1. In a document, the words of signals
may be tokens (`genrst.document.signal_words`), and symbols between two EDUs, such as bullets, belong to no EDU.
"""

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import replace

from genrst.document import Document, SecondaryEdge, Signal, edu_words, signal_words
from genrst.errors import CorpusWarning

Range = tuple[int, int]


def layers_at(
    document: Document, units: Collection[Range], has_signs: bool
) -> tuple[list[SecondaryEdge], list[Signal]]:
    """Return the secondary edges and signals of these units, with word numbers as in a file.

    All others are left out with a warning. `has_signs` tells whether the file keeps the symbols between EDUs, in front
    of the next EDU.
    """
    edges = [edge for edge in document.secondary_edges if edge.source in units and edge.target in units]
    ends = {(edge.source, edge.target) for edge in edges}
    signals = [
        signal
        for signal in document.signals
        if signal.unit in units and (signal.target is None or (signal.unit, signal.target) in ends)
    ]
    n_left_out = len(document.secondary_edges) + len(document.signals) - len(edges) - len(signals)
    if n_left_out:
        message = f"{document.id}: left out {n_left_out} secondary edges or signals whose EDUs do not form a unit"
        warnings.warn(CorpusWarning(message), stacklevel=3)
    numbers = _numbers_in_file(document, has_signs) if signals else None
    if numbers is None:
        return edges, signals
    return edges, [replace(signal, tokens=_renumber(signal.tokens, numbers)) for signal in signals]


def _numbers_in_file(document: Document, has_signs: bool) -> list[list[int]] | None:
    """Return the word numbers in a file for each word of the document; None if the numbers are the same."""
    if document.text is None:
        return None
    words, counted, n_words, end = edu_words(document), list[int](), 0, 0
    for edu in document.edus:
        n_words += len(document.text[end : edu.start].split()) if has_signs else 0
        first, n_words = n_words, n_words + len(document.text[edu.start : edu.end].split())
        counted += range(first + 1, n_words + 1)
        end = edu.end
    own = signal_words(document)
    if own == words and counted == list(range(1, n_words + 1)):
        return None
    starts, ends = [word.start for word in words], [word.end for word in words]
    return [counted[bisect_right(ends, word.start) : bisect_left(starts, word.end)] for word in own]


def _renumber(tokens: tuple[int, ...], numbers: list[list[int]]) -> tuple[int, ...]:
    known = (number for number in tokens if 0 < number <= len(numbers))
    return tuple(dict.fromkeys(number for one in known for number in numbers[one - 1]))
