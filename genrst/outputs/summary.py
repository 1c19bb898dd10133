"""Summaries: the sentences, or the EDUs, that the tree promotes highest (Marcu 2000), in the order of the text.

They are taken in the order of one ranking until the next one would exceed the budget, so a shorter summary is always
part of a longer one. No words are changed. `genrst.outputs.passages` ranks sentences.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import TypeAlias, TypedDict, Unpack

from genrst.document import Document, require_tree
from genrst.errors import GenrstError, UsageError
from genrst.outputs.passages import reading_order
from genrst.trees.measures import importance

DEFAULT_SHARE = 0.2
OMISSION = " … "
"""Stands for the EDUs left out between two EDUs of a summary."""

Count: TypeAlias = Callable[[str], int]
"""Returns the length of a text, such as its number of tokens for a language model."""

CHARACTERS_PER_WORD = 6
"""The assumed length of a word and the space after it, for documents without text."""


def count_words(text: str) -> int:
    """Return the number of words, separated by white space."""
    return len(text.split())


def size_of(document: Document, start: int, stop: int, count: Count) -> int:
    """Return the length of the EDUs from `start` to `stop` (exclusive); an estimate if there is no text."""
    text = document.slice(start, stop)
    if text is None:
        first, end = document.offsets(start, stop)
        return -(-(end - first) // CHARACTERS_PER_WORD)
    return count(text)


class SummarySize(TypedDict, total=False):
    """The arguments of `summary`."""

    n_edus: int | None
    n_sentences: int | None
    n_words: int | None
    share: float | None
    everything: bool
    count: Count


class SummaryRow(TypedDict):
    """An EDU of a summary; `start` and `end` are character offsets."""

    document: str
    edu: int
    start: int
    end: int
    importance: int
    text: str | None


def summary(
    document: Document,
    *,
    n_edus: int | None = None,
    n_sentences: int | None = None,
    n_words: int | None = None,
    share: float | None = None,
    everything: bool = False,
    count: Count = count_words,
) -> list[int]:
    """Return the EDUs of a summary, by number, in the order of the text.

    By default these are whole sentences that can be read alone: at most a `share` of the words (0.2), at most
    `n_words`, or `n_sentences`, but always at least one sentence. With `everything`, headings, bylines, greetings,
    tables and the like may be included. With `n_edus`, the result is that many of the most important EDUs, whether or
    not they form sentences; ties go to the earlier EDU. `count` returns the number of words of a text.
    """
    _check_size(n_edus, n_sentences, n_words, share)
    if n_edus is not None:
        return sorted(importance_ranking(document)[:n_edus])
    order = reading_order(document, everything=everything)
    if n_sentences is None:
        sizes = [size_of(document, sentence.start, sentence.stop, count) for sentence in order]
        n_sentences = _affordable(sizes, n_words or _budget(document, DEFAULT_SHARE if share is None else share, count))
    return sorted(edu for sentence in order[:n_sentences] for edu in sentence)


def _check_size(n_edus: int | None, n_sentences: int | None, n_words: int | None, share: float | None) -> None:
    given = {"EDUs": n_edus, "sentences": n_sentences, "words": n_words}
    sizes = [str(size) for size in (*given.values(), share) if size is not None]
    if len(sizes) > 1:
        raise UsageError(f"a summary takes only one size, got {len(sizes)} ({' and '.join(sizes)})")
    for name, number in given.items():
        if number is not None and number < 1:
            raise UsageError(f"a summary must have 1 or more {name}, got {number}")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"a summary's share of the words must be above 0 and at most 1, got {share}")


def _budget(document: Document, share: float, count: Count) -> float:
    """Return the share as a number of words, plus a little: 0.29 × 100 is less than 29 in floating point."""
    total = sum(size_of(document, edu, edu + 1, count) for edu in range(len(document.edus)))
    return share * total * (1 + 1e-9)


def _affordable(sizes: list[int], budget: float) -> int:
    """Return how many of the first sizes fit into the budget together; at least one."""
    return max(1, len(list(takewhile(lambda size: size <= budget, accumulate(sizes)))))


def importance_ranking(document: Document) -> list[int]:
    """Return all EDU numbers, the most important first; ties go to the earlier EDU."""
    scores = importance(require_tree(document))
    return sorted(range(len(scores)), key=lambda edu: -scores[edu])


def summary_text(document: Document, **size: Unpack[SummarySize]) -> str:
    """Return the text of a summary: slices of the text, joined by ` … ` where EDUs are left out, otherwise a space."""
    return join_edus(document, summary(document, **size))


def join_edus(document: Document, edus: Sequence[int]) -> str:
    """Return the text of these EDUs, in this order."""
    if document.text is None:
        raise GenrstError(f"{document.id}: the document has offsets but no text, so its summary cannot be printed")
    texts = document.edu_texts
    gaps = ["", *(_gap(document, before, after) for before, after in pairwise(edus))]
    return "".join(gap + texts[edu] for gap, edu in zip(gaps, edus, strict=True))


def _gap(document: Document, before: int, after: int) -> str:
    """Return the separator of two EDUs: empty if nothing separates them in the text, as in Chinese."""
    if after != before + 1:
        return OMISSION
    return " " if document.edus[after].start > document.edus[before].end else ""


def summary_rows(document: Document, **size: Unpack[SummarySize]) -> list[SummaryRow]:
    """Return one row per EDU of a summary."""
    edus = summary(document, **size)
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
