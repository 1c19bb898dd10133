"""Fixtures for all tests."""

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from genrst.parser.parser import Parser

REPOSITORY = Path(__file__).parent.parent

# Busy machines are slow; what is slow is measured in benchmarks/, not here. All the tests run the same examples each
# time, so that a change passes or fails by what it is; `make check` draws new ones.
settings.register_profile("genrst", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("quick" if os.environ.get("GENRST_QUICK") else "genrst")

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


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a parser with random weights."""
    from tests.parser.samples import write_parser

    return write_parser(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def parser(tiny: Path) -> "Parser":
    """That parser."""
    from genrst.parser.loading import load

    return load(tiny, device="cpu")
