"""The document: a text, its EDUs as character spans, its tree and its annotation.

All other parts of genrst read or produce a `Document`. Reading files is in `genrst.formats.files`, splitting a text
into EDUs in `genrst.text`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from reprlib import repr as short_repr
from types import MappingProxyType
from typing import Literal, TypeAlias
from unicodedata import category

from genrst.errors import ConstraintError, GenrstError, TreeError
from genrst.trees.constraints import Constraint, KeepWhole, Label, ResolvedConstraints, resolve_constraints
from genrst.trees.node import Leaf, Tree, Unit

Role: TypeAlias = Literal["nucleus", "satellite"]
ROLES: dict[str, Role] = {"N": "nucleus", "S": "satellite"}
"""The role for each letter of a unit's nuclearity."""

WORD = re.compile(r"\S+")

MARKERS = ("dm", "orphan")
"""The signal types for discourse markers: `dm` for relations in the tree, `orphan` for secondary edges."""

GRAPHICAL = "graphical"
"""The signal type for parentheses, colons, layout and the like."""

EFFECTIVE_SIZE = "effective_sample_size"
"""The metadata key for the effective sample size of the particles that a sample was drawn from."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters.

    `label` is an entity's type, a paragraph's kind (`p`, `head`, `item`, …), a sentence's speaker, or empty.
    """

    start: int
    end: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word: its span of characters, and its syntactic head as a token number (a root is its own head)."""

    start: int
    end: int
    head: int
    deprel: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal of a relation: its type, its subtype and its words, numbered from 1 (see `signal_words`).

    Without `target`, it signals the relation between the unit of the EDUs `unit` (start, stop) and its parent. With
    `target`, it signals the secondary edge from `unit` to `target`.
    """

    unit: tuple[int, int]
    type: str
    subtype: str
    tokens: tuple[int, ...] = ()
    status: str = ""
    target: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class SecondaryEdge:
    """A relation outside the tree, between two units given by their EDUs (start, stop)."""

    source: tuple[int, int]
    target: tuple[int, int]
    relation: str


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A segmented text, with or without a tree.

    `edus` are ordered spans of `text` that do not overlap; the characters between them are usually white space. If
    `text` is None, only the offsets are known, or only the number of EDUs (see `unplaced_edus`). `tokens`,
    `sentences`, `paragraphs` and `entities` are empty if the document is not annotated.
    """

    id: str
    text: str | None
    edus: tuple[Span, ...]
    tree: Tree | None = None
    tokens: tuple[Token, ...] = ()
    sentences: tuple[Span, ...] = ()
    paragraphs: tuple[Span, ...] = ()
    entities: tuple[Span, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    """Constraints on the tree for the next time the document is parsed."""
    signals: tuple[Signal, ...] = ()
    secondary_edges: tuple[SecondaryEdge, ...] = ()
    log_probability: float | None = None
    model: str | None = None
    metadata: dict[str, str] = field(default_factory=dict, hash=False)
    is_segmented: bool = True
    """Whether the EDUs are known. A raw text has a single placeholder EDU that covers all of it."""

    def __post_init__(self) -> None:
        _check_edus(self.edus, self.text)
        if self.tree is not None and (self.tree.start, self.tree.stop) != (0, len(self.edus)):
            raise TreeError(
                f"the tree must cover the EDUs 0–{len(self.edus) - 1}, got {self.tree.start}–{self.tree.stop - 1}"
            )

    @classmethod
    def from_edus(
        cls,
        id: str,
        edus: Sequence[str],
        tree: Tree | None = None,
        paragraph_starts: Collection[int] = (),
    ) -> "Document":
        """Build a document from the texts of its EDUs, joined by spaces, and by blank lines between paragraphs."""
        if isinstance(edus, str):
            raise TreeError("EDUs must be a list of strings, got a single string")
        starts = {0, *paragraph_starts}
        if outside := starts - set(range(len(edus))) - {0}:
            raise TreeError(f"every paragraph must start at one of the {len(edus)} EDUs, got {min(outside)}")
        pieces: list[str] = []
        spans: list[Span] = []
        offset = 0
        for number, edu in enumerate(edus):
            gap = "" if number == 0 else "\n\n" if number in starts else " "
            start = offset + len(gap)
            offset = start + len(edu)
            pieces.append(gap + edu)
            spans.append(Span(start, offset))
        paragraphs = join_runs(spans, sorted(starts)) if len(starts) > 1 else ()
        return cls(id, "".join(pieces), tuple(spans), tree, paragraphs=paragraphs)

    @property
    def is_placed(self) -> bool:
        """Whether the positions of the EDUs are known, and not only their number."""
        return self.text is not None or self.edus != unplaced_edus(len(self.edus))

    @property
    def edu_texts(self) -> list[str]:
        """The text of every EDU; empty strings if the document has no text."""
        text = self.text or ""
        return [text[edu.start : edu.end] for edu in self.edus]

    def offsets(self, start: int, stop: int) -> tuple[int, int]:
        """Return where the EDUs from `start` to `stop` (exclusive) start and end in the text."""
        return self.edus[start].start, self.edus[stop - 1].end

    def slice(self, start: int, stop: int) -> str | None:
        """Return the text from the first to the last of these EDUs; None if the document has no text."""
        first, end = self.offsets(start, stop)
        return None if self.text is None else self.text[first:end]

    @property
    def root(self) -> "Node":
        """The topmost node of the tree. Raises an error if the document has no tree."""
        return Node(self, require_tree(self))

    def sentence_of_edus(self) -> list[int]:
        """Return the number of the sentence in which each EDU starts; all 0 if the sentences are unknown."""
        return _containing(self.edus, self.sentences)

    def paragraph_of_edus(self) -> list[int]:
        """Return the number of the paragraph in which each EDU starts; all 0 if the paragraphs are unknown."""
        return _containing(self.edus, self.paragraphs)

    def __repr__(self) -> str:
        tree = "with a tree" if self.tree is not None else "no tree"
        n_edus, n_tokens = len(self.edus), len(self.tokens)
        edus, tokens = "EDU" if n_edus == 1 else "EDUs", "token" if n_tokens == 1 else "tokens"
        return f"<Document {self.id!r}: {n_edus} {edus}, {n_tokens} {tokens}, {tree}>"


@dataclass(frozen=True, slots=True, repr=False)
class Node:
    """A node of a document's tree: a unit or an EDU, with its text, its parent and its role.

    A `Tree` holds only EDU numbers, so that it can be compared, changed and moved to other documents; a `Node` is a
    part of a tree in its document. Iterating over a node yields the node and all its descendants, parents before
    children. Nothing here recurses, because trees can be very deep.
    """

    document: Document
    tree: Tree
    """The subtree of this node."""
    parent: "Node | None" = field(default=None, compare=False)
    """The unit above; None for the root. It is not compared, because that would recurse."""
    role: Role | None = field(default=None, compare=False)
    """The role of the node in its parent, `nucleus` or `satellite`; None for the root."""

    @property
    def start(self) -> int:
        """The number of the first EDU, from 0."""
        return self.tree.start

    @property
    def stop(self) -> int:
        """One more than the number of the last EDU."""
        return self.tree.stop

    @property
    def start_char(self) -> int:
        """Where the node starts in the text of the document."""
        return self.document.edus[self.start].start

    @property
    def end_char(self) -> int:
        """Where the node ends in the text of the document (exclusive)."""
        return self.document.edus[self.stop - 1].end

    @property
    def text(self) -> str | None:
        """The text of the node, including characters between its EDUs; None if the document has no text."""
        return self.document.slice(self.start, self.stop)

    @property
    def is_edu(self) -> bool:
        """Whether the node is an EDU."""
        return isinstance(self.tree, Leaf)

    @property
    def label(self) -> str:
        """The relation and nuclearity of a unit, such as `elaboration NS`; `EDU` for an EDU."""
        return "EDU" if self.is_edu else f"{self.relation} {self.nuclearity}"

    @property
    def relation(self) -> str | None:
        """The relation between the children of a unit; None for an EDU."""
        return self.tree.relation if isinstance(self.tree, Unit) else None

    @property
    def nuclearity(self) -> str | None:
        """An N or S for each child of a unit; None for an EDU."""
        return self.tree.nuclearity if isinstance(self.tree, Unit) else None

    @property
    def probability(self) -> float | None:
        """The probability that these EDUs form a unit; None if the model does not give it."""
        return self.tree.probability if isinstance(self.tree, Unit) else None

    @property
    def label_probability(self) -> float | None:
        """The probability of the relation and nuclearity, given the unit; None if the model does not give it."""
        return self.tree.label_probability if isinstance(self.tree, Unit) else None

    @property
    def children(self) -> "tuple[Node, ...]":
        """The child nodes; empty for an EDU."""
        if not isinstance(self.tree, Unit):
            return ()
        pairs = zip(self.tree.nuclearity, self.tree.children, strict=True)
        return tuple(Node(self.document, child, self, ROLES[letter]) for letter, child in pairs)

    def __iter__(self) -> "Iterator[Node]":
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def __repr__(self) -> str:
        return f"<{self.label} {self.start}–{self.stop - 1}: {short_repr(self.text)}>"

    def __reduce__(self) -> "tuple[Callable[..., Node], tuple[Document, Tree, int, int]]":
        # Pickle would recurse into the parents. Unpickling finds the node again from the root.
        top = self
        while top.parent is not None:
            top = top.parent
        return _find_node, (self.document, top.tree, self.start, self.stop)


def _find_node(document: Document, tree: Tree, start: int, stop: int) -> Node:
    return next(node for node in Node(document, tree) if (node.start, node.stop) == (start, stop))


def signal_words(document: Document) -> list[Span]:
    """Return the words that signals refer to: the tokens, or white-space words as in `.rs4` files."""
    return [Span(token.start, token.end) for token in document.tokens] or edu_words(document)


def signal_spans(document: Document) -> list[tuple[Span, ...]]:
    """Return the spans of the words of each signal. Adjacent words share a span; unknown word numbers are ignored.

    Punctuation around words is trimmed, except for graphical signals.
    """
    words = signal_words(document) if document.signals else []

    def spans(signal: Signal) -> Iterator[Span]:
        numbers = sorted({number for number in signal.tokens if 0 < number <= len(words)})
        # The difference between number and position is constant in a run of adjacent words.
        for _, pairs in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            run = [number for _, number in pairs]
            span = Span(min(words[number - 1].start for number in run), max(words[number - 1].end for number in run))
            yield span if document.text is None or signal.type == GRAPHICAL else _trimmed(document.text, span)

    return [tuple(spans(signal)) for signal in document.signals]


def _trimmed(text: str, span: Span) -> Span:
    """Trim the punctuation at the ends of a span, unless the span has nothing else."""
    start, end = min(span.start, len(text)), min(span.end, len(text))
    while start < end and _is_sign(text[start]):
        start += 1
    while start < end and _is_sign(text[end - 1]):
        end -= 1
    return Span(start, end) if start < end else span


def _is_sign(character: str) -> bool:
    return character.isspace() or category(character).startswith("P")


def edu_words(document: Document) -> list[Span]:
    """Return the words of all EDUs, split at white space."""
    found = ((edu.start, WORD.finditer(text)) for edu, text in zip(document.edus, document.edu_texts, strict=True))
    return [Span(start + word.start(), start + word.end()) for start, words in found for word in words]


def unplaced_edus(n_edus: int) -> tuple[Span, ...]:
    """Return placeholder offsets for EDUs whose positions are unknown: one character each, separated by spaces."""
    return tuple(Span(2 * edu, 2 * edu + 1) for edu in range(n_edus))


def require_tree(document: Document, side: str = "") -> Tree:
    """Return the tree of a document, or raise an error. The error names the `side`, such as `gold`, if it is given."""
    if document.tree is None:
        where = f" in {side}" if side else ""
        raise GenrstError(f"{document.id}: the document must have a tree, but is only segmented{where}")
    return document.tree


def constraints_of(
    document: Document,
    labels: Sequence[Label],
    keep_whole: KeepWhole,
    classes: Mapping[str, str] = MappingProxyType({}),
) -> ResolvedConstraints:
    """Return the constraints on a document's trees: its own, and the sentences or paragraphs to keep whole."""
    groups = {
        "nothing": [],
        "sentences": [document.sentence_of_edus()],
        "paragraphs": [document.paragraph_of_edus(), document.sentence_of_edus()],
    }[keep_whole]
    try:
        return resolve_constraints(len(document.edus), document.constraints, labels, groups, classes)
    except ConstraintError as error:
        raise ConstraintError(f"{document.id}: {error}") from error


def _check_edus(edus: Sequence[Span], text: str | None) -> None:
    if not edus:
        raise TreeError("a document must have at least one EDU")
    end = 0
    for number, edu in enumerate(edus):
        if not end <= edu.start <= edu.end:
            raise TreeError(f"EDU {number} must start at {end} or later, got {edu.start}–{edu.end}")
        end = edu.end
    if text is not None and end > len(text):
        raise TreeError(f"EDUs must lie within the text of {len(text)} characters, but the last one ends at {end}")


def join_runs(parts: Sequence[Span | Token], starts: Sequence[int]) -> tuple[Span, ...]:
    """Return the span of each run of parts, such as the tokens of each EDU, given the first part of each run."""
    stops = [*starts[1:], len(parts)]
    return tuple(Span(parts[start].start, parts[stop - 1].end) for start, stop in zip(starts, stops, strict=True))


def _containing(edus: Sequence[Span], spans: Sequence[Span]) -> list[int]:
    starts = [span.start for span in spans]
    return [max(bisect_right(starts, edu.start) - 1, 0) for edu in edus]
