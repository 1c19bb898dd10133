import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from genrst.errors import ConfigError, CorpusNotFoundError, GenrstError
from genrst.model.examples import derive
from genrst.model.storage import Model, load_model, make_network, save_model
from genrst.storage import CONFIG, SYMBOLS, WEIGHTS
from genrst.training.dev import gold_likelihood
from tests.training.samples import SMALL, prepare_samples

PREPARED = prepare_samples()


def make_model(kind: str = "generative") -> Model:
    torch.manual_seed(7)
    return Model(make_network(dataclasses.replace(SMALL, kind=kind), PREPARED.symbols), PREPARED.symbols)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(make_model(), tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", ["generative", "discriminative"])
def test_a_model_comes_back_bit_for_bit(kind: str, tmp_path: Path):
    model = make_model(kind)
    save_model(model, tmp_path / "new" / "model")
    loaded = load_model(tmp_path / "new" / "model")
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
    loaded = load_model(tmp_path / "half").network.state_dict()
    for name, tensor in model.network.state_dict().items():
        assert loaded[name].dtype == torch.float32
        torch.testing.assert_close(loaded[name], tensor, atol=1e-3, rtol=1e-3)


def test_saving_again_replaces(folder: Path):
    model = make_model()
    with torch.no_grad():
        model.network.embeddings.weight.fill_(0.5)
    save_model(model, folder)
    assert (load_model(folder).network.embeddings.weight == 0.5).all()
    assert sorted(path.name for path in folder.iterdir()) == sorted([CONFIG, SYMBOLS, WEIGHTS])


def one_line(folder: Path) -> str:
    with pytest.raises(GenrstError) as error:
        load_model(folder)
    message = str(error.value)
    assert message.startswith(f"{folder}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", [CONFIG, SYMBOLS, WEIGHTS])
def test_a_missing_file(folder: Path, name: str):
    (folder / name).unlink()
    assert f"a model folder must hold {CONFIG}, {SYMBOLS} and {WEIGHTS}" in one_line(folder)
    with pytest.raises(CorpusNotFoundError):
        load_model(folder / "nowhere")


@pytest.mark.parametrize("name", [CONFIG, SYMBOLS, WEIGHTS])
@pytest.mark.parametrize("keep", [0, 1, 7, 50, -1])
def test_a_damaged_file(folder: Path, name: str, keep: int):
    path = folder / name
    path.write_bytes(path.read_bytes()[:keep])
    assert "a file of the model is damaged" in one_line(folder)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[" * 100_000, b"junk"])
def test_files_of_another_kind(folder: Path, content: bytes):
    for name in (CONFIG, SYMBOLS, WEIGHTS):
        old = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        assert "damaged" in one_line(folder)
        (folder / name).write_bytes(old)


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit_size": 25}, "the weights do not fit the configuration: size mismatch for"),
        ({"kind": "discriminative"}, "the weights do not fit the configuration: "),
        ({"edu_layers": 2}, "the weights do not fit the configuration: "),
        ({"edu_size": "16"}, "edu_size: the value must be of type int, was: '16'"),
        ({"colour": 1}, "colour: the key must be one of kind, word_size"),
    ],
)
def test_a_configuration_that_does_not_fit(folder: Path, changes: dict[str, object], message: str):
    change(folder / CONFIG, **changes)
    with pytest.raises(ConfigError):
        load_model(folder)
    assert f"{folder}: {message}" in one_line(folder)


def test_symbols_that_do_not_fit(folder: Path):
    words = list(PREPARED.symbols.words.symbols)
    change(folder / SYMBOLS, words=[*words, "more"])
    assert "the weights do not fit the configuration: size mismatch" in one_line(folder)
    change(folder / SYMBOLS, words=words[4:])
    assert "symbols must be words, deprels and labels" in one_line(folder)
    (folder / SYMBOLS).write_text("[]")
    assert "symbols must be" in one_line(folder)
    (folder / CONFIG).write_text("[]")
    assert "a configuration: the value must be a table, was: []" in one_line(folder)


def test_weights_that_are_a_folder(folder: Path):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()
    one_line(folder)
