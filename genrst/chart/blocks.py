"""Which charts a document has: small ones inside units that are sure to be there, and one over all of them.

A sentence that stays whole is a unit of every tree, so its inside and its outside are independent: a chart over its
EDUs, and one over the sentences, in which it is a leaf, say the same as one over all EDUs, and cost far less. The same
holds for any unit that is demanded. Where a chart would still be too large, it is cut at the strongest boundaries of
the text, and what lies between two of them is a unit from then on; only that is a choice and not exact.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from genrst.chart.inference import Span

MOST_LEAVES = 200
"""How large a chart may be; its time and memory are cubic."""

Borders = Sequence[int]
"""The places where the leaves of a chart begin and where the last one ends, in EDUs: 0, 1, …, n for a whole document.
A leaf may be a block of several EDUs, a sentence say, that has a chart of its own."""


def cut(
    n_edus: int,
    whole: Iterable[Span] = (),
    strengths: Sequence[int] = (),
    forbidden: Collection[Span] = (),
    most: int = MOST_LEAVES,
) -> list[Borders]:
    """The charts of a document, given the spans that are units of all its trees; none of these crosses another.

    A chart with more leaves than `most` is cut where `strengths`, what each EDU begins, are greatest, but not into
    forbidden spans. A document of one EDU has no chart.
    """
    return [part for borders in _nest(n_edus, whole) for part in _sections(borders, strengths, forbidden, most)]


def _nest(n_edus: int, whole: Iterable[Span]) -> list[Borders]:
    """The borders of each span's chart: those of the spans directly inside it, and single EDUs between them."""
    spans = sorted({(0, n_edus), *whole}, key=lambda span: (span[0], -span[1]))
    charts: list[list[int]] = []
    around: list[tuple[int, list[int]]] = []
    for start, stop in (span for span in spans if span[1] - span[0] > 1):
        _close(around, start)
        if around:
            _, outer = around[-1]
            outer += [*range(outer[-1] + 1, start + 1), stop]
        charts.append([start])
        around.append((stop, charts[-1]))
    _close(around, n_edus)
    return list(charts)


def _close(around: list[tuple[int, list[int]]], place: int) -> None:
    """Finish the charts that end before a place or at it."""
    while around and around[-1][0] <= place:
        stop, borders = around.pop()
        borders += range(borders[-1] + 1, stop + 1)


def _sections(borders: Borders, strengths: Sequence[int], forbidden: Collection[Span], most: int) -> list[Borders]:
    """A chart, or one over sections of it and one inside each of these."""
    n_leaves = len(borders) - 1
    if n_leaves <= most:
        return [borders]
    n_sections = -(-2 * n_leaves // most)
    places = [0, *(_place(borders, strengths, n, n_sections) for n in range(1, n_sections)), n_leaves]
    while banned := [n for n, (a, b) in enumerate(pairwise(places)) if (borders[a], borders[b]) in forbidden]:
        # A section that may not be a unit is joined to the one before it, the first one to the one after it.
        del places[max(banned[0], 1)]
    if len(places) == 2:
        return [borders]
    charts = _sections([borders[place] for place in places], strengths, forbidden, most)
    for first, last in pairwise(places):
        charts += _sections(borders[first : last + 1], strengths, forbidden, most) if last - first > 1 else []
    return charts


def _place(borders: Borders, strengths: Sequence[int], number: int, count: int) -> int:
    """The strongest boundary near the end of the number-th of some sections of equal size; the nearest among equals."""
    n_leaves = len(borders) - 1
    middle, reach = number * n_leaves // count, n_leaves // (3 * count)
    near = range(middle - reach, middle + reach + 1)
    return max(near, key=lambda place: (strengths[borders[place]] if strengths else 0, -abs(place - middle)))
