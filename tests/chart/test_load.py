"""Folders of charts: what is read, and one line of error for what is damaged or does not fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from genrst.chart.examples import boundaries
from genrst.chart.learning.network import TorchScorer
from genrst.chart.load import load_scorer
from genrst.chart.scorer import OnnxScorer
from genrst.encoder.model import save_model
from genrst.errors import ConfigError, GenrstError
from genrst.packing import ENCODER, SCALE, Precision
from genrst.storage import CONFIG, WEIGHTS
from tests.encoder.tiny_encoders import FAST_KINDS, piece_example
from tests.parser.samples import FINE, make_chart

Weights = dict[str, NDArray[Any]]


def write(folder: Path, kind: str = "bert", precision: Precision = "float16") -> Path:
    save_model(make_chart(fine=FINE, encoder=kind), folder, precision)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "chart")


def copy(folder: Path, target: Path, change: Callable[[Weights], object]) -> Path:
    """The same model with other weights."""
    for path in folder.rglob("*"):
        if path.is_file():
            (target / path.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            (target / path.relative_to(folder)).write_bytes(path.read_bytes())
    weights = load_file(target / WEIGHTS)
    change(weights)
    save_file({name: np.ascontiguousarray(array) for name, array in weights.items()}, target / WEIGHTS)
    return target


def set_config(folder: Path, path: str, **settings: object) -> None:
    data = json.loads((folder / path).read_text())
    (folder / path).write_text(json.dumps(data | settings))


def one_line(folder: Path) -> str:
    """The error of a folder, which names it."""
    with pytest.raises(GenrstError) as error:
        load_scorer(folder)
    message = str(error.value)
    assert message.startswith(str(folder))
    assert "\n" not in message
    return message.removeprefix(str(folder))


@pytest.mark.parametrize("kind", [*FAST_KINDS, "qwen2"])
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_chart_comes_back(tmp_path: Path, kind: str, precision: Precision):
    """In ONNX Runtime if it reads the encoder, and with the scores that it has in PyTorch."""
    found = load_scorer(write(tmp_path, kind, precision), precision="float32")
    assert isinstance(found, OnnxScorer if kind in FAST_KINDS else TorchScorer)
    model, example = make_chart(fine=FINE, encoder=kind), piece_example(30, 1)
    assert model.tokenizer is not None
    expected = TorchScorer(model.network, model.symbols, model.tokenizer)
    assert (found.labels, found.tokenizer.json, found.device) == (model.symbols, model.tokenizer.json, "cpu")
    kinds, rows = boundaries(example.kinds), np.arange(len(example.pieces))
    one, other = (
        scorer.pool(scorer.read([example.pieces])[0], rows, example.piece_lengths, kinds)
        for scorer in (found, expected)
    )
    np.testing.assert_allclose(one, other, atol=1e-4 if precision == "float32" else 3e-2)


def test_windows_may_overlap_less(folder: Path):
    scorers = [load_scorer(folder, overlap=overlap) for overlap in (None, 0.5, 0.0)]
    pieces = piece_example(30, 1).pieces
    default, same, less = (scorer.read([pieces])[0] for scorer in scorers)
    assert np.array_equal(default, same)
    assert not np.array_equal(default, less)


def test_each_weight_must_be_there_and_have_its_shape(folder: Path, tmp_path: Path):
    """Of the encoder and of the chart; only what parsing does not use may be missing."""
    names = [*load_file(folder / WEIGHTS)]
    assert len(names) > 50
    changes: list[Callable[[NDArray[Any]], NDArray[Any]]] = [
        lambda array: array[:1] if len(array) > 1 else array[:0],
        lambda array: array[:, :1] if array.ndim > 1 and array.shape[1] > 1 else array[None],
        lambda array: np.concatenate([array, array]),
        lambda array: array[..., None],
        lambda array: array.reshape(-1)[0],
        lambda array: array.reshape(-1)[0].astype(np.uint8),
    ]
    for number, name in enumerate(names):
        assert name in one_line(copy(folder, tmp_path / f"{number}", lambda weights: weights.pop(name)))  # noqa: B023
        change = changes[number % len(changes)]
        target = tmp_path / f"{number}-changed"
        copy(folder, target, lambda weights: weights.update({name: change(weights[name])}))  # noqa: B023
        assert name in one_line(target)


def test_kinds_of_numbers_that_are_not_read(folder: Path, tmp_path: Path):
    """NumPy has no bfloat16, which PyTorch writes."""
    from safetensors.torch import load_file, save_file

    copy(folder, tmp_path, lambda weights: None)
    save_file({name: one.bfloat16() for name, one in load_file(tmp_path / WEIGHTS).items()}, tmp_path / WEIGHTS)
    assert "a file of the model is damaged" in one_line(tmp_path)


def test_weights_that_nobody_asked_for_do_not_matter(folder: Path, tmp_path: Path):
    more = {"surprise": np.ones(3, dtype=np.float32), f"{ENCODER}embeddings.surprise": np.ones(3, dtype=np.float32)}
    load_scorer(copy(folder, tmp_path, lambda weights: weights.update(more)))


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_scales_must_be_there(tmp_path: Path, precision: Precision):
    """Those of matrices of the encoder, and of the chart."""
    big = write_big(tmp_path / "big", precision)
    names = [name for name in load_file(big / WEIGHTS) if name.endswith(SCALE)]
    assert {name.startswith(ENCODER) for name in names} == {True, False}
    for number, name in enumerate(names):
        found = one_line(copy(big, tmp_path / f"{number}", lambda weights: weights.pop(name)))  # noqa: B023
        assert name.removesuffix(SCALE).removeprefix(ENCODER) in found
        target = copy(big, tmp_path / f"{number}-1", lambda weights: weights.update({name: weights[name][:-1]}))  # noqa: B023
        assert name.removesuffix(SCALE).removeprefix(ENCODER) in one_line(target)


def write_big(folder: Path, precision: Precision) -> Path:
    """A chart whose encoder has matrices that are worth a scale."""
    model = make_chart(fine=FINE)
    network = model.network
    from genrst.chart.config import ChartConfig
    from genrst.chart.learning.network import make_network
    from genrst.encoder.model import Model, wrap_encoder
    from tests.encoder.tiny_encoders import make_hugging_face, make_tokenizer

    config = ChartConfig(
        edu_size=64, encoder="tiny", encoder_window=24, span_size=16, span_heads=2, split_size=8, label_size=8
    )
    encoder = make_hugging_face(hidden_size=64, intermediate_size=128)
    network = make_network(config, model.symbols, wrap_encoder(config, encoder, make_tokenizer()))
    save_model(Model(network, model.symbols, make_tokenizer()), folder, precision)
    return folder


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_hidden_layers": 3}, "encoder.layer.2."),
        ({"hidden_size": 16}, "must have the shape"),
        ({"intermediate_size": 32}, "intermediate.dense"),
        ({"num_attention_heads": 3}, "num_attention_heads"),
        ({"model_type": "mpnet"}, "must have the shape"),
        ({"model_type": "roberta", "pad_token_id": 23}, "must have room for text"),
        ({"vocab_size": 50}, "must have the shape (50, 8), got (60, 8)"),
    ],
)
def test_an_encoder_of_other_sizes(folder: Path, tmp_path: Path, settings: dict[str, Any], message: str):
    copy(folder, tmp_path, lambda weights: None)
    set_config(tmp_path, f"encoder/{CONFIG}", **settings)
    assert message in one_line(tmp_path)


def test_a_tokenizer_with_more_pieces_than_the_encoder(folder: Path, tmp_path: Path):
    """It would be seen in the middle of a text."""
    name = f"{ENCODER}embeddings.word_embeddings.weight"
    copy(folder, tmp_path, lambda weights: weights.update({name: weights[name][:56]}))
    set_config(tmp_path, f"encoder/{CONFIG}", vocab_size=56)
    assert "the encoder must know all 57 word pieces, got 56" in one_line(tmp_path)


def test_windows_without_room(folder: Path, tmp_path: Path):
    name = f"{ENCODER}embeddings.position_embeddings.weight"
    copy(folder, tmp_path, lambda weights: weights.update({name: weights[name][:2]}))
    set_config(tmp_path, f"encoder/{CONFIG}", max_position_embeddings=2)
    assert one_line(tmp_path) == ": a window of the encoder must have room for text, got 2 word pieces"


@pytest.mark.parametrize("name", ["span_size", "edu_size", "split_size", "label_size", "segment_size"])
def test_a_chart_of_other_sizes(folder: Path, tmp_path: Path, name: str):
    copy(folder, tmp_path, lambda weights: None)
    set_config(tmp_path, CONFIG, **{name: 4})
    assert ": the weights do not fit the configuration: " in one_line(tmp_path)


def test_a_gpu_of_apple_has_no_double_precision(folder: Path):
    with pytest.raises(ConfigError, match="must be cpu or cuda, got mps"):
        load_scorer(folder, "mps")
