"""Fixtures for the tests of the command line."""

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The current folder, with what `genrst train` needs."""
    from tests.cli.workspace import make_workspace

    monkeypatch.chdir(tmp_path)
    return make_workspace(tmp_path, capsys)
