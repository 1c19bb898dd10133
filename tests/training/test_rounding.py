"""Training with weights as they will be stored."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from genrst.packing import Precision, pack, unpack
from genrst.training.rounding import round_weight, rounded
from tests.training.test_run import PREPARED, make_run


def test_weights_are_rounded_inside_and_exact_after():
    network = nn.Linear(100, 100)
    exact = network.weight.detach().clone()
    inputs = torch.ones(1, 100)
    with rounded(network, "int8"):
        stored = unpack(pack({"weight": exact.numpy()}, "int8"))["weight"]
        assert torch.equal(network.weight, torch.from_numpy(stored))
        network(inputs).square().sum().backward()
        expected = network.weight.grad.clone()  # type: ignore[union-attr]
    assert torch.equal(network.weight, exact)
    assert torch.equal(network.weight.grad, expected), "the gradient stays for the exact weights"  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_last_epochs_see_rounded_weights(tmp_path: Path):
    settings: dict[str, Any] = {"max_epochs": 3, "rounding": "int8", "evaluate_from": 3}
    exact = [record.train_loss for record in make_run(tmp_path / "exact", **settings).records(PREPARED)]
    last = make_run(tmp_path / "last", **settings, rounded_epochs=1)
    losses = [record.train_loss for record in last.records(PREPARED)]
    assert losses[:2] == exact[:2]
    assert losses[2] != exact[2]
    assert losses[2] == pytest.approx(exact[2], rel=0.1)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "int4"])
@pytest.mark.parametrize("name", ["edu_encoder.encoder.layer.weight", "spans.weight"])
@pytest.mark.parametrize("shape", [(64, 128), (8, 8), (100,), (70, 100)], ids=str)
def test_rounded_in_training_is_what_is_stored(name: str, shape: tuple[int, ...], precision: Precision):
    """PyTorch and NumPy find the same numbers, to the last bit; also where all of a row are zero."""
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(3)) * torch.logspace(-6, 2, shape[-1])
    weight[0] = 0
    stored = unpack(pack({name: weight.numpy()}, precision))[name]
    assert torch.equal(round_weight(name, weight, precision), torch.from_numpy(stored))
