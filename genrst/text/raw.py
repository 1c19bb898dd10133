"""A raw text as a document that is not yet annotated nor split into EDUs."""

from unicodedata import category

from genrst.corpora.document import Document, Span
from genrst.errors import TreeError
from genrst.text.layout import paragraphs


def unsegmented(id: str, text: str) -> Document:
    """The document of a raw text: its paragraphs, and one EDU from the first to the last character in sight."""
    check_words(id, text)
    found = paragraphs(text)
    return Document(id, text, (Span(found[0].start, found[-1].end),), paragraphs=found)


def check_words(id: str, text: str) -> None:
    """Raise an error if there is nothing to see in a text."""
    if not any(map(_is_visible, text)):
        raise TreeError(f"{id}: a text must have a word, was: {text[:30]!r}")


def _is_visible(character: str) -> bool:
    """Not white space, a control character, a byte order mark, a joiner, half a surrogate pair or a lone accent."""
    return category(character)[0] not in "CMZ"
