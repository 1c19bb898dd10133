"""Training with weights as they will be stored."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from genrst.packing import pack, unpack
from genrst.training.rounding import rounded
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
