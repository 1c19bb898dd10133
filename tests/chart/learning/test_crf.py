"""The inside algorithm of training: it agrees with that of parsing, and its gradients are right."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor

from genrst.chart import inference
from genrst.chart.learning.crf import inside, split_logp
from genrst.errors import UsageError
from tests.chart.enumeration import Array, all_trees, log_sum, score_of
from tests.chart.k_best import k_best
from tests.chart.test_inference import random_scores

SHAPES = [[1], [2], [3, 1], [5], [4, 4, 2], [7, 1, 3, 6], [9], [2] * 5, [12, 5]]
N_TABLES = 1000


def random_table(seed: int) -> tuple[Array, list[int]]:
    """Scores of any size, with holes in two of three tables. Shape: (B, N, N, N)"""
    generator = np.random.default_rng(seed)
    sizes, scale = SHAPES[seed % len(SHAPES)], generator.choice([0.1, 1.0, 5.0])
    scores = scale * generator.standard_normal((len(sizes), *[max(sizes) + 1] * 3), np.float32)
    holes = generator.choice([0.0, 0.2, 0.5])
    scores[generator.random(scores.shape) < holes] = -math.inf
    if holes and generator.random() < 0.5:
        # All units of a span, as a constraint forbids them.
        start, stop = sorted(generator.choice(scores.shape[-1], 2, replace=False))
        scores[:, :, start, stop] = -math.inf
    return scores, sizes


def test_training_and_parsing_agree():
    """The gradient of log Z is the probability of each unit."""
    n_without = 0
    for seed in range(N_TABLES):
        scores, sizes = random_table(seed)
        as_tensor = torch.from_numpy(scores).requires_grad_()
        table, log_z = inside(as_tensor, sizes)
        (gradient,) = torch.autograd.grad(log_z.sum(), as_tensor)
        found_table, found_z = inference.inside(scores, sizes)
        unit_p, total = inference.marginals(scores, sizes)
        np.testing.assert_allclose(found_table, table.detach().numpy(), rtol=1e-5, atol=1e-5, err_msg=str(seed))
        np.testing.assert_allclose(found_z, log_z.detach().numpy(), rtol=1e-5, atol=1e-5, err_msg=str(seed))
        np.testing.assert_allclose(unit_p, gradient.numpy(), rtol=0, atol=1e-5, err_msg=str(seed))
        assert np.array_equal(total, found_z)
        n_without += int(np.isneginf(found_z).sum())
    assert n_without > 100, "many documents have no tree"


def test_splits_have_probabilities_that_make_up_those_of_trees():
    """Also their gradient, against the one through the recursion itself."""
    scores = torch.from_numpy(random_scores([6], 3)).requires_grad_()
    table, log_z = inside(scores, [6])
    for tree in all_trees(0, 6)[::5]:
        index = torch.tensor([(0, k, i, j) for i, k, j in tree]).unbind(1)
        logp = split_logp(scores, table, *index)
        expected = score_of(tree, scores[0].detach().numpy()) - float(log_z.detach())
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
    scores = torch.from_numpy(np.nan_to_num(random_scores(sizes, 0))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: inside(x, sizes)[1], (scores,))
    (gradient,) = torch.autograd.grad((inside(scores, sizes)[1] * torch.tensor([1.0, 2.0, -3.0])).sum(), scores)
    naive = sum(w * naive_log_partition(scores[b], sizes[b]) for b, w in enumerate([1.0, 2.0, -3.0]))
    assert isinstance(naive, Tensor)
    torch.testing.assert_close(gradient, torch.autograd.grad(naive, scores)[0])
    with torch.no_grad():
        assert not inside(scores, sizes)[1].requires_grad


def test_the_inside_table_has_every_span():
    scores = random_scores([6], 1)
    table, _ = inside(torch.from_numpy(scores), [6])
    for i in range(7):
        for j in range(7):
            expected = log_sum(score_of(tree, scores[0]) for tree in all_trees(i, j)) if i < j else -math.inf
            assert float(table[0, i, j]) == pytest.approx(expected)


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_what_is_no_unit_has_no_gradient(rubbish: float):
    sizes = [5, 2, 1, 6]
    scores = random_scores(sizes, 7)
    other = torch.from_numpy(np.where(np.isnan(scores), rubbish, scores)).requires_grad_()
    torch.autograd.backward(inside(other, sizes)[1].sum())
    assert other.grad is not None
    np.testing.assert_allclose(other.grad.numpy(), inference.marginals(scores, sizes)[0], rtol=0, atol=1e-12)


def test_a_document_without_any_tree_has_finite_gradients():
    scores = torch.from_numpy(random_scores([3, 5], 9))
    scores[1, :, 0, 5] = -math.inf
    scores.requires_grad_()
    _, log_z = inside(scores, [3, 5])
    assert log_z[1] == -math.inf
    torch.autograd.backward(log_z[0])
    assert scores.grad is not None
    assert bool(scores.grad.isfinite().all())


def test_training_makes_a_tree_likely():
    scores, tree = torch.zeros(1, 8, 8, 8, requires_grad=True), list(all_trees(0, 7)[77])
    for _ in range(20):
        loss = inside(scores, [7])[1].sum() - torch.stack([scores[0, k, i, j] for i, k, j in tree]).sum()
        (gradient,) = torch.autograd.grad(loss, scores)
        scores.data -= 3 * gradient
    assert loss < 0.1
    assert k_best(scores[0].detach().numpy(), 7, 1)[0].units == tree


@pytest.mark.parametrize("sizes", [[0], [5], [3, 3], []])
def test_wrong_sizes_are_an_error(sizes: list[int]):
    with pytest.raises(UsageError, match="sizes must be 1 numbers from 1 to 4, got"):
        inside(torch.zeros(1, 5, 5, 5), sizes)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_gpu_finds_the_same_and_never_waits():
    sizes = [30, 1, 12]
    scores = random_scores(sizes, 10)
    on_gpu = torch.from_numpy(scores).cuda().requires_grad_()
    log_z = inside(on_gpu, sizes)[1]
    (gradient,) = torch.autograd.grad(log_z.sum(), on_gpu)
    for one, before in zip((gradient, log_z.detach()), inference.marginals(scores, sizes), strict=True):
        np.testing.assert_allclose(one.cpu().numpy(), before, rtol=1e-9, atol=1e-9)
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.autograd.grad(inside(on_gpu, sizes)[1].sum(), on_gpu)
    finally:
        torch.cuda.set_sync_debug_mode("default")
