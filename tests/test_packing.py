"""Weights in few bits: how far off they are, and what is refused."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from genrst.errors import ConfigError
from genrst.packing import ENCODER, GROUP, SCALE, Precision, pack, unpack

ROWS = arrays(np.float32, (3, 8), elements=st.floats(-(2.0**100), 2.0**100, width=32))
"""The weights that count; rows as long as it takes are made of them."""


def widen(rows: np.ndarray[Any, Any]) -> Tensor:
    return torch.from_numpy(np.tile(rows, (1, 200)))


@given(ROWS)
def test_no_weight_is_off_by_more_than_half_of_its_scale(rows):
    weight = widen(rows)
    stored = pack({"w": weight}, "int8")
    assert stored["w"].dtype == torch.int8
    assert stored["w" + SCALE].shape == (3,)
    exact, scale = weight.double(), stored["w" + SCALE].double()[:, None]
    found = unpack(stored)["w"]
    assert found.dtype == torch.float32
    # float32 itself rounds: the quotient before it becomes whole, and the product after.
    slack = exact.abs() * 2**-22
    assert ((found.double() - exact).abs() <= scale / 2 + slack).all()


@given(ROWS)
def test_packing_again_changes_nothing(rows):
    once = pack({"w": widen(rows)}, "int8")
    again = pack(unpack(once), "int8")
    assert torch.equal(again["w"], once["w"])
    torch.testing.assert_close(again["w" + SCALE], once["w" + SCALE], rtol=1e-6, atol=0)


def test_a_matrix_by_hand():
    weight = torch.zeros(2, 3000)
    weight[0, :4] = torch.tensor([12.7, -6.31, 0.04, 0.06])
    stored = pack({"w": weight}, "int8")
    assert stored["w"][0, :5].tolist() == [127, -63, 0, 1, 0]
    assert stored["w" + SCALE][0].item() == pytest.approx(0.1)
    assert torch.equal(unpack(stored)["w"][1], weight[1]), "a row of zeros stays one"


@pytest.mark.parametrize("shape", [(64, 64), (5000,), (20, 20, 20)])
def test_what_is_small_or_no_matrix_is_float16(shape: tuple[int, ...]):
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    stored = pack({"w": weight, "n": torch.arange(3)}, "int8")
    assert {name: tensor.dtype for name, tensor in stored.items()} == {"w": torch.float16, "n": torch.int64}
    assert torch.equal(unpack(stored)["w"], weight.half().float())


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_no_matrix_is_int8_unless_wanted(precision: Precision):
    assert pack({"w": torch.ones(100, 100)}, precision)["w"].dtype == getattr(torch, precision)


def test_a_weight_may_be_called_scale():
    """Only the scale of an int8 matrix is one."""
    weights = {"norm.scale": torch.ones(3), "norm": torch.zeros(2)}
    assert unpack(pack(weights, "int8")).keys() == weights.keys()


NAME = ENCODER + "layer.weight"


def random_matrix(seed: int = 1) -> Tensor:
    return torch.randn(96, 2 * GROUP, generator=torch.Generator().manual_seed(seed))


def test_four_bits_by_hand():
    weight = torch.zeros(33, 2 * GROUP)
    weight[0, :4] = torch.tensor([7.0, -3.0, 0.4, 1.0])
    weight[0, GROUP] = -14.0
    stored = pack({NAME: weight}, "int4")
    assert stored[NAME].dtype == torch.uint8
    assert stored[NAME].shape == (33, GROUP)
    assert stored[NAME + SCALE][0].tolist() == [1.0, 2.0]
    first, second = 15 | (5 << 4), 8 | (9 << 4)
    assert stored[NAME][0, :3].tolist() == [first, second, 8 | (8 << 4)]
    found = unpack(stored)[NAME]
    assert found[0, :4].tolist() == [7, -3, 0, 1]
    assert found[0, GROUP] == -14
    assert not found[1:].any(), "rows of zeros stay so"


def test_four_bits_are_chosen_for_the_least_error():
    """No other of many scales for a group would be better by more than what the steps between them explain."""
    weight = random_matrix()
    found = unpack(pack({NAME: weight}, "int4"))[NAME]
    errors = (found - weight).reshape(len(weight), -1, GROUP).square().sum(2)
    groups = weight.reshape(len(weight), -1, GROUP)
    for share in np.linspace(0.5, 1.0, 11):
        scale = share * groups.abs().amax(2, keepdim=True) / 7
        other = ((groups / scale).round().clamp(-7, 7) * scale - groups).square().sum(2)
        assert (errors <= 1.2 * other + 1e-6).all()


def test_only_matrices_of_encoders_have_four_bits():
    weights = {NAME: random_matrix(), "labels.weight": random_matrix(), ENCODER + "odd": torch.ones(96, GROUP + 1)}
    found = {name: tensor.dtype for name, tensor in pack(weights, "int4").items() if not name.endswith(SCALE)}
    assert found == {NAME: torch.uint8, "labels.weight": torch.int8, ENCODER + "odd": torch.int8}


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_scales_must_fit(precision: Precision):
    stored = pack({NAME: random_matrix()}, precision)
    for scale in (None, torch.ones(3), stored[NAME + SCALE].double()):
        damaged = {NAME: stored[NAME]} if scale is None else {NAME: stored[NAME], NAME + SCALE: scale}
        with pytest.raises(ConfigError, match=r"must have a float(32|16) scale"):
            unpack(damaged)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "int4"])
def test_an_encoder_may_be_unpacked_as_another_type(precision: Precision):
    """The same numbers, rounded once more; all other weights stay float32."""
    torch.manual_seed(1)
    names = [f"{ENCODER}layer.weight", f"{ENCODER}layer.bias", "labels.weight", "labels.bias"]
    weights = {name: torch.randn(80, GROUP) if name.endswith("weight") else torch.randn(80) for name in names}
    stored = pack(weights, precision)
    plain, mixed = unpack(stored), unpack(stored, torch.bfloat16)
    for name in names:
        expected = plain[name].bfloat16() if name.startswith(ENCODER) else plain[name]
        assert mixed[name].dtype == expected.dtype
        assert torch.equal(mixed[name], expected)
