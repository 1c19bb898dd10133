"""Plain text files, where a blank line ends a paragraph.

In a file of EDUs (`.edus`, `.txt`) each line is an EDU, and there is no tree. In the running text beside an RST-DT tree
(`wsj_0601.out` beside `wsj_0601.out.dis`) each line is a sentence, and EDUs are found by their characters.
"""

import re
import warnings
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from reprlib import repr as shorten

from genrst.document import Document, Span, join_runs
from genrst.errors import CorpusFormatError, CorpusWarning, GenrstError, UsageError
from genrst.formats.edu_text import align_edus, collapse_spaces, edu_lines
from genrst.io import decode, read_bytes

_MARK = "\ufeff"
_WITHOUT_PARAGRAPHS = re.compile("file[0-9]+")


def read_edus(content: bytes, path: Path) -> Document:
    """Read a segmented document; white space inside an EDU becomes one space."""
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    # Not splitlines(): it would also split at separators that EDUs of other formats may contain.
    for line in decode(content, path).split("\n"):
        if edu := collapse_spaces(line):
            edus.append(edu)
        else:
            paragraph_starts.add(len(edus))
    if not edus:
        raise CorpusFormatError("the file must hold an EDU a line, was: no text at all", path)
    return Document.from_edus(path.stem, edus, paragraph_starts=paragraph_starts - {len(edus)})


def write_edus(document: Document) -> str:
    """The text of an `.edus` file; the tree is left out."""
    edus = edu_lines(document, ".edus")
    if not all(edus):
        raise UsageError(f"{document.id}: every EDU must have text to be a line, was: none in EDU {edus.index('')}")
    paragraphs = document.paragraph_of_edus()
    ends = ["\n" if before == after else "\n\n" for before, after in pairwise([*paragraphs, paragraphs[-1]])]
    text = "".join(edu + end for edu, end in zip(edus, ends, strict=True))
    # A mark of its own in front saves the first character of the text from being taken for one.
    return _MARK + text if text.startswith(_MARK) else text


def attach_text_beside(document: Document, path: Path) -> Document:
    """The document with the text, sentences and paragraphs of the file beside it.

    It is unchanged if there is none, or one of other words, as corpora have errors.
    """
    beside = path.with_suffix("")
    if not beside.is_file():
        return document
    try:
        return attach_text(document, beside)
    except CorpusFormatError as error:
        warnings.warn(CorpusWarning(f"{error}; the text of the tree is read instead"), stacklevel=2)
        return document


def attach_text(document: Document, path: Path) -> Document:
    """The document with the text, sentences and paragraphs of a file; EDUs must have the same characters.

    Text after the last EDU is left out. Of `fileN`, five documents of RST-DT, and of a text without blank lines, the
    paragraphs are those of the document.
    """
    text = decode(read_bytes(path), path)
    try:
        edus = align_edus(document.edu_texts, text, may_go_on=True)
    except GenrstError as error:
        raise CorpusFormatError(str(error), path) from error
    if rest := collapse_spaces(text[edus[-1].end :]):
        warnings.warn(CorpusWarning(f"{path}: text after the last EDU is left out: {shorten(rest)}"), stacklevel=2)
        text = text[: edus[-1].end]
    sentences, paragraphs = _lines(text)
    attached = replace(document, text=text, edus=tuple(edus), sentences=sentences, paragraphs=paragraphs)
    if document.paragraphs and (len(paragraphs) == 1 or _WITHOUT_PARAGRAPHS.fullmatch(path.name)):
        numbers = document.paragraph_of_edus()
        if numbers != attached.paragraph_of_edus():
            starts = [0, *(edu for edu in range(1, len(edus)) if numbers[edu] != numbers[edu - 1])]
            attached = replace(attached, paragraphs=join_runs(edus, starts))
            warnings.warn(CorpusWarning(f"{path}: paragraphs are those of the tree, by its <P>"), stacklevel=2)
    return attached


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
