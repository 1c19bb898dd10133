"""Documents: offsets from texts, what is refused, and where EDUs stand."""

import pickle
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, Node, Signal, Span, Token, join_runs, signal_spans, signal_words
from genrst.errors import GenrstError, TreeError
from genrst.trees.node import Leaf, Tree, Unit, preorder
from tests.strategies import documents, nary_trees

EDUS = st.lists(st.text("ab \n", max_size=4), min_size=1, max_size=8)
PAIR = Unit("joint", "NN", (Leaf(0), Leaf(1)))


@given(EDUS, st.sets(st.integers(0, 7)))
def test_offsets_from_texts(edus: list[str], starts: set[int]):
    starts = {start for start in starts if start < len(edus)}
    document = Document.from_edus("id", edus, paragraph_starts=starts)
    assert document.text is not None
    assert document.edu_texts == edus
    gaps = [
        document.text[left.end : right.start] for left, right in zip(document.edus, document.edus[1:], strict=False)
    ]
    assert gaps == ["\n\n" if number in starts else " " for number in range(1, len(edus))]
    assert (document.edus[0].start, document.edus[-1].end) == (0, len(document.text))
    if starts <= {0}:
        assert document.paragraphs == ()
    else:
        firsts = sorted({0, *starts})
        assert [paragraph.start for paragraph in document.paragraphs] == [
            document.edus[first].start for first in firsts
        ]
        assert [p.end for p in document.paragraphs] == [document.edus[n - 1].end for n in [*firsts[1:], len(edus)]]


@given(EDUS, st.sets(st.integers(0, 7)))
def test_runs_of_parts(edus: list[str], starts: set[int]):
    parts = Document.from_edus("id", edus).edus
    firsts = sorted({0, *(start for start in starts if start < len(parts))})
    runs = join_runs(parts, firsts)
    assert [run.start for run in runs] == [parts[first].start for first in firsts]
    assert [run.end for run in runs] == [parts[first - 1].end for first in [*firsts[1:], len(parts)]]


