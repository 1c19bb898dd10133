"""Documents as JSON: one object in a `.json` file, one object a line in `.jsonl`.

    {"id": "rain", "text": "It rained, so we stayed in.",
     "edus": [{"start": 0, "end": 10}, {"start": 11, "end": 27}],
     "tree": {"relation": "result", "nuclearity": "NS", "children": [{"edu": 0}, {"edu": 1}]}}

A node with a label per child that does not follow from `relation` also has `relations`. Everything else that a
`Document` can hold is a further key, left out when empty. How an object becomes a document, and what is wrong with it
otherwise, is in `genrst.corpora.json_document`.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from genrst.corpora import json_text
from genrst.corpora.document import Document, Signal, Span, Token
from genrst.corpora.encoding import decode
from genrst.corpora.json_document import document_from_dict
from genrst.errors import CorpusFormatError
from genrst.trees.node import Tree, Unit, fold

__all__ = ["document_from_dict", "document_to_dict", "read_json", "read_jsonl", "write_json", "write_jsonl"]


def read_json(content: bytes, path: Path, *, with_tree: bool = True) -> list[Document]:
    """Read the document of a file, or all documents of a list."""
    data = _loads(decode(content, path), path)
    if isinstance(data, list):
        return [
            document_from_dict(item, path, with_tree=with_tree, default_id=f"{path.stem}-{number}")
            for number, item in enumerate(data, start=1)
        ]
    return [document_from_dict(data, path, with_tree=with_tree)]


def read_jsonl(content: bytes, path: Path, *, with_tree: bool = True) -> list[Document]:
    """Read a document from every line that is not blank."""
    return [
        document_from_dict(_loads(text, path, line), path, line, with_tree=with_tree, default_id=f"{path.stem}-{line}")
        for line, text in enumerate(decode(content, path).split("\n"), start=1)
        if text.strip()
    ]


def _loads(text: str, path: Path, line: int | None = None) -> object:
    try:
        return json_text.loads(text)
    except json.JSONDecodeError as error:
        message = f"the text must be JSON, was: {error.msg} at column {error.colno}"
        raise CorpusFormatError(message, path, line or error.lineno) from error
    except ValueError as error:
        raise CorpusFormatError(str(error), path, line) from error


def write_json(document: Document) -> str:
    """The text of a `.json` file: a line per key."""
    lines = [f"{json_text.dumps(key)}: {json_text.dumps(value)}" for key, value in document_to_dict(document).items()]
    return "{" + ",\n ".join(lines) + "}\n"


def write_jsonl(documents: Iterable[Document]) -> str:
    """The text of a `.jsonl` file."""
    return "".join(json_text.dumps(document_to_dict(document)) + "\n" for document in documents)


def document_to_dict(document: Document) -> dict[str, object]:
    """The document as dictionaries and lists, ready for JSON."""
    optional = {
        "log_probability": document.log_probability,
        "model": document.model,
        "sentences": [_span(span) for span in document.sentences],
        "paragraphs": [_span(span) for span in document.paragraphs],
        "tokens": [_token(token) for token in document.tokens],
        "entities": [_span(span) for span in document.entities],
        "signals": [_signal(signal) for signal in document.signals],
        "secondary_edges": [
            {"source": list(edge.source), "target": list(edge.target), "relation": edge.relation}
            for edge in document.secondary_edges
        ],
        "metadata": dict(document.metadata),
    }
    return {
        "id": document.id,
        "text": document.text,
        "edus": [_span(span) for span in document.edus],
        "tree": None if document.tree is None else _tree(document.tree),
        **{key: value for key, value in optional.items() if value not in (None, [], {})},
    }


def _tree(tree: Tree) -> dict[str, object]:
    return fold(tree, lambda leaf: {"edu": leaf.edu}, _unit)


def _unit(unit: Unit, children: list[dict[str, object]]) -> dict[str, object]:
    node: dict[str, object] = {"relation": unit.relation, "nuclearity": unit.nuclearity}
    if unit.relations != Unit(unit.relation, unit.nuclearity, unit.children).relations:
        node["relations"] = list(unit.relations)
    if unit.probability is not None:
        node["probability"] = unit.probability
    return {**node, "children": children}


def _span(span: Span) -> dict[str, object]:
    offsets: dict[str, object] = {"start": span.start, "end": span.end}
    return {**offsets, "label": span.label} if span.label else offsets


def _token(token: Token) -> dict[str, object]:
    offsets: dict[str, object] = {"start": token.start, "end": token.end, "head": token.head}
    labels = {"deprel": token.deprel, "tag": token.tag}
    return {**offsets, **{key: label for key, label in labels.items() if label}}


def _signal(signal: Signal) -> dict[str, object]:
    data: dict[str, object] = {"unit": list(signal.unit), "type": signal.type, "subtype": signal.subtype}
    optional = {"tokens": list(signal.tokens), "status": signal.status, "target": signal.target and list(signal.target)}
    return {**data, **{key: value for key, value in optional.items() if value}}
