"""Models on disk: they come back bit for bit, and whatever is wrong with a file is said in one line."""

import builtins
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from genrst.encoder.model import Model, save_model
from genrst.errors import ConfigError, GenrstError, MissingDependencyError, ModelNotFoundError
from genrst.rnng.batch import derive
from genrst.rnng.finder import RnngModel, load_rnng, make_network
from genrst.rnng.learning import gold_likelihood
from genrst.storage import CONFIG, ENCODER, SYMBOLS, WEIGHTS
from tests.encoder.tiny_encoders import KINDS, make_pretrained, make_tokenizer
from tests.training.samples import SMALL, prepare_samples

PREPARED = prepare_samples()


def make_model(kind: str = "generative") -> RnngModel:
    torch.manual_seed(7)
    return Model(make_network(replace(SMALL, kind=kind), PREPARED.symbols), PREPARED.symbols)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(make_model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", ["generative", "discriminative"])
def test_a_model_comes_back_bit_for_bit(kind: str, tmp_path: Path):
    model = make_model(kind)
    save_model(model, tmp_path / "new" / "model")
    loaded = load_rnng(tmp_path / "new" / "model")
    assert loaded.symbols == model.symbols
    assert loaded.network.config == model.network.config
    assert not loaded.network.training
    weights = model.network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    for name, tensor in loaded.network.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, weights[name]), name
    gold = [derive(example, PREPARED.symbols.nucleus_is_right) for example in PREPARED.dev]
    scores = [gold_likelihood(one.network, PREPARED.dev, gold, 2) for one in (model, loaded)]
    assert scores[0] == scores[1]


def test_half_precision_is_half_the_size_and_nearly_the_same(tmp_path: Path):
    model = make_model()
    save_model(model, tmp_path / "whole")
    save_model(model, tmp_path / "half", "float16")
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    assert {tensor.dtype for tensor in load_file(tmp_path / "half" / WEIGHTS).values()} == {torch.float16}
    loaded = load_rnng(tmp_path / "half").network.state_dict()
    for name, tensor in model.network.state_dict().items():
        assert loaded[name].dtype == torch.float32
        torch.testing.assert_close(loaded[name], tensor, atol=1e-3, rtol=1e-3)


def test_saving_again_replaces(folder: Path):
    model = make_model()
    with torch.no_grad():
        model.network.embeddings.weight.fill_(0.5)
    save_model(model, folder)
    assert (load_rnng(folder).network.embeddings.weight == 0.5).all()
    assert sorted(path.name for path in folder.iterdir()) == sorted([CONFIG, SYMBOLS, WEIGHTS])


def one_line(folder: Path) -> str:
    with pytest.raises(GenrstError) as error:
        load_rnng(folder)
    message = str(error.value)
    assert message.startswith(str(folder))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", [CONFIG, SYMBOLS, WEIGHTS])
def test_a_missing_file(folder: Path, name: str):
    (folder / name).unlink()
    rule = f"a model folder must hold {CONFIG}, {SYMBOLS} and {WEIGHTS}"
    assert one_line(folder) == f"{folder}: {name} is missing; {rule}"
    with pytest.raises(ModelNotFoundError):
        load_rnng(folder / "nowhere")


@pytest.mark.parametrize("name", [CONFIG, SYMBOLS, WEIGHTS])
@pytest.mark.parametrize("keep", [0, 1, 7, 50, -1])
def test_a_damaged_file(folder: Path, name: str, keep: int):
    path = folder / name
    path.write_bytes(path.read_bytes().rstrip()[:keep])
    assert one_line(folder).startswith(f"{path}: the model file is damaged")


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit_size": 25}, ": the weights do not fit the configuration: size mismatch for"),
        ({"kind": "discriminative"}, ": the weights do not fit the configuration: "),
        ({"edu_layers": 2}, ": the weights do not fit the configuration: "),
        ({"edu_size": "16"}, f"/{CONFIG}: edu_size: the value must be of type int, got '16'"),
        ({"colour": 1}, f"/{CONFIG}: colour: unknown key; must be one of kind, word_size"),
    ],
)
def test_a_configuration_that_does_not_fit(folder: Path, changes: dict[str, object], message: str):
    change(folder / CONFIG, **changes)
    with pytest.raises(ConfigError):
        load_rnng(folder)
    assert one_line(folder).startswith(f"{folder}{message}")


def test_symbols_that_do_not_fit(folder: Path):
    words = list(PREPARED.symbols.words.symbols)
    change(folder / SYMBOLS, words=[*words, "more"])
    assert "the weights do not fit the configuration: size mismatch" in one_line(folder)
    change(folder / SYMBOLS, words=words[4:])
    assert "the symbols are malformed: " in one_line(folder)
    (folder / SYMBOLS).write_text("[]")
    assert "the symbols are malformed" in one_line(folder)
    (folder / CONFIG).write_text("[]")
    assert "a configuration: the value must be a table, got []" in one_line(folder)


def test_weights_that_are_a_folder(folder: Path):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()
    one_line(folder)


def make_encoded(kind: str = "bert") -> RnngModel:
    torch.manual_seed(7)
    prepared = prepare_samples(make_tokenizer(kind))
    config = replace(SMALL, encoder="somewhere/else", document_size=8)
    network = make_network(config, prepared.symbols, make_pretrained(config, kind))
    return Model(network.eval(), prepared.symbols, make_tokenizer(kind))


@pytest.fixture
def encoded(tmp_path: Path) -> Path:
    save_model(make_encoded(), tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_an_encoder_comes_back_bit_for_bit(kind: str, tmp_path: Path):
    model = make_encoded(kind)
    save_model(model, tmp_path)
    loaded = load_rnng(tmp_path)
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


def test_files_of_a_model_with_an_encoder(encoded: Path):
    files = {str(path.relative_to(encoded)) for path in encoded.rglob("*") if path.is_file()}
    assert files == {CONFIG, SYMBOLS, WEIGHTS, f"{ENCODER}/config.json", f"{ENCODER}/tokenizer.json"}
    assert not [name for name in load_file(encoded / WEIGHTS) if "pooler" in name]


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"junk", b"{}", b"\xff", b'{"model_type": "gpt9"}'])
def test_damaged_files_of_an_encoder(encoded: Path, name: str, content: bytes | None):
    (encoded / ENCODER / name).unlink()
    if content is not None:
        (encoded / ENCODER / name).write_bytes(content)
    with pytest.raises(GenrstError) as error:
        load_rnng(encoded)
    assert str(error.value).startswith(str(encoded))
    assert "\n" not in str(error.value)


def test_an_encoder_of_another_size(encoded: Path):
    path = encoded / ENCODER / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intermediate_size": 17}))
    with pytest.raises(GenrstError, match="the weights do not fit the configuration: size mismatch"):
        load_rnng(encoded)


@pytest.mark.parametrize("library", ["transformers", "tokenizers"])
def test_without_the_libraries(encoded: Path, library: str, monkeypatch: pytest.MonkeyPatch):
    normal = builtins.__import__

    def without(name: str, *parts: object, **others: object) -> object:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return normal(name, *parts, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[torch\]'") as error:
        load_rnng(encoded)
    assert "\n" not in str(error.value)
