"""The running text beside an RST-DT tree: `wsj_0601.out` beside `wsj_0601.out.dis`.

A line of it is a sentence, a blank line ends a paragraph. EDUs are found in it by their characters.
"""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

from genrst.corpora.align import align_edus
from genrst.corpora.document import Document, Span
from genrst.corpora.encoding import decode, read_bytes
from genrst.errors import CorpusFormatError, GenrstError


def attach_text_beside(document: Document, path: Path) -> Document:
    """The document with the text, sentences and paragraphs of the file beside it, or unchanged if there is none."""
    beside = path.with_suffix("")
    return attach_text(document, beside) if beside.is_file() else document


def attach_text(document: Document, path: Path) -> Document:
    """The document with the text, sentences and paragraphs of a file; EDUs must have the same characters."""
    text = decode(read_bytes(path), path)
    try:
        edus = align_edus(document.edu_texts, text)
    except GenrstError as error:
        raise CorpusFormatError(str(error), path) from error
    sentences, paragraphs = _lines(text)
    return replace(document, text=text, edus=tuple(edus), sentences=sentences, paragraphs=paragraphs)


def _lines(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Sentences (lines) and paragraphs (runs of lines that are not blank)."""
    lines: list[Span | None] = []
    offset = 0
    for line in text.split("\n"):
        start = offset + len(line) - len(line.lstrip())
        lines.append(Span(start, offset + len(line.rstrip())) if line.strip() else None)
        offset += len(line) + 1
    runs = [[line for line in run if line] for is_text, run in groupby(lines, key=bool) if is_text]
    sentences = tuple(line for run in runs for line in run)
    return sentences, tuple(Span(run[0].start, run[-1].end) for run in runs)
