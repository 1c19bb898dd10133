"""What the service answers: trees and EDUs by its parsers, and what can be done with documents without them.

No request is seen here, and no file: everything comes as values and goes as values.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genrst.chart.finder import ChartSearch, Distribution
from genrst.document import Document
from genrst.errors import GenrstError, UsageError
from genrst.formats.files import ReadOptions, format_documents, read_content, warn_of_loss
from genrst.formats.json_format import document_to_dict
from genrst.formats.json_text import dumps
from genrst.outputs.summary import importance_ranking
from genrst.parser.folders import describe_model
from genrst.parser.parser import Failure, Item, Parser, Text
from genrst.rendering.difference_picture import difference_page, render_difference_html, render_difference_svg
from genrst.rendering.image import render_image
from genrst.rendering.page import Page, render_html, tree_page
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.serve.requests import (
    ConvertRequest,
    EvaluateRequest,
    ParseRequest,
    RenderRequest,
    SegmentRequest,
    check_size,
    heard,
    likely_edus,
    read_documents,
    read_request,
)
from genrst.text.raw import looks_english
from genrst.trees.node import units
from genrst.trees.relations import load_inventory

MEDIA_TYPES = {
    **{"svg": "image/svg+xml", "html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8"},
    **{"png": "image/png", "pdf": "application/pdf", "parts": "application/json"},
}

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a parser: EDUs only, or some of the best trees and labels."""

    item: Item
    model: str
    trees: int = 1
    alternatives: int = 0
    is_segment: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many EDUs it is about."""
        return likely_edus(self.item)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a parser found."""

    documents: Sequence[Document]
    alternatives: Sequence[JsonObject] = ()
    warnings: Sequence[str] = ()

    def as_dict(self) -> JsonObject:
        """Ready for JSON."""
        return {
            "documents": [document_to_dict(document) for document in self.documents],
            **({"alternatives": list(self.alternatives)} if self.alternatives else {}),
            "warnings": list(self.warnings),
        }


class Models:
    """The parsers of a service by their names; the first is the one that is asked if none is named."""

    def __init__(self, parsers: Sequence[Parser], max_edus: int) -> None:
        self.parsers: Mapping[str, Parser] = {str(parser.config.name): parser for parser in parsers}
        if len(self.parsers) < len(parsers) or not parsers:
            raise UsageError(
                f"models must have different names, was: {', '.join(str(one.config.name) for one in parsers)}"
            )
        self.max_edus = max_edus
        for parser in parsers:
            parser.max_edus = max_edus
        self.description = {"models": [self._describe(name, parser) for name, parser in self.parsers.items()]}
        """Ready for JSON; where models lie on this machine is nobody's business."""

    def read_parse(self, body: bytes) -> Question:
        """The question of a request to parse."""
        request = read_request(ParseRequest, body)
        with heard() as warnings:
            item = request.item()
        name = self._name(request.model)
        if request.alternatives and not self._is_chart(name):
            raise UsageError(f"alternatives must go with a chart's model, was: {name}")
        return self._sized(Question(item, name, request.trees, request.alternatives, False, tuple(warnings)))

    def read_segment(self, body: bytes) -> Question:
        """The question of a request to segment."""
        request = read_request(SegmentRequest, body)
        return self._sized(Question(Text(request.id, request.text), self._name(request.model), is_segment=True))

    def ask_for(self, item: Item, warnings: Sequence[str] = ()) -> Question:
        """The question for the best tree of an item by the first parser."""
        return self._sized(Question(item, self._name(None), warnings=tuple(warnings)))

    def _name(self, name: str | None) -> str:
        if name is not None and name not in self.parsers:
            raise UsageError(f"model must be one of {', '.join(self.parsers)}, was: {name!r}")
        return name or next(iter(self.parsers))

    def _is_chart(self, name: str) -> bool:
        return isinstance(self.parsers[name].search, ChartSearch)

    def _sized(self, question: Question) -> Question:
        check_size(getattr(question.item, "id", "text"), question.size, self.max_edus)
        return question

    def group(self, question: Question) -> Hashable:
        """Questions of the same group are answered together; None: this one is answered alone."""
        if question.trees > 1 and not self._is_chart(question.model):
            return None
        return question.model, question.is_segment

    def answer(self, group: Hashable, questions: Sequence[Question]) -> list[Answer | GenrstError]:
        """The answers to questions of a group; errors stand in the place of those that cannot be answered."""
        del group
        first, items = questions[0], [question.item for question in questions]
        parser = self.parsers[first.model]
        found: Iterable[Sequence[Document] | Distribution | Failure]
        if first.is_segment:
            found = [_attempt(parser.annotate, item) for item in items]
        elif self._is_chart(first.model):
            found = parser.distributions(items)
        elif first.trees > 1:
            found = [parser.kbest(item, first.trees) for item in items]
        else:
            found = ([one] if isinstance(one, Document) else one for one in parser.pipe(items, len(items)))
        return list(map(_answer, questions, found))

    def _describe(self, name: str, parser: Parser) -> JsonObject:
        symbols = parser.search.models[0].model.symbols
        labels = symbols.actions.labels
        return {
            "name": name,
            "is_chart": self._is_chart(name),
            "search": parser.config.search,
            "n_parameters": describe_model(parser.folder)["n_parameters"] if parser.folder else None,
            "labels": [{"relation": label.relation, "nuclearity": label.nuclearity} for label in labels],
            "fine": dict(symbols.fine),
        }


