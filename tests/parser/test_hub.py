"""Models from the Hub, by a stand-in for it on this machine."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import genrst
from genrst.errors import (
    ConfigError,
    GenrstError,
    MissingDependencyError,
    ModelNotFoundError,
    ParserWarning,
    UsageError,
)
from genrst.parser import hub as hub_files
from genrst.parser.folders import describe_model, find_model, read_parser_config
from genrst.parser.hub import fetch, is_model_file, pinned
from tests.cli.program import call
from tests.parser.hub_server import TOKEN, Hub
from tests.parser.samples import TEXT, write_ensemble

NAME = "ann/forum"


@pytest.fixture
def chart(chart_folder: Path) -> Path:
    return chart_folder


def refused(name: str, error: type[GenrstError] = GenrstError) -> str:
    fetch.cache_clear()
    with pytest.raises(error) as caught:
        find_model(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_commit_is_loaded_and_parses(hub: Hub, chart: Path):
    name = f"hf:{NAME}@{hub.add(NAME, chart)}"
    hub.add_files(NAME, {})
    found, own = genrst.load(name, device="cpu"), genrst.load(chart, device="cpu")
    assert found(TEXT).tree == own(TEXT).tree
    assert pinned(name) == name
    asked = len(hub.requests)
    find_model(name)
    assert len(hub.requests) == asked, "it is known in this program"


def test_without_a_commit_it_is_said_which_one_it_was(hub: Hub, chart: Path):
    commit = hub.add(NAME, chart)
    for name in (f"hf:{NAME}", f"hf:{NAME}@main"):
        fetch.cache_clear()
        with pytest.warns(ParserWarning, match=f"^{name}: .* to load the same model again, use hf:{NAME}@{commit}$"):
            folder = find_model(name)
        hub.add_files(NAME, {})
        assert find_model(name) == folder, "also where there is a new one"
        assert pinned(name) == f"hf:{NAME}@{commit}"
        commit = hub.add(NAME, chart)
    assert pinned("en") == "en"
    assert pinned(None) is None


def test_only_what_is_needed_is_downloaded_and_once(hub: Hub, chart: Path):
    name = f"hf:{NAME}@{hub.add(NAME, chart)}"
    folder = find_model(name)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {path.relative_to(chart).as_posix() for path in chart.rglob("*") if path.is_file()}
    hub.requests.clear()
    fetch.cache_clear()
    assert find_model(name) == folder
    assert not [request for request in hub.requests if request.startswith("GET") and "/resolve/" in request]


def test_it_is_loaded_from_the_cache_where_there_is_no_network(hub: Hub, chart: Path, monkeypatch: pytest.MonkeyPatch):
    commit = hub.add(NAME, chart)
    with pytest.warns(ParserWarning):
        folder = find_model(f"hf:{NAME}")
    hub.is_down = True
    fetch.cache_clear()
    assert find_model(f"hf:{NAME}@{commit}") == folder
    with pytest.warns(ParserWarning, match=commit):
        assert find_model(f"hf:{NAME}") == folder
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub.requests.clear()
    fetch.cache_clear()
    assert find_model(f"hf:{NAME}@{commit}") == folder
    assert not hub.requests
    assert f"hf:{NAME}@{'0' * 40}: the model is not in the" in refused(f"hf:{NAME}@{'0' * 40}", ModelNotFoundError)


@pytest.mark.parametrize("file", ["weights.safetensors", "symbols.json"])
def test_a_file_with_another_hash_is_refused_and_forgotten(hub: Hub, chart: Path, file: str):
    name = f"hf:{NAME}@{hub.add(NAME, chart)}"
    hub.wrong_hash = file
    message = refused(name, ConfigError)
    assert f"{name}: {file} is damaged: its " in message
    assert "must be 0000" in message
    hub.wrong_hash = None
    assert is_model_folder(find_model(name))


def is_model_folder(folder: Path) -> bool:
    return bool(describe_model(folder)["n_parameters"])


@pytest.mark.parametrize("file", ["config.json", "symbols.json", "weights.safetensors"])
def test_a_missing_file(hub: Hub, chart: Path, file: str):
    hub.add(NAME, chart)
    files = dict(hub.repositories[NAME].files)
    del files[file]
    name = f"hf:{NAME}@{hub.add_files(NAME, files)}"
    assert refused(name, ModelNotFoundError).endswith(f"{file} is missing")
    assert not [request for request in hub.requests if "/resolve/" in request], "nothing was downloaded"


@pytest.mark.parametrize(
    "file",
    ["pytorch_model.bin", "model.pkl", "modeling.py", "encoder/run.sh", "other.safetensors", "a/b/c/config.json",
     ".hidden/config.json", "odd\nname.json"],
)  # fmt: skip
def test_nothing_but_a_model_is_downloaded(hub: Hub, chart: Path, file: str):
    hub.add(NAME, chart)
    name = f"hf:{NAME}@{hub.add_files(NAME, {**hub.repositories[NAME].files, file: b'anything'})}"
    message = refused(name, ConfigError)
    assert "only the files of a model" in message
    assert message.endswith(f"got {ascii(file)[1:-1]}")
    assert not [request for request in hub.requests if "/resolve/" in request]


def test_settings_that_are_too_large(hub: Hub, chart: Path, monkeypatch: pytest.MonkeyPatch):
    name = f"hf:{NAME}@{hub.add(NAME, chart)}"
    monkeypatch.setattr("genrst.storage.MOST_BYTES", 1)
    assert "must be at most 1 bytes" in refused(name, ConfigError)


def test_weights_with_another_checksum(hub: Hub, chart: Path):
    """The Hub lists the right hash of wrong numbers: the checksum in their header says so."""
    hub.add(NAME, chart)
    files = dict(hub.repositories[NAME].files)
    weights = bytearray(files["weights.safetensors"])
    weights[-1] ^= 1
    name = f"hf:{NAME}@{hub.add_files(NAME, {**files, 'weights.safetensors': bytes(weights)})}"
    with pytest.raises(ConfigError, match="the checksum of the weights must be"):
        genrst.load(name, device="cpu")


def test_what_is_not_there(hub: Hub, chart: Path):
    hub.add(NAME, chart)
    message = refused("hf:ann/nothing@" + "0" * 40, ModelNotFoundError)
    assert "no such repository on the Hub; if it is private, log in: hf auth login" in message
    assert "has no such commit" in refused(f"hf:{NAME}@{'0' * 40}", ModelNotFoundError)
    hub.repositories[NAME].is_gated = True
    assert "access is restricted" in refused(f"hf:{NAME}", ModelNotFoundError)
    hub.is_down = True
    assert "the Hub cannot be reached: " in refused(f"hf:{NAME}", ModelNotFoundError)


def test_a_private_repository_needs_the_token(hub: Hub, chart: Path, monkeypatch: pytest.MonkeyPatch):
    name = f"hf:{NAME}@{hub.add(NAME, chart)}"
    hub.repositories[NAME].is_private = True
    assert "no such repository" in refused(name, ModelNotFoundError)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert is_model_folder(find_model(name))


@pytest.mark.parametrize("name", ["hf:", "hf:forum", "hf:a/b/c", "hf:a/b@", "hf:a/../b@x", "hf:a/b@../x", "hf:./b"])
def test_names_that_are_none(name: str):
    assert refused(name, UsageError) == f"the name of a model on the Hub must be hf:USER/NAME@COMMIT, got {name!r}"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    message = refused(f"hf:{NAME}", MissingDependencyError)
    assert message == "models on the Hugging Face Hub need huggingface_hub: pip install 'genrst[hub]'"


def test_a_model_without_a_name_has_that_of_its_repository(hub: Hub, chart: Path):
    folder = find_model(f"hf:{NAME}@{hub.add(NAME, chart)}")
    (folder / "parser.json").unlink(missing_ok=True)
    assert read_parser_config(folder).name == "forum"
    assert hub_files.name_of(chart) == "chart"


def test_an_ensemble(hub: Hub, chart: Path, tmp_path: Path):
    write_ensemble(tmp_path / "some", {str(chart): 1.0, str(chart.resolve()): 2.0})
    parser = genrst.load(tmp_path / "some", device="cpu")
    parser.save(tmp_path / "whole")
    found = genrst.load(f"hf:{NAME}@{hub.add(NAME, tmp_path / 'whole')}", device="cpu")
    assert found(TEXT).tree == parser(TEXT).tree
    found.config = replace(found.config, temperature=2.0)
    found.save(tmp_path / "again")
    assert read_parser_config(tmp_path / "again").temperature == 2


def test_info_of_a_model_on_the_hub(hub: Hub, chart: Path, capsys: pytest.CaptureFixture[str]):
    outcome = call(capsys, "info", f"hf:{NAME}@{hub.add(NAME, chart)}")
    assert outcome.status == 0
    assert "# A chart" in outcome.output


def test_the_files_of_a_model(chart: Path):
    own = [path.relative_to(chart).as_posix() for path in chart.rglob("*") if path.is_file()]
    shipped = find_model("en")
    own += [path.relative_to(shipped).as_posix() for path in shipped.rglob("*") if path.is_file()]
    assert all(map(is_model_file, own))
    assert all(is_model_file(f"1-en/{name}") for name in own)


@pytest.mark.slow
def test_the_address_is_that_of_the_environment(hub: Hub, chart: Path, tmp_path: Path):
    """As users set it, in a program of its own: published by the command line, and parsed with."""
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
    environment = os.environ | settings | {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    (tmp_path / "rain.txt").write_text(TEXT, encoding="utf-8")

    def genrst_says(*words: str) -> str:
        command = [sys.executable, "-m", "genrst", *words]
        result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    name = genrst_says("push", str(chart), NAME)
    assert name == f"hf:{NAME}@{hub.repositories[NAME].head}"
    assert genrst_says("parse", "rain.txt", "--model", name) == genrst_says("parse", "rain.txt", "--model", str(chart))
