"""Fixtures for all tests."""

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.seed import SEED

if TYPE_CHECKING:
    from genrst.parser.parser import Parser

REPOSITORY = Path(__file__).parent.parent

# Busy machines are slow, so there is no deadline. Every run draws new examples, also in CI, where hypothesis would not.
settings.register_profile("genrst", deadline=None, max_examples=40, derandomize=False, print_blob=True)
settings.register_profile("quick", settings.get_profile("genrst"), max_examples=10)
settings.load_profile("quick" if os.environ.get("GENRST_QUICK") else "genrst")

if importlib.util.find_spec("torch"):
    import torch

    # Tests run side by side, a process per core.
    torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let hypothesis draw by our seed, unless another one was asked for."""
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed, also where -q leaves out the header."""
    if reporter := session.config.pluginmanager.get_plugin("terminalreporter"):
        reporter.write_line(f"random tests can be repeated with GENRST_SEED={SEED}")


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
    pytest.importorskip("torch")
    from tests.parser.samples import write_parser

    return write_parser(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def parser(tiny: Path) -> "Parser":
    """That parser."""
    from genrst.parser.loading import load

    return load(tiny, device="cpu")
