"""EDUs as files other than JSON hold them: each a line of text, with white space as single spaces.

Every such format loses the running text around its EDUs. Signs there, such as the bullets of lists, are put before the
EDU that follows; a document that has words there is refused.
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
    """The line of each EDU, for a file of this suffix; all words of the document must be in its EDUs."""
    if document.text is None:
        raise UsageError(f"{document.id}: a document must have text to be written as {suffix}, was: offsets only")
    lines: list[str] = []
    end = 0
    for edu in document.edus:
        line = one_line(document.text[edu.start : edu.end])
        lines.append(f"{_signs(document, document.text[end : edu.start], suffix)} {line}".strip())
        end = edu.end
    if outside := _signs(document, document.text[end:], suffix):
        lines[-1] += f" {outside}"
    return lines


def _signs(document: Document, text: str, suffix: str) -> str:
    """What stands between two EDUs as one line, without a word."""
    outside = one_line(text)
    if any(map(str.isalpha, outside)):
        rule = f"all words must be inside of EDUs to be written as {suffix}"
        raise UsageError(f"{document.id}: {rule}, was: {outside[:_N_SHOWN]!r} outside")
    return outside
