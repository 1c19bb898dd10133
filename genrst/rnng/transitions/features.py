"""Tables of the structural features of the top two units (section 3.3.2 of the paper), and layout.

The features are up to three words of each unit with heads outside the unit, the first dependency between the two units,
and the comparison of their sentences and paragraphs. They depend only on the EDUs that the two units cover, not on the
trees inside: the left unit covers the EDUs [start, middle), the right one [middle, stop). Words are token numbers of
the document; `NOTHING` stands for padding.

The tables allow looking up thousands of pairs at once, without a loop over tokens. They rely on two facts. First,
dependencies stay inside *blocks*, runs of EDUs that no dependency leaves (usually sentences). So the words of a unit
with heads outside it are words of its first block, which depend only on the start of the unit, the roots of the blocks
in between, and words of its last block, which depend only on the end of the unit. Second, a dependency between two
units crosses the border between them, and only few dependencies cross the same border.

The layout features, that is, the boundaries before EDUs and inside units, are not in the paper, which only compares the
sentences and paragraphs of two units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

import numpy as np

from genrst.encoder.tokenizer import IntArray
from genrst.errors import ConfigError
from genrst.text.layout import SIZES, Kind

NOTHING = -1
"""A missing word: padding, or a missing unit."""

N_HEAD_WORDS = 3


class Comparison(IntEnum):
    """The comparison of two units' sentences or paragraphs."""

    NO_PAIR = 0
    """There are fewer than two units on the stack."""
    SAME = 1
    """Both units are inside the same sentence or paragraph."""
    DIFFERENT = 2
    """Each unit is inside a single sentence or paragraph, but not the same one."""
    INCOMPARABLE = 3
    """At least one of the units spans several sentences or paragraphs."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """The parts of a document that features are computed from, as integers.

    `heads` holds the head of each token (a root is its own head), `deprels` the number of its relation. `edu_tokens`
    holds the first token of every EDU, then the total number of tokens. `sentences` and `paragraphs` hold the
    number of every EDU's sentence and paragraph. `kinds` holds the boundary before every EDU
    (`genrst.text.layout.Kind`), and is empty if it is unknown.
    """

    heads: Sequence[int]
    deprels: Sequence[int]
    edu_tokens: Sequence[int]
    sentences: Sequence[int]
    paragraphs: Sequence[int]
    kinds: Sequence[int] = ()


class Boundary(IntEnum):
    """The boundary before an EDU."""

    NOTHING = 0
    SENTENCE = 1
    PARAGRAPH = 2


def n_boundaries(has_kinds: bool) -> int:
    """Return the number of different boundaries before EDUs."""
    return len(Kind) if has_kinds else len(Boundary)


def n_classes(has_kinds: bool) -> tuple[int, int, int]:
    """Return the number of values of each part of a unit's layout. The value 0 stands for a missing unit."""
    return 1 + n_boundaries(has_kinds), 1 + n_boundaries(has_kinds), 2 + len(SIZES)


def boundaries(syntax: Syntax, has_kinds: bool = False) -> list[int]:
    """Return the boundary before each EDU, as a `Boundary` or, with `has_kinds`, as a `Kind`."""
    if has_kinds:
        return _kinds(syntax)
    found = [Boundary.PARAGRAPH]
    for edu in range(1, len(syntax.sentences)):
        if syntax.paragraphs[edu] != syntax.paragraphs[edu - 1]:
            found.append(Boundary.PARAGRAPH)
        elif syntax.sentences[edu] != syntax.sentences[edu - 1]:
            found.append(Boundary.SENTENCE)
        else:
            found.append(Boundary.NOTHING)
    return [int(boundary) for boundary in found]


def _kinds(syntax: Syntax) -> list[int]:
    if not syntax.kinds:
        raise ConfigError("model.layout_kinds: the features were prepared without kinds of layout; prepare them again")
    first, *others = map(int, syntax.kinds)
    # Like a document, a part of one begins with a new paragraph.
    return [first if first in (Kind.ITEM, Kind.HEADING) else int(Kind.PARAGRAPH), *others]


@dataclass(frozen=True, slots=True)
class HeadWordTables:
    """Tables of the words with heads outside a unit, by the EDUs of the unit."""

    blocks: IntArray
    """The block of each EDU, and one past the last."""
    first: IntArray
    """Shape: (EDUs, 3): those in the first block of a unit that starts here and extends past the block."""
    n_first: IntArray
    last: IntArray
    """Shape: (EDUs + 1, 3): those in the last block of a unit that ends here and starts before the block."""
    roots: IntArray
    """All roots, in text order."""
    first_root: IntArray
    """The first root of each block, and of one past the last."""
    block_start: IntArray
    """The first EDU of each EDU's block."""
    inside_offset: IntArray
    """Where each block's table begins in `inside`."""
    block_size: IntArray
    inside: IntArray
    """Shape: (entries, 3): those of units inside one block, by their first and last EDU in it."""


