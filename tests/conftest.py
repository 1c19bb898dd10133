"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder with third-party corpora, which are never part of this repository."""
    folder = Path(os.environ.get("GENRST_CORPORA", REPOSITORY.parent / "shared" / "corpora"))
    if not folder.is_dir():
        pytest.skip("no corpora here: set GENRST_CORPORA to their folder")
    return folder
