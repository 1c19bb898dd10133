"""Summaries: the sentences, or the EDUs, that the tree promotes highest (Marcu 2000), in the order of the text.

They are taken in the order of one ranking until the next would be too much, so shorter summaries are parts of longer
ones. No words are changed. `genrst.outputs.passages` ranks sentences.
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


class SummarySize(TypedDict, total=False):
    """The arguments of `summary`."""

    n_edus: int | None
    n_sentences: int | None
    n_words: int | None
    share: float | None
    everything: bool
    count: Count


class SummaryRow(TypedDict):
    """An EDU of a summary; `start` and `end` are characters of the text."""

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

    By default these are whole sentences that can be read alone and have at most a `share` of the words (0.2), or at
    most `n_words`, or there are `n_sentences` of them; but at least one. With `everything`, headings, bylines,
    greetings, tables and the like can be among them. With `n_edus` it is that many EDUs, the most important ones,
    wherever they stand; earlier ones win where they are equally important. `count` says how many words a text has.
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
        raise UsageError(f"a summary takes one size, got {len(sizes)} ({' and '.join(sizes)})")
    for name, number in given.items():
        if number is not None and number < 1:
            raise UsageError(f"a summary must have 1 or more {name}, got {number}")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"a summary's share of the words must be above 0 and at most 1, got {share}")


def _budget(document: Document, share: float, count: Count) -> float:
    """How many words a share is, and a little more: 0.29 × 100 is less than 29 in floating point."""
    total = sum(size_of(document, edu, edu + 1, count) for edu in range(len(document.edus)))
    return share * total * (1 + 1e-9)


def _affordable(sizes: list[int], budget: float) -> int:
    """How many of these sizes, from the first on, are together within the budget; at least one."""
    return max(1, len(list(takewhile(lambda size: size <= budget, accumulate(sizes)))))


def importance_ranking(document: Document) -> list[int]:
    """All EDUs by number, the most important first; earlier ones come first where they are equally important."""
    scores = importance(require_tree(document))
    return sorted(range(len(scores)), key=lambda edu: -scores[edu])


def summary_text(document: Document, **size: Unpack[SummarySize]) -> str:
    """The text of a summary: slices of the text, with ` … ` where EDUs are left out and a space where none is."""
    return join_edus(document, summary(document, **size))


def join_edus(document: Document, edus: Sequence[int]) -> str:
    """The text of some EDUs, in this order."""
    if document.text is None:
        raise GenrstError(f"{document.id}: a document must have a text to give that of its summary, got offsets only")
    texts = document.edu_texts
    gaps = ["", *(_gap(document, before, after) for before, after in pairwise(edus))]
    return "".join(gap + texts[edu] for gap, edu in zip(gaps, edus, strict=True))


def _gap(document: Document, before: int, after: int) -> str:
    """What joins two EDUs: nothing if nothing stands between them in the text, as in Chinese."""
    if after != before + 1:
        return OMISSION
    return " " if document.edus[after].start > document.edus[before].end else ""


def summary_rows(document: Document, **size: Unpack[SummarySize]) -> list[SummaryRow]:
    """A row per EDU of a summary."""
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
