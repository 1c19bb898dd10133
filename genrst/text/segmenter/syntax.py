"""What a dependency tree says about where clauses start and end, for all tokens of a document at once.

Heads are token numbers, a root is its own head. Nothing here hangs on heads that form a cycle: they only give
distances and spans of no meaning.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]


def subtree_spans(heads: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the last token of every token's subtree."""
    first, last = np.arange(len(heads)), np.arange(len(heads))
    order, levels = _by_depth(heads)
    # The deepest first, so that a subtree is complete before its head looks at it.
    for start, stop in zip(levels[-2:0:-1], levels[:1:-1], strict=True):
        tokens = order[start:stop]
        np.minimum.at(first, heads[tokens], first[tokens])
        np.maximum.at(last, heads[tokens], last[tokens])
    return first, last


def _by_depth(heads: IntArray) -> tuple[IntArray, IntArray]:
    """The tokens from the roots down, and where each level starts."""
    depths = (heads != np.arange(len(heads))).astype(np.int64)
    ancestors = heads
    for _ in range(len(heads).bit_length()):
        if not depths[ancestors].any():
            break
        depths = depths + depths[ancestors]
        ancestors = ancestors[ancestors]
    order = np.argsort(depths, kind="stable")
    _, counts = np.unique(depths, return_counts=True)
    return order, np.concatenate([[0], np.cumsum(counts)])


def largest_at(edges: IntArray, sizes: IntArray) -> IntArray:
    """For every token the one with the largest subtree among those whose edge it is; itself if there is none."""
    by_size = np.argsort(sizes, kind="stable")
    largest = np.arange(len(edges))
    # The last assignment wins: that of the largest.
    largest[edges[by_size]] = by_size
    return largest