def _attempt(work: Callable[[Item], Document], item: Item) -> list[Document] | Failure:
    try:
        return [work(item)]
    except GenrstError as error:
        return Failure("", error)


def _answer(question: Question, found: Sequence[Document] | Distribution | Failure) -> Answer | GenrstError:
    if isinstance(found, Failure):
        return found.error
    alternatives: list[JsonObject] = []
    if isinstance(found, Distribution):
        try:
            documents: Sequence[Document] = found.documents(question.trees)
        except GenrstError as error:
            return error
        alternatives = _alternatives(found, documents[0], question.alternatives)
    else:
        documents = found
    warnings = list(question.warnings)
    if not looks_english(documents[0].text or ""):
        warnings.append(f"{documents[0].id}: the text does not look English; its tree will mean little")
    return Answer(documents, alternatives, warnings)


def _alternatives(found: Distribution, document: Document, n: int) -> list[JsonObject]:
    """The most probable labels of every unit of a tree."""
    if n == 0 or document.tree is None:
        return []
    result = []
    for unit in units(document.tree):
        labels = found.label_probabilities(unit.start, unit.stop)
        best = sorted(labels.items(), key=lambda pair: -pair[1])[:n]
        result.append(
            {
                "edus": [unit.start, unit.stop],
                "probability": unit.probability,
                "labels": [{"relation": r, "nuclearity": nuclearity, "probability": p} for (r, nuclearity), p in best],
            }
        )
    return result


def evaluate_documents(body: bytes, max_edus: int) -> JsonObject:
    """Scores, as `genrst evaluate --json` prints them; of EDUs only, if there are no trees to score."""
    from genrst.evaluation.report import evaluate, score_segmentation

    request = read_request(EvaluateRequest, body)
    with heard() as warnings:
        gold, predicted = (read_documents(side, max_edus) for side in (request.gold, request.predicted))
    if any(document.tree for document in predicted):
        inventory = load_inventory(request.inventory) if request.inventory else None
        scores = evaluate(gold, predicted, labels=request.labels, inventory=inventory).as_dict()
    else:
        scores = {"documents": len(gold), "segmentation": score_segmentation(gold, predicted).as_dict()}
    return {**scores, "warnings": warnings}


def render_document(body: bytes, max_edus: int) -> tuple[bytes, str]:
    """A picture, and its media type."""
    request = read_request(RenderRequest, body)
    with heard():
        document = read_documents([request.document], max_edus)[0]
        other = read_documents([request.against], max_edus)[0] if request.against is not None else None
    picture = _draw(document, request) if other is None else _draw_difference(document, other, request)
    content = picture if isinstance(picture, bytes) else picture.encode("utf-8", "backslashreplace")
    return content, MEDIA_TYPES[request.format]


def _draw(document: Document, request: RenderRequest) -> str | bytes:
    if request.format == "txt":
        return render_text(document, width=request.width, colours=request.colours)
    if request.format == "parts":
        return _parts(tree_page(document, [request.style or "compact"], request.colours), _ranking(document))
    if request.format == "html":
        return render_html(document, request.style or "compact", request.colours)
    if request.format == "svg":
        return render_svg(document, request.style or "classic", request.colours)
    return render_image(document, request.format, request.style or "classic", request.colours)


def _draw_difference(document: Document, other: Document, request: RenderRequest) -> str:
    if request.format not in ("svg", "html", "parts") or request.style == "classic" or request.colours != "relation":
        known = "svg, html or parts, compact, coloured by relation"
        raise UsageError(f"against must go with {known}, was: {request.format}")
    if request.format == "parts":
        return _parts(difference_page(document, other, "coarse", ("this tree", "the other")), [])
    return (render_difference_html if request.format == "html" else render_difference_svg)(document, other)


def _ranking(document: Document) -> list[int]:
    return importance_ranking(document) if document.tree is not None else []


def _parts(page: Page, ranking: Sequence[int]) -> str:
    """What a page shows of a document, and its EDUs by importance, as JSON."""
    parts = {"kind": page.kind, "facts": page.facts, "trees": page.trees, "text": page.text, "data": page.data}
    return dumps({**parts, "ranking": ranking})


def convert_documents(body: bytes, max_edus: int) -> JsonObject:
    """Documents, or the content of a file."""
    request = read_request(ConvertRequest, body)
    request.check()
    with heard() as warnings:
        documents = _read_content(request, max_edus)
        if request.to is None:
            return {"documents": [document_to_dict(document) for document in documents], "warnings": warnings}
        suffix = f".{request.to}"
        for document in documents:
            warn_of_loss(document, suffix)
        return {"content": format_documents(documents, suffix), "warnings": warnings}


def _read_content(request: ConvertRequest, max_edus: int) -> list[Document]:
    if request.content is None:
        return read_documents(request.documents or [], max_edus)
    # A name only, which errors and documents have; nothing is opened.
    name = Path(f"document.{request.source_format}")
    documents = read_content(request.content.encode("utf-8"), name, ReadOptions(request.roots))
    for document in documents:
        check_size(document.id, len(document.edus), max_edus)
    return documents
