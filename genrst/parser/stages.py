"""The stages of a parser: texts, EDUs and documents in, documents or failures out.

Each stage works on several documents at a time. A document that fails stays behind and does not hold up the others.
The last stage, from EDUs to trees, is `genrst.rnng.finder`.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeVar

from genrst.document import Document
from genrst.errors import GenrstError, MissingDependencyError, TreeError, UsageError
from genrst.text.annotate import annotate
from genrst.text.pipeline import load_pipeline
from genrst.text.raw import check_words, unsegmented

# What spaCy cannot read. What replaces one is as long, so that offsets hold.
_SURROGATES = re.compile("[\ud800-\udfff]")


PARTICLES = 500
"""How many hypotheses are followed at once to draw samples, if no other number is asked for."""
EFFECTIVE_SIZE = "effective_sample_size"
"""What the metadata of samples call the number of samples of equal weight that the particles were worth."""


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
    """The document of an item, which gets this name if it has none; a failure if it cannot be parsed."""
    name = item.id if isinstance(item, Text | Document) else id
    try:
        if isinstance(item, str | Text):
            return unsegmented(name, item if isinstance(item, str) else item.text)
        if not isinstance(item, Document):
            return from_edus(name, item)
        if item.text is not None and not item.text.strip():
            raise TreeError(f"{name}: a document must have a word, was: {item.text[:30]!r}")
        return item
    except GenrstError as error:
        return Failure(name, error)


def check_sampling(n: int, seed: int, particles: int) -> None:
    """Raise an error if samples cannot be drawn like that."""
    if min(n, particles) < 1:
        raise UsageError(f"samples and particles must be 1 or more, was: {n} and {particles}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"a seed must be 0 or more and less than 2^63, was: {seed}")


def from_edus(id: str, edus: Sequence[str], paragraph_starts: Collection[int] = ()) -> Document:
    """The document of a text that is given as EDUs."""
    if not isinstance(edus, list | tuple) or not all(isinstance(edu, str) for edu in edus):
        raise UsageError(f"{id}: it must be a text, a list of EDUs or a Document, was: {type(edus).__name__}")
    for number, edu in enumerate(edus):
        check_words(f"{id}: EDU {number}", edu)
    return Document.from_edus(id, edus, paragraph_starts=paragraph_starts)


def annotate_texts(documents: Sequence[Document], pipeline: str | None) -> list[Document]:
    """Tokens, sentences, syntax and entities by a spaCy pipeline; the text stays as it is, readable or not."""
    readable = [replace(one, text=one.text and _SURROGATES.sub("\ufffd", one.text)) for one in documents]
    annotated = annotate(readable, load_pipeline(pipeline))
    return [replace(new, text=old.text) for new, old in zip(annotated, documents, strict=True)]


class SegmentsTexts(Protocol):
    """What finds EDUs: a trained segmenter, or a chart that reads texts."""

    def segment(self, documents: Sequence[Document]) -> list[Document]:
        """The documents with EDUs."""


def segment_texts(documents: Sequence[Document], segmenter: SegmentsTexts | None) -> list[Document]:
    """EDUs by a trained segmenter or, without one, by rules, unless they are known."""
    raw = [document for document in documents if not document.is_segmented]
    if segmenter is None:
        from genrst.segmenter.rules import segment_by_rules  # loads numpy

        found = [segment_by_rules(document) for document in raw]
    else:
        found = segmenter.segment(raw)
    segmented = iter(found)
    return [document if document.is_segmented else next(segmented) for document in documents]


def through(outcomes: Sequence[Outcome], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """What a stage makes of all documents; failures stay where they are."""
    done = iter(_attempt([outcome for outcome in outcomes if isinstance(outcome, Document)], stage))
    return [outcome if isinstance(outcome, Failure) else next(done) for outcome in outcomes]


def _attempt(documents: list[Document], stage: Callable[[list[Document]], Sequence[Result]]) -> list[Result | Failure]:
    """All documents at once or, where that fails, each by itself."""
    try:
        return list(stage(documents)) if documents else []
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