def test_paragraphs_must_start_at_edus():
    for starts, outside in (({2}, 2), ({1, 5, 9}, 5), ({-1}, -1)):
        with pytest.raises(TreeError, match=f"must start at one of the 2 EDUs, got {outside}"):
            Document.from_edus("id", ["a", "b"], paragraph_starts=starts)
    with pytest.raises(TreeError, match="at least one EDU"):
        Document.from_edus("id", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edus": ()}, "a document must have at least one EDU"),
        ({"edus": (Span(-1, 2),)}, "EDU 0 must start at 0 or later, got -1–2"),
        ({"edus": (Span(0, 2), Span(1, 3))}, "EDU 1 must start at 2 or later, got 1–3"),
        ({"edus": (Span(2, 1),)}, "EDU 0 must start at 0 or later, got 2–1"),
        ({"edus": (Span(0, 5), Span(6, 8))}, "within the text of 7 characters, but the last one ends at 8"),
        ({"tree": Leaf(0)}, "the tree must cover the EDUs 0–1, got 0–0"),
        ({"tree": Unit("joint", "NN", (Leaf(1), Leaf(2)))}, "the tree must cover the EDUs 0–1, got 1–2"),
        ({"tree": Unit("joint", "NNN", (Leaf(0), Leaf(1), Leaf(2)))}, "the tree must cover the EDUs 0–1, got 0–2"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str):
    fitting: dict[str, Any] = {"id": "id", "text": "abc def", "edus": (Span(0, 3), Span(4, 7)), "tree": PAIR}
    Document(**fitting)
    with pytest.raises(TreeError, match=message):
        Document(**fitting | arguments)


def test_without_text_only_offsets_count():
    document = Document("id", None, (Span(3, 5), Span(5, 5), Span(9, 1000)))
    assert document.edu_texts == ["", "", ""]


@pytest.mark.slow
@given(documents(), st.sets(st.integers(1, 14)), st.data())
def test_every_edu_is_in_the_sentence_where_it_starts(document: Document, breaks: set[int], data: st.DataObject):
    firsts = sorted({0, *(number for number in breaks if number < len(document.edus))})
    stops = [*firsts[1:], len(document.edus)]
    # A sentence ends somewhere between its last EDU and the next one's start; its end does not matter.
    spans = tuple(
        Span(
            document.edus[first].start, data.draw(st.integers(document.edus[first].start, document.edus[stop - 1].end))
        )
        for first, stop in zip(firsts, stops, strict=True)
    )
    expected = [sum(first <= edu for first in firsts) - 1 for edu in range(len(document.edus))]
    document = Document(document.id, document.text, document.edus, sentences=spans, paragraphs=spans[:1])
    assert document.sentence_of_edus() == expected
    assert document.paragraph_of_edus() == [0] * len(document.edus)


def test_sentences_by_hand():
    text = "One. Two, three. Four."
    edus = (Span(0, 4), Span(5, 9), Span(10, 16), Span(17, 22))
    assert Document("id", text, edus).sentence_of_edus() == [0, 0, 0, 0]
    sentences = (Span(0, 4), Span(5, 16), Span(17, 22))
    assert Document("id", text, edus, sentences=sentences).sentence_of_edus() == [0, 1, 1, 2]
    # What stands before the first sentence belongs to it.
    assert Document("id", text, edus, sentences=sentences[1:]).sentence_of_edus() == [0, 0, 0, 1]


def test_a_text_is_no_list_of_edus():
    with pytest.raises(TreeError, match="EDUs must be a list of strings, got a single string"):
        Document.from_edus("id", "It rained.")


def test_documents_are_values():
    one, same = (Document.from_edus("id", ["a", "b"], PAIR) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Document.from_edus("id", ["a", "b"])
    assert repr(one) == "<Document 'id': 2 EDUs, 0 tokens, with a tree>"
    segmented = Document("id", "a", (Span(0, 1),), tokens=(Token(0, 1, 0),))
    assert repr(segmented) == "<Document 'id': 1 EDU, 1 token, no tree>"


TREE = Unit("justify", "NS", (Leaf(0), Unit("attribution", "SN", (Leaf(1), Leaf(2)), probability=0.5)))
ACME = Document.from_edus("acme", ["Acme closed.", "The CEO said", "it made no profit."], TREE)


def test_nodes_have_their_text():
    found = [(node.label, node.relation, node.nuclearity, node.is_edu, node.text) for node in ACME.root]
    assert found == [
        ("justify NS", "justify", "NS", False, "Acme closed. The CEO said it made no profit."),
        ("EDU", None, None, True, "Acme closed."),
        ("attribution SN", "attribution", "SN", False, "The CEO said it made no profit."),
        ("EDU", None, None, True, "The CEO said"),
        ("EDU", None, None, True, "it made no profit."),
    ]
    first, second = ACME.root.children
    assert (first.children, second.start, second.stop, second.probability) == ((), 1, 3, 0.5)
    assert second == Node(ACME, TREE.children[1])
    assert repr(second) == "<attribution SN 1–2: 'The CEO said...de no profit.'>"


def test_nodes_know_their_place():
    root = ACME.root
    assert (root.parent, root.role) == (None, None)
    assert [node.role for node in root] == [None, "nucleus", "satellite", "satellite", "nucleus"]
    assert [(node.start_char, node.end_char) for node in root] == [(0, 44), (0, 12), (13, 44), (13, 25), (26, 44)]
    _, _, second, leaf, _ = root
    assert leaf.parent is second
    assert second.parent is root
    assert [child.parent for child in second.children] == [second] * 2


def test_nodes_of_deep_trees():
    """Neither walking, comparing nor copying recurses; walking is linear, parents included."""
    tree: Tree = Leaf(0)
    for edu in range(1, 2001):
        tree = Unit("joint", "NN", (tree, Leaf(edu)))
    document = Document.from_edus("deep", ["a"] * 2001, tree)
    nodes = list(document.root)
    assert len(nodes) == 4001
    lowest = nodes[2000]
    assert (lowest.start, lowest.stop, lowest.role) == (0, 1, "nucleus")
    for copied in (pickle.loads(pickle.dumps(lowest)), deepcopy(lowest)):
        assert copied == lowest
        assert (copied.role, copied.parent) == ("nucleus", lowest.parent)
    assert sum(1 for _ in ancestors(lowest)) == 2000


def ancestors(node: Node) -> Iterator[Node]:
    while node.parent is not None:
        node = node.parent
        yield node


@given(documents(nary_trees()))
def test_nodes_are_those_of_the_tree(document: Document):
    assert document.tree is not None
    assert [node.tree for node in document.root] == list(preorder(document.tree))
    for node in document.root:
        assert document.text is None or node.text == document.text[node.start_char : node.end_char]
        assert node.parent is None or node in node.parent.children
    assert [node.text for node in document.root if node.is_edu] == document.edu_texts


def test_printing_shows_words():
    lines = ["justify 1–3", "├─N 1 Acme closed.", "└─S attribution 2–3", "  ├─S 2 The CEO said"]
    assert str(ACME).split("\n") == [*lines, "  └─N 3 it made no profit."]
    lines = ["attribution 2–3", "├─S 2 The CEO said", "└─N 3 it made no profit."]
    assert str(ACME.root.children[1]).split("\n") == lines
    assert "Acme closed." in str(replace(ACME, tree=None))


def test_without_a_tree_there_are_no_nodes():
    with pytest.raises(GenrstError, match=r"^acme: the document must have a tree, but is only segmented"):
        _ = replace(ACME, tree=None).root


def test_signals_number_tokens_or_words_between_white_space():
    document = Document.from_edus("a", ["He left,  however", "(she stayed)."])
    text = document.text or ""
    assert [text[word.start : word.end] for word in signal_words(document)] == [
        "He",
        "left,",
        "however",
        "(she",
        "stayed).",
    ]
    document = replace(document, tokens=(Token(0, 2, 1), Token(3, 7, 1)))
    assert [text[word.start : word.end] for word in signal_words(document)] == ["He", "left"]


def test_words_of_signals_that_are_neighbours_are_one_span():
    document = Document.from_edus("a", ["He left,  however", "(she stayed)."])
    numbers = (4, 3, 1, 3), (), (0, 6, 99), (5,)
    document = replace(document, signals=tuple(Signal((0, 1), "dm", "dm", tokens) for tokens in numbers))
    text = document.text or ""
    found = [[text[span.start : span.end] for span in spans] for spans in signal_spans(document)]
    assert found == [["He", "however (she"], [], [], ["stayed"]], "without the punctuation around them"
    other = replace(document, signals=(Signal((0, 1), "graphical", "x", (2, 5)),))
    assert [[text[span.start : span.end] for span in spans] for spans in signal_spans(other)] == [["left,", "stayed)."]]
    dash = replace(Document.from_edus("a", ["He left -- why?"]), signals=(Signal((0, 1), "dm", "dm", (3,)),))
    assert signal_spans(dash) == [(Span(8, 10),)], "there is nothing else"
