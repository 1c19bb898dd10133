"""A service with two tiny models: one that builds trees step by step, and a chart."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.serve.app import make_app
from tests.parser.samples import write_chart


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return load(write_chart(tmp_path_factory.mktemp("models") / "chart"), device="cpu")


@pytest.fixture(scope="session")
def parsers(tiny: Path, chart: Parser) -> list[Parser]:
    return [load(tiny, device="cpu"), chart]


@pytest.fixture(scope="session")
def client(parsers: list[Parser]) -> Iterator[TestClient]:
    with TestClient(make_app(parsers), base_url="http://127.0.0.1:8000") as client:
        yield client
