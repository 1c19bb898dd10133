"""Everything about distributions over trees against the enumeration of all trees."""

import math
from collections import Counter
from itertools import combinations, pairwise

import pytest
import torch
from torch import Tensor

from genrst.chart.inference import (
    Split,
    entropy,
    inside,
    marginals,
    mbr_tree,
    sample,
    split_logp,
)
from genrst.chart.k_best import k_best
from genrst.errors import UsageError
from tests.chart.enumeration import (
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

torch.set_num_threads(1)

every_size = pytest.mark.parametrize("n_edus", range(1, 8))
every_dtype = pytest.mark.parametrize("dtype", [torch.double, torch.float32], ids=["double", "float"])


def tolerance(dtype: torch.dtype) -> float:
    return 1e-9 if dtype == torch.double else 2e-5


def legal(n_positions: int, sizes: list[int]) -> Tensor:
    """Shape: (B, N, N, N)."""
    ends = torch.arange(n_positions)
    k, i, j = ends[:, None, None], ends[None, :, None], ends[None, None]
    return (i < k) & (k < j) & (j <= torch.tensor(sizes)[:, None, None, None])


def random_scores(sizes: list[int], seed: int, dtype: torch.dtype = torch.double, scale: float = 2.0) -> Tensor:
    """With nan wherever there is no unit. Shape: (B, N, N, N)."""
    n_positions = max(sizes) + 1
    generator = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(len(sizes), *[n_positions] * 3, generator=generator, dtype=dtype)
    return scores.masked_fill(~legal(n_positions, sizes), math.nan)


def forbid_some(scores: Tensor, seed: int) -> Tensor:
    """With a third of the units forbidden."""
    is_forbidden = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed)) < 1 / 3
    return scores.masked_fill(is_forbidden, -math.inf)


