import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cli.workspace import Workspace, make_workspace, timeless
from tests.conftest import REPOSITORY

PROGRAM = REPOSITORY / "tests" / "cli" / "kill_training.py"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    monkeypatch.chdir(tmp_path)
    return make_workspace(tmp_path, capsys)


def kill(*arguments: str) -> list[int]:
    """The numbers of epochs after each kill."""
    result = subprocess.run(
        [sys.executable, str(PROGRAM), "tiny.toml", "--device", "cpu", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    epochs: list[int] = json.loads(result.stdout)
    return epochs


def test_a_run_killed_at_random_moments_is_the_run_that_was_not(here: Workspace):
    """kill -9 four times; the folder is readable all the time, and the end is the same."""
    options = ["--prepared", "features.npz", "--set", "training.max_epochs=80", "--set", "training.patience=80"]
    assert here.train(*options, "--output", "whole").status == 0
    epochs = kill(*options, "--output", "killed")
    assert len(epochs) == 4
    assert 0 < epochs[-1] < 80, "the run was killed on its way"

    whole, killed = here.folder / "whole", here.folder / "killed"
    assert timeless(killed) == timeless(whole)
    assert (killed / "config.toml").read_bytes() == (whole / "config.toml").read_bytes()
    for file in ("checkpoint.safetensors", "model/weights.safetensors"):
        found = load_file(killed / file)
        for name, tensor in load_file(whole / file).items():
            assert torch.equal(tensor, found[name]), name
