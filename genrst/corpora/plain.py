"""Plain EDUs (`.edus`, `.txt`): one EDU a line, a blank line between paragraphs, no tree."""

from pathlib import Path

from genrst.corpora.document import Document
from genrst.corpora.encoding import decode
from genrst.errors import CorpusFormatError, UsageError


def read_edus(content: bytes, path: Path) -> Document:
    """Read a segmented document; white space inside an EDU becomes one space."""
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    # Not splitlines(): it would also cut at separators that stand inside EDUs of other formats.
    for line in decode(content, path).split("\n"):
        edu = " ".join(line.split())
        if edu:
            edus.append(edu)
        else:
            paragraph_starts.add(len(edus))
    if not edus:
        raise CorpusFormatError("the file must hold an EDU a line, was: no text at all", path)
    return Document.from_edus(path.stem, edus, paragraph_starts=paragraph_starts - {len(edus)})


def write_edus(document: Document) -> str:
    """The text of an `.edus` file; the tree is left out."""
    edus = [" ".join(edu.split()) for edu in document.edu_texts]
    if not all(edus):
        raise UsageError(f"{document.id}: every EDU must have text to be a line, was: none in EDU {edus.index('')}")
    paragraphs = document.paragraph_of_edus()
    lines = [edus[0]]
    for number in range(1, len(edus)):
        gap = "\n" if paragraphs[number] != paragraphs[number - 1] else ""
        lines.append(gap + edus[number])
    return "\n".join(lines) + "\n"
