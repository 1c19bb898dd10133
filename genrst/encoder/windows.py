"""Cut a document into the windows in which an encoder reads it.

Windows hold whole EDUs and overlap. The vector of an EDU comes from the window where it has the most context. The cuts
depend only on lengths. For texts without EDUs, every word piece counts as an EDU.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class WindowShape:
    """The settings of the windows for an encoder."""

    size: int
    """The maximum number of pieces in a window, including prefix and suffix."""
    overlap: float
    """The fraction of a window that overlaps with the previous one."""
    is_causal: bool
    """Whether EDUs must not attend to later ones."""
    prefix: tuple[int, ...]
    """The pieces before the text, such as `[CLS]`."""
    suffix: tuple[int, ...]
    """The pieces after the text, such as `[SEP]`."""
    padding: int


@dataclass(frozen=True, slots=True)
class Window:
    """A window that reads the EDUs from `start` to `stop`, and provides the vectors of those from `first` to `last`."""

    start: int
    stop: int
    first: int
    last: int


def cut(lengths: Sequence[int], limit: int, overlap: float, is_causal: bool) -> list[Window]:
    """Return the windows of a document whose EDUs have these lengths, none of them over the limit.

    A window shares at most the fraction `overlap` of the limit with the previous one. An EDU belongs to the window
    where the shorter of its two contexts is longest or, in causal windows, where its left context is longest. The part
    of a causal window up to an EDU does not depend on later EDUs.
    """
    ends = [0, *accumulate(lengths)]
    spans = _spans(ends, limit, int(overlap * limit))
    borders = [stop if is_causal else _border(ends, stop, start) for (_, stop), (start, _) in pairwise(spans)]
    firsts, lasts = [0, *borders], [*borders, len(lengths)]
    return [Window(*span, first, last) for span, first, last in zip(spans, firsts, lasts, strict=True)]


def _spans(ends: Sequence[int], limit: int, overlap: int) -> list[tuple[int, int]]:
    """Return windows from left to right, each as long as possible. `ends` are the starts of all EDUs, and the end."""
    spans = [(0, _stop(ends, 0, limit))]
    while (stop := spans[-1][1]) < len(ends) - 1:
        # Less overlap if the next EDU would not fit otherwise.
        earliest = max(ends[stop] - overlap, ends[stop + 1] - limit)
        start = bisect_left(ends, earliest, hi=stop)
        spans.append((start, _stop(ends, start, limit)))
    return spans


def _stop(ends: Sequence[int], start: int, limit: int) -> int:
    return bisect_right(ends, ends[start] + limit) - 1


def _border(ends: Sequence[int], stop: int, start: int) -> int:
    """Return the first EDU with more context in the window from `start` on than in the previous one, up to `stop`.

    The shorter context of an EDU from x to y is min(x − a, b − y) in a window from a to b. With a < a' and b < b', it
    is shorter in the first window if and only if b − y < x − a'.
    """
    middle = ends[start] + ends[stop]
    return bisect_right(range(start, stop), middle, key=lambda edu: ends[edu] + ends[edu + 1]) + start
