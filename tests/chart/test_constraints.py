"""Constraints against the enumeration: what is left is what fits, with the probabilities it has given that it fits."""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from genrst.chart.constraints import (
    Constraint,
    allowed_spans,
    check_constraints,
    constrained_labels,
    constrained_scores,
    constraint_from_dict,
    frozen,
    label_mask,
    label_masks,
    uncut,
    whole,
)
from genrst.chart.inference import best_tree, k_best, log_partition, marginals
from genrst.errors import UsageError
from tests.chart.enumeration import (
    LabelledTree,
    Tree,
    all_trees,
    distribution,
    labelled_score,
    labelled_trees,
    log_sum,
    spans_of,
    unit_probabilities,
)
from tests.chart.test_inference import random_labels, random_scores

LABELS = [("cause", "NS"), ("cause", "SN"), ("joint", "NN")]
ONE_LINE = r"\A.+ must .+, was: .+\Z"


def edus(span: tuple[int, int]) -> set[int]:
    return set(range(*span))


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """They share EDUs, and each has some that the other has not."""
    first, second = edus(one), edus(other)
    return bool(first & second and first - second and second - first)


def runs(groups: Sequence[int]) -> list[tuple[int, int]]:
    return [(groups.index(n), groups.index(n) + groups.count(n)) for n in sorted(set(groups))]


def fits(tree: Tree, constraints: Sequence[Constraint], groups: Sequence[int] | None, n_edus: int) -> bool:
    """Whether the structure of a tree is as demanded, by the words of the documentation."""
    spans = spans_of(tree, n_edus)
    if any((one.span in spans) != one.is_unit for one in constraints):
        return False
    for group in runs(groups or []):
        overruled = any(cross(group, one.span) if one.is_unit else group == one.span for one in constraints)
        if not overruled and any(cross(group, span) for span in spans):
            return False
    return True


def labels_fit(pair: LabelledTree, constraints: Sequence[Constraint]) -> bool:
    label_of = {(i, j): LABELS[label] for (i, _, j), label in zip(*pair, strict=True)}
    for one in constraints:
        relation, nuclearity = label_of.get(one.span, (None, None))
        if one.relation not in (None, relation) or one.nuclearity not in (None, nuclearity):
            return False
    return True


def trees_left(n_edus: int, allowed: Tensor) -> list[Tree]:
    return [tree for tree in all_trees(0, n_edus) if all(allowed[i, j] for i, _, j in tree)]


