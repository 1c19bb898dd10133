"""Finding EDUs in a running text by their characters, white space aside."""

from collections.abc import Sequence
from itertools import islice

from genrst.document import Span
from genrst.errors import CorpusFormatError

_CONTEXT = 30


def align_edus(edus: Sequence[str], text: str) -> list[Span]:
    """Where each EDU stands in the text; together they must have all its characters but white space, in order.

    An EDU without characters gets an empty span where the one before it ends.
    """
    dense_text = _dense(text)
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    spans: list[Span] = []
    at = 0
    for number, edu in enumerate(edus, start=1):
        dense_edu = _dense(edu)
        if not dense_text.startswith(dense_edu, at):
            n_same = _common_prefix(dense_edu, dense_text[at : at + len(dense_edu)])
            there, found = _around(text, at + n_same), _around(edu, n_same)
            raise CorpusFormatError(f"EDU {number} of {len(edus)} must go on as the text, {there!r}, was: {found!r}")
        stop = at + len(dense_edu)
        end = offsets[stop - 1] + 1 if stop else 0
        spans.append(Span(offsets[at] if stop > at else end, end))
        at = stop
    if at < len(dense_text):
        raise CorpusFormatError(f"the text must end with EDU {len(edus)}, the last one, was: {_around(text, at)!r}")
    return spans


def _dense(text: str) -> str:
    return "".join(text.split())


def _common_prefix(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(left), len(right)))


def _around(text: str, n_before: int) -> str:
    """What stands around the character that has so many others, white space aside, before it."""
    offsets = (offset for offset, character in enumerate(text) if not character.isspace())
    offset = next(islice(offsets, n_before, None), len(text))
    return text[max(offset - _CONTEXT // 2, 0) : offset + _CONTEXT // 2]
