"""Training with weights as they will be stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from genrst.encoder.runtime import Encoder
from genrst.packing import ENCODER, Precision, pack, unpack
from genrst.training.rounding import round_weight, rounded
from tests.chart.random_networks import encoder_config
from tests.encoder.test_runtime import states_of
from tests.encoder.tiny_encoders import FAST_KINDS, N_POSITIONS, make_hugging_face
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


@pytest.mark.parametrize("kind", FAST_KINDS)
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_an_encoder_in_training_multiplies_as_parsing_does(kind: str, precision: Precision):
    encoder = make_hugging_face(kind, 7, hidden_size=64, num_attention_heads=2, intermediate_size=128).eval()
    network = nn.ModuleDict({"edu_encoder": nn.ModuleDict({"encoder": encoder})})
    packed = pack({name: weight.detach().numpy() for name, weight in network.named_parameters()}, precision)
    stored = {name.removeprefix(ENCODER): array for name, array in packed.items()}
    pieces = np.random.default_rng(2).integers(4, 57, N_POSITIONS)
    parsed = Encoder(encoder_config(encoder), stored, "int8")(pieces)
    with rounded(network, precision, with_states=True):
        learned = states_of(encoder, pieces)
    with rounded(network, precision):
        exact = states_of(encoder, pieces)
    # Now and then a number near the middle of two is rounded up in one and down in the other.
    assert np.linalg.norm(learned - parsed) < 0.3 * np.linalg.norm(exact - parsed)
    assert not any(one._forward_pre_hooks for one in encoder.modules())


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