def head_word_tables(syntax: Syntax) -> HeadWordTables:
    """Build the tables of a document; quadratic in the size of a block, linear in their number."""
    blocks = _blocks(syntax)
    n_blocks = int(blocks[-1]) + 1
    starts = np.searchsorted(blocks, np.arange(n_blocks))
    sizes = np.diff(np.append(starts, len(blocks)))
    inside = [_inside(syntax, start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    first = np.concatenate([words[:, -1] for words in inside])
    nothing = np.full((1, N_HEAD_WORDS), NOTHING)
    tokens = np.arange(len(syntax.heads))
    roots = tokens[np.asarray(syntax.heads, dtype=np.int64) == tokens]
    token_starts = [syntax.edu_tokens[start] for start in starts] + [len(tokens)]
    return HeadWordTables(
        np.append(blocks, n_blocks),
        first,
        (first != NOTHING).sum(axis=1),
        np.concatenate([nothing, *(words[0] for words in inside)]),
        roots,
        np.searchsorted(roots, token_starts),
        starts[blocks],
        np.cumsum(sizes**2) - sizes**2,
        sizes,
        np.concatenate([words.reshape(-1, N_HEAD_WORDS) for words in inside]),
    )


def _inside(syntax: Syntax, start: int, stop: int) -> IntArray:
    """Return the words with outside heads of all units in the block [start, stop). Shape: (first EDUs, last EDUs, 3)"""
    found = np.full((stop - start, stop - start, N_HEAD_WORDS), NOTHING)
    for begin in range(start, stop):
        outside: list[int] = []
        # When a unit grows to the right, its words are among those it had and those that are new.
        for end in range(begin, stop):
            outside = _still_outside(syntax, begin, end, outside)
            words = outside[:N_HEAD_WORDS]
            found[begin - start, end - start, : len(words)] = words
    return found


def _still_outside(syntax: Syntax, begin: int, end: int, outside: list[int]) -> list[int]:
    """Return the words of the unit [begin, end] with outside heads, given those of [begin, end).

    Only as many words as can matter are kept. Roots and words with heads to the left keep their heads outside, however
    far the unit grows to the right.
    """
    first, new, last = (syntax.edu_tokens[edu] for edu in (begin, end, end + 1))
    found: list[int] = []
    n_settled = 0
    for token in chain(outside, range(new, last)):
        head = syntax.heads[token]
        is_settled = head == token or head < first
        if is_settled or head >= last:
            found.append(token)
            n_settled += is_settled
        if n_settled == N_HEAD_WORDS:
            break
    return found


def _blocks(syntax: Syntax) -> IntArray:
    """Number the smallest runs of EDUs that no dependency leaves."""
    edu_tokens = np.asarray(syntax.edu_tokens, dtype=np.int64)
    tokens = np.arange(len(syntax.heads))
    edu_of = np.searchsorted(edu_tokens, tokens, side="right") - 1
    head_edus = edu_of[np.asarray(syntax.heads, dtype=np.int64)] if len(tokens) else edu_of
    low, high = np.minimum(edu_of, head_edus), np.maximum(edu_of, head_edus)
    n_edus = len(edu_tokens) - 1
    # A dependency crosses the border between two EDUs if more dependencies have begun before it than have ended.
    change = np.bincount(low, minlength=n_edus + 1) - np.bincount(high, minlength=n_edus + 1)
    is_crossed = np.cumsum(change)[: n_edus - 1] > 0
    return np.concatenate([[0], np.cumsum(~is_crossed)])


@dataclass(frozen=True, slots=True)
class DominanceTables:
    """The dependencies that cross the border before each EDU, ordered by dependent.

    The feature of two units that meet at the border is the first dependency inside both units together. A dependency
    that reaches at least as far as an earlier one on both sides can never be this one, so it is left out. Few remain.
    """

    low: IntArray
    """The first of the two EDUs; `NOTHING` if there are fewer crossings. Shape of all: (EDUs, crossings)"""
    high: IntArray
    """The last of the two EDUs."""
    words: IntArray
    heads: IntArray
    deprels: IntArray


def dominance_tables(syntax: Syntax) -> DominanceTables:
    """Build the tables of a document."""
    crossings: list[list[tuple[int, ...]]] = [[] for _ in syntax.sentences]
    edu_of = np.searchsorted(syntax.edu_tokens, np.arange(len(syntax.heads)), side="right") - 1
    edus = edu_of.tolist()
    for token, head in enumerate(syntax.heads):
        low, high = sorted((edus[token], edus[head]))
        if low == high or syntax.sentences[low] != syntax.sentences[high]:
            continue
        for middle in range(low + 1, high + 1):
            if not any(low <= other[0] and other[1] <= high for other in crossings[middle]):
                crossings[middle].append((low, high, token, head, syntax.deprels[token]))
    width = max(1, *map(len, crossings))
    padded = [found + [(NOTHING,) * 5] * (width - len(found)) for found in crossings]
    return DominanceTables(*np.moveaxis(np.array(padded, dtype=np.int64), 2, 0))
