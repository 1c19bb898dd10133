"""Weights with few bits: how far off they may be, and what is said about files that do not add up."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.torch import load_file, save_file
from torch import Tensor

from genrst.errors import ConfigError
from genrst.model.storage import Model, load_model, save_model
from genrst.segmenter.network import SegmenterConfig
from genrst.segmenter.segment import load_segmenter, save_segmenter
from genrst.storage import SCALE, WEIGHTS, Precision, pack, unpack
from genrst.training.dev import evaluate_greedily, parseval_f1
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.model.test_storage import one_line
from tests.segmenter.samples import make_segmenter
from tests.segmenter.test_segment import DOCUMENTS
from tests.training.samples import SMALL, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples()

ROWS = arrays.arrays(np.float32, (3, 8), elements=st.floats(-(2.0**100), 2.0**100, width=32))
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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model that has learned three documents by heart."""
    config = RunConfig(model=SMALL, training=TrainingConfig(learning_rate=1e-2, max_epochs=60, patience=60))
    run = Run(config, 1, tmp_path_factory.mktemp("run"), torch.device("cpu"))
    for record in run.records(PREPARED):
        if record.dev_scores["F"] == 100:
            return load_model(run.folder / MODEL)
    pytest.fail("60 epochs were not enough")


@pytest.mark.slow
def test_a_trained_parser_still_parses(trained: Model, tmp_path: Path):
    for precision in ("float32", "int8"):
        save_model(trained, tmp_path / precision, precision)
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < 0.45 * sizes[0]
    loaded = load_model(tmp_path / "int8")
    assert {weight.dtype for weight in loaded.network.state_dict().values()} == {torch.float32}
    assert not torch.equal(
        loaded.network.composition.from_children.weight, trained.network.composition.from_children.weight
    )
    assert parseval_f1(evaluate_greedily(loaded.network, loaded.symbols, PREPARED.dev))["F"] == 100


def test_a_segmenter(tmp_path: Path):
    segmenter = make_segmenter(DOCUMENTS, SegmenterConfig(hidden_size=40))
    save_segmenter(segmenter, tmp_path, "int8")
    assert torch.int8 in {tensor.dtype for tensor in load_file(tmp_path / WEIGHTS).values()}
    loaded = load_segmenter(tmp_path)
    for name, weight in segmenter.network.state_dict().items():
        torch.testing.assert_close(
            loaded.network.state_dict()[name], weight, atol=weight.abs().max().item() / 250, rtol=0
        )
    found = [each.segment(DOCUMENTS) for each in (segmenter, loaded)]
    starts = [{(one.id, edu.start) for one in documents for edu in one.edus} for documents in found]
    assert len(starts[0] ^ starts[1]) < 0.1 * len(starts[0])


@pytest.fixture
def folder(trained: Model, tmp_path: Path) -> Path:
    save_model(trained, tmp_path / "model", "int8")
    return tmp_path / "model"


def change(folder: Path, **changes: Tensor | None) -> str:
    """Change the first int8 matrix (`matrix`) or its scale (`scale`), or leave them out; gives the matrix' name."""
    stored = load_file(folder / WEIGHTS)
    name = next(name for name, tensor in stored.items() if tensor.dtype == torch.int8)
    for part, tensor in changes.items():
        stored[name if part == "matrix" else name + SCALE] = torch.zeros(0) if tensor is None else tensor
        if tensor is None:
            del stored[name if part == "matrix" else name + SCALE]
    save_file(stored, folder / WEIGHTS)
    return name


@pytest.mark.parametrize(
    ("scale", "found"),
    [
        (None, "none"),
        (torch.ones(3), r"torch.float32 of shape \(3,\)"),
        (torch.ones(()), r"torch.float32 of shape \(\)"),
        (torch.ones(3, 1), r"torch.float32 of shape \(3, 1\)"),
        (torch.ones(3, dtype=torch.int8), r"torch.int8 of shape \(3,\)"),
    ],
)
def test_a_scale_that_does_not_fit(folder: Path, scale: Tensor | None, found: str):
    name = change(folder, scale=scale)
    with pytest.raises(
        ConfigError, match=f"{name}: an int8 matrix must have a float32 scale for each row, was: {found}"
    ):
        load_model(folder)
    one_line(folder)


def test_a_matrix_that_does_not_fit(folder: Path):
    change(folder, matrix=torch.ones(7, 5, dtype=torch.int8), scale=torch.ones(7))
    assert "the weights do not fit the configuration: size mismatch" in one_line(folder)
    change(folder, matrix=torch.ones(7, dtype=torch.int8))
    assert "must have a float32 scale for each row" in one_line(folder)


def test_a_scale_without_its_matrix(folder: Path):
    name = change(folder, matrix=None)
    assert name in one_line(folder)
