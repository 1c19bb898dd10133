"""A document from the dictionaries and lists of its JSON form, checked key by key."""

import re
from dataclasses import replace
from pathlib import Path

from genrst.corpora.align import align_edus
from genrst.corpora.document import Document, SecondaryEdge, Signal, Span, Token
from genrst.corpora.json_value import JsonValue
from genrst.errors import CorpusFormatError, TreeError
from genrst.trees.node import Leaf, Tree, Unit

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
        tree=None if data["tree"].is_missing else _tree(data["tree"]),
        signals=tuple(map(_signal, data["signals"].optional_items())),
        secondary_edges=tuple(map(_secondary_edge, data["secondary_edges"].optional_items())),
        log_probability=data["log_probability"].optional_number(),
        model=data["model"].optional_string(),
    )


def _text_and_edus(data: JsonValue) -> tuple[str | None, tuple[Span, ...]]:
    """EDUs by offsets, by their texts, or, without any text, by the tree alone."""
    text = data["text"].optional_string()
    if data["edus"].is_missing and text is None and not data["tree"].is_missing:
        tree = _tree(data["tree"])
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


def _tree(root: JsonValue) -> Tree:
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


def _signal(item: JsonValue) -> Signal:
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
