"""Read PDF files with pypdf, and rebuild paragraphs from the positions and font sizes of lines.

A PDF stores the positions of letters, but no paragraphs. So headings are recognised by larger or bold letters, and
paragraphs by gaps and indents; lines that repeat at the top or bottom of most pages are left out. Tables become lines
of text.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from genrst.errors import CorpusFormatError
from genrst.formats.readers.blocks import Block, one_line

if TYPE_CHECKING:
    from pypdf import PageObject

EDGE = 2
"""The number of lines at the top and bottom of a page that are checked for running heads and feet."""
LARGE = 1.1
"""The minimum font size of headings, relative to that of most lines."""
GAP = 1.3
"""The largest distance between lines of a paragraph, relative to the usual distance or, if larger, the font size."""
HEADING_WORDS = 16
"""The maximum number of words in a heading."""
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xAD: None, 0x7F: "•"}
_ITEM = re.compile(r"(?:([•‣◦▪●○■·–])|\(?([0-9]{1,2})[.)])\s+(?=\S)")
_HYPHEN = re.compile(r"(\w+)-\n([^\W\d_A-Z]\w*)")
_PAGE_NUMBER = re.compile(r"[-– ]*[0-9]+[-– ]*")
_FINAL = re.compile(r"[.!?:…][\"'”’)\]]*$")


class _Line(NamedTuple):
    """A line of a page: its text, the position of its first letter, and its font size."""

    text: str
    x: float
    y: float
    size: float
    is_bold: bool
    page: int


def read(content: bytes, path: Path) -> list[Block]:
    """Return the blocks of a PDF. Raises an error if it is encrypted or has only images of text."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise CorpusFormatError("the PDF is protected by a password; save a copy without one", path)
    pages = [_lines(page, number) for number, page in enumerate(reader.pages)]
    if not any(pages):
        raise CorpusFormatError("the PDF has page images but no text; run OCR first, for example with ocrmypdf", path)
    return [*_blocks([line for page in _without_edges(pages) for line in page])]


def _lines(page: "PageObject", number: int) -> list[_Line]:
    """Return the lines of a page, in the order in which the page draws them."""
    found: list[_Line] = []
    parts: list[tuple[str, float, float, float, bool]] = []

    def end_line() -> None:
        visible = [part for part in parts if part[0].strip()]
        if visible:
            _, x, y, size, _ = visible[0]
            is_bold = all(part[4] for part in visible)
            found.append(_Line(one_line("".join(part[0] for part in parts)), x, y, size, is_bold, number))
        parts.clear()

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: dict[str, Any] | None, size: float) -> None:
        x = cm[0] * tm[4] + cm[2] * tm[5] + cm[4]
        y = cm[1] * tm[4] + cm[3] * tm[5] + cm[5]
        is_bold = "bold" in str((font or {}).get("/BaseFont", "")).lower()
        for place, piece in enumerate(text.translate(_LIGATURES).split("\n")):
            if place:
                end_line()
            parts.append((piece, x, y, size * abs(tm[3] or tm[1]) * abs(cm[3] or cm[1]), is_bold))

    page.extract_text(visitor_text=visit)
    end_line()
    return found


def _without_edges(pages: Sequence[list[_Line]]) -> Iterator[list[_Line]]:
    """Yield the lines of each page, without page numbers, running heads and feet."""

    def edges(page: list[_Line]) -> list[_Line]:
        by_place = sorted(page, key=lambda line: -line.y)
        return [*by_place[:EDGE], *by_place[EDGE:][-EDGE:]]

    def shape(line: _Line) -> str:
        return re.sub("[0-9]+", "#", line.text)

    counts = Counter(found for page in pages for found in {shape(line) for line in edges(page)})
    usual = {found for found, count in counts.items() if count > 1 and 2 * count > len(pages)}
    for page in pages:
        left_out = {line for line in edges(page) if shape(line) in usual or _PAGE_NUMBER.fullmatch(line.text)}
        yield [line for line in page if line not in left_out]


def _blocks(lines: Sequence[_Line]) -> Iterator[Block]:
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    usual = sizes.most_common(1)[0][0] if sizes else 1.0
    levels = sorted({round(line.size, 1) for line in lines if line.size > LARGE * usual}, reverse=True)
    words = Counter(re.findall(r"\w+-\w+", "\n".join(line.text for line in lines)))
    for group in _paragraphs(lines):
        joined = _HYPHEN.sub(lambda match: _joined(match, words), "\n".join(line.text for line in group))
        text = one_line(joined)
        if _is_heading(group, text, usual):
            size = round(group[0].size, 1)
            yield Block("head", text, levels.index(size) + 1 if size in levels else len(levels) + 1)
        elif item := _ITEM.match(text):
            yield Block("item", text[item.end() :], 1, f"{item[2]}." if item[2] else "-")
        else:
            yield Block("p", text)


def _joined(match: re.Match[str], words: Counter[str]) -> str:
    """Join a word that was hyphenated at a line break. The hyphen is kept if the text has it elsewhere."""
    return f"{match[1]}-{match[2]}" if words[f"{match[1]}-{match[2]}"] else f"{match[1]}{match[2]}"


def _is_heading(group: Sequence[_Line], text: str, usual: float) -> bool:
    is_large = all(line.size > LARGE * usual for line in group)
    is_bold = len(group) == 1 and group[0].is_bold and not _FINAL.search(text)
    is_numbered = len(group) == 1 and re.match(r"[0-9]{1,2}(?:\.[0-9]{1,2})*\.?\s+[A-Z]", text) is not None
    is_short = len(text.split()) <= HEADING_WORDS
    return is_short and (is_large or is_bold or (is_numbered and group[0].size > usual and not _FINAL.search(text)))


def _paragraphs(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines of each paragraph."""
    gaps = sorted(
        before.y - after.y
        for before, after in pairwise(lines)
        if 0.9 * before.size < before.y - after.y < 3 * before.size
    )
    usual = gaps[len(gaps) // 10] if gaps else 1.0  # not the median, because most paragraphs may have only one line
    widest = max((len(line.text) for line in lines), default=0)
    group: list[_Line] = []
    for line in lines:
        if group and _is_start(group[-1], line, usual, widest):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _is_start(above: _Line, line: _Line, usual: float, widest: int) -> bool:
    """Whether a line starts a new paragraph, given the line above it or at the end of the previous column or page."""
    if abs(above.size - line.size) > 0.08 * line.size or (above.is_bold and not line.is_bold) or _ITEM.match(line.text):
        return True
    is_ended = _FINAL.search(above.text) is not None
    gap = above.y - line.y
    if line.page != above.page or gap < -line.size:
        return is_ended
    is_indented = line.x > above.x + 0.8 * line.size and is_ended
    return gap > GAP * max(usual, line.size) or is_indented or (is_ended and len(above.text) < widest / 3)
