"""How commands begin and end, and what their rows say about where they come from."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from experiments.branching_bias import run as branching_bias
from experiments.charts import calibration
from experiments.command import Environment, Rows, count, read_environment, read_seeds, share
from experiments.shipped_model import pack
from genrst.training.run import Run
from genrst.training.run_config import RunConfig, TrainingConfig
from tests.experiments.errors import ends_in_one_line
from tests.parser.samples import write_ensemble
from tests.training.samples import SMALL, prepare_samples

torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        (calibration, ["nowhere", "--model", "en", "--documents", "0"], "must be a positive integer, got '0'"),
        (calibration, ["nowhere", "--model", "en"], "nowhere"),
        (pack, ["none", "nowhere", "--name", "half"], "none: config.json is missing; a model folder must hold"),
        (branching_bias, ["--trees", "none"], "must be a positive integer, got 'none'"),
    ],
)
def test_errors_are_one_line(command: ModuleType, words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    ends_in_one_line(lambda: command.main(words), message, capsys)


def test_numbers_as_arguments():
    assert (count("12"), share("0.5"), share("1")) == (12, 0.5, 1)
    for read, words in (
        (count, ["0", "-1", "1.5", "x"]),
        (share, ["0", "-1", "inf", "nan", "x", "1.01"]),
    ):
        for word in words:
            with pytest.raises(argparse.ArgumentTypeError, match="got "):
                read(word)


def test_rows_say_where_they_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = Rows(Environment("1234567", "an abacus", "0"), {"seeds": [1]})
    rows.add(F=50)
    rows.write(tmp_path / "rows.jsonl")
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"F": 50, "seeds": [1], "commit": "1234567", "hardware": "an abacus", "torch": "0"}
    assert (tmp_path / "rows.jsonl").read_text() == printed


def test_the_environment():
    environment = read_environment(torch.device("cpu"))
    assert environment.torch == torch.__version__
    assert "CPU cores" in environment.hardware


def test_seeds_are_those_of_the_runs(tmp_path: Path):
    """By the folder of one run of several, else by the configuration; a model that lies elsewhere has none."""
    config = RunConfig(model=SMALL, training=TrainingConfig(seeds=(7,), max_epochs=1))
    several = replace(config, training=replace(config.training, seeds=(3, 4)))
    for made, seed, folder in ((config, 7, "one"), (several, 4, "several/seed-4")):
        assert list(Run(made, seed, tmp_path / folder, torch.device("cpu")).records(prepare_samples()))
    assert read_seeds(tmp_path / "one" / "model") == [7]
    assert read_seeds(tmp_path / "several" / "seed-4" / "model") == [4]
    (tmp_path / "one" / "model").rename(tmp_path / "elsewhere")
    ensemble = write_ensemble(tmp_path / "both", {"../elsewhere": 1.0, "../several/seed-4/model": 1.0})
    assert read_seeds(ensemble) == [None, 4]
