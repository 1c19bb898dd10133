"""The layout of a text as integers: what each EDU begins, and what that says about a unit.

Not in the paper, which only compares the sentences and paragraphs of two units.
"""

from bisect import bisect_right
from collections.abc import Sequence
from enum import IntEnum

from genrst.errors import ConfigError
from genrst.rnng.transitions.features import Syntax
from genrst.text.layout import SIZES, Kind


class Boundary(IntEnum):
    """What an EDU begins besides itself."""

    NOTHING = 0
    SENTENCE = 1
    PARAGRAPH = 2


def n_boundaries(has_kinds: bool) -> int:
    """The number of different boundaries an EDU can begin with."""
    return len(Kind) if has_kinds else len(Boundary)


def n_classes(has_kinds: bool) -> tuple[int, int, int]:
    """The number of values of each part of a unit's layout; 0 stands for no unit."""
    return 1 + n_boundaries(has_kinds), 1 + n_boundaries(has_kinds), 2 + len(SIZES)


def boundaries(syntax: Syntax, has_kinds: bool = False) -> list[int]:
    """What each EDU begins, as `Boundary` or, with `has_kinds`, as `Kind`."""
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
        raise ConfigError("model.layout_kinds: the features must be prepared again, with kinds of layout")
    first, *others = map(int, syntax.kinds)
    # A part of a document that stands alone begins a paragraph, as documents do.
    return [first if first in (Kind.ITEM, Kind.HEADING) else int(Kind.PARAGRAPH), *others]


def unit_layout(found: Sequence[int], start: int, stop: int) -> tuple[int, int, int]:
    """The boundary before a unit, the strongest one inside it, and the class of its size; zeros for no unit."""
    if start < 0:
        return 0, 0, 0
    inside = max(found[start + 1 : stop], default=0)
    return 1 + found[start], 1 + inside, 1 + bisect_right(SIZES, stop - start)