def random_labels(n_edus: int, n_labels: int, seed: int, dtype: torch.dtype = torch.double) -> Tensor:
    """With nan wherever there is no unit. Shape: (N, N, N, L)."""
    generator = torch.Generator().manual_seed(seed)
    label_logp = torch.randn(*[n_edus + 1] * 3, n_labels, generator=generator, dtype=dtype).log_softmax(-1)
    return label_logp.masked_fill(~legal(n_edus + 1, [n_edus])[0, ..., None], math.nan)


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
    assert float(total) == pytest.approx(log_z, abs=close)
    assert float(inside(scores, [n_edus])[1]) == pytest.approx(log_z, abs=close)
    expected = unit_probabilities(trees, n_edus + 1)
    torch.testing.assert_close(unit_p[0].double(), expected, atol=close, rtol=0)
    for i in range(n_edus):
        for j in range(i + 2, n_edus + 1):
            p = math.fsum(p for tree, p in trees.items() if (i, j) in spans_of(tree, n_edus))
            assert float(unit_p.sum(1)[0, i, j]) == pytest.approx(p, abs=close)
    if trees:
        assert float(entropy(scores, unit_p, total)) == pytest.approx(entropy_of(trees.values()), abs=10 * close)


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
    gains = torch.rand(1, n_edus + 1, n_edus + 1, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    (safe,) = mbr_tree(gains, [n_edus])
    most = max(total_gain(tree, gains[0]) for tree in all_trees(0, n_edus))
    assert tuple(safe) in all_trees(0, n_edus)
    assert total_gain(safe, gains[0]) == pytest.approx(most, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_mbr_trees_have_only_possible_units(seed):
    generator = torch.Generator().manual_seed(seed)
    gains = torch.rand(1, 7, 7, generator=generator)
    may_be_unit = torch.rand(1, 7, 7, generator=generator) < 0.6
    trees = [tree for tree in all_trees(0, 6) if all(may_be_unit[0, i, j] for i, _, j in tree)]
    if trees:
        (safe,) = mbr_tree(gains, [6], may_be_unit)
        assert tuple(safe) in trees
        assert total_gain(safe, gains[0]) == pytest.approx(max(total_gain(tree, gains[0]) for tree in trees))
    else:
        with pytest.raises(UsageError, match="no tree is left"):
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
    found = k_best(torch.zeros(7, 7, 7), 6, 42)
    assert [tuple(tree.units) for tree in found] == all_trees(0, 6)
    assert k_best(torch.zeros(61, 61, 61), 60, 5)[0].units == [(i, i + 1, 60) for i in range(59)]


def test_many_best_trees_of_a_longer_document_are_distinct_and_in_order():
    scores = random_scores([40], 0)
    found = k_best(scores[0], 40, 300, random_labels(40, 5, 0))
    assert len({(*tree.units, *tree.labels) for tree in found}) == 300
    assert all(better.score > worse.score for better, worse in pairwise(found))


def test_splits_have_probabilities_that_make_up_those_of_trees():
    """Also their gradient, against the one through the recursion itself."""
    scores = random_scores([6], 3).requires_grad_()
    table, log_z = inside(scores, [6])
    for tree in all_trees(0, 6)[::5]:
        index = torch.tensor([(0, k, i, j) for i, k, j in tree]).unbind(1)
        logp = split_logp(scores, table, *index)
        expected = score_of(tree, scores[0].detach()) - float(log_z.detach())
        assert float(logp.detach().sum()) == pytest.approx(expected)
        assert (logp <= 1e-9).all()
    weights = torch.rand(len(tree), generator=torch.Generator().manual_seed(1), dtype=scores.dtype)
    torch.autograd.backward((weights * logp).sum())

    def plain(values: Tensor) -> Tensor:
        sums: dict[tuple[int, int], Tensor] = {(edu, edu + 1): values.new_zeros(()) for edu in range(6)}
        for i, j in sorted(combinations(range(7), 2), key=lambda span: span[1] - span[0]):
            if j - i > 1:
                ways = [values[0, k, i, j] + sums[i, k] + sums[k, j] for k in range(i + 1, j)]
                sums[i, j] = torch.stack(ways).logsumexp(0)
        parts = [values[0, k, i, j] + sums[i, k] + sums[k, j] - sums[i, j] for i, k, j in tree]
        return (weights * torch.stack(parts)).sum()

    again = scores.detach().clone().requires_grad_()
    torch.autograd.backward(plain(again))
    assert scores.grad is not None
    assert again.grad is not None
    used = [(0, k, i, j) for i, k, j in combinations(range(7), 3)]
    for place in used:
        assert float(scores.grad[place]) == pytest.approx(float(again.grad[place]), abs=1e-9)


@pytest.mark.parametrize("n_edus", range(1, 6))
def test_entropy_with_labels_is_that_of_labelled_trees(n_edus):
    scores, label_logp = random_scores([n_edus], 4), random_labels(n_edus, 3, 4)
    label_logp[..., 0] = -math.inf  # a label that cannot be costs nothing
    label_logp = label_logp.log_softmax(-1)
    pairs = [labelled_score(pair, scores[0], label_logp) for pair in labelled_trees(n_edus, 3)]
    expected = entropy_of(math.exp(score - log_sum(pairs)) for score in pairs)
    unit_p, log_z = marginals(scores, [n_edus])
    assert float(entropy(scores, unit_p, log_z, label_logp[None])) == pytest.approx(expected, abs=1e-9)


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
    drawn = sample(scores, sizes, 5000, torch.Generator().manual_seed(1))
    assert drawn[1] == [[]] * 5000
    for document in (0, 2):
        trees = distribution(scores[document], 5)
        assert is_sparse == (len(trees) < 14)
        assert chi_square(drawn[document], trees) < 34.5
    again = sample(scores, sizes, 5000, torch.Generator().manual_seed(1))
    assert drawn == again
    assert drawn != sample(scores, sizes, 5000, torch.Generator().manual_seed(2))


@every_dtype
@pytest.mark.parametrize("is_expanded", [False, True])
def test_documents_together_are_as_alone(dtype, is_expanded):
    """Also in a tensor that is no longer in one piece."""
    sizes = [4, 1, 7, 2, 6]
    scores = random_scores(sizes, 6, dtype)
    if is_expanded:
        scores = torch.stack([scores, scores], -1)[..., 1]
    unit_p, log_z = marginals(scores, sizes)
    table, _ = inside(scores, sizes)
    safe = mbr_tree(unit_p.sum(1), sizes)
    uncertainty = entropy(scores, unit_p, log_z)
    for document, size in enumerate(sizes):
        alone = scores[document : document + 1, : size + 1, : size + 1, : size + 1]
        inner = (slice(document, document + 1), *[slice(size + 1)] * 3)
        one_p, one_z = marginals(alone, [size])
        torch.testing.assert_close(unit_p[inner], one_p)
        assert unit_p[document].sum() == pytest.approx(size - 1), "and nothing outside"
        torch.testing.assert_close(log_z[document], one_z[0])
        torch.testing.assert_close(table[inner[:3]], inside(alone, [size])[0])
        assert bool((table[document, :, size + 1 :] == -math.inf).all())
        assert safe[document] == mbr_tree(one_p.sum(1), [size])[0]
        torch.testing.assert_close(uncertainty[document], entropy(alone, one_p, one_z)[0])


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_what_is_no_unit_does_not_matter(rubbish):
    sizes = [5, 2, 1, 6]
    scores = random_scores(sizes, 7)
    other = scores.masked_fill(scores.isnan(), rubbish).requires_grad_()
    for one, before in zip(marginals(other, sizes), marginals(scores, sizes), strict=True):
        assert torch.equal(one, before)
    torch.autograd.backward(inside(other, sizes)[1].sum())
    assert other.grad is not None
    assert torch.equal(other.grad, marginals(scores, sizes)[0])
    assert k_best(other[0], 5, 9) == k_best(scores[0], 5, 9)
    first, second = (sample(x, sizes, 7, torch.Generator().manual_seed(0)) for x in (other, scores))
    assert first == second
    spans = torch.full((4, 7, 7), rubbish)
    for document, size in enumerate(sizes):
        ends = torch.arange(size + 1)
        spans[document, : size + 1, : size + 1][ends[:, None] < ends - 1] = 0.0
    assert [len(tree) for tree in mbr_tree(spans, sizes)] == [4, 1, 0, 5]


def naive_log_partition(scores: Tensor, size: int) -> Tensor:
    """One span after the other. Shape: (N, N, N)."""
    chart = {(i, i + 1): scores.new_zeros(()) for i in range(size)}
    for width in range(2, size + 1):
        for i in range(size - width + 1):
            j = i + width
            splits = [scores[k, i, j] + chart[i, k] + chart[k, j] for k in range(i + 1, j)]
            chart[i, j] = torch.stack(splits).logsumexp(0)
    return chart[0, size]


def test_the_gradient_of_log_z():
    sizes = [3, 1, 4]
    scores = torch.nan_to_num(random_scores(sizes, 0)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: inside(x, sizes)[1], (scores,))
    (gradient,) = torch.autograd.grad((inside(scores, sizes)[1] * torch.tensor([1.0, 2.0, -3.0])).sum(), scores)
    naive = sum(w * naive_log_partition(scores[b], sizes[b]) for b, w in enumerate([1.0, 2.0, -3.0]))
    assert isinstance(naive, Tensor)
    torch.testing.assert_close(gradient, torch.autograd.grad(naive, scores)[0])
    with torch.no_grad():
        assert not inside(scores, sizes)[1].requires_grad


def test_training_makes_a_tree_likely():
    scores, tree = torch.zeros(1, 8, 8, 8, requires_grad=True), list(all_trees(0, 7)[77])
    for _ in range(20):
        loss = inside(scores, [7])[1].sum() - torch.stack([scores[0, k, i, j] for i, k, j in tree]).sum()
        (gradient,) = torch.autograd.grad(loss, scores)
        scores.data -= 3 * gradient
    assert loss < 0.1
    assert k_best(scores[0], 7, 1)[0].units == tree


@every_dtype
def test_forbidden_spans_are_in_no_tree(dtype):
    """A span is forbidden by −inf for all its splits; its narrower parts then have no nan either."""
    scores = random_scores([7, 4], 8, dtype)
    scores[:, :, 1, 4] = scores[:, :, 0, 2] = -math.inf
    unit_p, log_z = marginals(scores, [7, 4])
    assert bool(unit_p.isfinite().all())
    for document, size in enumerate([7, 4]):
        expected = unit_probabilities(distribution(scores[document], size), 8)
        torch.testing.assert_close(unit_p[document].double(), expected, atol=tolerance(dtype), rtol=0)
    assert bool(log_z.isfinite().all())


def test_a_document_without_any_tree():
    scores = random_scores([3, 5], 9)
    scores[1, :, 0, 5] = -math.inf
    scores.requires_grad_()
    unit_p, log_z = marginals(scores, [3, 5])
    assert log_z[1] == -math.inf
    assert not unit_p[1].any()
    torch.autograd.backward(inside(scores, [3, 5])[1][0])
    assert scores.grad is not None
    assert bool(scores.grad.isfinite().all())
    assert k_best(scores[1], 5, 3) == []
    may_be_unit = torch.ones(2, 6, 6, dtype=torch.bool)
    may_be_unit[1, 0, 5] = False
    for use in (
        lambda: mbr_tree(torch.zeros(2, 6, 6), [3, 5], may_be_unit),
        lambda: sample(scores, [3, 5], 2),
    ):
        with pytest.raises(UsageError, match=r"no tree is left for \[1\]"):
            use()


def test_one_edu_has_one_empty_tree():
    scores = torch.full((2, 2, 2, 2), math.nan)
    unit_p, log_z = marginals(scores, [1, 1])
    assert not unit_p.any()
    assert log_z.tolist() == entropy(scores, unit_p, log_z).tolist() == [0, 0]
    assert mbr_tree(scores[0], [1, 1]) == [[], []]
    assert sample(scores, [1, 1], 3) == [[[]] * 3] * 2
    assert k_best(scores[0], 1, 4) == [(0.0, [], [])]


@pytest.mark.parametrize("sizes", [[0], [5], [3, 3], []])
def test_wrong_sizes_are_an_error(sizes):
    for use in (inside, marginals):
        with pytest.raises(UsageError, match="sizes must be 1 numbers from 1 to 4, was"):
            use(torch.zeros(1, 5, 5, 5), sizes)


def test_long_documents_in_single_precision():
    n_edus = 300
    scores = 3 * torch.randn(1, *[n_edus + 1] * 3, generator=torch.Generator().manual_seed(0))
    unit_p, log_z = marginals(scores, [n_edus])
    spans = unit_p.sum(1)
    assert bool(spans.isfinite().all())
    assert bool(log_z.isfinite())
    assert float(spans.sum()) == pytest.approx(n_edus - 1, abs=1e-3)
    assert float(spans[0, 0, n_edus]) == pytest.approx(1, abs=1e-6)
    assert 0 < float(entropy(scores, unit_p, log_z)) < float(inside(0 * scores, [n_edus])[1])
    (first, second) = k_best(scores[0], n_edus, 2)
    assert second.score < first.score < float(log_z)


def test_nothing_recurses_over_deep_trees():
    """A tree of 1,100 levels, by gains: a chart of scores of this size does not fit into a test."""
    n_edus = 1100
    gains = torch.zeros(1, n_edus + 1, n_edus + 1)
    gains[0, 0] = 1
    (deep,) = mbr_tree(gains, [n_edus])
    assert deep == [(0, stop - 1, stop) for stop in range(n_edus, 1, -1)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_gpu_finds_the_same_and_never_waits():
    sizes = [30, 1, 12]
    scores = random_scores(sizes, 10)
    on_gpu = scores.cuda()
    for one, before in zip(marginals(on_gpu, sizes), marginals(scores, sizes), strict=True):
        torch.testing.assert_close(one.cpu(), before)
    assert k_best(on_gpu[0], 30, 5) == k_best(scores[0], 30, 5)
    drawn = sample(on_gpu, sizes, 5, torch.Generator("cuda").manual_seed(0))
    assert [len(tree) for trees in drawn for tree in trees] == [29] * 5 + [0] * 5 + [11] * 5
    torch.cuda.set_sync_debug_mode("error")
    try:
        marginals(on_gpu, sizes)
    finally:
        torch.cuda.set_sync_debug_mode("default")
