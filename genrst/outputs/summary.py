"""Summaries: the EDUs that the tree promotes highest (Marcu 2000), in the order of the text.

EDUs are taken in the order of one ranking until the next would be too much, so shorter summaries are parts of longer
ones. No words are changed, and nothing is done for sentences that need another to be understood.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import TypeAlias, TypedDict

from genrst.document import Document, require_tree
from genrst.errors import GenrstError, UsageError
from genrst.trees.measures import importance

DEFAULT_SHARE = 0.2
OMISSION = " … "
"""What stands for the EDUs that are left out between two of a summary."""

Count: TypeAlias = Callable[[str], int]
"""How long a text is; for a language model, the number of its tokens."""

CHARACTERS_PER_WORD = 6
"""The length of a word, with the space after it, that is assumed in a document without text."""


def count_words(text: str) -> int:
    """The number of words, which white space separates."""
    return len(text.split())


def size_of(document: Document, start: int, stop: int, count: Count) -> int:
    """The length of the text of the EDUs from `start` to `stop` (exclusive); without text, an estimate."""
    text = document.slice(start, stop)
    if text is None:
        first, end = document.offsets(start, stop)
        return -(-(end - first) // CHARACTERS_PER_WORD)
    return count(text)


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
    """The most important EDUs, by number, in the order of the text; earlier ones win where they are equally important.

    There are `n_edus` of them, or as many as have at most this `share` of the words (0.2 unless given), but at least
    one. `count` says how many words a text has.
    """
    if n_edus is not None and share is not None:
        raise UsageError(f"a summary takes a number of EDUs or a share, was: both ({n_edus} and {share})")
    if n_edus is not None and n_edus < 1:
        raise UsageError(f"a summary must have 1 EDU or more, was: {n_edus}")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"a summary's share of the words must be above 0 and at most 1, was: {share}")
    ranking = importance_ranking(document)
    if n_edus is None:
        sizes = [size_of(document, edu, edu + 1, count) for edu in ranking]
        n_edus = _affordable(sizes, DEFAULT_SHARE if share is None else share)
    return sorted(ranking[:n_edus])


def _affordable(sizes: list[int], share: float) -> int:
    """How many of these sizes, from the first on, are together at most a share of all; at least one."""
    total = sum(sizes) or 1
    # Dividing is exact where multiplying is not: 0.29 × 100 is less than 29.
    return max(1, len(list(takewhile(lambda size: size / total <= share, accumulate(sizes)))))


def importance_ranking(document: Document) -> list[int]:
    """All EDUs by number, the most important first; earlier ones come first where they are equally important."""
    scores = importance(require_tree(document))
    return sorted(range(len(scores)), key=lambda edu: -scores[edu])


def summary_text(
    document: Document, *, n_edus: int | None = None, share: float | None = None, count: Count = count_words
) -> str:
    """The text of a summary: slices of the text, with ` … ` where EDUs are left out and a space where none is."""
    return join_edus(document, summary(document, n_edus=n_edus, share=share, count=count))


def join_edus(document: Document, edus: Sequence[int]) -> str:
    """The text of some EDUs, in this order."""
    if document.text is None:
        raise GenrstError(f"{document.id}: a document must have a text to give that of its summary, was: offsets only")
    texts = document.edu_texts
    gaps = ["", *(_gap(document, before, after) for before, after in pairwise(edus))]
    return "".join(gap + texts[edu] for gap, edu in zip(gaps, edus, strict=True))


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
    scores = importance(require_tree(document))
    return [
        SummaryRow(
            document=document.id,
            edu=edu,
            start=document.edus[edu].start,
            end=document.edus[edu].end,
            importance=scores[edu],
            text=document.slice(edu, edu + 1),
        )
        for edu in edus
    ]
