"""EDUs in plain text: read and write files with one EDU per line, and align EDUs with a running text.

In a file of EDUs (`.edus`, `.txt`), each line is an EDU and a blank line ends a paragraph. In the running text beside
an RST-DT tree (`wsj_0601.out` beside `wsj_0601.out.dis`), each line is a sentence, and EDUs are found by their
characters, regardless of white space.

Only JSON keeps the text between EDUs. In all other formats, symbols between EDUs, such as the bullets of lists, move to
the front of the next EDU, and words between EDUs are an error.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise, takewhile
from pathlib import Path
from reprlib import repr as shorten

from genrst.document import Document, Span, join_runs
from genrst.errors import CorpusFormatError, CorpusWarning, GenrstError, UsageError
from genrst.io import decode, read_bytes

_N_SHOWN = 40
_CONTEXT = 30


def collapse_spaces(text: str) -> str:
    """Replace every run of white space, including line breaks, by one space, and strip the ends."""
    return " ".join(text.split())


def dense(text: str) -> str:
    """Remove all white space from a text."""
    return "".join(text.split())


def edu_lines(document: Document, suffix: str) -> list[str]:
    """Return the line of each EDU for a file of this suffix. All words of the document must be inside EDUs."""
    if document.text is None:
        raise UsageError(
            f"{document.id}: the document must have a text to be written as {suffix}, but has only offsets"
        )
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
    """Return the symbols between two EDUs on one line. Words between EDUs are an error."""
    outside = collapse_spaces(text)
    if any(map(str.isalpha, outside)):
        rule = f"to be written as {suffix}, all words must be inside EDUs"
        raise UsageError(f"{document.id}: {rule}, got {outside[:_N_SHOWN]!r} outside")
    return outside


def align_edus(edus: Sequence[str], text: str, may_go_on: bool = False) -> list[Span]:
    """Return the span of each EDU. Together, the EDUs must cover all visible characters of the text, in order.

    An EDU without characters gets an empty span at the end of the previous EDU. With `may_go_on`, the text may continue
    after the last EDU.
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
            raise CorpusFormatError(f"EDU {number} of {len(edus)} must match the text, {expected!r}, got {found!r}")
        stop = at + len(dense_edu)
        end = offsets[stop - 1] + 1 if stop else 0
        spans.append(Span(offsets[at] if stop > at else end, end))
        at = stop
    if at < len(dense_text) and not may_go_on:
        raise CorpusFormatError(f"the text must end after EDU {len(edus)} of {len(edus)}, got {_around(text, at)!r}")
    return spans


def _around(text: str, n_before: int) -> str:
    """Return the text around a character, given the number of visible characters before it."""
    offsets = (offset for offset, character in enumerate(text) if not character.isspace())
    offset = next(islice(offsets, n_before, None), len(text))
    return text[max(offset - _CONTEXT // 2, 0) : offset + _CONTEXT // 2]


_MARK = "\ufeff"
_WITHOUT_PARAGRAPHS = re.compile("file[0-9]+")


def read_edus(content: bytes, path: Path) -> Document:
    """Read a segmented document. Each run of white space inside an EDU becomes a single space."""
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    # splitlines() would also split at separators that EDUs from other formats may contain.
    for line in decode(content, path).split("\n"):
        if edu := collapse_spaces(line):
            edus.append(edu)
        else:
            paragraph_starts.add(len(edus))
    if not edus:
        raise CorpusFormatError("the file has no text; it must hold one EDU per line", path)
    return Document.from_edus(path.stem, edus, paragraph_starts=paragraph_starts - {len(edus)})


def write_edus(document: Document) -> str:
    """Return the text of an `.edus` file, which leaves out the tree."""
    edus = edu_lines(document, ".edus")
    if not all(edus):
        raise UsageError(f"{document.id}: EDU {edus.index('')} has no text; every line of an .edus file must have some")
    paragraphs = document.paragraph_of_edus()
    ends = ["\n" if before == after else "\n\n" for before, after in pairwise([*paragraphs, paragraphs[-1]])]
    text = "".join(edu + end for edu, end in zip(edus, ends, strict=True))
    # An additional byte order mark keeps readers from stripping a first character that looks like one.
    return _MARK + text if text.startswith(_MARK) else text


def attach_text_beside(document: Document, path: Path) -> Document:
    """Add the text, sentences and paragraphs of the file beside a tree to its document.

    Return the document unchanged if there is no such file, or if its words differ because of errors in the corpus.
    """
    beside = path.with_suffix("")
    if not beside.is_file():
        return document
    try:
        return attach_text(document, beside)
    except CorpusFormatError as error:
        warnings.warn(CorpusWarning(f"{error}; using the text of the tree instead"), stacklevel=2)
        return document


def attach_text(document: Document, path: Path) -> Document:
    """Add the text, sentences and paragraphs of a file to a document, whose EDUs must have the same characters.

    Text after the last EDU is left out. The paragraphs of the document are kept if the text has no blank lines, and for
    `fileN`, five documents of RST-DT.
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
            warnings.warn(
                CorpusWarning(f"{path}: the paragraphs are taken from the <P> marks of the tree"), stacklevel=2
            )
    return attached


def _lines(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the sentences (lines) and paragraphs (runs of lines that are not blank)."""
    lines: list[Span | None] = []
    offset = 0
    for line in text.split("\n"):
        start = offset + len(line) - len(line.lstrip())
        lines.append(Span(start, offset + len(line.rstrip())) if line.strip() else None)
        offset += len(line) + 1
    runs = [[line for line in run if line] for is_text, run in groupby(lines, key=bool) if is_text]
    sentences = tuple(line for run in runs for line in run)
    return sentences, tuple(Span(run[0].start, run[-1].end) for run in runs)
