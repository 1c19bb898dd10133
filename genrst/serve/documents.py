"""Endpoints that need no model: evaluate, render and convert documents.

Inputs and outputs are values; no file is read or written.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from genrst.allowance import check_size as check_size  # re-exported for modules that read documents in other ways
from genrst.document import Document
from genrst.errors import CorpusWarning, UsageError
from genrst.evaluation.report import evaluate, score_segmentation
from genrst.formats.files import format_documents, read_content, warn_of_loss
from genrst.formats.json_format import document_from_dict, document_to_dict
from genrst.formats.json_text import dumps
from genrst.outputs.summary import importance_ranking
from genrst.rendering.difference import difference_page, render_difference_html, render_difference_svg
from genrst.rendering.image import render_image
from genrst.rendering.page import Page, render_html, tree_page
from genrst.rendering.svg import render_svg
from genrst.rendering.terminal import render_text
from genrst.serve.requests import ConvertRequest, EvaluateRequest, RenderRequest
from genrst.trees.relations import load_inventory

MEDIA_TYPES = {
    **{"svg": "image/svg+xml", "html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8"},
    **{"png": "image/png", "pdf": "application/pdf", "parts": "application/json"},
}

JsonObject = dict[str, Any]
_WARNINGS = RLock()


def evaluate_documents(request: EvaluateRequest, max_edus: int) -> JsonObject:
    """Return the scores of `genrst evaluate --json`; only segmentation scores if no predicted document has a tree."""
    with collected_warnings() as lines:
        gold, predicted = (_read_all(side, max_edus) for side in (request.gold, request.predicted))
    if any(document.tree for document in predicted):
        inventory = load_inventory(request.inventory) if request.inventory else None
        scores = evaluate(gold, predicted, labels=request.labels, inventory=inventory).as_dict()
    else:
        scores = {"documents": len(gold), "segmentation": score_segmentation(gold, predicted).as_dict()}
    return {**scores, "warnings": lines}


def render_document(request: RenderRequest, max_edus: int) -> tuple[bytes, str]:
    """Return a picture and its media type."""
    with collected_warnings():
        document = _read_all([request.document], max_edus)[0]
        other = _read_all([request.against], max_edus)[0] if request.against is not None else None
    picture = _draw(document, request) if other is None else _draw_difference(document, other, request)
    content = picture if isinstance(picture, bytes) else picture.encode("utf-8", "backslashreplace")
    return content, MEDIA_TYPES[request.format]


def convert_documents(request: ConvertRequest, max_edus: int) -> JsonObject:
    """Return documents, or the content of a file if the request has `to`."""
    request.check()
    with collected_warnings() as lines:
        documents = _read_content(request, max_edus)
        if request.to is None:
            result: JsonObject = {"documents": [document_to_dict(document) for document in documents]}
        else:
            for document in documents:
                warn_of_loss(document, f".{request.to}")
            result = {"content": format_documents(documents, f".{request.to}")}
    return {**result, "warnings": lines}


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings about the input as lines; the list is complete when the block ends.

    Python's warning filters are shared by all threads, so a lock lets one thread collect at a time. The block must not
    contain an allowance checkpoint, where a thread may wait for the others: that would be a deadlock.
    """
    lines: list[str] = []
    with _WARNINGS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CorpusWarning)
        yield lines
    lines += [str(one.message) for one in caught if isinstance(one.message, CorpusWarning)]


def _read_all(items: Sequence[JsonObject], max_edus: int) -> list[Document]:
    return _checked([document_from_dict(item, default_id=f"document-{n}") for n, item in enumerate(items, 1)], max_edus)


def _read_content(request: ConvertRequest, max_edus: int) -> list[Document]:
    if request.content is None:
        return _read_all(request.documents or [], max_edus)
    path = Path(f"document.{request.source_format}")  # only a name for messages; nothing is opened
    return _checked(read_content(request.content.encode("utf-8"), path, roots=request.roots), max_edus)


def _checked(documents: list[Document], max_edus: int) -> list[Document]:
    for document in documents:
        check_size(document.id, len(document.edus), max_edus)
    return documents


def _draw(document: Document, request: RenderRequest) -> str | bytes:
    if request.format == "txt":
        return render_text(document, width=request.width, colours=request.colours)
    if request.format == "parts":
        ranking = importance_ranking(document) if document.tree is not None else []
        return _parts(tree_page(document, [request.style or "compact"], request.colours), ranking)
    if request.format == "html":
        return render_html(document, request.style or "compact", request.colours)
    if request.format == "svg":
        return render_svg(document, request.style or "classic", request.colours)
    return render_image(document, request.format, request.style or "classic", request.colours)


def _draw_difference(document: Document, other: Document, request: RenderRequest) -> str:
    if request.format not in ("svg", "html", "parts") or request.style == "classic" or request.colours != "relation":
        known = "svg, html or parts, in compact style, coloured by relation"
        raise UsageError(f"against works only with {known}, got {request.format}")
    first, second = request.names or (["this tree", "the other"] if request.format == "parts" else ["first", "second"])
    if request.format == "parts":
        return _parts(difference_page(document, other, request.labels, (first, second)), [])
    draw = render_difference_html if request.format == "html" else render_difference_svg
    return draw(document, other, request.labels, (first, second))


def _parts(page: Page, ranking: Sequence[int]) -> str:
    """Return the parts of a page, and the EDUs by importance, as JSON."""
    parts = {"kind": page.kind, "facts": page.facts, "trees": page.trees, "text": page.text, "data": page.data}
    return dumps({**parts, "ranking": ranking})