CASES: dict[str, tuple[list[Constraint], list[int] | None]] = {
    "nothing": ([], None),
    "forced": ([Constraint(1, 4)], None),
    "nested": ([Constraint(1, 5), Constraint(2, 4)], None),
    "said twice": ([Constraint(1, 4), Constraint(1, 4), Constraint(0, 6), Constraint(2, 3)], None),
    "forbidden": ([Constraint(0, 2, is_unit=False), Constraint(3, 6, is_unit=False)], None),
    "both": ([Constraint(1, 5), Constraint(2, 4, is_unit=False)], None),
    "sentences": ([], [0, 0, 0, 1, 2, 2]),
    "a forced span in a sentence": ([Constraint(1, 3)], [0, 0, 0, 1, 2, 2]),
    "a forced span around a sentence": ([Constraint(3, 6)], [0, 0, 0, 1, 2, 2]),
    "a forced span through a sentence": ([Constraint(2, 4)], [0, 0, 0, 1, 2, 2]),
    "a forbidden sentence": ([Constraint(0, 3, is_unit=False)], [0, 0, 0, 1, 2, 2]),
    "one sentence": ([], [3] * 6),
    "sentences of one EDU": ([], [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize(("constraints", "groups"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("seed", range(2))
def test_what_is_left_has_the_probability_it_has_given_the_constraints(constraints, groups, seed):
    scores = random_scores([6], seed)
    allowed = allowed_spans(6, constraints, groups)
    expected = distribution(scores[0], 6, lambda tree: fits(tree, constraints, groups, 6))
    assert trees_left(6, allowed) == list(expected)
    given_scores = constrained_scores(scores, allowed)
    unit_p, _ = marginals(given_scores, [6])
    torch.testing.assert_close(unit_p[0], unit_probabilities(expected, 7))
    assert tuple(best_tree(given_scores, [6])[0]) == max(expected, key=lambda tree: expected[tree])
    assert len(k_best(given_scores[0], 6, 1000)) == len(expected)


LABEL_CASES = {
    "a relation": [Constraint(1, 4, relation="cause")],
    "a nuclearity": [Constraint(0, 5, nuclearity="NN")],
    "a label": [Constraint(0, 2, relation="cause", nuclearity="SN")],
    "in two parts": [Constraint(0, 2, nuclearity="SN"), Constraint(0, 2), Constraint(0, 2, relation="cause")],
    "several": [Constraint(0, 3, relation="cause"), Constraint(1, 3, nuclearity="NS"), Constraint(3, 5, is_unit=False)],
}


@pytest.mark.parametrize("constraints", LABEL_CASES.values(), ids=LABEL_CASES.keys())
def test_labels_are_conditioned_on_exactly(constraints):
    """The sum over trees and labels, marginals, and the order and probabilities of all labelled trees."""
    scores, label_logp = random_scores([5], 1)[0], random_labels(5, len(LABELS), 1)
    kept = [
        (labelled_score(pair, scores, label_logp), pair)
        for pair in labelled_trees(5, len(LABELS))
        if fits(pair[0], constraints, None, 5) and labels_fit(pair, constraints)
    ]
    masks = label_masks(constraints, LABELS)
    given_scores = constrained_scores(scores, allowed_spans(5, constraints), label_logp, masks)
    given_labels = constrained_labels(label_logp, masks)
    unit_p, log_z = marginals(given_scores[None], [5])
    total = log_sum(score for score, _ in kept)
    assert float(log_z) == pytest.approx(total)
    trees: dict[Tree, float] = {}
    for score, (tree, _) in kept:
        trees[tree] = trees.get(tree, 0) + math.exp(score - total)
    torch.testing.assert_close(unit_p[0], unit_probabilities(trees, 6))
    found = k_best(given_scores, 5, 10**6, given_labels)
    assert [(tuple(tree.units), tuple(tree.labels or ())) for tree in found] == [
        pair for _, pair in sorted(kept, reverse=True)
    ]
    assert [tree.score for tree in found] == pytest.approx(sorted((score for score, _ in kept), reverse=True))
    rows = given_labels[1, 0, 5].exp().sum(-1)
    assert float(rows) == pytest.approx(1), "labels have probabilities again"


def test_several_charts_of_one_document_can_be_constrained_at_once():
    scores, label_logp = random_scores([5, 5], 2), torch.stack([random_labels(5, 3, seed) for seed in (0, 1)])
    masks = label_masks([Constraint(1, 4, relation="joint")], LABELS)
    allowed = allowed_spans(5, [Constraint(1, 4)])
    together = constrained_scores(scores, allowed, label_logp, masks)
    labels = constrained_labels(label_logp, masks)
    for number in range(2):
        alone = constrained_scores(scores[number], allowed, label_logp[number], masks)
        torch.testing.assert_close(together[number], alone, equal_nan=True)
        torch.testing.assert_close(labels[number], constrained_labels(label_logp[number], masks), equal_nan=True)


def test_frozen_subtrees_stay_as_they_are():
    subtree = [((1, 3, 5), ("cause", "SN")), ((1, 2, 3), ("joint", "NN")), ((3, 4, 5), ("cause", "NS"))]
    constraints = frozen(subtree)
    allowed = allowed_spans(6, constraints)
    left = trees_left(6, allowed)
    assert left == [tree for tree in all_trees(0, 6) if {unit for unit, _ in subtree} <= set(tree)]
    assert len(left) == 2 * 1
    label_logp, masks = random_labels(6, 3, 0), label_masks(constraints, LABELS)
    scores = constrained_scores(random_scores([6], 0)[0], allowed, label_logp, masks)
    for tree in k_best(scores, 6, 20, constrained_labels(label_logp, masks)):
        labels = dict(zip(tree.units, tree.labels or (), strict=True))
        assert all(LABELS[labels[unit]] == label for unit, label in subtree)
    whole_tree = [((0, 1, 6), ("cause", "NS")), *subtree, ((1, 5, 6), ("joint", "NN"))]
    assert trees_left(6, allowed_spans(6, frozen(whole_tree))) == [
        ((0, 1, 6), (1, 5, 6), (1, 3, 5), (1, 2, 3), (3, 4, 5))
    ]


CONTRADICTIONS = {
    "crossing": (
        [Constraint(1, 2), Constraint(2, 5), Constraint(0, 4)],
        'units must not cross, was: {"edus": [0, 4]} and {"edus": [2, 5]}',
    ),
    "forced and forbidden": (
        [Constraint(1, 3), Constraint(1, 3, is_unit=False)],
        'a span must not be both forced and forbidden, was: {"edus": [1, 3]} and {"edus": [1, 3], "is_unit": false}',
    ),
    "two relations": (
        [Constraint(1, 3, relation="cause"), Constraint(1, 3), Constraint(1, 3, relation="joint", nuclearity="NN")],
        'a unit must not have two labels, was: {"edus": [1, 3], "relation": "cause"} '
        'and {"edus": [1, 3], "relation": "joint", "nuclearity": "NN"}',
    ),
    "two nuclearities": (
        [Constraint(1, 3, nuclearity="NS"), Constraint(1, 3, relation="cause", nuclearity="SN")],
        'a unit must not have two labels, was: {"edus": [1, 3], "nuclearity": "NS"} '
        'and {"edus": [1, 3], "relation": "cause", "nuclearity": "SN"}',
    ),
    "a forbidden document": (
        [Constraint(0, 5, is_unit=False)],
        'single EDUs and the whole document must be units, was: {"edus": [0, 5], "is_unit": false}',
    ),
    "a forbidden EDU": (
        [Constraint(2, 3, is_unit=False)],
        'single EDUs and the whole document must be units, was: {"edus": [2, 3], "is_unit": false}',
    ),
    "out of range": ([Constraint(3, 6)], 'edus must be within the 5 of the document, was: {"edus": [3, 6]}'),
    "a labelled EDU": (
        [Constraint(3, 4, nuclearity="NN")],
        'a single EDU must not have a label, was: {"edus": [3, 4], "nuclearity": "NN"}',
    ),
    "no tree": (
        [Constraint(1, 4), Constraint(1, 3, is_unit=False), Constraint(2, 4, is_unit=False)],
        "constraints must leave a tree, was: no tree is left by "
        '{"edus": [1, 3], "is_unit": false}, {"edus": [2, 4], "is_unit": false}',
    ),
}


@pytest.mark.parametrize(("constraints", "line"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictions_are_one_line_that_names_them(constraints, line):
    for check in (check_constraints, allowed_spans):
        with pytest.raises(UsageError) as caught:
            check(5, constraints)
        assert str(caught.value) == line


def test_no_tree_is_left_by_many_and_by_sentences():
    pairs = [Constraint(start, start + 2, is_unit=False) for start in range(6)]
    with pytest.raises(UsageError, match=r'\[4, 6\], "is_unit": false\}, …$'):
        check_constraints(7, pairs)
    with pytest.raises(UsageError, match=r"and whole sentences$"):
        check_constraints(5, [pairs[0], pairs[1]], [0, 0, 0, 1, 1])
    check_constraints(5, [pairs[0], pairs[1]])


def test_sentences_must_be_in_order_and_for_every_edu():
    with pytest.raises(UsageError, match="must not decrease, was: 0 after 1"):
        whole([0, 1, 0])
    with pytest.raises(UsageError, match="must be given for all 4 EDUs, was: 3 numbers"):
        allowed_spans(4, [], [0, 0, 1])


@given(st.integers(1, 7), st.data())
@settings(max_examples=50)
def test_masks_leave_what_crosses_nothing(n_edus, data):
    all_spans = [(i, j) for i in range(n_edus) for j in range(i + 1, n_edus + 1)]
    given_spans = data.draw(st.lists(st.sampled_from(all_spans), max_size=4))
    mask = uncut(n_edus, given_spans)
    expected = {one for one in all_spans if not any(cross(one, other) for other in given_spans)}
    assert {(int(i), int(j)) for i, j in mask.nonzero()} == expected
    groups = sorted(data.draw(st.lists(st.integers(0, 3), min_size=n_edus, max_size=n_edus)))
    assert torch.equal(whole(groups), uncut(n_edus, runs(groups)))


def spans(n_edus: int) -> st.SearchStrategy[tuple[int, int]]:
    """Now and then one that ends after the document."""
    return st.tuples(st.integers(0, n_edus - 1), st.integers(1, n_edus)).map(lambda pair: (pair[0], sum(pair)))


@st.composite
def demands(draw: st.DrawFn, n_edus: int, is_labelled: bool) -> Constraint:
    start, stop = draw(spans(n_edus))
    if draw(st.booleans()):
        return Constraint(start, min(stop, n_edus), is_unit=False)
    relation, nuclearity = None, None
    if is_labelled:
        relation = draw(st.sampled_from([None, None, "cause", "joint", "contrast"]))
        nuclearity = draw(st.sampled_from([None, None, "NN", "NS", "SN"]))
    return Constraint(start, stop, relation=relation, nuclearity=nuclearity)


@given(st.integers(1, 6), st.data())
@settings(max_examples=100)
def test_either_the_same_trees_are_left_or_none_and_an_error(n_edus, data):
    constraints = data.draw(st.lists(demands(n_edus, is_labelled=False), max_size=4))
    groups = sorted(data.draw(st.lists(st.integers(0, 2), min_size=n_edus, max_size=n_edus)))
    chosen = data.draw(st.sampled_from([None, groups]))
    expected = [tree for tree in all_trees(0, n_edus) if fits(tree, constraints, chosen, n_edus)]
    if expected:
        assert trees_left(n_edus, allowed_spans(n_edus, constraints, chosen)) == expected
    else:
        with pytest.raises(UsageError, match=ONE_LINE):
            allowed_spans(n_edus, constraints, chosen)


@given(st.integers(1, 4), st.data())
@settings(max_examples=100)
def test_either_the_same_labelled_trees_are_left_or_none_and_an_error(n_edus, data):
    constraints = data.draw(st.lists(demands(n_edus, is_labelled=True), max_size=3))
    scores, label_logp = random_scores([n_edus], 0)[0], random_labels(n_edus, len(LABELS), 0)
    kept = [
        labelled_score(pair, scores, label_logp)
        for pair in labelled_trees(n_edus, len(LABELS))
        if fits(pair[0], constraints, None, n_edus) and labels_fit(pair, constraints)
    ]

    def conditioned() -> Tensor:
        allowed, masks = allowed_spans(n_edus, constraints), label_masks(constraints, LABELS)
        return constrained_scores(scores, allowed, label_logp, masks)

    if kept:
        assert float(log_partition(conditioned()[None], [n_edus])) == pytest.approx(log_sum(kept), abs=1e-9)
    else:
        with pytest.raises(UsageError, match=ONE_LINE):
            conditioned()


def test_demands_that_no_label_fits_are_an_error():
    assert label_mask(Constraint(0, 2, relation="cause"), LABELS).tolist() == [True, True, False]
    assert label_mask(Constraint(0, 2, nuclearity="SN"), LABELS).tolist() == [False, True, False]
    for constraint, line in (
        (
            Constraint(0, 2, relation="contrast"),
            'relation must be one of cause, joint, was: {"edus": [0, 2], "relation": "contrast"}',
        ),
        (
            Constraint(0, 2, relation="cause", nuclearity="NN"),
            'nuclearity of cause must be one of NS, SN, was: {"edus": [0, 2], "relation": "cause", "nuclearity": "NN"}',
        ),
        (
            Constraint(0, 2, nuclearity="NN"),
            'nuclearity must be one of NS, SN, was: {"edus": [0, 2], "nuclearity": "NN"}',
        ),
    ):
        with pytest.raises(UsageError) as caught:
            label_mask(constraint, LABELS[:2] if constraint.relation is None else LABELS)
        assert str(caught.value) == line
    with pytest.raises(UsageError, match="must be given where labels are demanded"):
        constrained_scores(torch.zeros(3, 3, 3), allowed_spans(2, []), masks={(0, 2): torch.tensor([True])})


@given(st.integers(1, 9), st.data())
@settings(max_examples=50)
def test_json_there_and_back(n_edus, data):
    constraint = data.draw(demands(n_edus, is_labelled=True))
    assert constraint_from_dict(constraint.as_dict()) == constraint


def test_json_as_documented():
    assert constraint_from_dict({"edus": [1, 4], "relation": "contingency", "nuclearity": "SN"}) == Constraint(
        1, 4, True, "contingency", "SN"
    )
    assert constraint_from_dict({"edus": [0, 2], "is_unit": False}) == Constraint(0, 2, is_unit=False)
    assert Constraint(0, 2, is_unit=False).as_dict() == {"edus": [0, 2], "is_unit": False}
    assert Constraint(0, 2).as_dict() == {"edus": [0, 2]}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ([1, 4], "a constraint must be an object with edus, was: [1, 4]"),
        ({}, "edus must be two numbers, [start, stop], was: null"),
        ({"edus": 3}, "edus must be two numbers, [start, stop], was: 3"),
        ({"edus": [1]}, "edus must be two numbers, [start, stop], was: [1]"),
        ({"edus": [1, 2.0]}, "edus must be two numbers, [start, stop], was: [1, 2.0]"),
        ({"edus": [False, True]}, "edus must be two numbers, [start, stop], was: [false, true]"),
        ({"edus": [4, 4]}, "edus must be [start, stop] with 0 <= start < stop, was: [4, 4]"),
        ({"edus": [-1, 4]}, "edus must be [start, stop] with 0 <= start < stop, was: [-1, 4]"),
        (
            {"edus": [1, 4], "label": "x"},
            'the keys of a constraint must be among edus, is_unit, relation, nuclearity, was: "label"',
        ),
        ({"edus": [1, 4], "is_unit": 0}, "is_unit must be true or false, was: 0"),
        ({"edus": [1, 4], "relation": ["x"]}, 'relation must be a string, was: ["x"]'),
        ({"edus": [1, 4], "nuclearity": None}, "nuclearity must be a string, was: null"),
        ({"edus": [1, 4], "nuclearity": "SS"}, "nuclearity must be one of NN, NS, SN, was: SS"),
        (
            {"edus": [1, 4], "is_unit": False, "relation": "x"},
            'what is not a unit must not have a label, was: {"edus": [1, 4], "is_unit": false, "relation": "x"}',
        ),
    ],
)
def test_wrong_json_is_one_line(data, line):
    with pytest.raises(UsageError) as caught:
        constraint_from_dict(data)
    assert str(caught.value) == line
