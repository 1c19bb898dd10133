"""Read and write `.dis`, the bracketed format of RST-DT.

A node has a role, a range of EDUs, a relation to its parent and, if it is a leaf, a text:

    ( Root (span 1 2)
      ( Nucleus (leaf 1) (rel2par span) (text _!It rained ,_!) )
      ( Satellite (leaf 2) (rel2par result) (text _!so we stayed in .<P>_!) )
    )

The reader first turns all brackets into nodes, in the order in which they close, and then builds the tree from them.
The running text beside an RST-DT tree is read by `genrst.formats.plain`.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from reprlib import repr as shorten
from typing import NamedTuple

from genrst.document import Document
from genrst.errors import CorpusFormatError, CorpusWarning, UsageError
from genrst.formats.plain import collapse_spaces, edu_lines
from genrst.io import decode
from genrst.trees.node import JOINT, SPAN, Leaf, Tree, Unit, units

_TOKEN = re.compile(
    r"_!(?P<text>.*?)_!|(?P<unterminated>_!)|(?P<bracket>[()])|(?P<word>(?:[^\s()_]|_(?!!))+)", re.DOTALL
)
_TAG = re.compile(r"(</?s>|</?EDU>|<P>)")
_NOT_IN_NAMES = re.compile(r"_!|[()]")
_PARAGRAPH_END = "<P>"
_ANNOTATION_TOOL_ERROR = "//TT_ERR"
_ROOT = "Root"
_ROLES = {"N": "Nucleus", "S": "Satellite"}
_ATTRIBUTES = ("span", "leaf", "rel2par", "text")
_MAX_INDENT = 40  # unlimited indentation would make the size of the file quadratic in the depth of the tree


def read_dis(content: bytes, path: Path, *, with_tree: bool = True) -> Document:
    """Read a document. `with_tree=False` only checks the brackets and reads the texts."""
    file = _File(decode(content, path), path)
    nodes = _Parser(file).parse()
    leaves = [node for node in nodes if node.is_leaf]
    edus = [_unwrap(leaf.attributes["text"]) for leaf in leaves]
    for leaf, edu in zip(leaves, edus, strict=True):
        if edu.starts_paragraph or edu.has_mark_inside:
            message = f"{_PARAGRAPH_END} must be at the end of an EDU; removed from {shorten(edu.text)}"
            file.note("marks", message, leaf.offset)
    tree = _build_tree(nodes, file) if with_tree else None
    file.warn()
    starts = {number for number, edu in enumerate(edus) if edu.starts_paragraph}
    starts |= {number for number, edu in enumerate(edus[:-1], start=1) if edu.ends_paragraph}
    return Document.from_edus(path.stem, [edu.text for edu in edus], tree, starts)


class _Edu(NamedTuple):
    """The text of an EDU without the tags around it, and the positions of the paragraph marks."""

    text: str
    ends_paragraph: bool = False
    starts_paragraph: bool = False
    has_mark_inside: bool = False


def _unwrap(text: str) -> _Edu:
    def is_tag(piece: str) -> bool:
        return not piece.strip() or _TAG.fullmatch(piece) is not None

    pieces = _TAG.split(text)
    after = list(takewhile(is_tag, reversed(pieces)))
    pieces = pieces[: len(pieces) - len(after)]
    before = list(takewhile(is_tag, pieces))
    inside = pieces[len(before) :]
    kept = collapse_spaces("".join(" " if piece == _PARAGRAPH_END else piece for piece in inside))
    return _Edu(kept, *(_PARAGRAPH_END in part for part in (after, before, inside)))


@dataclass(slots=True)
class _File:
    """The text of a file, with its errors and warnings."""

    text: str
    path: Path
    oddities: dict[str, list[str]] = field(default_factory=dict)
    """The repairs by kind."""

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def error(self, message: str, offset: int) -> CorpusFormatError:
        return CorpusFormatError(message, self.path, self.line(offset))

    def note(self, kind: str, message: str, offset: int) -> None:
        known = self.oddities.setdefault(kind, [])
        # Only the first one is shown, and finding its line number takes time.
        known.append(message if known else f"{self.path}:{self.line(offset)}: {message}")

    def warn(self) -> None:
        for first, *others in self.oddities.values():
            more = f" (and {len(others)} more)" if others else ""
            warnings.warn(CorpusWarning(f"{first}{more}"), stacklevel=4)


@dataclass(slots=True)
class _Node:
    """A node of the file. EDUs are numbered by counting leaves."""

    role: str
    offset: int
    start: int
    attributes: dict[str, str] = field(default_factory=dict)
    n_children: int = 0

    @property
    def is_leaf(self) -> bool:
        return "text" in self.attributes


class _Parser:
    """Turn tokens into nodes, children before parents."""

    def __init__(self, file: _File) -> None:
        self.file = file
        self.tokens = _TOKEN.finditer(file.text)
        self.open: list[_Node] = []
        self.closed: list[_Node] = []
        self.n_edus = 0

    def parse(self) -> list[_Node]:
        for token in self.tokens:
            if token[0] == _ANNOTATION_TOOL_ERROR:
                continue
            if self.closed and not self.open:
                raise self.file.error(f"nothing may follow the tree, got {token[0][:30]!r}", token.start())
            if token[0] == "(":
                self.begin(token.start())
            elif token[0] == ")":
                self.end(token.start())
            else:
                raise self.file.error(f"expected a bracket, got {token[0][:30]!r}", token.start())
        if self.open:
            node = self.open[-1]
            raise self.file.error(f"the ( before {node.role} is never closed", node.offset)
        if not self.closed:
            raise self.file.error("the file must hold a tree, ( Root … ), but is empty", 0)
        return self.closed

    def begin(self, offset: int) -> None:
        """Read what follows an opening bracket: the role of a new node, or a whole attribute of the current one."""
        token = next(self.tokens, None)
        name = token[0] if token else "the end of the file"
        if name in _ATTRIBUTES and self.open:
            self.set_attribute(name, offset)
        elif name in (roles := list(_ROLES.values()) if self.open else [_ROOT]):
            self.open.append(_Node(name, offset, self.n_edus))
        else:
            expected = ", ".join([*roles, *(_ATTRIBUTES if self.open else ())])
            raise self.file.error(f"( must be followed by {expected}, got {name[:30]!r}", offset)

    def set_attribute(self, name: str, offset: int) -> None:
        tokens = list(takewhile(lambda token: token[0] != ")", self.tokens))
        kinds = [token.lastgroup for token in tokens]
        if "unterminated" in kinds:
            start = tokens[kinds.index("unterminated")].start()
            raise self.file.error("the text is not terminated; it must end with _!", start)
        if (kinds != ["text"]) if name == "text" else (set(kinds) != {"word"}):
            form = "(text _!…_!)" if name == "text" else f"({name} …)"
            raise self.file.error(f"expected {form}, got {self.file.text[offset : offset + 40]!r}", offset)
        attributes = self.open[-1].attributes
        if name in attributes:
            raise self.file.error(f"a node must have only one {name}; this is the second", offset)
        attributes[name] = tokens[0]["text"] if name == "text" else " ".join(token[0] for token in tokens)

    def end(self, offset: int) -> None:
        """Close the current node."""
        if not self.open:
            raise self.file.error("unmatched ): no node is open here", offset)
        node = self.open.pop()
        if node.is_leaf == (node.n_children > 0):
            found = "both" if node.is_leaf else "neither"
            raise self.file.error(
                f"a node must have either a text, (text _!…_!), or children, got {found}", node.offset
            )
        self.n_edus += node.is_leaf
        if self.open:
            self.open[-1].n_children += 1
        self.closed.append(node)
        for name, number in (("span", f"{node.start + 1} {self.n_edus}"), ("leaf", f"{self.n_edus}")):
            written = node.attributes.get(name, number)
            if written != number:
                message = f"({name} {written}) should be ({name} {number}); the numbers in the file are ignored"
                self.file.note("numbers", message, node.offset)


def _build_tree(nodes: Sequence[_Node], file: _File) -> Tree:
    stack: list[tuple[_Node, Tree]] = []
    for node in nodes:
        if node.is_leaf:
            stack.append((node, Leaf(node.start)))
            continue
        children = stack[-node.n_children :]
        del stack[-node.n_children :]
        if len(children) == 1:
            file.note("unary", f"this {node.role} has only one child, which replaces it", node.offset)
            stack.append((node, children[0][1]))
        else:
            stack.append((node, _unit(node, children, file)))
    return stack[0][1]


def _unit(node: _Node, children: Sequence[tuple[_Node, Tree]], file: _File) -> Unit:
    nuclearity = "".join(child.role[0] for child, _ in children)
    if "N" not in nuclearity:
        raise file.error(f"a {node.role} must have a Nucleus among its children, got only Satellites", node.offset)
    relations = []
    for child, _ in children:
        is_lone_nucleus = child.role == _ROLES["N"] and nuclearity.count("N") == 1
        relation = child.attributes.get("rel2par", SPAN if is_lone_nucleus else None)
        if relation is None:
            raise file.error(f"this {child.role} must have a relation, (rel2par …), but has none", child.offset)
        relations.append(relation)
    named = [name for name, letter in zip(relations, nuclearity, strict=True) if letter == "N" and name != SPAN]
    if nuclearity.count("N") > max(len(named), 1):
        shared = named[0] if named else JOINT
        file.note("span", f"several nuclei labelled {SPAN}, read as {shared}", node.offset)
        relations = [
            shared if name == SPAN and letter == "N" else name
            for name, letter in zip(relations, nuclearity, strict=True)
        ]
    return Unit.from_relations(relations, nuclearity, [tree for _, tree in children])


def write_dis(document: Document) -> str:
    """Return the text of a `.dis` file.

    Each run of white space in an EDU becomes a single space. Text that would be read as markup is an error: `_!` and
    `<P>` in an EDU, tags such as `<s>` at its edges, brackets in the name of a relation.
    """
    if document.tree is None:
        raise UsageError(f"{document.id}: the document must have a tree to be written as .dis, but is only segmented")
    texts = _texts(document)
    _check_names(document.tree, document.id)
    lines: list[str] = []
    pending: list[tuple[Tree, str, str, int] | str] = [(document.tree, _ROOT, "", 0)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, role, relation, depth = item
        indent = "  " * min(depth, _MAX_INDENT)
        if isinstance(node, Leaf):
            lines.append(f"{indent}( {role} (leaf {node.stop}){relation} (text _!{texts[node.edu]}_!) )")
            continue
        lines.append(f"{indent}( {role} (span {node.start + 1} {node.stop}){relation}")
        pending.append(f"{indent})")
        for letter, name, child in reversed(list(zip(node.nuclearity, node.relations, node.children, strict=True))):
            pending.append((child, _ROLES[letter], f" (rel2par {name})", depth + 1))
    return "\n".join(lines) + "\n"


def _texts(document: Document) -> list[str]:
    edus = edu_lines(document, ".dis")
    paragraphs = document.paragraph_of_edus()
    last = paragraphs[-1] if paragraphs[-1] == paragraphs[0] else -1
    ends = [before != after for before, after in pairwise([*paragraphs, last])]
    texts = [edu + _PARAGRAPH_END if is_end else edu for edu, is_end in zip(edus, ends, strict=True)]
    for edu, text, is_end in zip(edus, texts, ends, strict=True):
        if "_!" in edu or _unwrap(text) != _Edu(edu, is_end):
            rule = "to be written as .dis, an EDU must not contain _! or <P>, nor begin or end with <s> or <EDU>"
            raise UsageError(f"{document.id}: {rule}, got {shorten(edu)}")
    return texts


def _check_names(tree: Tree, document_id: str) -> None:
    for name in {relation for unit in units(tree) for relation in unit.relations}:
        if not name or name != collapse_spaces(name) or _NOT_IN_NAMES.search(name):
            rule = "to be written as .dis, the name of a relation must have no brackets, _! or extra white space"
            raise UsageError(f"{document_id}: {rule}, got {shorten(name)}")
    for unit in units(tree):
        nuclei = [name for name, letter in zip(unit.relations, unit.nuclearity, strict=True) if letter == "N"]
        if len(nuclei) > 1 and SPAN in nuclei:
            rule = f"to be written as .dis, only a lone nucleus may be called {SPAN}"
            raise UsageError(f"{document_id}: {rule}, got one of {len(nuclei)} nuclei")
