"""The encoder of parsing computes what those of transformers do, whatever is read with it and by how many threads."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from genrst.encoder.batch import pack_pieces
from genrst.encoder.files import CONFIG, read_encoder_config
from genrst.encoder.onnx import n_threads
from genrst.encoder.runtime import Encoder, Precision, distance_classes, is_supported
from genrst.encoder.tokenizer import IntArray
from genrst.encoder.windows import WindowShape, cut
from genrst.packing import ENCODER, pack, unpack
from tests.chart.random_networks import encoder_config, weights_of
from tests.encoder.tiny_encoders import (
    FAST_KINDS,
    KINDS,
    N_POSITIONS,
    make_hugging_face,
    make_pretrained,
    random_pieces,
    write_encoder,
)
from tests.parser.samples import SMALL_CHART

every_kind = pytest.mark.parametrize("kind", FAST_KINDS)
PRECISIONS: list[Precision] = ["float32", "int8"]
every_precision = pytest.mark.parametrize("precision", PRECISIONS)
SHAPE = WindowShape(N_POSITIONS, 0.5, False, (2,), (3,), 0)


def both(kind: str, precision: Precision = "float32", **sizes: int) -> tuple[Any, Encoder]:
    """An encoder of transformers, and ours with its weights."""
    theirs = make_hugging_face(kind, 7, **sizes).eval()
    theirs.pooler = None
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            # Biases and norms too, which transformers makes zeros and ones.
            parameter.normal_(float("LayerNorm.weight" in name), min(0.3, parameter.shape[-1] ** -0.5))
    return theirs, Encoder(encoder_config(theirs), weights_of(theirs), precision)


def states_of(theirs: Any, pieces: IntArray) -> np.ndarray[Any, np.dtype[np.float32]]:
    with torch.inference_mode():
        found: np.ndarray[Any, np.dtype[np.float32]] = (
            theirs(torch.from_numpy(pieces)[None]).last_hidden_state[0].numpy()
        )
    return found


@every_kind
@pytest.mark.parametrize("length", [1, 2, 7, N_POSITIONS])
def test_states_are_those_of_transformers(kind: str, length: int):
    theirs, ours = both(kind)
    pieces = np.random.default_rng(length).integers(4, 57, length)
    found = ours(pieces)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, states_of(theirs, pieces), rtol=1e-4, atol=1e-5)


@every_kind
def test_a_larger_encoder_is_that_of_transformers(kind: str):
    """More heads than layers, a hidden layer of an odd size, and distances of every class."""
    sizes: Any = {"hidden_size": 96, "num_attention_heads": 6, "num_hidden_layers": 3, "intermediate_size": 70}
    theirs, ours = both(kind, max_position_embeddings=302, **sizes)
    pieces = np.random.default_rng(1).integers(4, 57, 300)
    np.testing.assert_allclose(ours(pieces), states_of(theirs, pieces), rtol=1e-4, atol=1e-4)
    _, rounded = both(kind, "int8", max_position_embeddings=302, **sizes)
    expected, found = ours(pieces), rounded(pieces)
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)
    assert not np.array_equal(found, expected)


@every_kind
def test_int8_stays_near(kind: str):
    (_, exact), (_, rounded) = both(kind), both(kind, "int8")
    pieces = np.random.default_rng(2).integers(4, 57, N_POSITIONS)
    expected, found = exact(pieces), rounded(pieces)
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)
    assert not np.array_equal(found, expected)


@every_kind
@pytest.mark.parametrize("stored", ["float32", "float16", "int8", "int4"])
def test_weights_may_be_stored_in_any_precision(kind: str, stored: Any):
    """They are read as if they were unpacked before."""
    theirs, _ = both(kind, hidden_size=64, num_attention_heads=2, intermediate_size=128)
    packed = pack({ENCODER + name: array for name, array in weights_of(theirs).items()}, stored)
    weights = {name.removeprefix(ENCODER): array for name, array in packed.items()}
    kinds = {array.dtype.name for array in weights.values()}
    assert kinds == {"int8": {"int8", "float32", "float16"}, "int4": {"uint8", "float16"}}.get(stored, {stored})
    pieces = np.random.default_rng(3).integers(4, 57, N_POSITIONS)
    expected = Encoder(encoder_config(theirs), unpack(weights), "float32")(pieces)
    assert np.array_equal(Encoder(encoder_config(theirs), weights, "float32")(pieces), expected)
    found = Encoder(encoder_config(theirs), weights, "int8")(pieces)
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


@every_kind
@every_precision
def test_texts_together_are_texts_alone(kind: str, precision: Precision, monkeypatch: pytest.MonkeyPatch):
    """Bit by bit, and by however many threads."""
    _, encoder = both(kind, precision)
    texts = [random_pieces(n_edus, n_edus)[0] for n_edus in (1, 30, 3, 9, 1)]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = [encoder.read([text], SHAPE)[0] for text in texts]
    assert {states.dtype for states in alone} == {np.dtype(encoder.state_dtype)}
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [1, 1]):
            found = encoder.read([texts[number] for number in order], SHAPE)
            for number, states in zip(order, found, strict=True):
                assert np.array_equal(states, alone[number])
    assert encoder.read([], SHAPE) == []


@every_kind
@every_precision
def test_a_piece_is_read_where_it_has_the_most_context(kind: str, precision: Precision):
    _, encoder = both(kind, precision)
    pieces, _ = random_pieces(30, 5)
    (found,) = encoder.read([pieces], SHAPE)
    windows = cut([1] * len(pieces), N_POSITIONS - 2, 0.5, is_causal=False)
    assert len(windows) > 5
    for window in windows:
        states = encoder(np.array([2, *pieces[window.start : window.stop], 3]))[1:-1].astype(found.dtype)
        own = slice(window.first - window.start, window.last - window.start)
        assert np.array_equal(found[window.first : window.last], states[own])
    assert [right.first - left.last for left, right in pairwise(windows)] == [0] * (len(windows) - 1)


@every_kind
@torch.inference_mode()
def test_long_texts_are_read_as_in_training(kind: str):
    """The windows of PyTorch, with padding, give the same states."""
    pretrained = make_pretrained(SMALL_CHART, kind).eval()
    encoder = Encoder(encoder_config(pretrained.encoder), weights_of(pretrained.encoder), "float32")
    texts = [random_pieces(n_edus, n_edus)[0] for n_edus in (25, 2, 11)]
    assert encoder.n_positions == pretrained.shape.size == N_POSITIONS
    expected = pretrained.read(pack_pieces(texts, pretrained.shape)).numpy()
    np.testing.assert_allclose(np.concatenate(encoder.read(texts, pretrained.shape)), expected, rtol=1e-4, atol=1e-5)


@every_kind
def test_errors_in_threads_are_not_lost(kind: str, monkeypatch: pytest.MonkeyPatch):
    _, encoder = both(kind)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with pytest.raises(IndexError):
        encoder.read([np.array([5]), np.array([10**6]), np.array([6])], SHAPE)


def test_distances_have_the_classes_of_transformers():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = np.arange(-600, 601)
    expected = MPNetEncoder.relative_position_bucket(torch.from_numpy(distances))
    assert distance_classes(distances, 32).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("wanted", "expected"), [("1", 1), ("3", 3), ("0", None), ("", None), ("-2", None), ("x", None)]
)
def test_threads_can_be_set(monkeypatch: pytest.MonkeyPatch, wanted: str, expected: int | None):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    default = n_threads()
    assert default >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    assert n_threads() == (expected or default)


# What is left to PyTorch.


@pytest.mark.parametrize("kind", KINDS)
def test_encoders_that_are_read_here(kind: str, tmp_path: Path):
    assert is_supported(read_encoder_config(write_encoder(tmp_path, kind) / CONFIG)) == (kind in FAST_KINDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_act", "relu"), ("num_attention_heads", None), ("layer_norm_eps", None), ("pad_token_id", None)],
)
def test_settings_that_are_not_read_here(tmp_path: Path, name: str, value: object):
    config = read_encoder_config(write_encoder(tmp_path, "mpnet") / CONFIG)
    assert not is_supported(replace(config, **{name: value}))  # type: ignore[arg-type]


def test_settings_are_written_as_they_were_read(tmp_path: Path):
    config = read_encoder_config(write_encoder(tmp_path, "mpnet") / CONFIG)
    (tmp_path / "again.json").write_text(config.to_json_string())
    assert read_encoder_config(tmp_path / "again.json") == config
