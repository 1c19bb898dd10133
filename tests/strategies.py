"""Random trees and documents for hypothesis."""

from dataclasses import replace

from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal
from genrst.trees.node import SPAN, Leaf, Tree, Unit, relabel

RELATIONS = ("elaboration", "contrast", "same-unit", "joint", "Attribution", "temporal-before")


@st.composite
def binary_trees(draw: st.DrawFn, min_edus: int = 1, max_edus: int = 12) -> Tree:
    """A binary tree of NS, SN and NN units."""
    nodes: list[Tree] = [Leaf(edu) for edu in range(draw(st.integers(min_edus, max_edus)))]
    while len(nodes) > 1:
        at = draw(st.integers(0, len(nodes) - 2))
        nuclearity = draw(st.sampled_from(["NS", "SN", "NN"]))
        nodes[at : at + 2] = [Unit(draw(st.sampled_from(RELATIONS)), nuclearity, tuple(nodes[at : at + 2]))]
    return nodes[0]


@st.composite
def nary_trees(draw: st.DrawFn, min_edus: int = 1, max_edus: int = 15) -> Tree:
    """A tree of multinuclear units of any width and of nuclei with satellites on both sides."""
    nodes: list[Tree] = [Leaf(edu) for edu in range(draw(st.integers(min_edus, max_edus)))]
    while len(nodes) > 1:
        at = draw(st.integers(0, len(nodes) - 2))
        width = draw(st.integers(2, min(5, len(nodes) - at)))
        nodes[at : at + width] = [draw(_unit(tuple(nodes[at : at + width])))]
    return nodes[0]


@st.composite
def _unit(draw: st.DrawFn, children: tuple[Tree, ...]) -> Unit:
    if draw(st.booleans()):
        return Unit(draw(st.sampled_from(RELATIONS)), "N" * len(children), children)
    nucleus = draw(st.integers(0, len(children) - 1))
    relations = [draw(st.sampled_from(RELATIONS)) for _ in children]
    relations[nucleus] = SPAN
    nuclearity = "".join("N" if position == nucleus else "S" for position in range(len(children)))
    return Unit.from_relations(relations, nuclearity, children)


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cn", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=8
)
EDU_TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


_CHARACTERS = "\0\x08\x1b\x7f\ud800\udc00\ufeff\ufffe\r\n\t\x0c\x1c\x85\xa0\u2028\u2029 _!()<&'\"\\{-1"
_MARKUP = ["_!", "( Root", "//TT_ERR", "<P>", "<s>", "</EDU>", "&amp;", "]]>", "<![CDATA[", "<!--", "</segment>"]
_PIECES = st.sampled_from([*_CHARACTERS, *_MARKUP])
HOSTILE_TEXTS = st.lists(st.one_of(_PIECES, WORDS, st.text(st.characters(), max_size=3)), max_size=3).map("".join)
"""Whatever a string can hold: markup of every format, white space and controls of every kind, halves of characters."""


@st.composite
def _secondary_edges(draw: st.DrawFn, n_edus: int) -> SecondaryEdge:
    source, target = (draw(st.integers(0, n_edus - 1)) for _ in range(2))
    return SecondaryEdge((source, source + 1), (target, target + 1), draw(HOSTILE_TEXTS))


@st.composite
def hostile_documents(draw: st.DrawFn) -> Document:
    """A document of hostile texts, relations and ids, with a tree or without; EDUs may be empty or leave gaps."""
    names = draw(st.lists(st.one_of(st.sampled_from([*RELATIONS, SPAN, ""]), HOSTILE_TEXTS), min_size=1, max_size=3))
    tree = relabel(draw(nary_trees(max_edus=6)), lambda name: names[RELATIONS.index(name) % len(names)])
    texts = draw(st.lists(st.one_of(EDU_TEXTS, HOSTILE_TEXTS), min_size=tree.stop, max_size=tree.stop))
    starts = draw(st.sets(st.integers(0, tree.stop - 1), max_size=2))
    document = Document.from_edus(draw(HOSTILE_TEXTS), texts, draw(st.sampled_from([tree, tree, None])), starts)
    if document.tree is not None:
        edges = tuple(draw(st.lists(_secondary_edges(tree.stop), max_size=2)))
        signals = tuple(Signal(edge.source, edge.relation, "", (1,), edge.relation, edge.target) for edge in edges)
        document = replace(document, secondary_edges=edges, signals=signals)
    if draw(st.integers(0, 9)) == 5:
        document = replace(document, text=draw(st.sampled_from([None, f"{document.text} more"])))
    return document


@st.composite
def documents(draw: st.DrawFn, trees: st.SearchStrategy[Tree] | None = None) -> Document:
    """A document with a random n-ary tree and random words, white space only between them."""
    tree = draw(nary_trees() if trees is None else trees)
    texts = draw(st.lists(EDU_TEXTS, min_size=tree.stop, max_size=tree.stop))
    return Document.from_edus("random", texts, tree)
