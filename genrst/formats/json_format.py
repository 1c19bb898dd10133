"""Read and write documents as JSON: one object in a `.json` file, one object per line in a `.jsonl` file.

    {"id": "rain", "text": "It rained, so we stayed in.",
     "edus": [{"start": 0, "end": 10}, {"start": 11, "end": 27}],
     "tree": {"relation": "result", "nuclearity": "NS", "children": [{"edu": 0}, {"edu": 1}]}}

A node whose labels per child cannot be derived from `relation` also has `relations`. The other fields of a `Document`
have a key each, which is left out if the field is empty. Every key is validated, and errors name the place. The JSON
text itself is read and written by `genrst.formats.json_text`.
"""

import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from reprlib import repr as short_repr

from genrst.document import Document, SecondaryEdge, Signal, Span, Token, signal_spans, unplaced_edus
from genrst.errors import CorpusFormatError, CorpusWarning, TreeError, UsageError
from genrst.formats import json_text
from genrst.formats.plain import align_edus
from genrst.io import decode
from genrst.trees.constraints import Constraint, constraint_from_dict
from genrst.trees.node import Leaf, Tree, Unit, fold

MAX_INTEGER = 2**31 - 1
"""The largest offset, EDU number or token number that is accepted."""

KEYS = (
    *("id", "text", "edus", "tree", "log_probability", "model", "sentences", "paragraphs", "tokens", "entities"),
    *("signals", "secondary_edges", "constraints", "metadata"),
)
"""The keys of a document."""

_MAX_PLACE = 100
_NUCLEARITY = re.compile("[NS]*N[NS]*")


def read_json(content: bytes, path: Path, *, with_tree: bool = True) -> list[Document]:
    """Read a file that holds one document or a list of documents."""
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
        message = f"invalid JSON: {error.msg} at column {error.colno}"
        raise CorpusFormatError(message, path, line or error.lineno) from error
    except ValueError as error:
        raise CorpusFormatError(str(error), path, line) from error


def write_json(document: Document) -> str:
    """Return the text of a `.json` file, with a line per key."""
    lines = [f"{json_text.dumps(key)}: {json_text.dumps(value)}" for key, value in document_to_dict(document).items()]
    return "{" + ",\n ".join(lines) + "}\n"


def write_jsonl(documents: Iterable[Document]) -> str:
    """Return the text of a `.jsonl` file."""
    return "".join(json_text.dumps(document_to_dict(document)) + "\n" for document in documents)


def document_to_dict(document: Document) -> dict[str, object]:
    """Convert a document to dictionaries and lists, ready for JSON."""
    optional = {
        "log_probability": document.log_probability,
        "model": document.model,
        "sentences": list(map(_span_to_dict, document.sentences)),
        "paragraphs": list(map(_span_to_dict, document.paragraphs)),
        "tokens": [
            {
                **{"start": token.start, "end": token.end, "head": token.head},
                **_without_empty({"deprel": token.deprel, "tag": token.tag}),
            }
            for token in document.tokens
        ],
        "entities": list(map(_span_to_dict, document.entities)),
        "signals": [
            _signal_to_dict(signal, spans, document.text)
            for signal, spans in zip(document.signals, signal_spans(document), strict=True)
        ],
        "secondary_edges": [
            {"source": list(edge.source), "target": list(edge.target), "relation": edge.relation}
            for edge in document.secondary_edges
        ],
        "constraints": [constraint.as_dict() for constraint in document.constraints],
        "metadata": dict(document.metadata),
    }
    return {
        "id": document.id,
        "text": document.text,
        "edus": list(map(_span_to_dict, document.edus)),
        "tree": None if document.tree is None else tree_to_dict(document.tree),
        **{key: value for key, value in optional.items() if value not in (None, [], {})},
    }


def _without_empty(data: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in data.items() if value}


def _span_to_dict(span: Span) -> dict[str, object]:
    return {"start": span.start, "end": span.end, **_without_empty({"label": span.label})}


def _signal_to_dict(signal: Signal, spans: Sequence[Span], text: str | None) -> dict[str, object]:
    """Convert a signal. `words` make the file readable for people; when reading, only `tokens` count."""
    words = [
        {**_without_empty({"text": text and text[span.start : span.end]}), **_span_to_dict(span)} for span in spans
    ]
    others = {"status": signal.status, "target": signal.target and list(signal.target)}
    optional = _without_empty({"tokens": list(signal.tokens), "words": words, **others})
    return {"unit": list(signal.unit), "type": signal.type, "subtype": signal.subtype, **optional}


