"""A document from the dictionaries and lists of its JSON form, checked key by key.

Documents as JSON: one object in a `.json` file, one object a line in `.jsonl`.

    {"id": "rain", "text": "It rained, so we stayed in.",
     "edus": [{"start": 0, "end": 10}, {"start": 11, "end": 27}],
     "tree": {"relation": "result", "nuclearity": "NS", "children": [{"edu": 0}, {"edu": 1}]}}

A node with a label per child that does not follow from `relation` also has `relations`. Everything else that a
`Document` can hold is a further key, left out when empty. How an object becomes a document, and what is wrong with it
otherwise, is in `genrst.formats.json_format`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from genrst.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.errors import CorpusFormatError, TreeError
from genrst.formats import json_text
from genrst.formats.align import align_edus
from genrst.formats.json_text import JsonValue
from genrst.io import decode
from genrst.trees.node import Leaf, Tree, Unit, fold

_NUCLEARITY = re.compile("[NS]*N[NS]*")


def document_from_dict(
    data: object,
    path: Path | None = None,
    line: int | None = None,
    *,
    with_tree: bool = True,
    default_id: str | None = None,
) -> Document:
    """Build the document; without an id of its own it is called `default_id`, or else like the file.

    `with_tree=False` leaves out the tree and what belongs to it: its probability, model, signals and secondary edges.
    """
    name = default_id or (path.stem if path else "document")
    try:
        document = _segmented_document(JsonValue(data), name)
        return _add_tree(document, JsonValue(data)) if with_tree else document
    except (CorpusFormatError, TreeError) as error:
        raise CorpusFormatError(str(error), path, line) from error


def _segmented_document(data: JsonValue, default_id: str) -> Document:
    text, edus = _text_and_edus(data)
    return Document(
        data["id"].string(default_id),
        text,
        edus,
        tokens=_tokens(data["tokens"].optional_items()),
        sentences=_spans(data["sentences"].optional_items()),
        paragraphs=_spans(data["paragraphs"].optional_items()),
        entities=_spans(data["entities"].optional_items()),
        metadata=data["metadata"].optional_strings(),
    )


def _add_tree(document: Document, data: JsonValue) -> Document:
    return replace(
        document,
        tree=None if data["tree"].is_missing else _read_tree(data["tree"]),
        signals=tuple(map(_read_signal, data["signals"].optional_items())),
        secondary_edges=tuple(map(_secondary_edge, data["secondary_edges"].optional_items())),
        log_probability=data["log_probability"].optional_number(),
        model=data["model"].optional_string(),
    )


def _text_and_edus(data: JsonValue) -> tuple[str | None, tuple[Span, ...]]:
    """EDUs by offsets, by their texts, or, without any text, by the tree alone."""
    text = data["text"].optional_string()
    if data["edus"].is_missing and text is None and not data["tree"].is_missing:
        tree = _read_tree(data["tree"])
        return None, tuple(Span(2 * edu, 2 * edu + 1) for edu in range(tree.stop - tree.start))
    edus = data["edus"].items()
    if not any(map(_is_text, edus)):
        return text, _spans(edus)
    texts = [edu.string() if isinstance(edu.data, str) else edu["text"].string() for edu in edus]
    if text is not None:
        return text, tuple(align_edus(texts, text))
    joined = Document.from_edus("", texts)
    return joined.text, joined.edus


def _is_text(edu: JsonValue) -> bool:
    return isinstance(edu.data, str) or (edu["start"].is_missing and not edu["text"].is_missing)


def _read_tree(root: JsonValue) -> Tree:
    nodes: list[tuple[JsonValue, int]] = []
    pending = [root]
    while pending:
        node = pending.pop()
        children = node["children"].items() if node["edu"].is_missing else []
        nodes.append((node, len(children)))
        pending.extend(reversed(children))
    stack: list[Tree] = []
    for node, n_children in reversed(nodes):
        stack.append(_node(node, [stack.pop() for _ in range(n_children)]))
    return stack[0]


def _node(node: JsonValue, children: list[Tree]) -> Tree:
    if not node["edu"].is_missing:
        if not node["children"].is_missing:
            raise node.error("a leaf with edu or a unit with children")
        return Leaf(node["edu"].integer())
    nuclearity = node["nuclearity"].string()
    if not _NUCLEARITY.fullmatch(nuclearity) or len(nuclearity) != len(children):
        raise node["nuclearity"].error(f"an N or S for each of the {len(children)} children and at least one N")
    relations = tuple(label.string() for label in node["relations"].optional_items())
    try:
        return Unit(
            node["relation"].string(), nuclearity, tuple(children), relations, node["probability"].optional_number()
        )
    except TreeError as error:
        raise CorpusFormatError(f"{node.place}: {error}") from error


def _spans(items: list[JsonValue]) -> tuple[Span, ...]:
    return tuple(Span(*_offsets(item), item["label"].string("")) for item in items)


def _offsets(item: JsonValue) -> tuple[int, int]:
    start, end = item["start"].integer(), item["end"].integer()
    if start > end:
        raise item["end"].error(f"{start}, the start, or later")
    return start, end


def _tokens(items: list[JsonValue]) -> tuple[Token, ...]:
    tokens = []
    for item in items:
        head = item["head"].integer()
        if head >= len(items):
            raise item["head"].error(f"the number of one of the {len(items)} tokens")
        tokens.append(Token(*_offsets(item), head, item["deprel"].string(""), item["tag"].string("")))
    return tuple(tokens)


def _read_signal(item: JsonValue) -> Signal:
    return Signal(
        _range(item["unit"]),
        item["type"].string(),
        item["subtype"].string(),
        tuple(token.integer() for token in item["tokens"].optional_items()),
        item["status"].string(""),
        None if item["target"].is_missing else _range(item["target"]),
    )


def _secondary_edge(item: JsonValue) -> SecondaryEdge:
    return SecondaryEdge(_range(item["source"]), _range(item["target"]), item["relation"].string())


def _range(value: JsonValue) -> tuple[int, int]:
    """The EDUs of a unit: the first one, and one more than the last."""
    bounds = [bound.integer() for bound in value.items()]
    if len(bounds) != 2 or bounds[0] >= bounds[1]:
        raise value.error("a first EDU and one more than the last")
    return bounds[0], bounds[1]


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
