"""Summaries: the EDUs that the tree promotes highest (Marcu 2000), in the order of the text.

Shorter summaries are parts of longer ones, since EDUs are taken by one ranking until the next would be too much. No
words are changed, and nothing is done for sentences that need another to be understood.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise, takewhile
from typing import TypedDict

from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.outputs.slices import Count, count_words, offsets_of, size_of, text_of, tree_of
from genrst.trees.measures import importance

DEFAULT_SHARE = 0.2
OMISSION = " … "
"""What stands for the EDUs that are left out between two of a summary."""


class SummaryRow(TypedDict):
    """An EDU of a summary; `start` and `end` are characters of the text."""

    document: str
    edu: int
    start: int
    end: int
    importance: int
    text: str | None


def summary(
    document: Document, *, n_edus: int | None = None, share: float | None = None, count: Count = count_words
) -> list[int]:
    """The most important EDUs, by number, in the order of the text; of equally important ones the earlier come first.

    There are `n_edus` of them, or as many as have at most this `share` of the words (0.2 unless given), but at least
    one. `count` says how many words a text has.
    """
    _check(n_edus, share)
    scores = importance(tree_of(document))
    ranking = sorted(range(len(scores)), key=lambda edu: -scores[edu])
    if n_edus is None:
        sizes = [size_of(document, edu, edu + 1, count) for edu in ranking]
        n_edus = _affordable(sizes, DEFAULT_SHARE if share is None else share)
    return sorted(ranking[:n_edus])


def _check(n_edus: int | None, share: float | None) -> None:
    if n_edus is not None and share is not None:
        raise UsageError(f"a summary takes a number of EDUs or a share, was: both ({n_edus} and {share})")
    if n_edus is not None and n_edus < 1:
        raise UsageError(f"a summary must have 1 EDU or more, was: {n_edus}")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"a summary's share of the words must be above 0 and at most 1, was: {share}")


def _affordable(sizes: list[int], share: float) -> int:
    """How many of these sizes, from the first on, make up no more than a share of all; at least one."""
    total = sum(sizes) or 1
    # Dividing is exact where multiplying is not: 0.29 × 100 is less than 29.
    return max(1, len(list(takewhile(lambda size: size / total <= share, accumulate(sizes)))))


def summary_text(
    document: Document, *, n_edus: int | None = None, share: float | None = None, count: Count = count_words
) -> str:
    """The text of a summary: slices of the text, with ` … ` where EDUs are left out and a space where none is."""
    return join_edus(document, summary(document, n_edus=n_edus, share=share, count=count))


def join_edus(document: Document, edus: Sequence[int]) -> str:
    """The text of some EDUs, in this order."""
    if document.text is None:
        raise GenrstError(f"{document.id}: a document must have a text for that of its summary, was: offsets only")
    slices = [text_of(document, edu, edu + 1) or "" for edu in edus]
    gaps = ["", *(_gap(document, before, after) for before, after in pairwise(edus))]
    return "".join(gap + text for gap, text in zip(gaps, slices, strict=True))


def _gap(document: Document, before: int, after: int) -> str:
    """What joins two EDUs: nothing if nothing stands between them in the text, as in Chinese."""
    if after != before + 1:
        return OMISSION
    return " " if document.edus[after].start > document.edus[before].end else ""


def summary_rows(
    document: Document, *, n_edus: int | None = None, share: float | None = None, count: Count = count_words
) -> list[SummaryRow]:
    """A row per EDU of a summary."""
    edus = summary(document, n_edus=n_edus, share=share, count=count)
    scores = importance(tree_of(document))
    return [_row(document, edu, scores[edu]) for edu in edus]


def _row(document: Document, edu: int, score: int) -> SummaryRow:
    start, end = offsets_of(document, edu, edu + 1)
    return SummaryRow(
        document=document.id, edu=edu, start=start, end=end, importance=score, text=text_of(document, edu, edu + 1)
    )
