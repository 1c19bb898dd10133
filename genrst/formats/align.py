"""Finding EDUs in a running text by their characters, ignoring white space."""

from collections.abc import Sequence
from itertools import islice, takewhile

from genrst.document import Span
from genrst.errors import CorpusFormatError
from genrst.formats.lines import dense

_CONTEXT = 30


def align_edus(edus: Sequence[str], text: str, may_go_on: bool = False) -> list[Span]:
    """The span of each EDU; together they must have all visible characters of the text, in order.

    An EDU without characters gets an empty span where the one before it ends. With `may_go_on` there may be text after
    the last EDU.
    """
    dense_text = dense(text)
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    spans: list[Span] = []
    at = 0
    for number, edu in enumerate(edus, start=1):
        dense_edu = dense(edu)
        if not dense_text.startswith(dense_edu, at):
            pairs = zip(dense_edu, dense_text[at:], strict=False)
            n_same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            expected, found = _around(text, at + n_same), _around(edu, n_same)
            raise CorpusFormatError(f"EDU {number} of {len(edus)} must continue the text, {expected!r}, was: {found!r}")
        stop = at + len(dense_edu)
        end = offsets[stop - 1] + 1 if stop else 0
        spans.append(Span(offsets[at] if stop > at else end, end))
        at = stop
    if at < len(dense_text) and not may_go_on:
        raise CorpusFormatError(f"the text must end with EDU {len(edus)} of {len(edus)}, was: {_around(text, at)!r}")
    return spans


def _around(text: str, n_before: int) -> str:
    """The text around a character, given the number of visible characters before it."""
    offsets = (offset for offset, character in enumerate(text) if not character.isspace())
    offset = next(islice(offsets, n_before, None), len(text))
    return text[max(offset - _CONTEXT // 2, 0) : offset + _CONTEXT // 2]
