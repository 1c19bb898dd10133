from pathlib import Path

import pytest

from genrst.config import CONFIGS, find_config
from genrst.errors import ConfigError
from genrst.rnng.config import RnngConfig
from genrst.training.run_config import load_config

SHIPPED = sorted(CONFIGS.glob("*.toml"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('[data]\npath = "corpus"\n[training]\nclip = 2.0\n')
    return path


def test_files_are_shipped():
    assert {path.name for path in SHIPPED} >= {"paper.toml", "paper-discriminative.toml", "mpnet-chart.toml"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_file_loads(path: Path):
    config = load_config(path, ["training.seeds=[1, 2, 3]"])
    assert config.training.seeds == (1, 2, 3)
    assert config.data.path


@pytest.mark.parametrize("name", ["paper", "paper-discriminative"])
def test_the_paper_s_sizes(name: str):
    config = load_config(find_config(name))
    model, training = config.model, config.training
    assert isinstance(model, RnngConfig)
    assert (model.word_size, model.relation_size, model.boundary_size, model.deprel_size) == (300, 100, 10, 50)
    assert (model.edu_size, model.unit_size, model.stack_size, model.edu_layers) == (512, 512, 512, 2)
    assert (training.learning_rate, training.blank_noise) == (1e-3, 0.25)
    assert model.kind == ("discriminative" if "discriminative" in name else "generative")


@pytest.mark.parametrize(
    "change",
    [
        "seeds=[]",
        "seeds=[1, 2, 1]",
        f"seeds=[{2**63}]",
        "batch_documents=0",
        "max_epochs=0",
        "patience=0",
        "learning_rate=0",
        "learning_rate=nan",
        "learning_rate=1e38",
        "learning_rate=-1e-3",
        "warmup_steps=-1",
        "encoder_layers=[-1]",
        "silver_batch_documents=-1",
        "clip=0",
        "blank_noise=1",
        "blank_noise=-0.1",
        "checkpoint_epochs=0",
        "evaluate_epochs=0",
    ],
)
def test_values_out_of_range(file: Path, change: str):
    with pytest.raises(ConfigError, match=f"training.{change.partition('=')[0]}: the value .* is out of range"):
        load_config(file, [f"training.{change}"])


def test_patience_must_see_a_score(file: Path):
    """Else a run could stop before its first evaluation, with no best model at all."""
    with pytest.raises(ConfigError, match=r"training.patience: the value 3 is out of range"):
        load_config(file, ["training.patience=3", "training.evaluate_epochs=4"])
    last_only = load_config(file, ["training.patience=3", "training.evaluate_epochs=4", "training.max_epochs=3"])
    assert last_only.training.patience == 3
