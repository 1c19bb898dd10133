"""Documents to make something of."""

from dataclasses import replace

from hypothesis import strategies as st

from genrst.document import Document, Span
from genrst.trees.node import Leaf, Tree, Unit
from tests.strategies import nary_trees

FERRY = (
    "The ferry to Skara stops in May.",
    "The harbour is too shallow now,",
    "because last winter's storms filled it with sand.",
    "Dredging would help,",
    "but the council has no money for it.",
    "Until then islanders can take the mail boat,",
    "which leaves at six,",
    "or ask a fisherman.",
)


def ferry() -> Document:
    """A short news text with relations of RST-DT."""
    harbour = Unit("reason", "NS", (Leaf(1), Leaf(2)), probability=0.75)
    money = Unit("contrast", "NN", (Leaf(3), Leaf(4)))
    reason = Unit("reason", "NS", (Leaf(0), Unit("elaboration-additional", "NS", (harbour, money))))
    boats = Unit("disjunction", "NN", (Unit("elaboration-object-attribute", "NS", (Leaf(5), Leaf(6))), Leaf(7)))
    return Document.from_edus("ferry", FERRY, Unit("circumstance", "NS", (reason, boats)))


def one_edu() -> Document:
    """The smallest document."""
    return Document.from_edus("one", ["All is well."], Leaf(0))


def chain(size: int, nuclearity: str, is_right: bool) -> Document:
    """A tree that is as deep as it can be."""
    tree: Tree = Leaf(size - 1 if is_right else 0)
    for edu in reversed(range(size - 1)) if is_right else range(1, size):
        children = (Leaf(edu), tree) if is_right else (tree, Leaf(edu))
        tree = Unit("joint", nuclearity, children)
    return Document.from_edus("chain", [f"This is unit {edu}." for edu in range(size)], tree)


DEEP = {
    f"{nuclearity}, {'right' if is_right else 'left'}": (nuclearity, is_right)
    for nuclearity in ("NS", "SN", "NN")
    for is_right in (True, False)
}
"""The kinds of deep trees, by name: nuclearity and direction."""


def textless(document: Document) -> Document:
    """The same document with offsets only."""
    return replace(document, text=None)


def segmented() -> Document:
    """A document without a tree."""
    return replace(ferry(), tree=None)


@st.composite
def wild_documents(draw: st.DrawFn) -> Document:
    """A random tree over a text of any characters, with any white space or none between EDUs and around them."""
    tree = draw(nary_trees())
    text = draw(st.sampled_from(["", "\n", "# "]))
    edus = []
    for _ in range(tree.stop):
        start = len(text)
        text += draw(st.text(max_size=12))
        edus.append(Span(start, len(text)))
        text += draw(st.sampled_from(["", " ", "\n\n", "\t "]))
    return Document("wild", text, tuple(edus), tree)
