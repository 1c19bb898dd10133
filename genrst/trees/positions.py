"""Positions in a text that gold and predicted documents share.

One text comes in many spacings: tokenised (`Art :`) or raw (`Art:`), with the line breaks of its file or without. So
where both sides have their text, a position is the number of characters before it that are not white space.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

from genrst.errors import GenrstError
from genrst.trees.analysis import Analysis, TextSpan

Position: TypeAlias = tuple[int, int]
"""Where a stretch of text starts and ends."""

Measure: TypeAlias = Callable[[TextSpan], Position]
"""Gives the shared position of a span of one document, white space at its edges ignored."""


def shared_measures(gold: Analysis, predicted: Analysis) -> tuple[Measure, Measure]:
    """The measure of the gold and that of the predicted document.

    If either has no text, positions are plain offsets on both sides. Texts that differ in length are an error; texts
    of equal length may differ in characters (`“` for `"`).
    """
    if gold.text is None or predicted.text is None:
        return _plain_measure(gold.text), _plain_measure(predicted.text)
    _check_lengths(gold.id, gold.text, predicted.text)
    return _spaceless_measure(gold.text), _spaceless_measure(predicted.text)


def _spaceless_measure(text: str) -> Measure:
    spaces = [match.start() for match in re.finditer(r"\s", text)]

    def measure(span: TextSpan) -> Position:
        return span.start - bisect_left(spaces, span.start), span.end - bisect_left(spaces, span.end)

    return measure


def _plain_measure(text: str | None) -> Measure:
    def measure(span: TextSpan) -> Position:
        if text is None:
            return span.start, span.end
        characters = text[span.start : span.end]
        start = span.start + len(characters) - len(characters.lstrip())
        return start, start + len(characters.strip())

    return measure


def _check_lengths(id: str, gold: str, predicted: str) -> None:
    gold_characters, predicted_characters = "".join(gold.split()), "".join(predicted.split())
    if len(gold_characters) == len(predicted_characters):
        return
    pairs = zip(gold_characters, predicted_characters, strict=False)
    shorter = min(len(gold_characters), len(predicted_characters))
    place = next((number for number, (left, right) in enumerate(pairs) if left != right), shorter)
    raise GenrstError(
        f"{id}: gold and predicted text must be the same but for white space, "
        f"was: {_excerpt(gold, place)} in gold, {_excerpt(predicted, place)} in predicted"
    )


def _excerpt(text: str, place: int) -> str:
    """The text around its `place`-th character that is not white space."""
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    offset = offsets[place] if place < len(offsets) else len(text)
    return repr(text[max(offset - 10, 0) : offset + 20])
