"""How a text is laid out, as integers: what lies between two EDUs, and what that says about a unit.

Not in the paper: it only compares the sentences and paragraphs of two units.
"""

from bisect import bisect_right
from collections.abc import Sequence
from enum import IntEnum

from genrst.transitions.features import Syntax


class Boundary(IntEnum):
    """What an EDU begins besides itself."""

    NOTHING = 0
    SENTENCE = 1
    PARAGRAPH = 2


SIZES = (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 65)
"""Where the classes of a unit's size begin, in EDUs; the first class is one EDU."""

N_CLASSES = (1 + len(Boundary), 1 + len(Boundary), 2 + len(SIZES))
"""How many values each number of a unit's layout has; 0 stands for no unit."""


def boundaries(syntax: Syntax) -> list[int]:
    """What each EDU begins."""
    found = [Boundary.PARAGRAPH]
    for edu in range(1, len(syntax.sentences)):
        if syntax.paragraphs[edu] != syntax.paragraphs[edu - 1]:
            found.append(Boundary.PARAGRAPH)
        elif syntax.sentences[edu] != syntax.sentences[edu - 1]:
            found.append(Boundary.SENTENCE)
        else:
            found.append(Boundary.NOTHING)
    return [int(boundary) for boundary in found]


def unit_layout(found: Sequence[int], start: int, stop: int) -> tuple[int, int, int]:
    """The boundary before a unit, the strongest one inside it, and the class of its size; zeros for no unit."""
    if start < 0:
        return 0, 0, 0
    inside = max(found[start + 1 : stop], default=0)
    return 1 + found[start], 1 + inside, 1 + bisect_right(SIZES, stop - start)
