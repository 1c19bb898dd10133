"""The windows in which an encoder reads a document.

Windows hold whole EDUs and overlap, so that every EDU is read where it has the most context. How documents are cut
depends on lengths alone. Texts whose EDUs are not known are cut in the same way, with every word piece for itself.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How windows are made for some encoder."""

    size: int
    """The most pieces in a window, including those around the text."""
    overlap: float
    """The fraction of a window that is also in the one before."""
    is_causal: bool
    """Whether an EDU must not see later ones."""
    prefix: tuple[int, ...]
    """The pieces before the text, such as `[CLS]`."""
    suffix: tuple[int, ...]
    """The pieces after the text, such as `[SEP]`."""
    padding: int


@dataclass(frozen=True, slots=True)
class Window:
    """The EDUs from `start` to `stop` are read together, and those from `first` to `last` get their vectors there."""

    start: int
    stop: int
    first: int
    last: int


def cut(lengths: Sequence[int], limit: int, overlap: float, is_causal: bool) -> list[Window]:
    """The windows of a document whose EDUs have these lengths, none of them over the limit.

    A window shares at most this fraction of the limit with the one before. An EDU belongs to the window where the
    shorter of its two contexts is longest; if causal, where its left context is longest. What a causal window has up to
    some EDU does not depend on later ones.
    """
    ends = [0, *accumulate(lengths)]
    spans = _spans(ends, limit, int(overlap * limit))
    borders = [stop if is_causal else _border(ends, stop, start) for (_, stop), (start, _) in pairwise(spans)]
    firsts, lasts = [0, *borders], [*borders, len(lengths)]
    return [Window(*span, first, last) for span, first, last in zip(spans, firsts, lasts, strict=True)]


def _spans(ends: Sequence[int], limit: int, overlap: int) -> list[tuple[int, int]]:
    """Windows from left to right, each as long as it can be; `ends` are the positions where EDUs start, and the end."""
    spans = [(0, _stop(ends, 0, limit))]
    while (stop := spans[-1][1]) < len(ends) - 1:
        # Less overlap where the next EDU would not fit beside it.
        earliest = max(ends[stop] - overlap, ends[stop + 1] - limit)
        start = bisect_left(ends, earliest, hi=stop)
        spans.append((start, _stop(ends, start, limit)))
    return spans


def _stop(ends: Sequence[int], start: int, limit: int) -> int:
    return bisect_right(ends, ends[start] + limit) - 1


def _border(ends: Sequence[int], stop: int, start: int) -> int:
    """The first EDU that has more context in the window from `start` on than in the one before, which ends at `stop`.

    The shorter context of an EDU from x to y is min(x − a, b − y) in a window from a to b. With a < a' and b < b' it is
    shorter in the first window exactly if b − y < x − a'.
    """
    middle = ends[start] + ends[stop]
    return bisect_right(range(start, stop), middle, key=lambda edu: ends[edu] + ends[edu + 1]) + start
