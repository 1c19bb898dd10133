"""Qwen as an encoder: it reads both ways, and its tokenizer reads bytes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genrst.chart.config import ChartConfig
from genrst.chart.labels import Labels
from genrst.chart.learning.network import ChartNetwork, TorchScorer
from genrst.chart.load import load_scorer
from genrst.chart.texts import tokenize
from genrst.encoder.files import CONFIG, keep_layers, load_encoder, make_encoder
from genrst.encoder.model import Model, save_model
from genrst.encoder.tokenizer import PieceTokenizer
from genrst.errors import ConfigError
from genrst.text.raw import unsegmented
from tests.encoder.tiny_encoders import make_pretrained, make_tokenizer, piece_example, write_encoder

TOKENIZER = make_tokenizer("qwen2")
MODEL = ChartConfig(edu_size=3, encoder="tiny", span_size=8, span_heads=2, split_size=4, label_size=5)


def names(pieces: list[int]) -> list[str | None]:
    return [TOKENIZER._tokenizer.id_to_token(piece) for piece in pieces]


def test_every_text_starts_with_a_space():
    assert [names(pieces) for pieces in TOKENIZER(["ab c.", " ab", "ab\n\n c"])] == [
        ["Ġa", "b", "Ġc", "."],
        ["Ġa", "b"],
        ["Ġa", "b", "Ġc"],
    ]


words = st.text(st.sampled_from("abc."), min_size=1, max_size=4)


@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=5), st.sampled_from([" ", "\n", " \t\n"]))
def test_edus_have_the_same_pieces_alone_and_in_their_text(edus: list[list[str]], space: str):
    texts = [" ".join(edu) for edu in edus]
    whole = space.join(texts)
    read = TOKENIZER.find(whole)
    assert [piece.number for piece in read] == [piece for pieces in TOKENIZER(texts) for piece in pieces]
    # Words are where they seem to be, also where a space is a piece by itself, as before a full stop here.
    found = tokenize(unsegmented("", whole), TOKENIZER).words
    assert "".join(whole[word.start : word.end] for word in found) == "".join(whole.split())
    firsts = {n for n, c in enumerate(whole) if not c.isspace() and (n == 0 or whole[n - 1].isspace())}
    assert firsts <= {piece.start for piece in read if piece.starts_word}


def test_what_pieces_mean():
    """A line to be filled in is a mask; a letter after a space is not punctuation, nor is half a letter."""
    data = json.loads(TOKENIZER.json)
    assert TOKENIZER.mask is None
    for name in ("Ġ_", "Ġ.", "Ã", "Ġé".encode().decode("latin-1")[:1]):
        data["model"]["vocab"].setdefault(name, len(data["model"]["vocab"]))
    tokenizer = PieceTokenizer(json.dumps(data))
    numbers = data["model"]["vocab"]
    assert tokenizer.mask == numbers["Ġ_"]
    assert tokenizer.punctuation == [numbers["."], numbers["Ġ."]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("qwen"), "qwen2")


def with_settings(folder: Path, target: Path, **settings: object) -> Path:
    data = json.loads((folder / CONFIG).read_text())
    del data["rope_parameters"]
    (target / CONFIG).write_text(json.dumps(data | settings))
    return target


@pytest.mark.parametrize(
    "settings",
    [{"rope_theta": 5e5}, {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}, "rope_theta": 1e4}],
)
def test_rotary_positions(folder: Path, tmp_path: Path, settings: dict[str, object]):
    """Old files and new ones say the base in different places; without it, positions would be others."""
    found: Any = make_encoder(with_settings(folder, tmp_path, **settings), TOKENIZER)
    expected = 5e5 ** -(torch.arange(0, 4, 2) / 4)
    torch.testing.assert_close(found.rotary_emb.inv_freq, expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rope_theta": 0}, "rope_theta: the value must be 1 or more, got 0.0"),
        ({"rope_theta": float("inf")}, "rope_theta: the value must be 1 or more, got inf"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_type must be 'default', got .*yarn"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_type must be 'default', got .*linear"),
        ({"rope_parameters": 3}, "rope_type must be 'default', got 3"),
    ],
)
def test_settings_that_are_not_for_us(folder: Path, tmp_path: Path, settings: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        make_encoder(with_settings(folder, tmp_path, **settings), TOKENIZER)


@torch.inference_mode()
def test_a_piece_sees_later_ones_and_no_padding():
    encoder = make_pretrained(MODEL, "qwen2").eval()
    pieces = torch.tensor([[5, 6, 7, 8]])
    order = torch.zeros_like(pieces)
    states = encoder._states(pieces, order)
    later = encoder._states(torch.tensor([[5, 6, 7, 9]]), order)
    assert ((later - states).abs().amax(dim=2) > 1e-3).all()
    causal = encoder.encoder(input_ids=pieces).last_hidden_state
    assert ((causal - states).abs().amax(dim=2) > 1e-3)[0, :3].all(), "as transformers itself would read"
    padding = torch.iinfo(torch.int64).max
    padded = encoder._states(torch.tensor([[5, 6, 7, 8, 30, 31]]), torch.tensor([[0, 0, 0, 0, padding, padding]]))
    torch.testing.assert_close(padded[:, :4], states, atol=1e-6, rtol=0)


def test_some_of_its_layers_are_kept(folder: Path):
    whole, cut = (load_encoder(str(folder), TOKENIZER) for _ in range(2))
    keep_layers(cut, [1])
    expected = {n.replace("layers.1.", "layers.0."): t for n, t in whole.state_dict().items() if "layers.0." not in n}
    assert cut.state_dict().keys() == expected.keys()
    for name, tensor in cut.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    pieces = torch.tensor([[5, 6]])
    assert not torch.equal(cut(input_ids=pieces).last_hidden_state, whole(input_ids=pieces).last_hidden_state)


@torch.inference_mode()
def test_a_chart_comes_back(tmp_path: Path):
    torch.manual_seed(3)
    labels = Labels((("joint", "NN"), ("cause", "NS")))
    network = ChartNetwork(MODEL, labels, make_pretrained(MODEL, "qwen2")).eval()
    save_model(Model(network, labels, TOKENIZER), tmp_path)
    assert json.loads((tmp_path / "encoder" / CONFIG).read_text())["model_type"] == "qwen2"
    example = piece_example(12, 3)
    windows = network.make_batch([example]).windows
    expected = network.edu_encoder.read(windows)
    found = load_scorer(tmp_path)
    assert isinstance(found, TorchScorer), "ONNX Runtime does not read it"
    assert found.tokenizer.json == TOKENIZER.json
    torch.testing.assert_close(found.network.edu_encoder.read(windows), expected, atol=1e-5, rtol=1e-5)
    half: Any = load_scorer(tmp_path, precision="bfloat16").network.edu_encoder  # type: ignore[attr-defined]
    assert {parameter.dtype for parameter in half.encoder.parameters()} == {torch.bfloat16}
    assert half.encoder.rotary_emb.inv_freq.dtype == torch.float32
    states = half.read(windows)
    assert not torch.equal(states, expected)
    assert np.linalg.norm(states - expected) < 0.05 * np.linalg.norm(expected)
