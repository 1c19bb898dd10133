"""`genrst train` with a pretrained encoder, as people call it."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from genrst.model.storage import load_model
from genrst.training.data import load_prepared
from tests.cli.workspace import Workspace, make_workspace, names
from tests.model.tiny_encoders import make_tokenizer, write_encoder

ENCODER = ["--set", "model.encoder=encoder"]
RUN = Path("runs/tiny")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("encoder"))
    capsys.readouterr()
    return make_workspace(tmp_path, capsys)


def test_from_a_corpus_to_a_model(here: Workspace):
    found = here.train(*ENCODER, "--set", "model.document_size=4")
    assert found.status == 0
    assert names(RUN / "model") == ["config.json", "encoder", "parser.json", "symbols.json", "weights.safetensors"]
    (features,) = Path("cache").iterdir()
    assert load_prepared(features).tokenizer == make_tokenizer().json
    model = load_model(RUN / "model")
    assert model.network.window_shape is not None
    assert model.tokenizer is not None


def test_another_machine_needs_only_the_features_and_the_weights(here: Workspace):
    features = here.train(*ENCODER, "--prepare-only").output.strip()
    Path("encoder/tokenizer.json").unlink()
    assert here.train(*ENCODER, "--prepared", features).status == 0
    tokenizer = load_model(RUN / "model").tokenizer
    assert tokenizer is not None
    assert tokenizer.json == make_tokenizer().json


def test_every_tokenizer_has_features_of_its_own(here: Workspace):
    write_encoder(Path("other"), "mpnet")
    write_encoder(Path("same"), seed=1)
    here.capsys.readouterr()
    options: tuple[list[str], ...] = ([], ENCODER, ["--set", "model.encoder=other"], ["--set", "model.encoder=same"])
    files = [here.train("--prepare-only", *option).output for option in options]
    assert len(set(files[:3])) == 3
    assert files[3] == files[1], "other weights, the same features"


def test_an_encoder_that_is_not_there(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", Mock(side_effect=OSError("no network")))
    features = here.train(*ENCODER, "--prepare-only").output.strip()
    for options in ([], ["--prepared", features]):
        found = here.train("--set", "model.encoder=nobody/nothing", *options)
        assert found.status == 1
        (message,) = found.messages
        assert "was: 'nobody/nothing'; download it there (hf download nobody/nothing)" in message


def test_features_without_pieces(here: Workspace):
    found = here.train(*ENCODER, "--prepared", "features.npz")
    assert found.status == 1
    assert "must be prepared with an encoder" in found.messages[0]
