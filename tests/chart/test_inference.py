"""Everything about distributions over trees against the enumeration of all trees."""

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from genrst.chart.inference import (
    Split,
    entropy,
    inside,
    log_softmax,
    log_sum_exp,
    marginals,
    mbr_tree,
    sample,
)
from genrst.errors import UsageError
from tests.chart.enumeration import (
    Array,
    Tree,
    all_trees,
    distribution,
    entropy_of,
    labelled_score,
    labelled_trees,
    log_sum,
    score_of,
    spans_of,
    total_gain,
    unit_probabilities,
)
from tests.chart.k_best import k_best

every_size = pytest.mark.parametrize("n_edus", range(1, 8))
every_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])
Dtype = type[np.floating[Any]]


def tolerance(dtype: Dtype) -> float:
    return 1e-9 if dtype == np.float64 else 2e-5


def legal(n_positions: int, sizes: list[int]) -> NDArray[np.bool_]:
    """Shape: (B, N, N, N)."""
    ends = np.arange(n_positions)
    k, i, j = ends[:, None, None], ends[None, :, None], ends[None, None]
    found: NDArray[np.bool_] = (i < k) & (k < j) & (j <= np.array(sizes)[:, None, None, None])
    return found


def random_scores(sizes: list[int], seed: int, dtype: Dtype = np.float64, scale: float = 2.0) -> Array:
    """With nan wherever there is no unit. Shape: (B, N, N, N)."""
    n_positions = max(sizes) + 1
    scores = scale * np.random.default_rng(seed).standard_normal((len(sizes), *[n_positions] * 3))
    return np.where(legal(n_positions, sizes), scores, math.nan).astype(dtype)


def forbid_some(scores: Array, seed: int) -> Array:
    """With a third of the units forbidden."""
    is_forbidden = np.random.default_rng(seed + 100).random(scores.shape) < 1 / 3
    return np.where(is_forbidden, -math.inf, scores).astype(scores.dtype)


def random_labels(n_edus: int, n_labels: int, seed: int) -> Array:
    """With nan wherever there is no unit. Shape: (N, N, N, L)."""
    label_logp = log_softmax(np.random.default_rng(seed).standard_normal((*[n_edus + 1] * 3, n_labels)))
    return np.where(legal(n_edus + 1, [n_edus])[0, ..., None], label_logp, math.nan)


@every_size
@every_dtype
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_sums_are_those_over_all_trees(n_edus, dtype, seed, is_sparse):
    scores = random_scores([n_edus], seed, dtype)
    if is_sparse:
        scores = forbid_some(scores, seed)
    trees = distribution(scores[0], n_edus)
    log_z = log_sum(score_of(tree, scores[0]) for tree in all_trees(0, n_edus))
    unit_p, total = marginals(scores, [n_edus])
    close = tolerance(dtype)
    assert total.dtype == unit_p.dtype == dtype
    assert float(total[0]) == pytest.approx(log_z, abs=close)
    assert float(inside(scores, [n_edus])[1][0]) == pytest.approx(log_z, abs=close)
    expected = unit_probabilities(trees, n_edus + 1)
    np.testing.assert_allclose(unit_p[0], expected, atol=close, rtol=0)
    for i in range(n_edus):
        for j in range(i + 2, n_edus + 1):
            p = math.fsum(p for tree, p in trees.items() if (i, j) in spans_of(tree, n_edus))
            assert float(unit_p.sum(1)[0, i, j]) == pytest.approx(p, abs=close)
    if trees:
        assert float(entropy(scores, unit_p, total)[0]) == pytest.approx(entropy_of(trees.values()), abs=10 * close)


def test_the_inside_table_has_every_span():
    scores = random_scores([6], 1)
    table, _ = inside(scores, [6])
    for i in range(7):
        for j in range(7):
            expected = log_sum(score_of(tree, scores[0]) for tree in all_trees(i, j)) if i < j else -math.inf
            assert float(table[0, i, j]) == pytest.approx(expected)


