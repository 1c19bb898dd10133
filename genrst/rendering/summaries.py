"""What stands for a unit when its EDUs are out of sight: the texts of those that it promotes."""

from itertools import pairwise

from genrst.rendering.characters import printable
from genrst.rendering.geometry import FONT_SIZES
from genrst.rendering.labels import Range, edu_texts, range_of, roots
from genrst.rendering.measure import shorten, wrap
from genrst.trees.analysis import Analysis
from genrst.trees.node import Unit, fold

_MOST_PROMOTED = 4  # more than there is room for


def summaries(document: Analysis, width: float, limit: int, with_range: bool = False) -> dict[Range, list[str]]:
    """The lines of each unit in a column of this width; a text that needs more than `limit` ends in an ellipsis."""
    texts = edu_texts(document)
    em = width / FONT_SIZES["summary"]
    result: dict[Range, list[str]] = {}
    for (start, stop), edus in _promoted(document).items():
        text = (f"{start + 1}–{stop} · " if with_range else "") + _join(edus, texts)
        lines = shorten(wrap(printable(text), em), limit, em)
        result[start, stop] = [line.replace("……", "…") for line in lines]
    return result


def _promoted(document: Analysis) -> dict[Range, tuple[int, ...]]:
    """The first EDUs of each unit's promotion set; whole sets of a deep tree would fill the memory."""
    promoted: dict[Range, tuple[int, ...]] = {}

    def promote(unit: Unit, parts: list[tuple[int, ...]]) -> tuple[int, ...]:
        nuclei = (part for letter, part in zip(unit.nuclearity, parts, strict=True) if letter == "N")
        edus = tuple(edu for part in nuclei for edu in part)[:_MOST_PROMOTED]
        promoted[range_of(unit)] = edus
        return edus

    for root in roots(document):
        fold(root, lambda leaf: (leaf.edu,), promote)
    return promoted


def _join(edus: tuple[int, ...], texts: list[str]) -> str:
    """The texts of EDUs, with an ellipsis where some are left out."""
    text = texts[edus[0]]
    for before, edu in pairwise(edus):
        text += (" " if edu == before + 1 else " … ") + texts[edu]
    return text
