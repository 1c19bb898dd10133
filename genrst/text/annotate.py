"""Syntax and entities for documents: tokens, heads, dependency relations, sentences, by spaCy.

What a document already has is kept: its EDUs always (a token never crosses one), its tokens and its sentences if it
has them. Not here: finding the EDUs.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from genrst.corpora.document import Document, Span, Token
from genrst.errors import MissingDependencyError, TreeError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


def annotate(documents: Iterable[Document], pipeline: "Language") -> Iterator[Document]:
    """The documents, in order, with tokens, sentences and entities."""
    for doc, (document, spans) in pipeline.pipe(_make_docs(documents, pipeline), as_tuples=True):
        yield _with_annotation(document, spans, doc)


def _make_docs(
    documents: Iterable[Document], pipeline: "Language"
) -> "Iterator[tuple[Doc, tuple[Document, Sequence[Span]]]]":
    for document in documents:
        try:
            spans = token_spans(document, pipeline)
            doc = _make_doc(document, spans, pipeline)
        except TreeError:
            raise
        except ValueError as error:
            raise TreeError(f"{document.id}: spaCy cannot read the text: {error}") from error
        yield doc, (document, spans)


def _make_doc(document: Document, spans: Sequence[Span], pipeline: "Language") -> "Doc":
    """A spaCy document with our tokens and, where known, our sentences, which the parser then keeps to."""
    from spacy.tokens import Doc

    assert document.text is not None
    words = [document.text[span.start : span.end] for span in spans]
    spaces = [left.end < right.start for left, right in pairwise(spans)] + [False] * bool(spans)
    return Doc(pipeline.vocab, words, spaces, sent_starts=_sentence_starts(document, spans))


def _sentence_starts(document: Document, spans: Sequence[Span]) -> list[bool | int | None] | None:
    """Whether each token is the first one of a sentence, which may start with white space; None if nobody knows."""
    if not document.sentences:
        return None
    starts = [sentence.start for sentence in document.sentences]
    numbers = [0, *(bisect_right(starts, span.start) for span in spans)]
    return [left != right for left, right in pairwise(numbers)]


def token_spans(document: Document, pipeline: "Language") -> Sequence[Span]:
    """The tokens of a document: its own, or spaCy's, split where an EDU starts or ends, without white space."""
    if document.text is None:
        raise TreeError(f"{document.id}: a document must have its text to be annotated")
    if document.tokens:
        return [Span(token.start, token.end) for token in document.tokens]
    borders = {border for edu in document.edus for border in (edu.start, edu.end)}
    spans = []
    for token in pipeline.make_doc(document.text):
        if token.is_space:
            continue
        end = token.idx + len(token)
        cuts = [token.idx, *(border for border in range(token.idx + 1, end) if border in borders), end]
        spans += [Span(start, stop) for start, stop in pairwise(cuts)]
    return spans


def _with_annotation(document: Document, spans: Sequence[Span], doc: "Doc") -> Document:
    if not doc.has_annotation("DEP"):
        raise MissingDependencyError("the spaCy pipeline must have a parser: pip install 'genrst[text]'")
    tokens = tuple(
        Token(span.start, span.end, token.head.i, token.dep_, token.tag_)
        for span, token in zip(spans, doc, strict=True)
    )
    entities = tuple(Span(spans[e.start].start, spans[e.end - 1].end, e.label_) for e in doc.ents)
    sentences = document.sentences or tuple(
        Span(spans[sentence.start].start, spans[sentence.end - 1].end) for sentence in doc.sents
    )
    return replace(document, tokens=tokens, entities=entities, sentences=sentences)
