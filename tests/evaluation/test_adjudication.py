"""A third tree from two: any choice of frames is a tree, and all choices of one side give its tree."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal
from genrst.errors import GenrstError
from genrst.evaluation.adjudication import Pair, Side
from genrst.trees.constraints import Constraint
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.strategies import nary_trees

WORDS = [f"w{number}" for number in range(12)]


@st.composite
def annotated(draw: st.DrawFn, gap: str, cuts: tuple[int, ...] | None = None) -> Document:
    """Words cut into EDUs, with a tree over them; `gap` is the white space between the EDUs."""
    if cuts is None:
        cuts = tuple(sorted(draw(st.sets(st.sampled_from(range(1, len(WORDS))), min_size=1))))
    edus = [" ".join(WORDS[start:stop]) for start, stop in pairwise([0, *cuts, len(WORDS)])]
    tree = draw(nary_trees(min_edus=len(edus), max_edus=len(edus)))
    document = Document.from_edus("x", edus, tree)
    return document if gap == " " else replace(document, text=(document.text or "").replace(" ", gap))


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    left = draw(annotated(" "))
    starts = [edu.start for edu in left.edus[1:]]
    cuts = tuple((left.text or "")[:start].count(" ") for start in starts) if draw(st.booleans()) else None
    return Pair(left, draw(annotated(draw(st.sampled_from([" ", "\n"])), cuts)))


def spans(document: Document, *, with_labels: bool = True) -> set[object]:
    """The nodes of a document by their words."""
    found: set[object] = set()
    assert document.tree is not None
    for node in preorder(document.tree):
        words = (document.slice(node.start, node.stop) or "").split()
        label = (node.nuclearity, node.relations) if isinstance(node, Unit) and with_labels else None
        found.add((words[0], words[-1], label))
    return found


def decide(pair: Pair, choices: list[tuple[int, Side]]) -> Document:
    result = pair.start()
    for number, side in choices:
        result = pair.take(result, number, side)
    return result


@given(pairs(), st.randoms())
def test_all_of_one_side_is_its_tree(pair: Pair, random: object):
    sides: dict[Side, Document] = {"left": pair.left, "right": pair.right}
    for side, document in sides.items():
        numbers = list(range(len(pair.disagreements)))
        random.shuffle(numbers)  # type: ignore[attr-defined]
        mixed = decide(pair, [(number, "right" if number % 2 else "left") for number in numbers])
        for number in numbers:
            mixed = pair.take(mixed, number, side)
        assert (mixed.tree, mixed.text) == (document.tree, pair.left.text)
        assert spans(mixed) == spans(document)


@given(pairs(), st.data())
def test_decisions_do_not_depend_on_their_order(pair: Pair, data: st.DataObject):
    sides: list[Side] = data.draw(
        st.lists(st.sampled_from(["left", "right"]), min_size=(n := len(pair.disagreements)), max_size=n)
    )
    choices = list(enumerate(sides))
    result = decide(pair, choices)
    again = decide(pair, data.draw(st.permutations(choices)))
    assert (result.tree, result.edus) == (again.tree, again.edus)
    both = spans(pair.left) | spans(pair.right)
    assert spans(result) <= both
    assert spans(result, with_labels=False) >= spans(pair.left, with_labels=False) & spans(
        pair.right, with_labels=False
    )
    # What is open between the result and a side is what was taken from the other.
    for side, document in (("left", pair.left), ("right", pair.right)):
        found = Pair(document, result).disagreements
        assert len(found) == sum(choice != side for choice in sides)


@given(annotated(" "))
def test_equal_trees_leave_nothing_to_decide(document: Document):
    assert Pair(document, replace(document, id="other")).disagreements == []


TEXTS = ["It rained,", "so we stayed in,", "and read.", "Nobody minded."]


def made(tree: Tree, **others: object) -> Document:
    return replace(Document.from_edus("rain", TEXTS, tree), **others)  # type: ignore[arg-type]


LEFT = Unit("elaboration", "NS", (Unit("causal", "SN", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2))))), Leaf(3)))
RIGHT = Unit("evaluation", "NS", (Unit("joint", "NN", (Unit("causal", "NS", (Leaf(0), Leaf(1))), Leaf(2))), Leaf(3)))


def test_disagreements_in_words():
    pair = Pair(made(LEFT), made(RIGHT))
    assert [tuple(one) for one in pair.disagreements] == [
        ((0, 4), (0, 4), "elaboration NS", "evaluation NS"),
        ((0, 3), (0, 3), "causal SN (2–3 joint NN)", "joint NN (1–2 causal NS)"),
    ]
    joined = Document.from_edus(
        "rain", [f"{TEXTS[0]} {TEXTS[1]}", *TEXTS[2:]], Unit("joint", "NNN", tuple(map(Leaf, range(3))))
    )
    texts = [one[2:] for one in Pair(made(RIGHT), joined).disagreements]
    assert texts == [("evaluation NS (1–3 joint NN)", "joint NNN"), ("causal NS", "one EDU")]


def test_an_edited_result_keeps_its_edits_elsewhere():
    """What was edited outside the frame stays; a unit that is gone is an error in one line."""
    pair = Pair(made(LEFT), made(RIGHT))
    edited = replace(pair.start(), tree=Unit("context", "SN", LEFT.children))
    taken = pair.take(edited, 1, "right")
    assert taken.tree == Unit("context", "SN", RIGHT.children)
    gone = replace(edited, tree=Unit("joint", "NN", (Leaf(0), Unit("list", "NNN", (Leaf(1), Leaf(2), Leaf(3))))))
    with pytest.raises(GenrstError, match="no longer has a unit of these EDUs"):
        pair.take(gone, 1, "right")


def test_signals_go_with_their_units():
    signals = [Signal((1, 2), "dm", "so", (3,)), Signal((3, 4), "dm", "nobody", (9,))]
    other = [Signal((0, 1), "dm", "rained", (2,)), Signal((3, 4), "syntax", "end", (9,))]
    left, right = made(LEFT, signals=tuple(signals)), made(RIGHT, signals=tuple(other))
    pair = Pair(left, right)
    assert pair.take(pair.start(), 1, "right").signals == (signals[1], other[0])
    assert pair.take(pair.start(), 0, "right").signals == (signals[0], other[1])
    assert decide(pair, [(0, "right"), (1, "right")]).signals == (other[1], other[0])


def test_what_no_longer_has_units_is_left_out():
    edges = (SecondaryEdge((1, 3), (3, 4), "causal"), SecondaryEdge((0, 1), (3, 4), "causal"))
    pair = Pair(made(LEFT, secondary_edges=edges), made(RIGHT))
    frozen = replace(pair.start(), constraints=(Constraint(0, 3), Constraint(1, 3), Constraint(2, 4, False)))
    taken = pair.take(frozen, 1, "right")
    assert taken.secondary_edges == edges[1:]
    assert taken.constraints == (Constraint(0, 3), Constraint(2, 4, False))


def test_the_text_may_come_from_either_side():
    left = replace(made(LEFT), text=None)
    pair = Pair(left, made(RIGHT))
    assert pair.start().text == made(RIGHT).text
    assert pair.take(pair.take(pair.start(), 0, "right"), 1, "right") == made(RIGHT)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (made(LEFT), replace(made(RIGHT), tree=None), "must have a tree"),
        (made(LEFT), Document.from_edus("x", ["Other."], Leaf(0)), "text must be the same"),
        (
            Document.from_edus("x", ["a", "", "b"], Unit("joint", "NNN", tuple(map(Leaf, range(3))))),
            Document.from_edus("x", ["a", "b"], Unit("joint", "NN", (Leaf(0), Leaf(1)))),
            "empty EDUs must have the same EDUs",
        ),
    ],
)
def test_what_cannot_be_compared(left: Document, right: Document, message: str):
    with pytest.raises(GenrstError, match=message):
        Pair(left, right)


def test_deep_trees():
    n = 2000
    texts = [f"w{number}" for number in range(n)]
    left: Tree = Leaf(0)
    right: Tree = Leaf(n - 1)
    for number in range(1, n):
        left = Unit("joint", "NN", (left, Leaf(number)))
        right = Unit("list", "NN", (Leaf(n - 1 - number), right))
    pair = Pair(Document.from_edus("deep", texts, left), Document.from_edus("deep", texts, right))
    (found,) = pair.disagreements
    units = "; ".join(f"{number}–2000 list NN" for number in range(2, 6))
    assert found.right == f"list NN ({units}; 1994 more)"
    assert pair.take(pair.start(), 0, "right").tree == right