def tree_to_dict(tree: Tree) -> dict[str, object]:
    """Convert a tree to dictionaries and lists, ready for JSON."""
    return fold(tree, lambda leaf: {"edu": leaf.edu}, _unit_to_dict)


def _unit_to_dict(unit: Unit, children: list[dict[str, object]]) -> dict[str, object]:
    node: dict[str, object] = {"relation": unit.relation, "nuclearity": unit.nuclearity}
    if unit.relations != Unit(unit.relation, unit.nuclearity, unit.children).relations:
        node["relations"] = list(unit.relations)
    if unit.probability is not None:
        node["probability"] = unit.probability
    if unit.label_probability is not None:
        node["label_probability"] = unit.label_probability
    if unit.is_assumed:
        node["assumed"] = True
    return {**node, "children": children}


def document_from_dict(
    data: object,
    path: Path | None = None,
    line: int | None = None,
    *,
    with_tree: bool = True,
    default_id: str | None = None,
) -> Document:
    """Build a document from its dictionary. The default for its id is `default_id`, or else the name of the file.

    `with_tree=False` leaves out the tree and everything about it: its probability, model, signals and secondary edges.
    """
    name = default_id or (path.stem if path else "document")
    _warn_of_unknown_keys(data, path, line)
    try:
        document = _segmented_document(JsonValue(data), name)
        return _add_tree(document, JsonValue(data)) if with_tree else document
    except (CorpusFormatError, TreeError) as error:
        raise CorpusFormatError(str(error), path, line) from error


def _warn_of_unknown_keys(data: object, path: Path | None, line: int | None) -> None:
    """Warn about unknown keys, because a misspelt key would otherwise be ignored silently."""
    unknown = [str(key) for key in data if key not in KEYS] if isinstance(data, dict) else []
    if unknown:
        place = f"{path or 'document'}{f':{line}' if line else ''}"
        known = ", ".join(KEYS)
        warnings.warn(
            CorpusWarning(f"{place}: the unknown key {short_repr(unknown[0])} is ignored; the known keys are {known}"),
            stacklevel=2,
        )


class JsonValue:
    """A value inside JSON data that knows its place, such as `tree.children[1].nuclearity`, for precise errors.

    A missing key and null are equivalent.
    """

    __slots__ = ("data", "parent", "step")

    def __init__(self, data: object, parent: "JsonValue | None" = None, step: str = "") -> None:
        self.data = data
        self.parent = parent
        self.step = step

    @property
    def place(self) -> str:
        """The path from the document to this value; the middle of a long path is left out."""
        steps = []
        value: JsonValue | None = self
        while value is not None:
            steps.append(value.step)
            value = value.parent
        place = "".join(reversed(steps)).lstrip(".") or "a document"
        return place if len(place) <= _MAX_PLACE else f"{place[: _MAX_PLACE // 2]}…{place[-_MAX_PLACE // 2 :]}"

    @property
    def is_missing(self) -> bool:
        """Whether the value is missing or null."""
        return self.data is None

    def error(self, expected: str) -> CorpusFormatError:
        """Return the error for a value that is not the expected one."""
        found = "but is missing" if self.is_missing else f"got {short_repr(self.data)}"
        return CorpusFormatError(f"{self.place} must be {expected}, {found}")

    def __getitem__(self, key: str) -> "JsonValue":
        if not isinstance(self.data, dict):
            raise self.error("an object")
        return JsonValue(self.data.get(key), self, f".{key}")

    def items(self) -> "list[JsonValue]":
        """Return the items of a list."""
        if not isinstance(self.data, list):
            raise self.error("a list")
        return [JsonValue(item, self, f"[{position}]") for position, item in enumerate(self.data)]

    def optional_items(self) -> "list[JsonValue]":
        """Return the items of a list that may be missing."""
        return [] if self.is_missing else self.items()

    def string(self, default: str | None = None) -> str:
        """Return a string. If it is missing, return the default, or raise an error if there is none."""
        if self.is_missing and default is not None:
            return default
        if not isinstance(self.data, str):
            raise self.error("a string")
        return self.data

    def optional_string(self) -> str | None:
        """Return a string that may be missing."""
        return None if self.is_missing else self.string()

    def optional_strings(self) -> dict[str, str]:
        """Return an object whose values are strings; empty if it is missing."""
        if self.is_missing:
            return {}
        if not isinstance(self.data, dict):
            raise self.error("an object")
        return {key: self[key].string() for key in self.data}

    def integer(self) -> int:
        """Return an integer from 0 to `MAX_INTEGER`."""
        # Python counts True and False as integers, but JSON does not.
        if not isinstance(self.data, int) or isinstance(self.data, bool) or not 0 <= self.data <= MAX_INTEGER:
            raise self.error(f"a whole number from 0 to {MAX_INTEGER}")
        return self.data

    def flag(self) -> bool:
        """Return a boolean; False if it is missing."""
        if self.is_missing or isinstance(self.data, bool):
            return self.data is True
        raise self.error("true or false")

    def optional_p(self) -> float | None:
        """Return a probability that may be missing."""
        number = self.optional_number()
        if number is not None and not 0 <= number <= 1:
            raise self.error("a number from 0 to 1")
        return number

    def optional_number(self) -> float | None:
        """Return a finite number that may be missing."""
        if self.is_missing:
            return None
        if isinstance(self.data, int | float) and not isinstance(self.data, bool):
            try:
                number = float(self.data)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise self.error("a finite number")


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
        constraints=tuple(map(_constraint, data["constraints"].optional_items())),
        metadata=data["metadata"].optional_strings(),
    )


