"""Fixtures for all tests."""

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).parent.parent

# Busy machines are slow; what is slow is measured in benchmarks/, not here.
settings.register_profile("genrst", deadline=None)
settings.load_profile("genrst")

if importlib.util.find_spec("torch"):
    import torch

    # Tests run side by side, a process per core.
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder with third-party corpora, which are never part of this repository."""
    folder = Path(os.environ.get("GENRST_CORPORA", REPOSITORY.parent / "shared" / "corpora"))
    if not folder.is_dir():
        pytest.skip("no corpora here: set GENRST_CORPORA to their folder")
    return folder
