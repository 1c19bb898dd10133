"""genrst as a spaCy pipeline component.

After `nlp.add_pipe("genrst")`, `doc._.rst` is a `Document`, `doc.spans["edus"]` has its EDUs, and
`doc.spans["signals"]` has the words of its signals if the parser finds any.

The component uses the pipeline's tokens, sentences, heads and entities where they exist, so nothing is annotated twice.
A chart parser such as `en` needs only the tokens, so a blank pipeline is enough. Documents are stored as JSON in
`doc.user_data`, so that they survive `Doc.to_bytes`, `DocBin` and `nlp.pipe(n_process=2)`.
"""

import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cached_property
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from genrst.document import Document, Span, Token, signal_spans
from genrst.errors import MissingDependencyError, ParserWarning
from genrst.formats.json_format import read_json, write_json
from genrst.parser import Relations, Search
from genrst.parser.folders import find_model, read_kind
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

SIGNALS = "signals"
"""The key of the words of signals in `doc.spans`; the label of a span is the type of its signal."""

_loading = threading.Lock()


@Language.factory(
    "genrst",
    assigns=["doc._.rst", "doc.spans"],
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
    """Create the component for a pipeline; the options are those of `genrst.load`."""
    del nlp, name
    return RstComponent(
        model, LoadOptions(device, pipeline, search, beam, word_weight, max_stack, keep_whole, relations, signals)
    )


class RstComponent:
    """Sets `doc._.rst`, `doc.spans["edus"]` and `doc.spans["signals"]`."""

    def __init__(self, model: str | None, options: LoadOptions) -> None:
        self._model, self._options = model, options
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser, loaded once, when it is first needed, and shared by all threads."""
        with _loading:
            if self._parser is None:
                self._parser = load_with(self._model, self._options)
            return self._parser

    @cached_property
    def _needs_syntax(self) -> bool:
        """Return whether the model reads the heads of words; chart parsers do not."""
        return read_kind(find_model(self._model)) != "chart"

    def __call__(self, doc: Doc) -> Doc:
        """Parse one text."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = 8) -> Iterator[Doc]:
        """Parse texts in batches."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self._parse(batch)
            yield from batch

    def _parse(self, docs: list[Doc]) -> None:
        """Parse all texts that have words; warn about a text that cannot be parsed."""
        wanted = [doc for doc in docs if any(not token.is_space for token in doc)]
        if self._needs_syntax and not all(doc.has_annotation("DEP") for doc in wanted):
            raise MissingDependencyError(
                f"the model {self.parser.config.name!r} needs a dependency parser before genrst in the spaCy pipeline; "
                "add one, or use 'en', which does not need it"
            )
        documents = [from_spacy(doc) for doc in wanted]
        for doc, outcome in zip(wanted, self.parser.parse_annotated(documents) if documents else [], strict=True):
            if isinstance(outcome, Document):
                _annotate(doc, outcome)
            else:
                warnings.warn(ParserWarning(str(outcome.error)), stacklevel=2)


def _annotate(doc: Doc, document: Document) -> None:
    """Store the document, its EDUs and the words of its signals, one span per run of words."""
    doc.user_data[USER_DATA] = write_json(document)
    groups = {EDUS: [("", edu) for edu in document.edus]}
    if document.signals:
        signals = zip(document.signals, signal_spans(document), strict=True)
        groups[SIGNALS] = [(signal.type, span) for signal, spans in signals for span in spans]
    for key, spans in groups.items():
        found = (doc.char_span(span.start, span.end, label, alignment_mode="expand") for label, span in spans)
        doc.spans[key] = [span for span in found if span is not None]


def document_of(doc: Doc) -> Document | None:
    """The value of `doc._.rst`: the parsed document, or None for a text without words."""
    stored = doc.user_data.get(USER_DATA)
    return read_json(stored.encode("utf-8", "surrogatepass"), Path("doc.json"))[0] if stored else None


def from_spacy(doc: Doc) -> Document:
    """Return a spaCy Doc as a document with one EDU, without its white-space tokens.

    Without a dependency parser, every token is a root. If the Doc has no sentences, the parser finds them.
    """
    kept = [token for token in doc if not token.is_space]
    numbers = {token.i: number for number, token in enumerate(kept)}
    tokens = tuple(
        # A missing head was a white-space token, so treat this token as a root.
        Token(token.idx, token.idx + len(token), numbers.get(token.head.i, number), token.dep_, token.tag_)
        for number, token in enumerate(kept)
    )
    spans = doc.sents if doc.has_annotation("SENT_START") else ()
    sentences = [Span(sentence.start_char, sentence.end_char) for sentence in spans]
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
