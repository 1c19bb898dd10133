"""A service with two tiny models: one that builds trees step by step, and a chart."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from genrst.parser.loading import load
from genrst.parser.parser import Parser
from genrst.serve.app import make_app
from tests.parser.samples import write_chart
from tests.rendering.browser import open_browser
from tests.serve.bench import Bench, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return load(write_chart(tmp_path_factory.mktemp("models") / "chart"), device="cpu")


@pytest.fixture(scope="session")
def parsers(tiny: Path, chart: Parser) -> list[Parser]:
    """Not the parser that all tests share: a service bounds what its own will parse."""
    return [load(tiny, device="cpu"), chart]


@pytest.fixture(scope="session")
def client(parsers: list[Parser]) -> Iterator[TestClient]:
    with TestClient(make_app(parsers), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    with open_browser() as page:
        assert page.context.browser is not None
        yield page.context.browser


@pytest.fixture(scope="session")
def address(chart: Parser) -> Iterator[str]:
    with serving(make_app([chart])) as address:
        yield address


@pytest.fixture
def bench(browser: "Browser", address: str) -> Iterator[Bench]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    bench = Bench(context.new_page(), address)
    yield bench
    bench.check()
    context.close()