def _constraint(data: JsonValue) -> Constraint:
    try:
        return constraint_from_dict(data.data)
    except UsageError as error:
        raise CorpusFormatError(f"{data.place}: {error}") from error


def _add_tree(document: Document, data: JsonValue) -> Document:
    return replace(
        document,
        tree=None if data["tree"].is_missing else _tree(data["tree"]),
        signals=tuple(map(_signal, data["signals"].optional_items())),
        secondary_edges=tuple(
            SecondaryEdge(_range(edge["source"]), _range(edge["target"]), edge["relation"].string())
            for edge in data["secondary_edges"].optional_items()
        ),
        log_probability=data["log_probability"].optional_number(),
        model=data["model"].optional_string(),
    )


def _text_and_edus(data: JsonValue) -> tuple[str | None, tuple[Span, ...]]:
    """Return the text and the EDUs, given by offsets, by their texts or, without a text, by the tree alone."""
    text = data["text"].optional_string()
    if data["edus"].is_missing and text is None and not data["tree"].is_missing:
        tree = _tree(data["tree"])
        return None, unplaced_edus(tree.stop - tree.start)
    edus = data["edus"].items()
    if not any(isinstance(edu.data, str) or (edu["start"].is_missing and not edu["text"].is_missing) for edu in edus):
        return text, _spans(edus)
    texts = [edu.string() if isinstance(edu.data, str) else edu["text"].string() for edu in edus]
    if text is not None:
        return text, tuple(align_edus(texts, text))
    joined = Document.from_edus("", texts)
    return joined.text, joined.edus


def _spans(items: list[JsonValue]) -> tuple[Span, ...]:
    return tuple(Span(*_offsets(item), item["label"].string("")) for item in items)


def _offsets(item: JsonValue) -> tuple[int, int]:
    start, end = item["start"].integer(), item["end"].integer()
    if start > end:
        raise item["end"].error(f"at least the start, {start}")
    return start, end


def _tokens(items: list[JsonValue]) -> tuple[Token, ...]:
    tokens = []
    for item in items:
        head = item["head"].integer()
        if head >= len(items):
            raise item["head"].error(f"the index of one of the {len(items)} tokens")
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


def _range(value: JsonValue) -> tuple[int, int]:
    """Return the EDUs of a unit as start and stop (exclusive)."""
    bounds = [bound.integer() for bound in value.items()]
    if len(bounds) != 2 or bounds[0] >= bounds[1]:
        raise value.error("[start, stop] with start < stop")
    return bounds[0], bounds[1]


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
            raise node.error("either a leaf with edu or a unit with children")
        return Leaf(node["edu"].integer())
    nuclearity = node["nuclearity"].string()
    if not _NUCLEARITY.fullmatch(nuclearity) or len(nuclearity) != len(children):
        raise node["nuclearity"].error(f"an N or S for each of the {len(children)} children and at least one N")
    relations = tuple(label.string() for label in node["relations"].optional_items())
    certainty = node["probability"].optional_p(), node["label_probability"].optional_p(), node["assumed"].flag()
    try:
        return Unit(node["relation"].string(), nuclearity, tuple(children), relations, *certainty)
    except TreeError as error:
        raise CorpusFormatError(f"{node.place}: {error}") from error
