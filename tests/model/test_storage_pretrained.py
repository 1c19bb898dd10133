"""Models with a pretrained encoder on disk."""

import builtins
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from genrst.errors import GenrstError, MissingDependencyError
from genrst.model.storage import ENCODER, Model, load_model, make_network, save_model
from genrst.storage import CONFIG, SYMBOLS, WEIGHTS
from tests.model.tiny_encoders import KINDS, make_pretrained, make_tokenizer
from tests.training.samples import SMALL, prepare_samples


def make_model(kind: str = "bert") -> Model:
    torch.manual_seed(7)
    prepared = prepare_samples(make_tokenizer(kind))
    config = replace(SMALL, encoder="somewhere/else", document_size=8)
    network = make_network(config, prepared.symbols, make_pretrained(config, kind))
    return Model(network.eval(), prepared.symbols, make_tokenizer(kind))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(make_model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_bit_for_bit(kind: str, tmp_path: Path):
    model = make_model(kind)
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    weights = model.network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    for name, tensor in loaded.network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name
    assert not any(module.training for module in loaded.network.modules())
    assert loaded.network.window_shape == model.network.window_shape
    assert loaded.tokenizer is not None
    assert loaded.tokenizer.json == make_tokenizer(kind).json
    examples = prepare_samples(loaded.tokenizer).train
    with torch.inference_mode():
        assert torch.equal(loaded.network.encode_edus(examples), model.network.encode_edus(examples))


def test_files_of_a_model(folder: Path):
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {CONFIG, SYMBOLS, WEIGHTS, f"{ENCODER}/config.json", f"{ENCODER}/tokenizer.json"}
    assert not [name for name in load_file(folder / WEIGHTS) if "pooler" in name]


def test_half_precision(tmp_path: Path):
    model = make_model()
    save_model(model, tmp_path, "float16")
    assert {tensor.dtype for tensor in load_file(tmp_path / WEIGHTS).values()} == {torch.float16}
    loaded = load_model(tmp_path).network.state_dict()
    for name, tensor in model.network.state_dict().items():
        assert loaded[name].dtype == torch.float32
        torch.testing.assert_close(loaded[name], tensor, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"junk", b"{}", b"\xff", b'{"model_type": "gpt9"}'])
def test_damaged_files(folder: Path, name: str, content: bytes | None):
    (folder / ENCODER / name).unlink()
    if content is not None:
        (folder / ENCODER / name).write_bytes(content)
    with pytest.raises(GenrstError) as error:
        load_model(folder)
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)


def test_an_encoder_of_another_size(folder: Path):
    path = folder / ENCODER / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intermediate_size": 17}))
    with pytest.raises(GenrstError, match="the weights do not fit the configuration: size mismatch"):
        load_model(folder)


@pytest.mark.parametrize("library", ["transformers", "tokenizers"])
def test_without_the_libraries(folder: Path, library: str, monkeypatch: pytest.MonkeyPatch):
    normal = builtins.__import__

    def without(name: str, *parts: object, **others: object) -> object:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return normal(name, *parts, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[model\]'") as error:
        load_model(folder)
    assert "\n" not in str(error.value)
