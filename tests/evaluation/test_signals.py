"""The scores of signals and secondary edges: by hand, and against a second implementation that counts characters."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.document import Document, SecondaryEdge, Signal, Span, Token, signal_words
from genrst.errors import GenrstError
from genrst.evaluation.signals import CONDITIONS, MEASURES, score_secondary_edges, score_signals
from genrst.trees.node import Leaf, Unit, units
from tests.evaluation.samples import as_tuple

TREE = Unit("Cause", "NS", (Leaf(0), Unit("contrast", "NN", (Leaf(1), Leaf(2)))))
GOLD = replace(
    Document.from_edus("a", ["We stayed", "because it rained ,", "but she left ."], TREE),
    signals=(
        Signal((1, 3), "dm", "dm", (3,)),
        Signal((2, 3), "dm", "dm", (7,)),
        Signal((2, 3), "semantic", "antonymy", (2, 9)),
        Signal((1, 3), "graphical", "layout"),
        Signal((2, 3), "orphan", "orphan", (7,), target=(0, 1)),
    ),
    secondary_edges=(SecondaryEdge((2, 3), (0, 1), "evidence"), SecondaryEdge((0, 1), (1, 2), "cause")),
)


def tuples(gold: Document, predicted: Document, row: str) -> dict[str, tuple[int, int, int]]:
    scores = score_signals([gold], [predicted], labels="fine").types
    return {measure: as_tuple(counts) for measure, counts in scores[row].items()}


def test_what_is_right_agrees_wholly():
    scores = score_signals([GOLD], [GOLD], labels="fine")
    assert list(scores.types) == ["dm", "graphical", "orphan", "semantic", "all", "dm + orphan"]
    assert all(one.f1 == 1 for rows in (scores.types, scores.subtypes) for row in rows.values() for one in row.values())
    assert tuples(GOLD, GOLD, "semantic") == {
        **{f"words {condition}": (2, 2, 2) for condition in CONDITIONS},
        **{f"signals {condition}": (1, 1, 1) for condition in CONDITIONS},
    }


def test_the_unit_and_the_relation_count_where_they_are_asked_for():
    moved = replace(GOLD, signals=(Signal((1, 2), "dm", "dm", (3,)), Signal((2, 3), "dm", "dm", (7, 8))))
    assert tuples(GOLD, moved, "dm") == {
        "words alone": (2, 2, 3),
        "words unit": (1, 2, 3),
        "words relation": (1, 2, 3),
        "signals alone": (1, 2, 2),
        "signals unit": (0, 2, 2),
        "signals relation": (0, 2, 2),
    }
    other = Unit("Result", "NS", (Leaf(0), Unit("contrast", "NN", (Leaf(1), Leaf(2)))))
    assert tuples(GOLD, replace(GOLD, tree=other), "dm")["words relation"] == (1, 2, 2)
    assert tuples(GOLD, replace(GOLD, tree=other), "graphical")["words unit"] == (1, 1, 1)
    assert tuples(GOLD, replace(GOLD, tree=other), "graphical")["words relation"] == (0, 1, 1)


def test_a_signal_without_words_is_known_by_its_unit():
    moved = replace(GOLD, signals=(Signal((0, 1), "graphical", "layout"),))
    assert tuples(GOLD, moved, "graphical")["words alone"] == (0, 1, 1)


def test_a_marker_of_the_wrong_kind_is_a_marker():
    wrong = replace(GOLD, signals=(Signal((1, 3), "orphan", "orphan", (3,)),))
    assert tuples(GOLD, wrong, "dm")["words alone"] == (0, 2, 0)
    assert tuples(GOLD, wrong, "dm + orphan")["words alone"] == (1, 2, 1)


def test_words_of_other_tokens_are_the_same_if_they_overlap():
    text = "We stayed because it rained, but she left."
    edus = (Span(0, 9), Span(10, 28), Span(29, 42))
    raw = Document("a", text, edus, TREE)
    # Word 5, "rained,", is two words in gold: "rained" and ",".
    raw = replace(raw, signals=(Signal((1, 3), "dm", "dm", (3,)), Signal((2, 3), "semantic", "antonymy", (2, 5, 8))))
    assert tuples(GOLD, raw, "dm")["signals relation"] == (1, 2, 1)
    assert tuples(GOLD, raw, "semantic")["words alone"] == (2, 2, 3)
    tokens = tuple(Token(word.start, word.end, 0) for word in signal_words(raw))
    assert score_signals([GOLD], [replace(raw, tokens=tokens)]).types == score_signals([GOLD], [raw]).types


def test_secondary_edges():
    edges = (SecondaryEdge((0, 1), (2, 3), "evidence"), SecondaryEdge((0, 1), (1, 2), "Cause"))
    found = score_secondary_edges([GOLD], [replace(GOLD, secondary_edges=edges)], labels="fine")
    assert {name: as_tuple(one) for name, one in found.items()} == {
        "span": (2, 2, 2), "N": (1, 2, 2), "R": (2, 2, 2), "F": (1, 2, 2),
    }  # fmt: skip
    edges = (SecondaryEdge((2, 3), (0, 1), "cause"), SecondaryEdge((2, 3), (1, 2), "evidence"))
    found = score_secondary_edges([GOLD], [replace(GOLD, secondary_edges=edges)], labels="fine")
    assert {name: one.tp for name, one in found.items()} == {"span": 1, "N": 1, "R": 0, "F": 0}


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        (Signal((0, 1), "dm", "dm", (11,)), "a: the words of a signal must be between 1 and 10, got 11"),
        (Signal((0, 4), "dm", "dm"), "a: the EDUs of a signal or secondary edge must be between 0 and 3, got 0–4"),
    ],
)
def test_what_is_not_in_the_document_is_refused(signal: Signal, message: str):
    with pytest.raises(GenrstError, match=message):
        score_signals([GOLD], [replace(GOLD, signals=(signal,))])


def test_signals_need_a_text():
    with pytest.raises(GenrstError, match="must have a text"):
        score_signals([replace(GOLD, text=None)], [replace(GOLD, text=None)])


# A second implementation: a word is the set of its characters, and two words are the same if they share one.


def reference(gold: Document, predicted: Document, kind: str, measure: str) -> tuple[int, int, int]:
    items, condition = measure.split()
    sides = [_listed(document, kind, condition) for document in (gold, predicted)]
    if items == "words":
        sides = [sorted({(frozenset([word]), key) for words, key in side for word in words}, key=str) for side in sides]
    left, right = sides
    tp, free = 0, list(right)
    for words, key in left:
        same = next((one for one in free if one[1] == key and one[0] == words), None)
        if same is not None:
            free.remove(same)
            tp += 1
    return tp, len(left), len(right)


def _listed(document: Document, kind: str, condition: str) -> list[tuple[frozenset[object], object]]:
    words = signal_words(document)
    parents = {
        (child.start, child.stop): name.lower()
        for unit in units(document.tree or Leaf(0))
        for child, name in zip(unit.children, unit.relations, strict=True)
    }
    found: list[tuple[frozenset[object], object]] = []
    for one in document.signals:
        if one.type == kind:
            parts: frozenset[object] = frozenset(words[token - 1] for token in one.tokens) or frozenset([None])
            key = {"alone": None, "unit": one.unit, "relation": (one.unit, parents.get(one.unit))}[condition]
            found.append((parts, one.unit if not one.tokens and key is None else key))
    return found


NODES = [(0, 1), (1, 2), (2, 3), (1, 3)]
SIGNALS = st.lists(
    st.builds(
        Signal,
        st.sampled_from(NODES),
        st.sampled_from(["dm", "lexical"]),
        st.just("x"),
        st.lists(st.integers(1, 9), max_size=3, unique=True).map(lambda tokens: tuple(sorted(tokens))),
    ),
    max_size=6,
)


@given(SIGNALS, SIGNALS, st.sampled_from(["Cause", "Result"]))
def test_counts_agree_with_a_second_implementation(gold: list[Signal], predicted: list[Signal], relation: str):
    tree = Unit(relation, "NS", TREE.children)
    left, right = replace(GOLD, signals=tuple(gold)), replace(GOLD, tree=tree, signals=tuple(predicted))
    scores = score_signals([left], [right], labels="fine").types
    for kind, measure in product({one.type for one in (*gold, *predicted)}, MEASURES):
        assert as_tuple(scores[kind][measure]) == reference(left, right, kind, measure)


EDGES = st.lists(
    st.builds(SecondaryEdge, st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(["cause", "contrast"])),
    max_size=5,
)


@given(EDGES, EDGES)
def test_edges_agree_with_a_second_implementation(gold: list[SecondaryEdge], predicted: list[SecondaryEdge]):
    sides = [replace(GOLD, secondary_edges=tuple(edges)) for edges in (gold, predicted)]
    found = score_secondary_edges(sides[:1], sides[1:], labels="fine")
    keys = {
        "span": lambda one: frozenset([one.source, one.target]),
        "N": lambda one: (one.source, one.target),
        "R": lambda one: (frozenset([one.source, one.target]), one.relation),
        "F": lambda one: one,
    }
    for aspect, key in keys.items():
        left, right = Counter(map(key, gold)), Counter(map(key, predicted))
        tp = sum(min(count, right[name]) for name, count in left.items())
        assert as_tuple(found[aspect]) == (tp, len(gold), len(predicted))
