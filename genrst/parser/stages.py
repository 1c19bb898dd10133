"""What a parser takes and what it gives: texts, EDUs and documents in, documents and failures out.

Stages work on several documents at a time. One that fails stays behind and does not hold up the others.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from genrst.document import Document
from genrst.errors import GenrstError, MissingDependencyError, TreeError, UsageError
from genrst.text.raw import check_words, unsegmented


@dataclass(frozen=True, slots=True)
class Text:
    """A raw text with a name, which its document will have."""

    id: str
    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise UsageError(f"{self.id}: a text must be a string, was: {type(self.text).__name__}")


@dataclass(frozen=True, slots=True)
class Failure:
    """What stands in the place of a document that could not be parsed."""

    id: str
    error: GenrstError


Item: TypeAlias = str | Text | Sequence[str] | Document
"""What can be parsed: a raw text, the texts of EDUs, or a document, whose EDUs are kept and whose tree is not."""

Outcome: TypeAlias = Document | Failure
Result = TypeVar("Result")


def read_item(item: Item, id: str) -> Outcome:
    """The document of an item, which gets this name if it has none; a failure if it is no text."""
    name = item.id if isinstance(item, Text | Document) else id
    try:
        return _document(item, name)
    except GenrstError as error:
        return Failure(name, error)


def _document(item: Item, id: str) -> Document:
    if isinstance(item, Document):
        if item.text is not None and not item.text.strip():
            raise TreeError(f"{id}: a document must have a word, was: {item.text[:30]!r}")
        return item
    if isinstance(item, str | Text):
        return unsegmented(id, item.text if isinstance(item, Text) else item)
    return from_edus(id, item)


def from_edus(id: str, edus: Sequence[str], paragraph_starts: Collection[int] = ()) -> Document:
    """The document of a text that is given as EDUs."""
    if not isinstance(edus, list | tuple) or not all(isinstance(edu, str) for edu in edus):
        raise UsageError(f"{id}: it must be a text, a list of EDUs or a Document, was: {type(edus).__name__}")
    for number, edu in enumerate(edus):
        check_words(f"{id}: EDU {number}", edu)
    return Document.from_edus(id, edus, paragraph_starts=paragraph_starts)


def through(outcomes: Sequence[Outcome], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """What a stage makes of all documents; failures stay where they are."""
    done = iter(_attempt([outcome for outcome in outcomes if isinstance(outcome, Document)], stage))
    return [outcome if isinstance(outcome, Failure) else next(done) for outcome in outcomes]


def _attempt(documents: list[Document], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """All documents at once or, where that fails, each by itself."""
    try:
        return list(stage(documents))
    except MissingDependencyError:
        raise  # no document is to blame
    except GenrstError as error:
        if len(documents) == 1:
            return [Failure(documents[0].id, error)]
    # Not in the handler: there the error would hold on to the memory of what failed.
    return [result for document in documents for result in _attempt([document], stage)]


def only(outcome: Result | Failure) -> Result:
    """What was made of the only item; raises the error if it failed."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
