"""Weights in few bits: how far off they are, and what is refused."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from genrst.errors import ConfigError
from genrst.packing import ENCODER, GROUP, SCALE, FloatArray, Precision, pack, quantise, requantise, unpack, unpack_one
from genrst.training.rounding import round_weight

ROWS = arrays(np.float32, (3, 8), elements=st.floats(-(2.0**100), 2.0**100, width=32))
"""The weights that count; rows as long as it takes are made of them."""
PRECISIONS: list[Precision] = ["float32", "float16", "int8", "int4"]
every_precision = pytest.mark.parametrize("precision", PRECISIONS)


def widen(rows: FloatArray) -> FloatArray:
    return np.tile(rows, (1, 200))


@given(ROWS)
def test_no_weight_is_off_by_more_than_half_of_its_scale(rows: FloatArray):
    weight = widen(rows)
    stored = pack({"w": weight}, "int8")
    assert stored["w"].dtype == np.int8
    assert stored["w" + SCALE].shape == (3,)
    exact, scale = weight.astype(float), stored["w" + SCALE].astype(float)[:, None]
    found = unpack(stored)["w"]
    assert found.dtype == np.float32
    # float32 itself rounds: the quotient before it becomes whole, and the product after.
    slack = np.abs(exact) * 2**-22
    assert (np.abs(found.astype(float) - exact) <= scale / 2 + slack).all()


@given(ROWS)
def test_packing_again_changes_nothing(rows: FloatArray):
    once = pack({"w": widen(rows)}, "int8")
    again = pack(unpack(once), "int8")
    assert np.array_equal(again["w"], once["w"])
    np.testing.assert_allclose(again["w" + SCALE], once["w" + SCALE], rtol=1e-6)


def test_a_matrix_by_hand():
    weight = np.zeros((2, 3000), dtype=np.float32)
    weight[0, :4] = [12.7, -6.31, 0.04, 0.06]
    stored = pack({"w": weight}, "int8")
    assert stored["w"][0, :5].tolist() == [127, -63, 0, 1, 0]
    assert stored["w" + SCALE][0] == pytest.approx(0.1)
    assert np.array_equal(unpack(stored)["w"][1], weight[1]), "a row of zeros stays one"


@pytest.mark.parametrize("shape", [(64, 64), (5000,), (20, 20, 20)])
def test_what_is_small_or_no_matrix_is_float16(shape: tuple[int, ...]):
    weight = np.random.default_rng(1).standard_normal(shape, np.float32)
    stored = pack({"w": weight, "n": np.arange(3)}, "int8")
    assert {name: array.dtype.name for name, array in stored.items()} == {"w": "float16", "n": "int64"}
    assert np.array_equal(unpack(stored)["w"], weight.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_no_matrix_is_int8_unless_wanted(precision: Precision):
    assert pack({"w": np.ones((100, 100), dtype=np.float32)}, precision)["w"].dtype.name == precision


def test_a_weight_may_be_called_scale():
    """Only the scale of an int8 matrix is one."""
    weights = {"norm.scale": np.ones(3, dtype=np.float32), "norm": np.zeros(2, dtype=np.float32)}
    assert unpack(pack(weights, "int8")).keys() == weights.keys()


NAME = ENCODER + "layer.weight"


def random_matrix(seed: int = 1, rows: int = 96, groups: int = 2) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((rows, groups * GROUP), np.float32)


def test_four_bits_by_hand():
    weight = np.zeros((33, 2 * GROUP), dtype=np.float32)
    weight[0, :4] = [7.0, -3.0, 0.4, 1.0]
    weight[0, GROUP] = -14.0
    stored = pack({NAME: weight}, "int4")
    assert stored[NAME].dtype == np.uint8
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
    errors = np.square(found - weight).reshape(len(weight), -1, GROUP).sum(2)
    groups = weight.reshape(len(weight), -1, GROUP)
    for share in np.linspace(0.5, 1.0, 11):
        scale = share * np.abs(groups).max(2, keepdims=True) / 7
        other = np.square(np.rint(groups / scale).clip(-7, 7) * scale - groups).sum(2)
        assert (errors <= 1.2 * other + 1e-6).all()


def test_only_matrices_of_encoders_have_four_bits():
    odd = np.ones((96, GROUP + 1), dtype=np.float32)
    weights = {NAME: random_matrix(), "labels.weight": random_matrix(), ENCODER + "odd": odd}
    found = {name: array.dtype.name for name, array in pack(weights, "int4").items() if not name.endswith(SCALE)}
    assert found == {NAME: "uint8", "labels.weight": "int8", ENCODER + "odd": "int8"}


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_scales_must_fit(precision: Precision):
    stored = pack({NAME: random_matrix()}, precision)
    scale = stored[NAME + SCALE]
    for wrong in (None, np.ones(3, dtype=scale.dtype), scale.astype(float), scale[:-1], scale[..., None]):
        damaged = {NAME: stored[NAME]} if wrong is None else {NAME: stored[NAME], NAME + SCALE: wrong}
        for read in (unpack, lambda one: unpack_one(one, NAME), lambda one: requantise(one, NAME)):
            with pytest.raises(ConfigError, match=rf"{NAME}: an {precision} matrix must have a float(32|16) scale"):
                read(damaged)


@pytest.mark.parametrize("number", [np.uint8(3), np.int8(3), np.full(4, 3, dtype=np.uint8)])
def test_a_packed_number_that_is_no_matrix(number: Any):
    for scale in (np.ones((), dtype=np.float32), np.ones(4, dtype=np.float16)):
        with pytest.raises(ConfigError, match="must have a float"):
            unpack({NAME: np.asarray(number), NAME + SCALE: scale})


@every_precision
def test_some_of_the_weights_are_unpacked(precision: Precision):
    stored = pack({NAME: random_matrix(), "labels.weight": random_matrix(2)}, precision)
    whole = unpack(stored)
    assert whole.keys() == {NAME, "labels.weight"}
    assert {array.dtype for array in whole.values()} == {np.dtype(np.float32)}
    assert unpack(stored, ENCODER).keys() == {NAME}
    for name, array in whole.items():
        assert np.array_equal(unpack_one(stored, name), array)
        rows = {key: stored[key][[5, 2, 5]] for key in (name, name + SCALE) if key in stored}
        assert np.array_equal(unpack_one(rows, name), array[[5, 2, 5]]), "or some rows"


# Seven bits, to compute with.


@given(ROWS)
def test_seven_bits_are_off_by_at_most_half_of_their_scale(rows: FloatArray):
    weight = widen(rows)
    numbers, scale = quantise(weight)
    assert (numbers.dtype.name, scale.dtype.name, scale.shape) == ("int8", "float32", (3,))
    assert np.abs(numbers.astype(int)).max() <= 63
    exact = weight.astype(float)
    assert (np.abs(numbers * scale[:, None].astype(float) - exact) <= scale[:, None] / 2 + np.abs(exact) * 2**-22).all()


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_other_matrices_become_seven_bits_by_their_numbers(precision: Precision):
    stored = pack({NAME: random_matrix()}, precision)
    numbers, scale = requantise(stored, NAME)
    expected = quantise(unpack_one(stored, NAME))
    assert np.array_equal(numbers, expected[0])
    assert np.array_equal(scale, expected[1])


def four_bits(seed: int, spread: float) -> dict[str, NDArray[Any]]:
    """A matrix of four bits; the scales of its groups differ by powers of two, up to a spread."""
    generator = np.random.default_rng(seed)
    numbers = generator.integers(1, 16, (40, 3 * GROUP), np.uint8)
    scale = np.exp2(-generator.random((40, 3)) * spread).astype(np.float16)
    return {NAME: numbers[:, ::2] | (numbers[:, 1::2] << 4), NAME + SCALE: scale}


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 3.0, 10.0]))
def test_four_bits_become_seven_within_their_error(seed: int, spread: float):
    """Half a step for rounding, and for the ratio of scales, a whole multiple of 1/512, what seven times it is off."""
    stored = four_bits(seed, spread)
    numbers, scale = requantise(stored, NAME)
    exact = unpack_one(stored, NAME).astype(float)
    assert (numbers.dtype.name, scale.dtype.name, scale.shape) == ("int8", "float32", (40,))
    assert np.abs(numbers.astype(int)).max() <= 63, "two products with eight bits fit into sixteen"
    steps = scale[:, None].astype(float)
    assert (np.abs(numbers * steps - exact) <= steps * (0.5 + 7 / 1024 + 1e-4)).all()
    largest = stored[NAME + SCALE].astype(float).max(axis=1)
    np.testing.assert_allclose(scale, largest * 7 / 63, rtol=1e-6)


def test_equal_scales_need_no_rounding():
    """Seven bits are nine times as fine as four."""
    stored = four_bits(1, 0.0)
    numbers, scale = requantise(stored, NAME)
    assert (numbers % 9 == 0).all()
    np.testing.assert_allclose(numbers * scale[:, None], unpack_one(stored, NAME), rtol=1e-6)


def test_a_row_of_zeros_stays_one_in_seven_bits():
    for precision in PRECISIONS:
        weight = random_matrix()
        weight[3] = 0
        numbers, scale = requantise(pack({NAME: weight}, precision), NAME)
        assert not numbers[3].any()
        assert np.isfinite(scale).all()


# Training rounds in PyTorch as NumPy packs.


@every_precision
@pytest.mark.parametrize("name", [NAME, "labels.weight"])
@given(seed=st.integers(0, 2**32), size=st.sampled_from([1e-30, 1e-6, 0.02, 1.0, 300.0]))
def test_a_weight_is_rounded_in_training_as_it_is_stored(precision: Precision, name: str, seed: int, size: float):
    generator = np.random.default_rng(seed)
    for shape in ((96, 2 * GROUP), (70, GROUP + 2), (64, 64), (96,), (3, 4, 5)):
        weight = (size * generator.standard_normal(shape)).astype(np.float32)
        weight[0] = 0
        stored = unpack(pack({name: weight}, precision))[name]
        rounded = round_weight(name, torch.from_numpy(weight), precision)
        assert rounded.dtype == torch.float32
        differs = (rounded.numpy() != stored).any(axis=-1)
        if precision == "int4" and differs.any():
            # Now and then two scales of a group are equally good, but for the order in which errors are summed up.
            one, other = (np.square(found - weight)[differs].sum(-1) for found in (rounded.numpy(), stored))
            np.testing.assert_allclose(one, other, rtol=1e-5)
        else:
            assert not differs.any()