@every_size
@every_dtype
@pytest.mark.parametrize("seed", range(3))
def test_mbr_trees_have_the_most_gain_of_all(n_edus, dtype, seed):
    gains = np.random.default_rng(seed).random((1, n_edus + 1, n_edus + 1)).astype(dtype)
    (safe,) = mbr_tree(gains, [n_edus])
    most = max(total_gain(tree, gains[0]) for tree in all_trees(0, n_edus))
    assert tuple(safe) in all_trees(0, n_edus)
    assert total_gain(safe, gains[0]) == pytest.approx(most, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_mbr_trees_have_only_possible_units(seed):
    generator = np.random.default_rng(seed)
    gains, may_be_unit = generator.random((1, 7, 7), np.float32), generator.random((1, 7, 7)) < 0.6
    trees = [tree for tree in all_trees(0, 6) if all(may_be_unit[0, i, j] for i, _, j in tree)]
    if trees:
        (safe,) = mbr_tree(gains, [6], may_be_unit)
        assert tuple(safe) in trees
        assert total_gain(safe, gains[0]) == pytest.approx(max(total_gain(tree, gains[0]) for tree in trees))
    else:
        with pytest.raises(UsageError, match="the scores forbid all trees"):
            mbr_tree(gains, [6], may_be_unit)


@every_size
@every_dtype
@pytest.mark.parametrize("k", [1, 4, 1000])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_k_best_trees_are_the_first_of_all(n_edus, dtype, k, is_sparse):
    scores = random_scores([n_edus], n_edus, dtype)[0]
    if is_sparse:
        scores = forbid_some(scores, n_edus)
    by_score = sorted(((score_of(tree, scores), tree) for tree in all_trees(0, n_edus)), reverse=True)
    expected = [(score, tree) for score, tree in by_score if score > -math.inf][:k]
    found = k_best(scores, n_edus, k)
    assert [tuple(tree.units) for tree in found] == [tree for _, tree in expected]
    assert [tree.score for tree in found] == pytest.approx([score for score, _ in expected], abs=1e-9)
    assert all(tree.labels == [0] * (n_edus - 1) for tree in found)


@pytest.mark.parametrize(("n_edus", "n_labels"), [(1, 3), (2, 1), (2, 3), (3, 3), (4, 3), (5, 2), (5, 3)])
@pytest.mark.parametrize("k", [1, 10, 10**6])
@pytest.mark.parametrize("seed", range(2))
def test_k_best_labelled_trees_are_the_first_of_all(n_edus, n_labels, k, seed):
    scores, label_logp = random_scores([n_edus], seed)[0], random_labels(n_edus, n_labels, seed)
    pairs = labelled_trees(n_edus, n_labels)
    expected = sorted(((labelled_score(pair, scores, label_logp), pair) for pair in pairs), reverse=True)[:k]
    found = k_best(scores, n_edus, k, label_logp)
    assert [(tuple(tree.units), tuple(tree.labels)) for tree in found] == [pair for _, pair in expected]
    assert [tree.score for tree in found] == pytest.approx([score for score, _ in expected], abs=1e-9)


def test_equal_trees_come_in_the_order_of_their_splits():
    """And soon: it is not all equal beginnings that are tried first."""
    found = k_best(np.zeros((7, 7, 7)), 6, 42)
    assert [tuple(tree.units) for tree in found] == all_trees(0, 6)
    assert k_best(np.zeros((61, 61, 61)), 60, 5)[0].units == [(i, i + 1, 60) for i in range(59)]


def test_many_best_trees_of_a_longer_document_are_distinct_and_in_order():
    scores = random_scores([40], 0)
    found = k_best(scores[0], 40, 300, random_labels(40, 5, 0))
    assert len({(*tree.units, *tree.labels) for tree in found}) == 300
    assert all(better.score > worse.score for better, worse in pairwise(found))


def chi_square(drawn: list[list[Split]], trees: dict[Tree, float]) -> float:
    counts = Counter(tuple(tree) for tree in drawn)
    assert counts.keys() <= trees.keys()
    return sum((counts[tree] - len(drawn) * p) ** 2 / (len(drawn) * p) for tree, p in trees.items())


@every_dtype
@pytest.mark.parametrize("is_sparse", [False, True])
def test_samples_have_the_probabilities_of_trees(dtype, is_sparse):
    """14 trees: with 13 degrees of freedom chi-square is above 34.5 once in a thousand times."""
    sizes = [5, 1, 5]
    scores = random_scores(sizes, 5, dtype, scale=0.7)
    if is_sparse:
        scores[:, 2, 0, 5] = scores[:, 2, 1, 3] = -math.inf
    drawn = sample(scores, sizes, 5000, np.random.default_rng(1))
    assert drawn[1] == [[]] * 5000
    for document in (0, 2):
        trees = distribution(scores[document], 5)
        assert is_sparse == (len(trees) < 14)
        assert chi_square(drawn[document], trees) < 34.5
    again = sample(scores, sizes, 5000, np.random.default_rng(1))
    assert drawn == again
    assert drawn != sample(scores, sizes, 5000, np.random.default_rng(2))


@every_dtype
@pytest.mark.parametrize("is_expanded", [False, True])
def test_documents_together_are_as_alone(dtype, is_expanded):
    """Also in an array that is no longer in one piece."""
    sizes = [4, 1, 7, 2, 6]
    scores = random_scores(sizes, 6, dtype)
    if is_expanded:
        scores = np.stack([scores, scores], -1)[..., 1]
    unit_p, log_z = marginals(scores, sizes)
    table, _ = inside(scores, sizes)
    safe = mbr_tree(unit_p.sum(1), sizes)
    uncertainty = entropy(scores, unit_p, log_z)
    for document, size in enumerate(sizes):
        alone = scores[document : document + 1, : size + 1, : size + 1, : size + 1]
        inner = (slice(document, document + 1), *[slice(size + 1)] * 3)
        one_p, one_z = marginals(alone, [size])
        np.testing.assert_allclose(unit_p[inner], one_p, rtol=1e-5, atol=1e-6)
        assert unit_p[document].sum() == pytest.approx(size - 1), "and nothing outside"
        np.testing.assert_allclose(log_z[document], one_z[0], rtol=1e-6)
        np.testing.assert_allclose(table[inner[:3]], inside(alone, [size])[0], rtol=1e-6)
        assert (table[document, :, size + 1 :] == -math.inf).all()
        assert safe[document] == mbr_tree(one_p.sum(1), [size])[0]
        np.testing.assert_allclose(uncertainty[document], entropy(alone, one_p, one_z)[0], rtol=1e-5)


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_what_is_no_unit_does_not_matter(rubbish):
    sizes = [5, 2, 1, 6]
    scores = random_scores(sizes, 7)
    other = np.where(np.isnan(scores), rubbish, scores)
    with np.errstate(invalid="ignore"):  # ∞ − ∞, which no scores have
        found = marginals(other, sizes)
    for one, before in zip(found, marginals(scores, sizes), strict=True):
        assert np.array_equal(one, before)
    assert k_best(other[0], 5, 9) == k_best(scores[0], 5, 9)
    with np.errstate(invalid="ignore"):
        drawn = sample(other, sizes, 7, np.random.default_rng(0))
    assert drawn == sample(scores, sizes, 7, np.random.default_rng(0))
    spans = np.full((4, 7, 7), rubbish)
    for document, size in enumerate(sizes):
        ends = np.arange(size + 1)
        spans[document, : size + 1, : size + 1][ends[:, None] < ends - 1] = 0.0
    assert [len(tree) for tree in mbr_tree(spans, sizes)] == [4, 1, 0, 5]


def test_inputs_stay_as_they_are():
    sizes = [5, 3]
    scores = np.nan_to_num(random_scores(sizes, 1))
    scores[0, 1, 0, 3] = -math.inf
    before = scores.copy()
    unit_p, log_z = marginals(scores, sizes)
    entropy(scores, unit_p, log_z)
    spans = unit_p.sum(1)
    gains = spans.copy()
    mbr_tree(spans, sizes, spans >= 0)
    sample(scores, sizes, 3, np.random.default_rng(1))
    k_best(scores[0], 5, 3)
    assert np.array_equal(scores, before)
    assert np.array_equal(spans, gains)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_exponentials(dtype: Dtype):
    inf = math.inf
    values = np.array([[0.0, 0.0, -inf], [-inf] * 3, [700.0, 700.0, 0.0], [-2000.0, -inf, -2000.0]], dtype=dtype)
    total = log_sum_exp(values)
    assert total.dtype == dtype
    assert total.tolist() == pytest.approx([math.log(2), -inf, 700 + math.log(2), math.log(2) - 2000])
    shares = log_softmax(values)
    assert shares.dtype == dtype
    assert shares[1].tolist() == [-inf] * 3, "nothing is possible, and nothing is no number"
    assert np.exp(shares[[0, 2, 3]]).sum(-1).tolist() == pytest.approx([1, 1, 1])


@every_dtype
def test_forbidden_spans_are_in_no_tree(dtype):
    """A span is forbidden by −inf for all its splits; its narrower parts then have no nan either."""
    scores = random_scores([7, 4], 8, dtype)
    scores[:, :, 1, 4] = scores[:, :, 0, 2] = -math.inf
    unit_p, log_z = marginals(scores, [7, 4])
    assert np.isfinite(unit_p).all()
    for document, size in enumerate([7, 4]):
        expected = unit_probabilities(distribution(scores[document], size), 8)
        np.testing.assert_allclose(unit_p[document], expected, atol=tolerance(dtype), rtol=0)
    assert np.isfinite(log_z).all()


def test_a_document_without_any_tree():
    scores = random_scores([3, 5], 9)
    scores[1, :, 0, 5] = -math.inf
    unit_p, log_z = marginals(scores, [3, 5])
    assert log_z[1] == -math.inf
    assert not unit_p[1].any()
    assert k_best(scores[1], 5, 3) == []
    may_be_unit = np.ones((2, 6, 6), dtype=np.bool_)
    may_be_unit[1, 0, 5] = False
    for use in (
        lambda: mbr_tree(np.zeros((2, 6, 6)), [3, 5], may_be_unit),
        lambda: sample(scores, [3, 5], 2, np.random.default_rng(0)),
    ):
        with pytest.raises(UsageError, match=r"the scores forbid all trees of the documents \[1\]"):
            use()


def test_one_edu_has_one_empty_tree():
    scores = np.full((2, 2, 2, 2), math.nan)
    unit_p, log_z = marginals(scores, [1, 1])
    assert not unit_p.any()
    assert log_z.tolist() == entropy(scores, unit_p, log_z).tolist() == [0, 0]
    assert mbr_tree(scores[0], [1, 1]) == [[], []]
    assert sample(scores, [1, 1], 3, np.random.default_rng(0)) == [[[]] * 3] * 2
    assert k_best(scores[0], 1, 4) == [(0.0, [], [])]


@pytest.mark.parametrize("sizes", [[0], [5], [3, 3], []])
def test_wrong_sizes_are_an_error(sizes):
    for use in (inside, marginals):
        with pytest.raises(UsageError, match="sizes must be 1 numbers from 1 to 4, got"):
            use(np.zeros((1, 5, 5, 5)), sizes)


def test_long_documents_in_single_precision():
    n_edus = 300
    scores = 3 * np.random.default_rng(0).standard_normal((1, *[n_edus + 1] * 3), np.float32)
    unit_p, log_z = marginals(scores, [n_edus])
    spans = unit_p.sum(1)
    assert spans.dtype == log_z.dtype == np.float32
    assert np.isfinite(spans).all()
    assert np.isfinite(log_z).all()
    assert float(spans.sum()) == pytest.approx(n_edus - 1, abs=1e-3)
    assert float(spans[0, 0, n_edus]) == pytest.approx(1, abs=1e-6)
    assert 0 < float(entropy(scores, unit_p, log_z)[0]) < float(inside(0 * scores, [n_edus])[1][0])
    (first, second) = k_best(scores[0], n_edus, 2)
    assert second.score < first.score < float(log_z[0])


def test_nothing_recurses_over_deep_trees():
    """A tree of 1,100 levels, by gains: a chart of scores of this size does not fit into a test."""
    n_edus = 1100
    gains = np.zeros((1, n_edus + 1, n_edus + 1), dtype=np.float32)
    gains[0, 0] = 1
    (deep,) = mbr_tree(gains, [n_edus])
    assert deep == [(0, stop - 1, stop) for stop in range(n_edus, 1, -1)]
