"""genrst as a component of a spaCy pipeline: `nlp.add_pipe("genrst")`, then `doc._.rst` is a `Document`,
and `doc.spans["edus"]` has its EDUs.

The pipeline's own tokens, sentences, heads and entities are used; nothing is annotated twice. Documents are kept as
JSON in `doc.user_data`, so that they survive `Doc.to_bytes`, `DocBin` and `nlp.pipe(n_process=2)`.
"""

import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from genrst.document import Document, Span, Token
from genrst.errors import MissingDependencyError, ParserWarning
from genrst.formats.json_format import read_json, write_json
from genrst.parser import Relations, Search
from genrst.parser.loading import load_with
from genrst.parser.options import LoadOptions
from genrst.parser.parser import Parser
from genrst.text.layout import paragraphs
from genrst.text.speakers import with_speakers
from genrst.trees.constraints import KeepWhole

USER_DATA = "genrst"
"""The key of a parsed document in `doc.user_data`."""

EDUS = "edus"
"""The key of the EDUs in `doc.spans`."""

_loading = threading.Lock()


@Language.factory(
    "genrst",
    assigns=["doc._.rst", "doc.spans"],
    requires=["token.dep", "token.head", "doc.sents"],
    default_config={"model": None, **asdict(LoadOptions())},
)
def make(
    nlp: Language,
    name: str,
    model: str | None,
    device: str,
    pipeline: str | None,
    search: Search | None,
    beam: int | None,
    word_weight: float | None,
    max_stack: int | None,
    keep_whole: KeepWhole | None,
    relations: Relations | None,
    signals: bool,
) -> "RstComponent":
    """The component that a pipeline asks for; the options are those of `genrst.load`."""
    del nlp, name
    return RstComponent(
        model, LoadOptions(device, pipeline, search, beam, word_weight, max_stack, keep_whole, relations, signals)
    )


class RstComponent:
    """Sets `doc._.rst` and `doc.spans["edus"]`."""

    def __init__(self, model: str | None, options: LoadOptions) -> None:
        self._model, self._options = model, options
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser, loaded when it is first needed, by one thread for all."""
        with _loading:
            if self._parser is None:
                self._parser = load_with(self._model, self._options)
            return self._parser

    def __call__(self, doc: Doc) -> Doc:
        """Parse one text."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = 8) -> Iterator[Doc]:
        """Parse texts, some at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self._parse(batch)
            yield from batch

    def _parse(self, docs: list[Doc]) -> None:
        """Parse all texts with a word; one that cannot be parsed is a warning."""
        wanted = [doc for doc in docs if any(not token.is_space for token in doc)]
        documents = [from_spacy(doc) for doc in wanted]
        for doc, outcome in zip(wanted, self.parser.parse_annotated(documents) if documents else [], strict=True):
            if isinstance(outcome, Document):
                doc.user_data[USER_DATA] = write_json(outcome)
                found = (doc.char_span(edu.start, edu.end, alignment_mode="expand") for edu in outcome.edus)
                doc.spans[EDUS] = [span for span in found if span is not None]
            else:
                warnings.warn(ParserWarning(str(outcome.error)), stacklevel=2)


def document_of(doc: Doc) -> Document | None:
    """What `doc._.rst` gives: the parsed document, or None for a text without a word."""
    stored = doc.user_data.get(USER_DATA)
    return read_json(stored.encode("utf-8", "surrogatepass"), Path("doc.json"))[0] if stored else None


def from_spacy(doc: Doc) -> Document:
    """The document of an annotated spaCy Doc, one EDU; tokens of white space are left out."""
    if not doc.has_annotation("DEP"):
        raise MissingDependencyError("genrst must come after a dependency parser in the spaCy pipeline, was: none")
    kept = [token for token in doc if not token.is_space]
    numbers = {token.i: number for number, token in enumerate(kept)}
    tokens = tuple(
        # A head that is left out is white space: then the token is as good as a root.
        Token(token.idx, token.idx + len(token), numbers.get(token.head.i, number), token.dep_, token.tag_)
        for number, token in enumerate(kept)
    )
    sentences = [Span(sentence.start_char, sentence.end_char) for sentence in doc.sents]
    found = paragraphs(doc.text)
    return Document(
        "text",
        doc.text,
        (Span(tokens[0].start, tokens[-1].end),),
        tokens=tokens,
        sentences=with_speakers(sentences, doc.text, found),
        paragraphs=found,
        entities=tuple(Span(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents),
    )


Doc.set_extension("rst", getter=document_of, force=True)
