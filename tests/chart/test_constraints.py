"""Constraints against the enumeration: what is left is what fits, with the probabilities it has given that it fits."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.chart.examples import LabelledUnit
from genrst.errors import UsageError
from genrst.trees.constraints import Constraint, frozen, label_mask, resolve_constraints
from genrst.trees.node import Leaf, Unit
from tests.chart.enumeration import LabelledTree, fits, labelled_score, labelled_trees, log_sum, spans_of
from tests.chart.random_networks import LABELS, make_posterior

ONE_LINE = r"\A.+( must .+, got .+|: no tree is possible without the units .+)\Z"
SENTENCES = [0, 0, 0, 1, 2]


def labels_fit(pair: LabelledTree, constraints: Sequence[Constraint]) -> bool:
    label_of = {(i, j): LABELS[label] for (i, _, j), label in zip(*pair, strict=True)}
    for one in constraints:
        relation, nuclearity = label_of.get(one.span, (None, None))
        if one.relation not in (None, relation) or one.nuclearity not in (None, nuclearity):
            return False
    return True


def check_against_enumeration(n_edus: int, constraints: Sequence[Constraint], groups: Sequence[int] | None) -> None:
    """Sums, probabilities of spans, the best trees and the minimum Bayes risk tree, or an error where no tree fits."""
    kept: list[LabelledTree] = [
        pair
        for pair in labelled_trees(n_edus, len(LABELS))
        if fits(pair[0], constraints, groups, n_edus) and labels_fit(pair, constraints)
    ]
    if not kept:
        with pytest.raises(UsageError, match=ONE_LINE):
            make_posterior(n_edus, constraints, groups)
        return
    posterior, scores, labels = make_posterior(n_edus, constraints, groups)
    by_score = sorted(((labelled_score(pair, scores, labels), pair) for pair in kept), reverse=True)
    total = log_sum(score for score, _ in by_score)
    for start in range(n_edus):
        for stop in range(start + 1, n_edus + 1):
            p = math.fsum(math.exp(s - total) for s, (tree, _) in by_score if (start, stop) in spans_of(tree, n_edus))
            assert posterior.span_probability(start, stop) == pytest.approx(p, abs=1e-4)
    found = posterior.k_best(20)
    assert [tree.logp for tree in found] == pytest.approx([score - total for score, _ in by_score[:20]], abs=1e-3)
    for tree in found:
        assert posterior.log_probability(tree.units) == pytest.approx(tree.logp, abs=1e-3)
    pairs = set(kept)
    for units in (*(tree.units for tree in found), posterior.mbr(), *posterior.sample(5, seed=1)):
        assert (tuple(unit[:3] for unit in units), tuple(unit.label for unit in units)) in pairs
    if posterior.n_edus > 1:
        assert posterior.entropy == pytest.approx(
            -math.fsum(math.exp(s - total) * (s - total) for s, _ in by_score), abs=1e-3
        )


CASES: dict[str, tuple[list[Constraint], list[int] | None]] = {
    "nothing": ([], None),
    "forced": ([Constraint(1, 4)], None),
    "nested": ([Constraint(1, 5), Constraint(2, 4)], None),
    "said twice": ([Constraint(1, 4), Constraint(1, 4), Constraint(0, 5), Constraint(2, 3)], None),
    "forbidden": ([Constraint(0, 2, is_unit=False), Constraint(3, 5, is_unit=False)], None),
    "both": ([Constraint(1, 5), Constraint(2, 4, is_unit=False)], None),
    "sentences": ([], SENTENCES),
    "a forced span in a sentence": ([Constraint(1, 3)], SENTENCES),
    "a forced span around a sentence": ([Constraint(0, 4)], SENTENCES),
    "a forced span through a sentence": ([Constraint(2, 4)], SENTENCES),
    "a forbidden sentence": ([Constraint(0, 3, is_unit=False)], SENTENCES),
    "one sentence": ([], [3] * 5),
    "sentences of one EDU": ([], [0, 1, 2, 3, 4]),
    "a relation": ([Constraint(1, 4, relation="cause")], None),
    "a nuclearity": ([Constraint(0, 5, nuclearity="NN")], SENTENCES),
    "a label": ([Constraint(0, 2, relation="cause", nuclearity="SN")], SENTENCES),
    "in two parts": ([Constraint(0, 2, nuclearity="SN"), Constraint(0, 2), Constraint(0, 2, relation="cause")], None),
    "several": (
        [Constraint(0, 3, relation="cause"), Constraint(1, 3, nuclearity="NS"), Constraint(3, 5, is_unit=False)],
        SENTENCES,
    ),
    "no tree": ([Constraint(1, 4), Constraint(1, 3, is_unit=False), Constraint(2, 4, is_unit=False)], None),
}


@pytest.mark.parametrize(("constraints", "groups"), CASES.values(), ids=CASES.keys())
def test_what_is_left_has_the_probability_it_has_given_the_constraints(constraints, groups):
    check_against_enumeration(5, constraints, groups)


@st.composite
def random_constraints(draw: st.DrawFn, n_edus: int) -> Constraint:
    """Now and then one that ends after the document, or that no label fits."""
    start = draw(st.integers(0, n_edus - 1))
    stop = start + draw(st.integers(1, n_edus))
    if draw(st.booleans()):
        return Constraint(start, min(stop, n_edus), is_unit=False)
    relation = draw(st.sampled_from([None, None, "cause", "joint", "contrast"]))
    return Constraint(start, stop, True, relation, draw(st.sampled_from([None, None, "NN", "NS", "SN"])))


@pytest.mark.slow
@given(st.integers(1, 4), st.data())
def test_either_the_same_trees_are_left_or_none_and_an_error(n_edus, data):
    constraints = data.draw(st.lists(random_constraints(n_edus), max_size=3))
    groups = sorted(data.draw(st.lists(st.integers(0, 2), min_size=n_edus, max_size=n_edus)))
    check_against_enumeration(n_edus, constraints, data.draw(st.sampled_from([None, groups])))


def test_frozen_subtrees_stay_as_they_are():
    subtree = Unit("cause", "SN", (Unit("joint", "NN", (Leaf(1), Leaf(2))), Unit("cause", "NS", (Leaf(3), Leaf(4)))))
    posterior, _, _ = make_posterior(6, frozen(subtree))
    found = posterior.k_best(100)
    assert len(found) == 2 * 3**2
    kept = {LabelledUnit(1, 3, 5, 1), LabelledUnit(1, 2, 3, 2), LabelledUnit(3, 4, 5, 0)}
    assert all(kept <= set(tree.units) for tree in found)


CONTRADICTIONS = {
    "crossing": (
        [Constraint(1, 2), Constraint(2, 5), Constraint(0, 4)],
        'units must not cross, got {"edus": [0, 4]} and {"edus": [2, 5]}',
    ),
    "forced and forbidden": (
        [Constraint(1, 3), Constraint(1, 3, is_unit=False)],
        'a span must not be both forced and forbidden, got {"edus": [1, 3]} and {"edus": [1, 3], "is_unit": false}',
    ),
    "two relations": (
        [Constraint(1, 3, relation="cause"), Constraint(1, 3), Constraint(1, 3, relation="joint", nuclearity="NN")],
        'a unit must not have two labels, got {"edus": [1, 3], "relation": "cause"} '
        'and {"edus": [1, 3], "relation": "joint", "nuclearity": "NN"}',
    ),
    "two nuclearities": (
        [Constraint(1, 3, nuclearity="NS"), Constraint(1, 3, relation="cause", nuclearity="SN")],
        'a unit must not have two labels, got {"edus": [1, 3], "nuclearity": "NS"} '
        'and {"edus": [1, 3], "relation": "cause", "nuclearity": "SN"}',
    ),
    "a forbidden document": (
        [Constraint(0, 5, is_unit=False)],
        'single EDUs and the whole document must be units, got {"edus": [0, 5], "is_unit": false}',
    ),
    "a forbidden EDU": (
        [Constraint(2, 3, is_unit=False)],
        'single EDUs and the whole document must be units, got {"edus": [2, 3], "is_unit": false}',
    ),
    "out of range": ([Constraint(3, 6)], 'edus must be within the document of 5 EDUs, got {"edus": [3, 6]}'),
    "a labelled EDU": (
        [Constraint(3, 4, nuclearity="NN")],
        'a single EDU must not have a label, got {"edus": [3, 4], "nuclearity": "NN"}',
    ),
    "no tree": (
        [Constraint(1, 4), Constraint(1, 3, is_unit=False), Constraint(2, 4, is_unit=False)],
        "random-0: no tree is possible without the units [1, 3], [2, 4]; forbid fewer units",
    ),
}


@pytest.mark.parametrize(("constraints", "line"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictions_are_one_line_that_names_them(constraints, line):
    with pytest.raises(UsageError) as caught:
        make_posterior(5, constraints)
    assert str(caught.value) == line


def test_sentences_must_be_in_order():
    with pytest.raises(UsageError, match="must not decrease, got 0 after 1"):
        resolve_constraints(3, [], LABELS, [[0, 1, 0]])


def test_paragraphs_are_stronger_than_sentences():
    """A sentence that goes on in the next paragraph is cut there; constraints are stronger still."""
    groups = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 2]]
    assert resolve_constraints(5, [], LABELS, groups).forced == ((0, 2), (0, 3), (3, 5), (4, 5))
    assert resolve_constraints(5, [Constraint(1, 4)], LABELS, groups).forced == ((1, 4), (2, 4), (4, 5))


def test_constraints_that_no_label_fits_are_an_error():
    assert label_mask(Constraint(0, 2, relation="cause"), LABELS) == (True, True, False)
    assert label_mask(Constraint(0, 2, nuclearity="SN"), LABELS) == (False, True, False)
    for constraint, line in (
        (
            Constraint(0, 2, relation="contrast"),
            'relation must be one of cause, joint, got {"edus": [0, 2], "relation": "contrast"}',
        ),
        (
            Constraint(0, 2, relation="cause", nuclearity="NN"),
            'nuclearity of cause must be one of NS, SN, got {"edus": [0, 2], "relation": "cause", "nuclearity": "NN"}',
        ),
        (
            Constraint(0, 2, nuclearity="NN"),
            'nuclearity must be one of NS, SN, got {"edus": [0, 2], "nuclearity": "NN"}',
        ),
    ):
        with pytest.raises(UsageError) as caught:
            label_mask(constraint, LABELS[:2] if constraint.relation is None else LABELS)
        assert str(caught.value) == line
