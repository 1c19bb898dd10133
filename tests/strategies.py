"""Random trees and documents for hypothesis."""

from hypothesis import strategies as st

from genrst.document import Document
from genrst.trees.node import SPAN, Leaf, Tree, Unit

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


@st.composite
def documents(draw: st.DrawFn, trees: st.SearchStrategy[Tree] | None = None) -> Document:
    """A document with a random n-ary tree and random words, white space only between them."""
    tree = draw(nary_trees() if trees is None else trees)
    texts = draw(st.lists(EDU_TEXTS, min_size=tree.stop, max_size=tree.stop))
    return Document.from_edus("random", texts, tree)
