"""EDUs as files other than JSON hold them: each a line of text, with white space as single spaces.

Every such format loses the running text around its EDUs, so a document that has more than that is refused.
"""

from genrst.document import Document
from genrst.errors import UsageError

_N_SHOWN = 40


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks included, as one space, and none at the edges."""
    return " ".join(text.split())


def dense(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def edu_lines(document: Document, suffix: str) -> list[str]:
    """The line of each EDU, for a file of this suffix; all text of the document must be in its EDUs."""
    if document.text is None:
        raise UsageError(f"{document.id}: a document must have text to be written as {suffix}, was: offsets only")
    end = 0
    for start, stop in [*((edu.start, edu.end) for edu in document.edus), (len(document.text), 0)]:
        if outside := one_line(document.text[end:start]):
            rule = f"all text must be inside of EDUs to be written as {suffix}"
            raise UsageError(f"{document.id}: {rule}, was: {outside[:_N_SHOWN]!r} outside")
        end = stop
    return list(map(one_line, document.edu_texts))
