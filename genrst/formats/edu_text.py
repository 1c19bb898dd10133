"""The texts of EDUs: as lines of a file, and found again in a running text, whatever its white space.

Every format but JSON loses the running text around EDUs. Signs there, such as the bullets of lists, are put before the
EDU that follows; a document that has words there is refused.
"""

from collections.abc import Sequence
from itertools import islice, takewhile

from genrst.document import Document, Span
from genrst.errors import CorpusFormatError, UsageError

_N_SHOWN = 40
_CONTEXT = 30


def collapse_spaces(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space, and none at the edges."""
    return " ".join(text.split())


def dense(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def edu_lines(document: Document, suffix: str) -> list[str]:
    """The line of each EDU, for a file of this suffix; all words of the document must be in its EDUs."""
    if document.text is None:
        raise UsageError(f"{document.id}: a document must have text to be written as {suffix}, was: offsets only")
    lines: list[str] = []
    end = 0
    for edu in document.edus:
        line = collapse_spaces(document.text[edu.start : edu.end])
        lines.append(f"{_signs(document, document.text[end : edu.start], suffix)} {line}".strip())
        end = edu.end
    if outside := _signs(document, document.text[end:], suffix):
        lines[-1] += f" {outside}"
    return lines


def _signs(document: Document, text: str, suffix: str) -> str:
    """What stands between two EDUs as one line, without a word."""
    outside = collapse_spaces(text)
    if any(map(str.isalpha, outside)):
        rule = f"all words must be inside of EDUs to be written as {suffix}"
        raise UsageError(f"{document.id}: {rule}, was: {outside[:_N_SHOWN]!r} outside")
    return outside


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
