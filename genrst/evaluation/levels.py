"""At which level of the text a constituent stands: inside a sentence, inside a paragraph, or above."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from genrst.evaluation.constituents import Constituent
from genrst.trees.analysis import Analysis, TextSpan
from genrst.trees.positions import Measure

LEVELS = ("sentence", "paragraph", "document")
"""Inside one sentence; across sentences of one paragraph; across paragraphs."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the sentences and paragraphs of the gold document start."""

    sentences: Sequence[int]
    paragraphs: Sequence[int]

    def level(self, constituent: Constituent) -> str:
        """The level of a constituent; where paragraphs are unknown, `document` is all that crosses sentences."""
        if _is_inside_one(self.sentences, constituent):
            return "sentence"
        return "paragraph" if self.paragraphs and _is_inside_one(self.paragraphs, constituent) else "document"


def read_layout(gold: Analysis, measure: Measure) -> Layout | None:
    """The layout of a gold document; None if its sentences are unknown."""
    if not gold.sentences:
        return None
    return Layout(_starts(gold.sentences, measure), _starts(gold.paragraphs, measure))


def _starts(spans: Sequence[TextSpan], measure: Measure) -> list[int]:
    return sorted(measure(span)[0] for span in spans)


def _is_inside_one(starts: Sequence[int], constituent: Constituent) -> bool:
    last = max(constituent.end - 1, constituent.start)
    return _containing(starts, constituent.start) == _containing(starts, last)


def _containing(starts: Sequence[int], position: int) -> int:
    # What stands before the first start, such as a headline, belongs to the first.
    return max(bisect_right(starts, position) - 1, 0)
