"""What the end of a chunk can cut apart: sentences, quotations and lists, as GUM's annotators marked them."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from experiments.chunks.questions import Span
from genrst.document import Document

KINDS = ("sentence", "quotation", "list")
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
"""Between quotation marks in one paragraph."""


def regions(document: Document) -> dict[str, list[Span]]:
    """The sentences of a document; what stands in quotation marks or as block quotes; its lists.

    A list is the longest run of items or quotes that stand one after the other. Quotations have two words or more.
    """
    text = document.text or ""
    quoted = [span for paragraph in document.paragraphs for span in _quoted(text, paragraph.start, paragraph.end)]
    return {
        "sentence": [(one.start, one.end) for one in document.sentences],
        "quotation": quoted + list(_runs(document, "quote")),
        "list": list(_runs(document, "item")),
    }


def _quoted(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _QUOTED.finditer(text, start, end):
        if len(match.group().split()) > 1:
            yield match.span()


def _runs(document: Document, label: str) -> Iterator[Span]:
    for found, run in groupby(document.paragraphs, key=lambda one: one.label):
        if found == label:
            paragraphs = list(run)
            yield paragraphs[0].start, paragraphs[-1].end


def n_inside(found: Sequence[Span], cuttable: Sequence[Span]) -> int:
    """How many chunks end inside one of these, not counting the last chunk."""
    return sum(any(start < end < stop for start, stop in cuttable) for _, end in found[:-1])
