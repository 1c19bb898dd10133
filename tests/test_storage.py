"""Weights with few bits: how far off they may be, and what is said about files that do not add up."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import make_network as make_chart_network
from genrst.encoder.model import load_model, save_model
from genrst.errors import ConfigError
from genrst.packing import SCALE, Precision
from genrst.parser.folders import MODELS
from genrst.parser.loading import load
from genrst.rnng.finder import RnngModel, load_rnng
from genrst.rnng.learning import evaluate_greedily
from genrst.storage import CHECKSUM, WEIGHTS, check_shapes, count_parameters, read_weights, weight_files
from genrst.training.run import MODEL, Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.parser.samples import make_chart
from tests.rnng.test_storage import one_line
from tests.seed import SEED
from tests.training.samples import SMALL, prepare_samples

torch.set_num_threads(1)
PREPARED = prepare_samples()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RnngModel:
    """A model that has learned three documents by heart."""
    training = TrainingConfig(learning_rate=1e-2, max_epochs=60, patience=60, evaluate_search="greedy")
    config = RunConfig(model=SMALL, training=training)
    run = Run(config, 1, tmp_path_factory.mktemp("run"), torch.device("cpu"))
    for record in run.records(PREPARED):
        if record.dev_scores["F"] == 100:
            return load_rnng(run.folder / MODEL)
    pytest.fail("60 epochs were not enough")


@pytest.mark.slow
def test_a_trained_parser_still_parses(trained: RnngModel, tmp_path: Path):
    for precision in ("float32", "int8"):
        save_model(trained, tmp_path / precision, precision)
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < 0.45 * sizes[0]
    loaded = load_rnng(tmp_path / "int8")
    assert {weight.dtype for weight in loaded.network.state_dict().values()} == {torch.float32}
    assert not torch.equal(
        loaded.network.composition.from_children.weight, trained.network.composition.from_children.weight
    )
    assert evaluate_greedily(loaded.network, loaded.symbols, PREPARED.dev).percentages()["F"] == 100


def test_what_is_large_becomes_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("genrst.storage.LARGE", 3_000)
    chart = make_chart()
    save_model(chart, tmp_path, "float16")
    files = weight_files(tmp_path)
    assert len(files) > 2
    assert [file.name for file in files[:2]] == ["weights.safetensors", "weights-2.safetensors"]
    loaded = load_model(tmp_path, ChartConfig, Labels, make_chart_network).network.state_dict()
    assert read_weights(tmp_path).keys() == loaded.keys()
    for name, weight in chart.network.state_dict().items():
        assert torch.equal(loaded[name], weight.half().float())
    assert count_parameters(tmp_path) == sum(weight.numel() for weight in loaded.values())
    save_model(chart, tmp_path, "float32")
    assert len(weight_files(tmp_path)) == 1, "files of before are gone"


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_flipped_bit_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision):
    monkeypatch.setattr("genrst.storage.LARGE", 3_000)
    save_model(make_chart(), tmp_path, precision)
    chance, whole = random.Random(SEED), contents(tmp_path)
    for path in chance.choices(weight_files(tmp_path), k=40):
        content = path.read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        for place in (chance.randrange(start), chance.randrange(start, len(content))):
            damaged = bytearray(content)
            damaged[place] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            found = contents(tmp_path)
            # Without harm are only changes in the name of the checksum and of spaces.
            is_harmless = place < start and found == whole
            assert is_harmless or str(found).startswith(f"{path}: the model file is damaged: ")
        path.write_bytes(content)
    assert contents(tmp_path) == whole


def contents(folder: Path) -> dict[str, bytes] | str:
    """All weights, or why they cannot be read."""
    try:
        return {name: weight.tobytes() for name, weight in read_weights(folder).items()}
    except ConfigError as error:
        return str(error)


def test_shipped_models_and_copies_of_them_have_checksums(tmp_path: Path):
    load("en-generative", device="cpu").save(tmp_path / "copy")
    for folder in (*MODELS.iterdir(), tmp_path / "copy"):
        for path in folder.glob("*.safetensors"):
            with safe_open(path, "numpy") as file:
                assert CHECKSUM in (file.metadata() or {}), path


@pytest.fixture
def folder(trained: RnngModel, tmp_path: Path) -> Path:
    save_model(trained, tmp_path / "model", "int8")
    return tmp_path / "model"


def change(folder: Path, **changes: NDArray[Any] | None) -> str:
    """Change the first int8 matrix (`matrix`) or its scale (`scale`), or leave them out; gives the matrix' name."""
    stored = load_file(folder / WEIGHTS)
    name = next(name for name, tensor in stored.items() if tensor.dtype == np.int8)
    for part, tensor in changes.items():
        stored[name if part == "matrix" else name + SCALE] = np.zeros(0) if tensor is None else tensor
        if tensor is None:
            del stored[name if part == "matrix" else name + SCALE]
    save_file(stored, folder / WEIGHTS)
    return name


@pytest.mark.parametrize(
    ("scale", "found"),
    [
        (None, "none"),
        (np.ones(3, dtype=np.float32), r"float32 of shape \(3,\)"),
        (np.ones((), dtype=np.float32), r"float32 of shape \(\)"),
        (np.ones((3, 1), dtype=np.float32), r"float32 of shape \(3, 1\)"),
        (np.ones(3, dtype=np.int8), r"int8 of shape \(3,\)"),
    ],
)
def test_a_scale_that_does_not_fit(folder: Path, scale: NDArray[Any] | None, found: str):
    name = change(folder, scale=scale)
    with pytest.raises(
        ConfigError, match=f"{name}: an int8 matrix must have a float32 scale for each row, got {found}"
    ):
        load_rnng(folder)
    one_line(folder)


def test_a_matrix_that_does_not_fit(folder: Path):
    change(folder, matrix=np.ones((7, 5), dtype=np.int8), scale=np.ones(7, dtype=np.float32))
    assert "the weights do not fit the configuration: size mismatch" in one_line(folder)
    change(folder, matrix=np.ones(7, dtype=np.int8))
    assert "the weights do not fit the configuration: size mismatch" in one_line(folder)


def test_shapes_are_those_of_unpacked_weights(tmp_path: Path):
    stored: dict[str, NDArray[Any]] = {
        "plain": np.ones((2, 3), dtype=np.float16),
        "half": np.ones((2, 3), dtype=np.uint8),
        "number": np.array(1, dtype=np.uint8),
    }
    check_shapes(stored, {"plain": (2, 3), "half": (2, 6), "number": ()}, tmp_path)
    for name, shape, was in (
        ("plain", (3, 2), r"got \(2, 3\)"),
        ("half", (2, 3), r"got \(2, 6\)"),
        ("number", (1,), r"got \(\)"),
        ("other", (1,), "but is missing"),
    ):
        with pytest.raises(ConfigError, match=f"{name} must have the shape .+, {was}$"):
            check_shapes(stored, {name: shape}, tmp_path)


def test_a_scale_without_its_matrix(folder: Path):
    name = change(folder, matrix=None)
    assert name in one_line(folder)
