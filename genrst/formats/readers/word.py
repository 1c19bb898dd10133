"""Read Word documents (.docx) with python-docx: the paragraphs and tables of the body, classified by style name."""

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from genrst.errors import CorpusFormatError
from genrst.formats.readers.blocks import Block, table, tidy

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

MOST_BYTES = 256 << 20
"""The largest unpacked size of a document, so that a small file cannot fill the memory."""
_HEADING = re.compile(r"(?:heading|überschrift|titre) ?([1-9])", re.IGNORECASE)


def read(content: bytes, path: Path) -> list[Block]:
    """Return the blocks of a document. Headers, footers and comments are left out."""
    from docx import Document
    from docx.text.paragraph import Paragraph

    if sum(part.file_size for part in ZipFile(BytesIO(content)).infolist()) > MOST_BYTES:
        raise CorpusFormatError(f"the Word file unpacks to more than {MOST_BYTES >> 20} MiB", path)
    found, style, number = list[Block](), "", 0
    for part in Document(BytesIO(content)).iter_inner_content():
        if not isinstance(part, Paragraph):
            found.append(table([cell.text for cell in row.cells] for row in part.rows))
            continue
        name = str(part.style.name) if part.style is not None else ""
        style, number = name, number + 1 if name == style else 1
        found.append(_block(part, name, number))
    return found


def _block(paragraph: "Paragraph", name: str, number: int) -> Block:
    """Return the block of a paragraph, given the name of its style, and its number if it is a list item."""
    text = tidy(paragraph.text)
    properties = paragraph._p.pPr
    numbering = None if properties is None else properties.numPr
    depth = getattr(numbering, "ilvl", None)
    if heading := _HEADING.match(name):
        return Block("head", text, int(heading[1]))
    if name in ("Title", "Subtitle"):
        return Block("head", text, 1 if name == "Title" else 2)
    if "Quote" in name:
        return Block("quote", text)
    if numbering is not None or (name.startswith("List") and name != "List Continue"):
        level = 1 if depth is None else int(depth.val) + 1
        return Block("item", text, level, f"{number}." if "Number" in name else "-")
    return Block("p", text)
