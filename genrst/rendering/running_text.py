"""The text of a document as HTML paragraphs, every EDU in an element of its own.

Paragraphs are those of the document, or else end at blank lines.
"""

import re
from collections.abc import Iterator, Sequence

from genrst.rendering.pages import html_text
from genrst.trees.analysis import Analysis

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")


def running_text(document: Analysis) -> str:
    """The paragraphs; EDUs without text are shown as numbers."""
    if document.text is None:
        pieces = [_edu(number, f"EDU {number + 1}", True) for number in range(len(document.edus))]
        return f"<p>{' '.join(pieces)}</p>"
    paragraphs = ["".join(_pieces(document, document.text, *ends)) for ends in _paragraphs(document, document.text)]
    return "\n".join(f'<p dir="auto">{paragraph}</p>' for paragraph in paragraphs if paragraph)


def _paragraphs(document: Analysis, text: str) -> Iterator[tuple[int, int]]:
    """Where paragraphs start and end; all of the text is in one of them."""
    if document.paragraphs:
        starts: Sequence[int] = sorted({span.start for span in document.paragraphs} - {0})
    else:
        starts = [match.end() for match in _BLANK_LINE.finditer(text)]
    return zip([0, *starts], [*starts, len(text)], strict=True)


def _pieces(document: Analysis, text: str, start: int, end: int) -> Iterator[str]:
    """The EDUs of a paragraph, and what is between them; an EDU that crosses its edge is shown in parts."""
    offset = start
    for number, edu in enumerate(document.edus):
        first, last = max(edu.start, start), min(edu.end, end)
        if first >= last:
            continue
        yield html_text(text[offset:first])
        yield _edu(number, text[first:last], first == edu.start)
        offset = last
    yield html_text(text[offset:end])


def _edu(number: int, text: str, is_start: bool) -> str:
    mark = f"<sup>{number + 1}</sup>" if is_start else ""
    return f'<span class="edu" tabindex="{-1 if number else 0}" data-edu="{number}">{mark}{html_text(text)}</span>'
